/* segment/group_cache.c - groups that nobody is reading, kept with what was decoded of them. */
#include "segment/group_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "segment/group_int.h"

#define GROUPS_MOST 32 /* however small they are */
#define STALE_NS    (3 * NS_PER_S)
#define LARGE_SHARE 3 /* a group that takes more than one part in so many is not kept */

struct cached {
	struct segment_group *group;
	size_t bytes;
	int64_t used_ns;
};

struct group_cache {
	_Atomic uint32_t refs;
	size_t most;

	pthread_mutex_t lock;            /* taken last of all locks */
	struct cached rows[GROUPS_MOST]; /* the one used last is the last */
	size_t n, bytes;
	size_t largest; /* bytes of a group, lately: one more will take about as much */
};

struct group_cache *group_cache_new(size_t bytes)
{
	struct group_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	atomic_init(&c->refs, 1);
	pthread_mutex_init(&c->lock, NULL);
	c->most = bytes;
	return c;
}

struct group_cache *group_cache_ref(struct group_cache *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

struct group_cache *group_cache_unref(struct group_cache *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	for (size_t i = 0; i < c->n; i++)
		group_free(c->rows[i].group);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

static struct segment_group *remove_at(struct group_cache *c, size_t i)
{
	struct segment_group *g = c->rows[i].group;

	c->bytes -= c->rows[i].bytes;
	memmove(&c->rows[i], &c->rows[i + 1], (--c->n - i) * sizeof(*c->rows));
	return g;
}

static bool is_full(const struct group_cache *c, size_t more)
{
	return c->n == GROUPS_MOST || c->bytes + more > c->most;
}

struct segment_group *group_cache_take(struct group_cache *c, const struct segment *s,
				       uint32_t number)
{
	struct segment_group *g = NULL;

	pthread_mutex_lock(&c->lock);
	for (size_t i = c->n; i-- > 0 && !g;)
		if (c->rows[i].group->segment == s && c->rows[i].group->number == number)
			g = remove_at(c, i);
	/* Before more memory is taken, what was not wanted for some time goes. */
	if (!g && c->n > 0 &&
	    (is_full(c, c->largest) || c->rows[0].used_ns < clock_mono_ns() - STALE_NS))
		g = remove_at(c, 0);
	pthread_mutex_unlock(&c->lock);
	return g;
}

/* Takes groups out, from the first on, whose turn it is; they are freed without the lock. */
struct leaving {
	struct segment_group *rows[GROUPS_MOST];
	size_t n;
};

static void leave(const struct leaving *l)
{
	for (size_t i = 0; i < l->n; i++)
		group_free(l->rows[i]);
}

void group_cache_give(struct group_cache *c, struct segment_group *g)
{
	struct leaving leaving = {.n = 0};
	size_t bytes = group_bytes(g);

	if (bytes > c->most / LARGE_SHARE) {
		group_free(g);
		return;
	}
	pthread_mutex_lock(&c->lock);
	while (c->n > 0 && is_full(c, bytes))
		leaving.rows[leaving.n++] = remove_at(c, 0);
	c->rows[c->n++] = (struct cached){g, bytes, clock_mono_ns()};
	c->bytes += bytes;
	c->largest = MAX(bytes, c->largest - c->largest / 8);
	pthread_mutex_unlock(&c->lock);
	leave(&leaving);
}

void group_cache_forget(struct group_cache *c, const struct segment *s)
{
	struct leaving leaving = {.n = 0};

	pthread_mutex_lock(&c->lock);
	for (size_t i = c->n; i-- > 0;)
		if (c->rows[i].group->segment == s)
			leaving.rows[leaving.n++] = remove_at(c, i);
	pthread_mutex_unlock(&c->lock);
	leave(&leaving);
}

void group_cache_age(struct group_cache *c, int64_t since_ns)
{
	struct leaving leaving = {.n = 0};

	pthread_mutex_lock(&c->lock);
	while (c->n > 0 && c->rows[0].used_ns < since_ns)
		leaving.rows[leaving.n++] = remove_at(c, 0);
	pthread_mutex_unlock(&c->lock);
	leave(&leaving);
}
