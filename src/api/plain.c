/* api/plain.c - rows for formats that know only spans. */
#include "api/plain.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/event_unique.h"
#include "model/trace.h"

void plain_done(struct plain *p)
{
	for (size_t i = 0; i < p->batch_n; i++)
		batch_unref(p->batches[i]);
	free(p->batches);
	free(p->refs);
	*p = (struct plain){0};
}

static bool is_native(struct event_ref ref)
{
	uint8_t type = event_get(ref)->type;

	return type != EVENT_SPAN && type != EVENT_POINT && type != EVENT_LINK && type != EVENT_LOG;
}

/* The traces that have native rows. */
struct natives {
	struct map map;
	struct trace_id *ids;
	size_t n, capacity;
};

static bool id_equal(const void *context, uint32_t value, const void *key)
{
	const struct natives *t = context;

	return trace_id_eq(t->ids[value], *(const struct trace_id *)key);
}

static uint32_t native_find(const struct natives *t, struct trace_id id)
{
	return map_get(&t->map, hash_bytes(id.b, sizeof(id.b), t->map.seed), id_equal, t, &id);
}

static int natives_collect(struct natives *t, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct trace_id id = event_get(refs[i])->trace_id;

		if (!is_native(refs[i]) || native_find(t, id) != MAP_NONE)
			continue;
		if (!vec_reserve(&t->ids, &t->capacity, t->n + 1, sizeof(*t->ids)) ||
		    !map_put(&t->map, hash_bytes(id.b, sizeof(id.b), t->map.seed), (uint32_t)t->n))
			return -ENOMEM;
		t->ids[t->n++] = id;
	}
	return 0;
}

static int plain_add(struct plain *p, struct event_ref ref)
{
	if (!vec_reserve(&p->refs, &p->capacity, p->n + 1, sizeof(*p->refs)))
		return -ENOMEM;
	p->refs[p->n++] = ref;
	return 0;
}

/* Rows of one trace, as the spans they amount to. */
static int join_trace(struct plain *p, const struct event_ref *refs, size_t n)
{
	_cleanup_(trace_freep)
	struct trace *t = NULL;
	_cleanup_(batch_unrefp)
	struct batch *b = NULL;
	int r = trace_build(refs, n, TRACE_RAW_CLOCKS | TRACE_NO_INFER, &t);

	if (r == 0)
		r = trace_to_batch(t, &b);
	if (r < 0)
		return r;
	if (!vec_reserve(&p->batches, &p->batch_capacity, p->batch_n + 1, sizeof(*p->batches)))
		return -ENOMEM;
	p->batches[p->batch_n++] = batch_ref(b);
	for (size_t i = 0; r == 0 && i < b->event_n; i++)
		r = plain_add(p, (struct event_ref){b, (uint32_t)i});
	return r;
}

struct grouped {
	struct event_ref ref;
	uint32_t trace, order;
};

static int grouped_cmp(const void *a, const void *b)
{
	const struct grouped *x = a, *y = b;

	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Brings the rows of each native trace together and joins them. */
static int join_all(struct plain *p, struct grouped *rows, size_t n)
{
	struct event_ref *one = malloc(MAX(n, (size_t)1) * sizeof(*one));
	int r = one ? 0 : -ENOMEM;

	qsort(rows, n, sizeof(*rows), grouped_cmp);
	for (size_t i = 0; r == 0 && i < n;) {
		size_t count = 0;
		uint32_t trace = rows[i].trace;

		while (i < n && rows[i].trace == trace)
			one[count++] = rows[i++].ref;
		r = join_trace(p, one, count);
	}
	free(one);
	return r;
}

static int split_rows(struct plain *p, const struct natives *t, const struct event_ref *refs,
		      size_t n)
{
	struct grouped *apart = NULL;
	size_t apart_n = 0, capacity = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t trace = t->n ? native_find(t, event_get(refs[i])->trace_id) : MAP_NONE;

		if (trace == MAP_NONE)
			r = plain_add(p, refs[i]);
		else if (!vec_reserve(&apart, &capacity, apart_n + 1, sizeof(*apart)))
			r = -ENOMEM;
		else
			apart[apart_n++] = (struct grouped){refs[i], trace, (uint32_t)i};
	}
	if (r == 0 && apart_n > 0)
		r = join_all(p, apart, apart_n);
	free(apart);
	return r;
}

int plain_rows(const struct codec *codec, const struct event_ref *refs, size_t n,
	       struct plain *ret_plain)
{
	struct natives natives = {0};
	struct plain p = {0};
	int r = 0;

	map_init(&natives.map);
	if (!codec->all_rows)
		r = natives_collect(&natives, refs, n);
	if (r == 0)
		r = split_rows(&p, &natives, refs, n);
	if (r == 0)
		r = events_unique(p.refs, &p.n);
	map_done(&natives.map);
	free(natives.ids);
	if (r < 0) {
		plain_done(&p);
		return r;
	}
	*ret_plain = p;
	return 0;
}
