/* store/split_trace.c - which traces of a new segment have pieces in others.
 *
 * Young segments keep the hashes of their traces in memory: two sorted lists are compared in one
 * pass.  Somewhat older ones keep the leading bits of them (store/hash_gaps.h), and where these are
 * the same, their groups are asked.  Older ones still are asked by their index, and where that says
 * "perhaps", by their groups: the newest few, those whose traces began at about the same time, and,
 * about a piece that lacks its beginning or had been found elsewhere before it was merged, all of
 * them. */
#include "store/split_trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/u64.h"
#include "base/vec.h"
#include "core/clock.h"
#include "segment/group.h"

#define PROBED_ALWAYS 16  /* newest segments, whatever their times */
#define PROBED_MOST   128 /* segments, about pieces with a beginning */
/* Looks at segments from other times.  Somebody may never send the beginning of anything, and has
 * thousands of segments. */
#define PROBES_FAR 500000
#define READ_MOST  8                 /* traces of a segment, for each one that is looked up */
#define SLACK_NS   (3600 * NS_PER_S) /* between the starts of a trace's pieces */

static bool is_sorted(const struct split_trace *traces, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (traces[i].hash < traces[i - 1].hash)
			return false;
	return true;
}

/* Ids are random: sorted by their hashes without comparing. */
static int sort_by_hash(struct split_trace *traces, size_t n)
{
	_cleanup_(freep)
	struct radix_item *items = malloc((n + 1) * sizeof(*items));
	_cleanup_(freep)
	struct radix_item *spare = malloc((n + 1) * sizeof(*spare));
	_cleanup_(freep)
	struct split_trace *before = malloc((n + 1) * sizeof(*before));

	if (!items || !spare || !before)
		return -ENOMEM;
	memcpy(before, traces, n * sizeof(*traces));
	for (uint32_t i = 0; i < n; i++)
		items[i] = (struct radix_item){traces[i].hash, i};
	radix_sort(items, spare, n);
	for (size_t i = 0; i < n; i++)
		traces[i] = before[items[i].value];
	return 0;
}

static void compare(struct split_trace *traces, size_t n, const uint64_t *hashes, size_t hash_n)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		while (at < hash_n && hashes[at] < traces[i].hash)
			at++;
		if (at < hash_n && hashes[at] == traces[i].hash)
			traces[i].split = true;
	}
}

/* What cannot be read may have it. */
static int ask(struct segment *s, struct split_trace *t)
{
	int r = segment_has(s, t->id);

	t->split = r != 0;
	return r == -ENOMEM ? r : 0;
}

static int compare_gaps(struct split_trace *traces, size_t n, const struct view_segment *s)
{
	struct hash_walk walk = {.of = s->gaps};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (hash_walk_to(&walk, traces[i].hash) && !traces[i].split)
			r = ask(s->segment, &traces[i]);
	return r;
}

static bool is_near(const struct segment_info *info, const struct split_trace *t)
{
	if (t->start_ns == 0) /* has no time; nor have those that it could be near */
		return true;
	return t->start_ns >= info->start_min_ns - SLACK_NS &&
	       t->start_ns - SLACK_NS <= info->start_max_ns;
}

/* `near`: the times decide; else those that are not whole are looked for whatever theirs are. */
static int probe(struct segment *s, struct split_trace *traces, size_t n, bool always, bool near,
		 size_t *far)
{
	const struct segment_info *info = segment_info(s);
	int r = segment_pin_index(s);
	bool readable = r == 0;

	if (r == -ENOMEM)
		return r;
	r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (traces[i].split)
			continue;
		if (!always && !(near && is_near(info, &traces[i]))) {
			if (traces[i].whole)
				continue;
			if (*far == 0) {
				traces[i].split = traces[i].apart;
				continue;
			}
			--*far;
		}
		if (!readable || segment_index_has(s, traces[i].hash))
			r = ask(s, &traces[i]);
	}
	if (readable)
		segment_unpin(s);
	return r;
}

