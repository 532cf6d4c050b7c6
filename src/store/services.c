/* store/services.c - which services there are and what they do, computed from rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/summary.h"

/* One (service, operation) pair while counting. */
struct pair {
	uint32_t service, operation; /* numbers of texts */
	uint64_t spans, errors;
	uint32_t kinds;
};

struct service_tally {
	struct slice *texts; /* in the arena: services and operations, each once */
	size_t text_n, text_capacity;
	struct map by_text;
	struct pair *rows;
	size_t n, capacity;
	struct map by_pair;
	struct arena arena;
};

static bool text_is(const void *context, uint32_t value, const void *key)
{
	return slice_eq(((const struct service_tally *)context)->texts[value],
			*(const struct slice *)key);
}

/* The number of a text; MAP_NONE without memory. */
static uint32_t text_get(struct service_tally *t, struct slice text)
{
	uint64_t hash = wide_hash_bytes(text.p, text.n, t->by_text.seed);
	uint32_t at = map_get(&t->by_text, hash, text_is, t, &text);
	struct slice copy;

	if (at != MAP_NONE)
		return at;
	copy = arena_dup(&t->arena, text);
	if (!copy.p ||
	    !vec_reserve(&t->texts, &t->text_capacity, t->text_n + 1, sizeof(*t->texts)) ||
	    !map_put(&t->by_text, hash, (uint32_t)t->text_n))
		return MAP_NONE;
	t->texts[t->text_n] = copy;
	return (uint32_t)t->text_n++;
}

static bool pair_is(const void *context, uint32_t value, const void *key)
{
	const struct pair *a = &((const struct service_tally *)context)->rows[value], *b = key;

	return a->service == b->service && a->operation == b->operation;
}

/* The pair of two texts by their numbers; NULL without memory. */
static struct pair *pair_get(struct service_tally *t, uint32_t service, uint32_t operation)
{
	const struct pair key = {.service = service, .operation = operation};
	uint64_t hash =
		((uint64_t)service << 32 | operation) * 0x9e3779b97f4a7c15ULL ^ t->by_pair.seed;
	uint32_t at = map_find(&t->by_pair, hash, pair_is, t, &key);

	if (at != MAP_NONE)
		return &t->rows[at];
	if (service == MAP_NONE || operation == MAP_NONE ||
	    !vec_reserve(&t->rows, &t->capacity, t->n + 1, sizeof(*t->rows)) ||
	    !map_put(&t->by_pair, hash, (uint32_t)t->n))
		return NULL;
	t->rows[t->n] = key;
	return &t->rows[t->n++];
}

static int by_name(const void *a, const void *b, void *tally)
{
	const struct slice *texts = ((const struct service_tally *)tally)->texts;
	const struct pair *x = a, *y = b;
	int c = slice_cmp(texts[x->service], texts[y->service]);

	return c ? c : slice_cmp(texts[x->operation], texts[y->operation]);
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

		while (last < p->n && p->rows[last].service == p->rows[i].service)
			last++;
		s->name = arena_dup(list->arena, p->texts[p->rows[i].service]);
		s->operations = arena_zalloc(list->arena, last - i, sizeof(struct slice));
		s->kinds = arena_zalloc(list->arena, last - i, sizeof(*s->kinds));
		if (!s->operations || !s->kinds)
			return -ENOMEM;
		for (; i < last; i++) {
			s->spans += p->rows[i].spans;
			s->errors += p->rows[i].errors;
			s->kinds[s->operation_n] = p->rows[i].kinds;
			s->operations[s->operation_n++] =
				arena_dup(list->arena, p->texts[p->rows[i].operation]);
		}
	}
	return 0;
}

struct service_tally *service_tally_new(void)
{
	struct service_tally *t = calloc(1, sizeof(*t));

	if (t) {
		map_init(&t->by_text);
		map_init(&t->by_pair);
	}
	return t;
}

struct service_tally *service_tally_free(struct service_tally *t)
{
	if (!t)
		return NULL;
	map_done(&t->by_text);
	map_done(&t->by_pair);
	arena_done(&t->arena);
	free(t->texts);
	free(t->rows);
	free(t);
	return NULL;
}

static int pair_add(struct pair *pair, uint64_t spans, uint64_t errors, uint32_t kinds)
{
	if (!pair)
		return -ENOMEM;
	pair->spans += spans;
	pair->errors += errors;
	pair->kinds |= kinds;
	return 0;
}

int service_tally_add(struct service_tally *t, struct slice service, struct slice operation,
		      uint64_t spans, uint64_t errors, uint32_t kinds)
{
	return pair_add(pair_get(t, text_get(t, service), text_get(t, operation)), spans, errors,
			kinds);
}

/* Rows of a batch say the same few texts again and again: each is looked up once. */
int service_tally_batch(struct service_tally *t, const struct batch *b)
{
	_cleanup_(freep)
	uint32_t *names = malloc((b->strings + 1) * sizeof(*names));
	_cleanup_(freep)
	uint32_t *services = malloc((b->resource_n + 1) * sizeof(*services));
	int r = names && services ? 0 : -ENOMEM;

	if (r == 0) {
		memset(names, 0xff, b->strings * sizeof(*names)); /* MAP_NONE */
		memset(services, 0xff, b->resource_n * sizeof(*services));
	}
	for (size_t i = 0; r == 0 && i < b->event_n; i++) {
		const struct event *e = &b->events[i];

		if (e->type != EVENT_SPAN && e->type != EVENT_BEGIN)
			continue;
		if (names[e->name] == MAP_NONE)
			names[e->name] = text_get(t, batch_text(b, e->name));
		if (services[e->resource] == MAP_NONE)
			services[e->resource] = text_get(t, batch_service(b, e));
		r = pair_add(pair_get(t, services[e->resource], names[e->name]), 1,
			     e->status == STATUS_ERROR, kind_bit(e->kind));
	}
	return r;
}

/* The number in `to` of a text of `from`, looked up once. */
static uint32_t text_moved(struct service_tally *to, const struct service_tally *from,
			   uint32_t text, uint32_t *moved)
{
	if (moved[text] == MAP_NONE)
		moved[text] = text_get(to, from->texts[text]);
	return moved[text];
}

int service_tally_merge(struct service_tally *to, const struct service_tally *from)
{
	_cleanup_(freep)
	uint32_t *moved = malloc((from->text_n + 1) * sizeof(*moved));
	int r = moved ? 0 : -ENOMEM;

	if (r == 0)
		memset(moved, 0xff, from->text_n * sizeof(*moved)); /* MAP_NONE */
	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct pair *p = &from->rows[i];

		r = pair_add(pair_get(to, text_moved(to, from, p->service, moved),
				      text_moved(to, from, p->operation, moved)),
			     p->spans, p->errors, p->kinds);
	}
	return r;
}

int service_tally_list(struct service_tally *t, struct service_list *ret_list)
{
	struct service_list list = {.arena = calloc(1, sizeof(struct arena))};
	int r = list.arena ? 0 : -ENOMEM;

	if (r == 0) {
		if (t->n > 1)
			qsort_r(t->rows, t->n, sizeof(*t->rows), by_name, t);
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
					      e->status == STATUS_ERROR, kind_bit(e->kind));
	}

	if (r == 0)
		r = service_tally_list(t, ret_list);
	service_tally_free(t);
	return r;
}
