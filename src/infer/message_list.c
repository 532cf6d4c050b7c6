/* infer/message_list.c - messages in memory, in order, each once. */
#include "infer/message_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/radix.h"
#include "base/vec.h"
#include "core/hash.h"

#define MAX_MESSAGES (UINT32_MAX - 1)

void message_list_done(struct message_list *l)
{
	free(l->at);
	*l = (struct message_list){0};
}

static int list_put(void *context, const struct message *messages, size_t n)
{
	struct message_list *l = context;

	if (n > MAX_MESSAGES - l->n)
		return -E2BIG;
	if (!vec_reserve(&l->at, &l->capacity, l->n + n, sizeof(*l->at)))
		return -ENOMEM;
	memcpy(l->at + l->n, messages, n * sizeof(*messages));
	l->n += n;
	return 0;
}

struct message_sink message_list_sink(struct message_list *l)
{
	return (struct message_sink){list_put, l};
}

int message_list_sort(struct message_list *l)
{
	_cleanup_(freep)
	struct radix_item *items = NULL;
	struct message *sorted;
	bool ordered = true;

	for (size_t i = 1; i < l->n && ordered; i++)
		ordered = l->at[i - 1].time_ns <= l->at[i].time_ns;
	if (ordered)
		return 0;
	items = malloc(2 * l->n * sizeof(*items));
	sorted = malloc(l->n * sizeof(*sorted));
	if (!items || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->n; i++)
		items[i] =
			(struct radix_item){(uint64_t)l->at[i].time_ns ^ 1ULL << 63, (uint32_t)i};
	radix_sort(items, items + l->n, l->n);
	for (size_t i = 0; i < l->n; i++)
		sorted[i] = l->at[items[i].value];
	free(l->at);
	l->at = sorted;
	l->capacity = l->n;
	return 0;
}

/* The newest message kept of each kind; those before it are chained. */
struct kept {
	uint32_t message, before;
	uint64_t files; /* that have given this one, modulo 64 */
};

struct unique {
	struct message_list *l;
	struct kept *kept; /* by position in the list of those kept */
	struct map map;
	uint32_t *newest; /* by number of kind */
	size_t kind_n, kind_capacity;
};

static bool same_kind(const void *context, uint32_t value, const void *key)
{
	const struct unique *u = context;
	const struct message *a = &u->l->at[u->newest[value]], *b = key;

	return a->id == b->id && a->sender == b->sender && a->receiver == b->receiver &&
	       a->op == b->op && a->sight == b->sight;
}

static uint64_t kind_hash(const struct message *m, uint64_t seed)
{
	return hash_u64(m->id ^ hash_u64((uint64_t)m->sender << 32 | m->receiver,
					 (uint64_t)m->op << 8 | m->sight),
			seed);
}

/* The oldest message of the kind within the window that this file has not given yet. */
static uint32_t twin_of(const struct unique *u, uint32_t kind, const struct message *m,
			int64_t window_ns)
{
	uint32_t found = MAP_NONE;

	for (uint32_t at = u->newest[kind];
	     at != MAP_NONE && u->l->at[at].time_ns >= m->time_ns - window_ns;
	     at = u->kept[at].before) {
		if (u->kept[at].files & 1ULL << (m->file % 64))
			break;
		found = at;
	}
	return found;
}

static int unique_run(struct unique *u, int64_t window_ns)
{
	struct message_list *l = u->l;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct message m = l->at[i];
		uint64_t hash = kind_hash(&m, u->map.seed);
		uint32_t kind = map_get(&u->map, hash, same_kind, u, &m);
		uint32_t twin = kind == MAP_NONE ? MAP_NONE : twin_of(u, kind, &m, window_ns);

		if (twin != MAP_NONE) {
			u->kept[twin].files |= 1ULL << (m.file % 64);
			continue;
		}
		if (kind == MAP_NONE) {
			if (!vec_reserve(&u->newest, &u->kind_capacity, u->kind_n + 1,
					 sizeof(*u->newest)) ||
			    !map_put(&u->map, hash, (uint32_t)u->kind_n))
				return -ENOMEM;
			kind = (uint32_t)u->kind_n++;
			u->newest[kind] = MAP_NONE;
		}
		l->at[n] = m;
		u->kept[n] = (struct kept){(uint32_t)n, u->newest[kind], 1ULL << (m.file % 64)};
		u->newest[kind] = (uint32_t)n++;
	}
	l->n = n;
	return 0;
}

int message_list_unique(struct message_list *l, int64_t window_ns, uint64_t *ret_dropped)
{
	struct unique u = {.l = l};
	size_t n = l->n;
	int r = -ENOMEM;

	map_init(&u.map);
	u.kept = malloc((n ? n : 1) * sizeof(*u.kept));
	if (u.kept)
		r = unique_run(&u, window_ns);
	free(u.kept);
	free(u.newest);
	map_done(&u.map);
	if (r == 0)
		*ret_dropped = n - l->n;
	return r;
}
