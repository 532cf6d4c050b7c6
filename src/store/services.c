/* store/services.c - which services there are and what they do, computed from rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/summary.h"

#define KNOWN_PAIRS 256

/* One (service, operation) pair while counting. */
struct pair {
	struct slice service, operation;
	uint64_t spans, errors;
	uint32_t kinds;
};

struct service_tally {
	struct pair *rows;
	size_t n, capacity;
	struct map by_name;
	struct arena arena; /* the texts */
};

static bool pair_is(const void *context, uint32_t value, const void *key)
{
	const struct pair *a = &((const struct service_tally *)context)->rows[value], *b = key;

	return slice_eq(a->service, b->service) && slice_eq(a->operation, b->operation);
}

static struct pair *pair_get(struct service_tally *p, struct slice service, struct slice operation)
{
	struct pair key = {.service = service, .operation = operation};
	uint64_t hash = wide_hash_bytes(operation.p, operation.n,
					wide_hash_bytes(service.p, service.n, p->by_name.seed));
	uint32_t at = map_get(&p->by_name, hash, pair_is, p, &key);

	if (at != MAP_NONE)
		return &p->rows[at];
	key.service = arena_dup(&p->arena, service);
	key.operation = arena_dup(&p->arena, operation);
	if (!key.service.p || !key.operation.p ||
	    !vec_reserve(&p->rows, &p->capacity, p->n + 1, sizeof(*p->rows)) ||
	    !map_put(&p->by_name, hash, (uint32_t)p->n))
		return NULL;
	p->rows[p->n] = key;
	return &p->rows[p->n++];
}

static int by_name(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int c = slice_cmp(x->service, y->service);

	return c ? c : slice_cmp(x->operation, y->operation);
}

/* Neighbouring pairs of one service become its summary. */
static int fold(const struct service_tally *p, struct service_list *list)
{
	list->rows = arena_zalloc(list->arena, p->n + 1, sizeof(*list->rows));
	if (!list->rows)
		return -ENOMEM;
	for (size_t i = 0; i < p->n;) {
		struct service_summary *s = &list->rows[list->n++];
		size_t last = i;

		while (last < p->n && slice_eq(p->rows[last].service, p->rows[i].service))
			last++;
		s->name = arena_dup(list->arena, p->rows[i].service);
		s->operations = arena_zalloc(list->arena, last - i, sizeof(struct slice));
		s->kinds = arena_zalloc(list->arena, last - i, sizeof(*s->kinds));
		if (!s->operations || !s->kinds)
			return -ENOMEM;
		for (; i < last; i++) {
			s->spans += p->rows[i].spans;
			s->errors += p->rows[i].errors;
			s->kinds[s->operation_n] = p->rows[i].kinds;
			s->operations[s->operation_n++] =
				arena_dup(list->arena, p->rows[i].operation);
		}
	}
	return 0;
}

struct service_tally *service_tally_new(void)
{
	struct service_tally *t = calloc(1, sizeof(*t));

	if (t)
		map_init(&t->by_name);
	return t;
}

struct service_tally *service_tally_free(struct service_tally *t)
{
	if (!t)
		return NULL;
	map_done(&t->by_name);
	arena_done(&t->arena);
	free(t->rows);
	free(t);
	return NULL;
}

uint32_t service_kind_bit(int32_t kind)
{
	return kind >= KIND_UNSPECIFIED && kind <= KIND_CONSUMER ? 1U << kind
								 : 1U << KIND_UNSPECIFIED;
}

int service_tally_add(struct service_tally *t, struct slice service, struct slice operation,
		      uint64_t spans, uint64_t errors, uint32_t kinds)
{
	struct pair *pair = pair_get(t, service, operation);

	if (!pair)
		return -ENOMEM;
	pair->spans += spans;
	pair->errors += errors;
	pair->kinds |= kinds;
	return 0;
}

/* Rows of a batch say the same few names again and again: the pair of a resource and a name's code
 * is looked up once, as long as no other takes its place. */
struct known_pair {
	uint32_t resource, name, row; /* row MAP_NONE: none */
};

int service_tally_batch(struct service_tally *t, const struct batch *b)
{
	struct known_pair known[KNOWN_PAIRS];

	memset(known, 0xff, sizeof(known)); /* MAP_NONE */
	for (size_t i = 0; i < b->event_n; i++) {
		const struct event *e = &b->events[i];
		struct known_pair *k = &known[(e->name ^ e->resource * 7) % KNOWN_PAIRS];
		struct pair *pair;

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		if (k->row == MAP_NONE || k->name != e->name || k->resource != e->resource) {
			pair = pair_get(t, batch_service(b, e), batch_text(b, e->name));
			if (!pair)
				return -ENOMEM;
			*k = (struct known_pair){e->resource, e->name, (uint32_t)(pair - t->rows)};
		}
		pair = &t->rows[k->row];
		pair->spans++;
		pair->errors += e->status == STATUS_ERROR;
		pair->kinds |= service_kind_bit(e->kind);
	}
	return 0;
}

int service_tally_merge(struct service_tally *to, const struct service_tally *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++)
		r = service_tally_add(to, from->rows[i].service, from->rows[i].operation,
				      from->rows[i].spans, from->rows[i].errors,
				      from->rows[i].kinds);
	return r;
}

int service_tally_list(struct service_tally *t, struct service_list *ret_list)
{
	struct service_list list = {.arena = calloc(1, sizeof(struct arena))};
	int r = list.arena ? 0 : -ENOMEM;

	if (r == 0) {
		if (t->n > 1)
			qsort(t->rows, t->n, sizeof(*t->rows), by_name);
		r = fold(t, &list);
	}
	if (r < 0)
		service_list_done(&list);
	else
		*ret_list = list;
	return r;
}

int services_summarise(const struct event_ref *refs, size_t n, struct service_list *ret_list)
{
	struct service_tally *t = service_tally_new();
	int r = t ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct event *e = event_get(refs[i]);

		if (e->type == EVENT_SPAN || e->type == EVENT_BEGIN)
			r = service_tally_add(t, batch_service(refs[i].batch, e),
					      batch_text(refs[i].batch, e->name), 1,
					      e->status == STATUS_ERROR, service_kind_bit(e->kind));
	}

	if (r == 0)
		r = service_tally_list(t, ret_list);
	service_tally_free(t);
	return r;
}
