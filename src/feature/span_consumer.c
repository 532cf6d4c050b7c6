/* feature/span_consumer.c - the thread that reads the store's feed for span metrics. */
#include "feature/span_consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define PAUSE_NS  (250 * NS_PER_MS) /* between looks at the feed */
#define COMMIT_NS (5 * NS_PER_S)    /* between commits of the cursor */

struct span_consumer {
	struct store *store;
	struct span_metrics metrics;
	pthread_mutex_t reading; /* guards the feed: one reads at a time */
	struct store_feed feed;
	bool asked; /* by somebody, ever */
	uint64_t committed;
	int64_t committed_ns;

	pthread_t thread;
	pthread_mutex_t lock; /* guards: */
	pthread_cond_t wake;
	bool stop;
};

struct span_metrics *span_consumer_metrics(struct span_consumer *c)
{
	return &c->metrics;
}

/* A cursor of an earlier process would hold on to what nobody is going to read. */
static void forget(struct store *store)
{
	const struct store_cursor row = {SLICE(SPAN_CONSUMER_CURSOR), STORE_CURSOR_GONE};
	uint64_t seq;

	if (store_cursor_get(store, row.name, &seq) == 0)
		store_commit(store, &row, 1);
}

/* Everything up to here is counted, as far as a restart needs to know: it begins anew. */
static void commit(struct span_consumer *c, uint64_t cursor)
{
	const struct store_cursor row = {SLICE(SPAN_CONSUMER_CURSOR), cursor};

	if (store_commit(c->store, &row, 1) == 0)
		c->committed = cursor;
}

/* One page of the feed.  Rows that may have been given before would be counted twice. */
static int count_page(struct span_consumer *c, const struct feed_page *page)
{
	int r = page->again ? 0
			    : span_metrics_add(&c->metrics, page->set.refs, page->set.n,
					       clock_mono_ns());

	pthread_mutex_lock(&c->metrics.lock);
	c->metrics.cursor = page->cursor;
	c->metrics.skipped += page->again || r < 0 ? page->set.n : 0;
	pthread_mutex_unlock(&c->metrics.lock);
	return r;
}

/* Reads all there is, or passes over the rest when that is more than `rows_most`. */
static int read_on(struct span_consumer *c, size_t rows_most)
{
	struct feed_page page = {0};
	size_t rows = 0;
	int r;

	while ((r = store_feed_next(&c->feed, &page)) == 1) {
		r = count_page(c, &page);
		rows += page.set.n;
		event_set_done(&page.set);
		if (r < 0)
			return r;
		if (rows > rows_most) {
			store_feed_done(&c->feed);
			store_feed_init(&c->feed, c->store, store_feed_end(c->store));
		}
	}
	/* Nothing new, but some may have waited long enough. */
	return r < 0 ? r : span_metrics_add(&c->metrics, NULL, 0, clock_mono_ns());
}

static int look(struct span_consumer *c, bool asked)
{
	int r = 0;

	pthread_mutex_lock(&c->reading);
	if (asked || c->asked)
		r = read_on(c, c->asked ? SIZE_MAX : SPAN_CONSUMER_FIRST);
	c->asked |= asked;
	if (c->asked && c->feed.cursor != c->committed &&
	    (c->committed_ns == 0 || clock_mono_ns() - c->committed_ns >= COMMIT_NS)) {
		commit(c, c->feed.cursor);
		c->committed_ns = clock_mono_ns();
	}
	pthread_mutex_unlock(&c->reading);
	return r;
}

int span_consumer_catch_up(struct span_consumer *c)
{
	return look(c, true);
}

static bool pause_or_stop(struct span_consumer *c)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PAUSE_NS;
	until.tv_sec += until.tv_nsec / NS_PER_S;
	until.tv_nsec %= NS_PER_S;
	pthread_mutex_lock(&c->lock);
	while (!c->stop && pthread_cond_timedwait(&c->wake, &c->lock, &until) == 0)
		;
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return stop;
}

/* Goes on after a failure: a page that found no memory is counted as skipped. */
static void *consume(void *argument)
{
	struct span_consumer *c = argument;

	do
		look(c, false);
	while (!pause_or_stop(c));
	return NULL;
}

static void consumer_free(struct span_consumer *c)
{
	store_feed_done(&c->feed);
	span_metrics_done(&c->metrics);
	pthread_mutex_destroy(&c->reading);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->wake);
	free(c);
}

int span_consumer_start(struct store *store, struct span_consumer **ret_consumer)
{
	struct span_consumer *c = calloc(1, sizeof(*c));
	pthread_condattr_t monotonic;
	int r;

	if (!c)
		return -ENOMEM;
	c->store = store;
	pthread_mutex_init(&c->reading, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = span_metrics_init(&c->metrics);
	if (r == 0) {
		store_feed_init(&c->feed, store, store_feed_end(store));
		c->metrics.cursor = c->feed.cursor;
		forget(store);
		r = -pthread_create(&c->thread, NULL, consume, c);
	}
	if (r < 0) {
		consumer_free(c);
		return r;
	}
	*ret_consumer = c;
	return 0;
}

struct span_consumer *span_consumer_stop(struct span_consumer *c)
{
	if (!c)
		return NULL;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	forget(c->store);
	consumer_free(c);
	return NULL;
}
