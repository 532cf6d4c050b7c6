/* store/split_trace.c - which traces of a new segment have pieces in others.
 *
 * Nearly none do, and nearly all of these are ruled out by the filters of segments
 * (store/id_filter.h).  About what is left, young segments know the hashes of their traces, and
 * others are asked by their index, and where that says "perhaps", by their groups.  Segments that
 * are in no filter are compared with all traces: the newest few, those whose traces began at about
 * the same time, and, about a piece that lacks its beginning or had been found elsewhere before it
 * was merged, all of them. */
#include "store/split_trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/vec.h"
#include "core/clock.h"
#include "segment/group.h"
#include "store/elsewhere.h"

#define PROBED_ALWAYS 16  /* newest segments, whatever their times */
#define PROBED_MOST   128 /* segments, about pieces with a beginning */
/* Looks at segments from other times.  Somebody may never send the beginning of anything, and has
 * thousands of segments. */
#define PROBES_FAR 500000
/* Traces that are read for each one that is looked up: of one segment, and together. */
#define READ_MOST 64
#define READ_SOME 16
#define AHEAD     8                 /* traces whose place in the filters is fetched */
#define SLACK_NS  (3600 * NS_PER_S) /* between the starts of a trace's pieces */

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

/* Asks a segment about those that its filter does not rule out: numbers of traces, ascending. */
static int ask_filtered(struct elsewhere_segment *s, struct split_trace *traces,
			const uint32_t *perhaps, size_t n, const uint32_t *filters)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct split_trace *t = &traces[perhaps[i]];

		if (t->split || !(filters[i] & s->filter))
			continue;
		r = view_segment_knows(s->segment, t->hash);
		if (r >= 0) {
			t->split = r;
			continue;
		}
		r = elsewhere_indexed(s, t->hash);
		if (r > 0)
			r = ask(s->segment->segment, t);
	}
	return r < 0 ? r : 0;
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

/* Adds the traces of a segment to a filter. */
static int filter_read(struct segment *s, struct id_filter *filter)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < segment_info(s)->groups; i++) {
		const struct group_piece *pieces;
		uint32_t n = 0;

		r = g ? group_reopen_few(g, i) : group_open_few(s, i, &g);
		if (r == 0)
			r = group_pieces_bare(g, &pieces, &n);
		for (uint32_t k = 0; r == 0 && k < n; k++)
			id_filter_add(filter, segment_id_hash(pieces[k].id));
	}
	return r;
}

static void filter_set(struct view_segment *s, struct id_filter *filter)
{
	pthread_mutex_lock(&s->hashes_lock);
	id_filter_unref(s->filter);
	s->filter = filter;
	pthread_mutex_unlock(&s->hashes_lock);
}

/* Puts a segment's traces into a filter, unless they cannot be read, or there is no memory. */
static void filter_make(struct view_segment *s, struct id_filter **open)
{
	const struct segment_info *info = segment_info(s->segment);
	/* Pieces that go on in another group are added more than once. */
	struct id_filter *filter = id_filter_with_room(open, info->pieces + info->groups);

	if (!filter)
		return;
	if (filter_read(s->segment, filter) == 0) {
		filter_set(s, filter);
	} else {
		s->unfiltered = true;
		id_filter_unref(filter);
	}
}

/* After a start no segment has a filter.  Reading all ids of some is worth it where many traces
 * would be looked up in them, now and again: the newest first, some each time. */
static void filters_make(const struct elsewhere *e, size_t asked, struct id_filter **open)
{
	size_t all = 0, read = 0;

	for (size_t i = 0; i < e->filter_n; i++)
		all += e->filters[i]->n;
	for (size_t i = 0; i < e->segment_n && read < asked * READ_SOME; i++) {
		struct view_segment *s = e->segments[i].segment;
		uint64_t pieces = segment_info(s->segment)->pieces;

		if (s->filter || s->unfiltered || pieces / READ_MOST > asked ||
		    all + pieces > SPLIT_FILTERED_MOST)
			continue;
		filter_make(s, open);
		read += pieces;
		all += pieces;
	}
}