/* The hashes of a segment's traces, sorted.  NULL: out of memory, or it cannot be read. */
static struct hash_gaps *gaps_read(struct segment *s)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	_cleanup_(freep)
	uint64_t *hashes = NULL;
	size_t n = 0, capacity = 0;

	for (uint32_t i = 0; i < segment_info(s)->groups; i++) {
		const struct group_piece *pieces;
		uint32_t piece_n;
		int r = g ? group_reopen_few(g, i) : group_open_few(s, i, &g);

		if (r == 0)
			r = group_pieces_bare(g, &pieces, &piece_n);
		if (r < 0 || !vec_reserve(&hashes, &capacity, n + piece_n, sizeof(*hashes)))
			return NULL;
		for (uint32_t k = 0; k < piece_n; k++)
			hashes[n++] = segment_id_hash(pieces[k].id);
	}
	if (n > 1)
		qsort(hashes, n, sizeof(*hashes), u64_order);
	return hash_gaps_new(hashes, n);
}

/* After a start nothing is kept in memory.  Reading all ids of a segment takes less time than being
 * wrong about many of them. */
static void gaps_make(struct view_segment *s, size_t asked)
{
	struct hash_gaps *gaps;

	if (segment_info(s->segment)->pieces / READ_MOST > asked)
		return;
	gaps = gaps_read(s->segment);
	pthread_mutex_lock(&s->hashes_lock);
	s->gaps = gaps;
	pthread_mutex_unlock(&s->hashes_lock);
}

static bool is_among(uint64_t number, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

int split_mark(struct view *v, struct split_trace *traces, size_t n, const uint64_t *except,
	       size_t except_n)
{
	size_t probed = 0, far = PROBES_FAR, kept = 0;
	bool always;
	int r = is_sorted(traces, n) ? 0 : sort_by_hash(traces, n);

	for (size_t i = v->segment_n; r == 0 && i-- > 0;) {
		struct view_segment *s = v->segments[i];

		if (is_among(s->row.number, except, except_n))
			continue;
		always = v->segment_n - i <= PROBED_ALWAYS;
		kept += segment_info(s->segment)->pieces;
		if (!s->hashes && !s->gaps && always && kept <= SPLIT_GAPS_MOST)
			gaps_make(s, n);
		if (s->hashes)
			compare(traces, n, s->hashes, s->hash_n);
		else if (s->gaps)
			r = compare_gaps(traces, n, s);
		else
			r = probe(s->segment, traces, n, always, probed++ < PROBED_MOST, &far);
	}
	return r;
}

int split_list(const struct split_trace *traces, size_t n, struct trace_id **ret_ids, size_t *ret_n)
{
	struct trace_id *ids;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += traces[i].split;
	ids = malloc((count + 1) * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < n; i++)
		if (traces[i].split)
			ids[count++] = traces[i].id;
	*ret_ids = ids;
	*ret_n = count;
	return 0;
}

uint64_t *split_hashes(const struct split_trace *traces, size_t n)
{
	uint64_t *hashes = n <= SPLIT_HASHES_MOST ? malloc((n + 1) * sizeof(*hashes)) : NULL;

	for (size_t i = 0; hashes && i < n; i++)
		hashes[i] = traces[i].hash;
	return hashes;
}

void split_hashes_trim(struct view *v)
{
	size_t exact = 0, all = 0;

	for (size_t i = v->segment_n; i-- > 0;) {
		struct view_segment *s = v->segments[i];

		exact += s->hash_n;
		all += s->gaps ? s->gaps->hashes : s->hash_n;
		pthread_mutex_lock(&s->hashes_lock);
		if (s->hashes && exact > SPLIT_HASHES_MOST) {
			s->gaps = hash_gaps_new(s->hashes, s->hash_n); /* or none: harmless */
			free(s->hashes);
			s->hashes = NULL;
			s->hash_n = 0;
		}
		if (s->gaps && all > SPLIT_GAPS_MOST) {
			s->gaps = hash_gaps_free(s->gaps);
		}
		pthread_mutex_unlock(&s->hashes_lock);
	}
}
