/* store/store.c - the interface: each call goes to the engine; answers are freed here. */
#include "store/store.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "store/store_int.h"

void store_append(struct store *s, struct store_append *append)
{
	s->ops->append(s, append);
}

int store_recent(struct store *s, int64_t since_ns, store_recent_fn *each, void *context)
{
	return s->ops->recent(s, since_ns, each, context);
}

uint64_t store_hash_seed(struct store *s)
{
	return s->ops->hash_seed(s);
}

int store_trace(struct store *s, struct trace_id id, struct event_set *ret_set)
{
	return s->ops->trace(s, id, ret_set);
}

void store_parts_init(struct store_parts *p, struct store *s, struct trace_id id)
{
	*p = (struct store_parts){.store = s, .id = id};
}

void store_parts_done(struct store_parts *p)
{
	if (p->store)
		p->store->ops->parts_done(p->store, p);
	*p = (struct store_parts){0};
}

int store_parts_next(struct store_parts *p, size_t most, struct event_set *ret_set)
{
	return p->store->ops->parts_next(p->store, p, most, ret_set);
}

int store_find(struct store *s, const struct store_query *query, struct trace_list *ret_list)
{
	return s->ops->find(s, query, ret_list);
}

int store_services(struct store *s, struct service_list *ret_list)
{
	return s->ops->services(s, ret_list);
}

int store_operations(struct store *s, struct operation_list *ret_list)
{
	return s->ops->operations(s, ret_list);
}

int store_spans(struct store *s, const struct store_walk *walk)
{
	return s->ops->spans(s, walk);
}

int store_all(struct store *s, struct event_set *ret_set)
{
	return s->ops->all(s, ret_set);
}

uint64_t store_feed_end(struct store *s)
{
	return s->ops->feed_end(s);
}

void store_feed_init(struct store_feed *f, struct store *s, uint64_t after)
{
	*f = (struct store_feed){.store = s, .cursor = after};
}

void store_feed_done(struct store_feed *f)
{
	if (f->store && f->store->ops->feed_done)
		f->store->ops->feed_done(f->store, f);
	*f = (struct store_feed){0};
}

int store_feed_next(struct store_feed *f, struct feed_page *ret_page)
{
	return f->store->ops->feed_next(f->store, f, ret_page);
}

int store_cursor_get(struct store *s, struct slice name, uint64_t *ret_seq)
{
	return s->ops->cursor_get(s, name, ret_seq);
}

struct commit {
	struct store_append append;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	bool done;
	int result;
};

static void commit_answered(struct store_append *append, int result)
{
	struct commit *c = container_of(append, struct commit, append);

	pthread_mutex_lock(&c->lock);
	c->result = result;
	c->done = true;
	pthread_cond_signal(&c->answered);
	pthread_mutex_unlock(&c->lock);
}

int store_commit(struct store *s, const struct store_cursor *cursors, size_t n)
{
	struct commit c = {
		.append = {.cursors = cursors, .cursor_n = n, .done = commit_answered},
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.answered = PTHREAD_COND_INITIALIZER,
	};

	store_append(s, &c.append);
	pthread_mutex_lock(&c.lock);
	while (!c.done)
		pthread_cond_wait(&c.answered, &c.lock);
	pthread_mutex_unlock(&c.lock);
	return c.result;
}

const char *thinned_name(enum thinned fate)
{
	static const char *const names[THIN_FATES] = {"error",   "slow",      "rare",   "chosen",
						      "sampled", "untouched", "dropped"};

	return names[fate];
}

const char *store_refusal_name(enum store_refusal refusal)
{
	static const char *const names[STORE_REFUSALS] = {"memory", "queue", "disk"};

	return names[refusal];
}

struct store_stats store_stats(struct store *s)
{
	return s->ops->stats(s);
}

struct store *store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
	return NULL;
}

/* An answer's arena is on the heap, so that the answer can be moved. */
static void arena_free(struct arena **arena)
{
	if (*arena)
		arena_done(*arena);
	free(*arena);
	*arena = NULL;
}

void trace_list_done(struct trace_list *list)
{
	arena_free(&list->arena);
	*list = (struct trace_list){0};
}

void service_list_done(struct service_list *list)
{
	arena_free(&list->arena);
	*list = (struct service_list){0};
}

void operation_list_done(struct operation_list *list)
{
	arena_free(&list->arena);
	*list = (struct operation_list){0};
}
