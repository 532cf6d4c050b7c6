/* store/split_trace.c - which traces of a new segment have pieces in others.
 *
 * Young segments keep the hashes of their traces in memory: two sorted lists are compared in one
 * pass.  Older ones are asked by their index, and where that says "perhaps", by their groups: the
 * newest few, those whose traces began at about the same time, and, about a piece that lacks its
 * beginning or had been found elsewhere before it was merged, all of them. */
#include "store/split_trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "core/clock.h"

#define PROBED_ALWAYS 16  /* newest segments, whatever their times */
#define PROBED_MOST   128 /* segments, about pieces with a beginning */
/* Looks at segments from other times.  Somebody may never send the beginning of anything, and has
 * thousands of segments. */
#define PROBES_FAR 500000
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

	for (size_t i = 0; i < n; i++) {
		int r;

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
		r = segment_may_have(s, traces[i].id);
		if (r == 1)
			r = segment_has(s, traces[i].id);
		if (r == -ENOMEM)
			return r;
		/* What cannot be read may have it. */
		traces[i].split = r != 0;
	}
	return 0;
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
	size_t probed = 0, far = PROBES_FAR;
	int r = is_sorted(traces, n) ? 0 : sort_by_hash(traces, n);

	for (size_t i = v->segment_n; r == 0 && i-- > 0;) {
		struct view_segment *s = v->segments[i];

		if (is_among(s->row.number, except, except_n))
			continue;
		if (s->hashes)
			compare(traces, n, s->hashes, s->hash_n);
		else
			r = probe(s->segment, traces, n, v->segment_n - i <= PROBED_ALWAYS,
				  probed++ < PROBED_MOST, &far);
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
	size_t sum = 0;

	for (size_t i = v->segment_n; i-- > 0;) {
		struct view_segment *s = v->segments[i];

		sum += s->hash_n;
		if (sum <= SPLIT_HASHES_MOST || !s->hashes)
			continue;
		free(s->hashes);
		s->hashes = NULL;
		s->hash_n = 0;
	}
}
