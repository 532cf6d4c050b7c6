/* store/operation_tally.c - counts and durations by service and operation, added up. */
#include "store/operation_tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void operation_tally_init(struct operation_tally *t)
{
	*t = (struct operation_tally){0};
	map_init(&t->by_name);
}

void operation_tally_done(struct operation_tally *t)
{
	arena_done(&t->arena);
	free(t->rows);
	map_done(&t->by_name);
}

static bool row_is(const void *context, uint32_t value, const void *key)
{
	const struct operation_row *a = &((const struct operation_tally *)context)->rows[value],
				   *b = key;

	return slice_eq(a->name, b->name) && slice_eq(a->service, b->service);
}

uint32_t operation_tally_row(struct operation_tally *t, struct slice service, struct slice name)
{
	struct operation_row key = {.service = service, .name = name};
	uint64_t hash =
		hash_bytes(name.p, name.n, hash_bytes(service.p, service.n, t->by_name.seed));
	uint32_t at = map_get(&t->by_name, hash, row_is, t, &key);

	if (at != MAP_NONE)
		return at;
	key.service = arena_dup(&t->arena, service);
	key.name = arena_dup(&t->arena, name);
	if (!key.service.p || !key.name.p ||
	    !vec_reserve(&t->rows, &t->capacity, t->n + 1, sizeof(*t->rows)) ||
	    !map_put(&t->by_name, hash, (uint32_t)t->n))
		return MAP_NONE;
	t->rows[t->n] = key;
	return (uint32_t)t->n++;
}

bool operation_tally_span(struct operation_tally *t, uint32_t row, bool error, bool ended,
			  uint64_t duration_ns)
{
	struct operation_row *r = &t->rows[row];

	r->spans++;
	r->errors += error;
	return !ended || octaves_add(&r->durations, &t->arena, duration_ns);
}

int operation_tally_rows(struct operation_tally *t, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		uint32_t row;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		row = operation_tally_row(t, batch_service(refs[i].batch, e),
					  batch_text(refs[i].batch, e->name));
		if (row == MAP_NONE ||
		    !operation_tally_span(t, row, e->status == STATUS_ERROR,
					  e->type == EVENT_SPAN &&
						  (int64_t)(e->end_ns - e->time_ns) >= 0,
					  e->end_ns - e->time_ns))
			return -ENOMEM;
	}
	return 0;
}

int operation_tally_merge(struct operation_tally *to, const struct operation_tally *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct operation_row *r = &from->rows[i];
		uint32_t at = operation_tally_row(to, r->service, r->name);

		if (at == MAP_NONE ||
		    !octaves_merge(&to->rows[at].durations, &to->arena, &r->durations))
			return -ENOMEM;
		to->rows[at].spans += r->spans;
		to->rows[at].errors += r->errors;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct operation_summary *x = a, *y = b;
	int c = slice_cmp(x->service, y->service);

	return c ? c : slice_cmp(x->name, y->name);
}

int operation_tally_list(struct operation_tally *t, struct operation_list *ret_list)
{
	struct operation_list list = {.arena = calloc(1, sizeof(struct arena))};

	if (list.arena)
		list.rows = arena_zalloc(list.arena, t->n + 1, sizeof(*list.rows));
	for (; list.rows && list.n < t->n; list.n++) {
		const struct operation_row *r = &t->rows[list.n];

		list.rows[list.n] = (struct operation_summary){
			.service = arena_dup(list.arena, r->service),
			.name = arena_dup(list.arena, r->name),
			.spans = r->spans,
			.errors = r->errors,
			.p50_ns = octaves_quantile(&r->durations, 0.5),
			.p90_ns = octaves_quantile(&r->durations, 0.9),
			.p99_ns = octaves_quantile(&r->durations, 0.99),
			.max_ns = r->durations.max,
		};
		if (!list.rows[list.n].service.p || !list.rows[list.n].name.p)
			break;
	}
	if (!list.rows || list.n < t->n) {
		operation_list_done(&list);
		return -ENOMEM;
	}
	if (list.n > 1)
		qsort(list.rows, list.n, sizeof(*list.rows), by_name);
	*ret_list = list;
	return 0;
}