static bool is_among(uint64_t number, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* The traces that some filter does not rule out: how many, their numbers, and the filters.
 * `listed`: those of merged segments, which are in filters themselves; but segments that are in
 * filters have found all that they share, so what is on no list is in no other. */
static size_t filter_all(const struct elsewhere *e, const struct view *listed,
			 const struct split_trace *traces, size_t n, uint32_t *perhaps,
			 uint32_t *filters)
{
	size_t some = 0;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			elsewhere_fetch(e, traces[i + AHEAD].hash);
		filters[some] = elsewhere_filters(e, traces[i].hash);
		perhaps[some] = (uint32_t)i;
		some += filters[some] && (!listed || view_split_has(listed, traces[i].id));
	}
	return some;
}

static int look_everywhere(struct elsewhere *e, const struct view *listed,
			   struct split_trace *traces, size_t n, const uint64_t *except,
			   size_t except_n)
{
	_cleanup_(freep)
	uint32_t *perhaps = malloc((n + 1) * sizeof(*perhaps));
	_cleanup_(freep)
	uint32_t *filters = malloc((n + 1) * sizeof(*filters));
	size_t probed = 0, far = PROBES_FAR, perhaps_n;
	int r = 0;

	if (!perhaps || !filters)
		return -ENOMEM;
	perhaps_n = filter_all(e, listed, traces, n, perhaps, filters);
	for (size_t i = 0; r == 0 && i < e->segment_n; i++) {
		struct view_segment *s = e->segments[i].segment;

		if (is_among(s->row.number, except, except_n))
			continue;
		if (e->segments[i].filter)
			r = ask_filtered(&e->segments[i], traces, perhaps, perhaps_n, filters);
		else if (s->hashes)
			compare(traces, n, s->hashes, s->hash_n);
		else
			r = probe(s->segment, traces, n, i < PROBED_ALWAYS, probed++ < PROBED_MOST,
				  &far);
	}
	return r;
}

int split_mark(struct view *v, struct split_trace *traces, size_t n, const uint64_t *except,
	       size_t except_n, struct id_filter **open)
{
	const struct trace_id *ids;
	struct elsewhere e;
	size_t ids_n;
	bool listed;
	int r = is_sorted(traces, n) ? 0 : sort_by_hash(traces, n);

	if (r == 0)
		r = elsewhere_init(&e, v);
	if (r < 0)
		return r;
	/* Where a list cannot be read all are looked for. */
	listed = except_n > 0 && view_split(v, &ids, &ids_n) == 0;
	r = look_everywhere(&e, listed ? v : NULL, traces, n, except, except_n);
	if (r == 0)
		filters_make(&e, n, open);
	elsewhere_done(&e);
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

void split_keep(struct view_segment *s, const struct split_trace *traces, size_t n,
		struct id_filter **open)
{
	uint64_t *hashes = n <= SPLIT_HASHES_MOST ? malloc((n + 1) * sizeof(*hashes)) : NULL;
	struct id_filter *filter = id_filter_with_room(open, n);

	for (size_t i = 0; hashes && i < n; i++)
		hashes[i] = traces[i].hash;
	for (size_t i = 0; filter && i < n; i++)
		id_filter_add(filter, traces[i].hash);
	s->hashes = hashes;
	s->hash_n = hashes ? n : 0;
	s->filter = filter;
}

void split_trim(struct view *v)
{
	const struct id_filter *last = NULL;
	size_t exact = 0, filtered = 0;

	for (size_t i = v->segment_n; i-- > 0;) {
		struct view_segment *s = v->segments[i];

		pthread_mutex_lock(&s->hashes_lock);
		exact += s->hash_n;
		if (s->hashes && exact > SPLIT_HASHES_MOST) {
			free(s->hashes);
			s->hashes = NULL;
			s->hash_n = 0;
		}
		/* Those of one filter mostly stand side by side. */
		if (s->filter && s->filter != last)
			filtered += s->filter->n;
		last = s->filter ? s->filter : last;
		if (filtered > SPLIT_FILTERED_MOST)
			s->filter = id_filter_unref(s->filter);
		pthread_mutex_unlock(&s->hashes_lock);
	}
}
