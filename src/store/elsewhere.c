/* store/elsewhere.c - which segments of a view may have a trace. */
#include "store/elsewhere.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/group.h"

/* The bit of a filter, with a reference if it is new; 0: there are too many. */
static uint32_t filter_bit(struct elsewhere *e, struct id_filter *f)
{
	size_t i = 0;

	while (i < e->filter_n && e->filters[i] != f)
		i++;
	if (i == ELSEWHERE_FILTERS)
		return 0;
	if (i == e->filter_n)
		e->filters[e->filter_n++] = id_filter_ref(f);
	return 1u << i;
}

int elsewhere_init(struct elsewhere *e, const struct view *v)
{
	*e = (struct elsewhere){.segments = calloc(v->segment_n + 1, sizeof(*e->segments))};
	if (!e->segments)
		return -ENOMEM;
	for (size_t i = v->segment_n; i-- > 0;) {
		struct elsewhere_segment *s = &e->segments[e->segment_n++];

		s->segment = v->segments[i];
		pthread_mutex_lock(&s->segment->hashes_lock);
		if (s->segment->filter)
			s->filter = filter_bit(e, s->segment->filter);
		pthread_mutex_unlock(&s->segment->hashes_lock);
		e->filtered_n += s->filter != 0;
	}
	return 0;
}

void elsewhere_done(struct elsewhere *e)
{
	for (size_t i = 0; i < e->segment_n; i++)
		if (e->segments[i].pinned)
			segment_unpin(e->segments[i].segment->segment);
	for (size_t i = 0; i < e->filter_n; i++)
		id_filter_unref(e->filters[i]);
	free(e->segments);
}

int elsewhere_indexed(struct elsewhere_segment *s, uint64_t hash)
{
	if (!s->pinned) {
		int r = segment_pin_index(s->segment->segment);

		if (r < 0)
			return r == -ENOMEM ? r : 1; /* what cannot be read may have it */
		s->pinned = true;
	}
	return segment_index_has(s->segment->segment, hash);
}

int elsewhere_has(struct elsewhere *e, struct trace_id id, uint64_t hash)
{
	uint32_t filters = elsewhere_filters(e, hash);
	int r = 0;

	if (filters == 0 && e->filtered_n == e->segment_n)
		return 0;
	for (size_t i = 0; r == 0 && i < e->segment_n; i++) {
		struct elsewhere_segment *s = &e->segments[i];

		if (s->filter && !(s->filter & filters))
			continue;
		r = view_segment_knows(s->segment, hash);
		if (r != -ENODATA)
			continue;
		r = elsewhere_indexed(s, hash);
		if (r > 0)
			r = segment_has(s->segment->segment, id);
		r = r == -ENOMEM ? r : r != 0;
	}
	return r;
}
