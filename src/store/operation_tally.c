/* store/operation_tally.c - counts and durations by service and operation, added up. */
#include "store/operation_tally.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define WAITING 65536

void operation_tally_init(struct operation_tally *t)
{
	*t = (struct operation_tally){0};
	map_init(&t->by_name);
}

void operation_tally_done(struct operation_tally *t)
{
	arena_done(&t->arena);
	free(t->rows);
	free(t->waiting);
	free(t->counts);
	free(t->longest);
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
	uint64_t hash = wide_hash_bytes(name.p, name.n,
					wide_hash_bytes(service.p, service.n, t->by_name.seed));
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

/* Spans of many operations come mixed, and each operation has a histogram of its own.  Brought
 * together by operation they are counted in the processor's nearest cache. */
struct tally_waiting {
	size_t n;
	uint32_t rows[WAITING];
	uint16_t places[WAITING]; /* duration_place() */
	uint16_t sorted[WAITING];
};

static bool tally_room(struct operation_tally *t)
{
	size_t n = t->waiting_rows;

	if (!t->waiting && !(t->waiting = malloc(sizeof(*t->waiting))))
		return false;
	if (n == 0)
		t->waiting->n = 0;
	if (n == t->n)
		return true;
	if (!vec_reserve(&t->counts, &t->count_capacity, t->n + 1, sizeof(*t->counts)) ||
	    !vec_reserve(&t->longest, &t->longest_capacity, t->n + 1, sizeof(*t->longest)))
		return false;
	memset(t->counts + n, 0, (t->n - n) * sizeof(*t->counts));
	memset(t->longest + n, 0, (t->n - n) * sizeof(*t->longest));
	t->waiting_rows = t->n;
	return true;
}

int operation_tally_settle(struct operation_tally *t)
{
	struct tally_waiting *w = t->waiting;
	uint32_t at = 0;
	int r = 0;

	if (!w || w->n == 0)
		return 0;
	for (size_t i = 0; i < w->n; i++)
		t->counts[w->rows[i]]++;
	for (size_t k = 0; k < t->waiting_rows; k++) { /* counts become places */
		uint32_t count = t->counts[k];

		t->counts[k] = at;
		at += count;
	}
	for (size_t i = 0; i < w->n; i++)
		w->sorted[t->counts[w->rows[i]]++] = w->places[i];
	at = 0;
	for (size_t k = 0; k < t->waiting_rows; k++) {
		struct operation_row *row = &t->rows[k];
		uint32_t end = t->counts[k];

		t->counts[k] = 0;
		if (end == at)
			continue;
		row->spans += end - at;
		if (!octaves_add_places(&row->durations, &t->arena, w->sorted + at, end - at,
					t->longest[k]))
			r = -ENOMEM;
		at = end;
	}
	w->n = 0;
	return r;
}

int operation_tally_ended(struct operation_tally *t, const uint32_t *rows,
			  const uint64_t *durations_ns, size_t n)
{
	int r = tally_room(t) ? 0 : -ENOMEM;

	while (r == 0 && n > 0) {
		struct tally_waiting *w = t->waiting;
		size_t take = MIN(n, WAITING - w->n);

		for (size_t i = 0; i < take; i++) {
			uint64_t *longest = &t->longest[rows[i]];

			w->rows[w->n + i] = rows[i];
			w->places[w->n + i] = duration_place((int64_t)durations_ns[i]);
			*longest = MAX(*longest, durations_ns[i]);
		}
		w->n += take;
		rows += take;
		durations_ns += take;
		n -= take;
		if (w->n == WAITING)
			r = operation_tally_settle(t);
	}
	return r;
}

int operation_tally_rows(struct operation_tally *t, const struct event_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = event_get(refs[i]);
		int64_t duration;
		uint32_t row;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		row = operation_tally_row(t, batch_service(refs[i].batch, e),
					  batch_text(refs[i].batch, e->name));
		duration = e->type == EVENT_SPAN ? span_duration(e->time_ns, e->end_ns) : -1;
		if (row == MAP_NONE || !operation_tally_span(t, row, e->status == STATUS_ERROR,
							     duration >= 0, (uint64_t)duration))
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
