/* tests/unit/store/store_t.h - what tests of the store share: a folder, appending, and two stores
 * that must give the same answers. */
#ifndef CAUSET_TESTS_UNIT_STORE_STORE_T_H
#define CAUSET_TESTS_UNIT_STORE_STORE_T_H

#include "t.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "core/hash.h"
#include "model/event_order.h"
#include "model/event_unique.h"
#include "store/engine.h"

/* --- a folder --- */

static int folder_remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

static inline void folder_remove(const char *path)
{
	nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A fresh folder under /tmp; the name is for folder_remove(). */
static inline const char *folder_fresh(char name[64])
{
	snprintf(name, 64, "/tmp/causet-store-XXXXXX");
	assert_non_null(mkdtemp(name));
	return name;
}

/* Opens a store in DIR/store that does nothing by itself. */
static inline struct store *engine_at(const char *dir, struct engine_options options)
{
	struct error error = {0};
	struct store *s = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/store", dir);
	options.dir = path;
	options.manual = true;
	if (engine_open(&options, &s, &error) < 0)
		fail_msg("%s", error.text);
	return s;
}

/* --- appending --- */

struct put {
	struct store_append append;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	bool done;
	int result;
};

static inline void put_done(struct store_append *append, int result)
{
	struct put *p = container_of(append, struct put, append);

	pthread_mutex_lock(&p->lock);
	p->result = result;
	p->done = true;
	pthread_cond_signal(&p->answered);
	pthread_mutex_unlock(&p->lock);
}

/* Appends a sealed batch and waits for the answer. */
static inline int put(struct store *s, struct batch *b)
{
	struct put p = {.append = {.batch = b, .done = put_done},
			.lock = PTHREAD_MUTEX_INITIALIZER,
			.answered = PTHREAD_COND_INITIALIZER};

	store_append(s, &p.append);
	pthread_mutex_lock(&p.lock);
	while (!p.done)
		pthread_cond_wait(&p.answered, &p.lock);
	pthread_mutex_unlock(&p.lock);
	return p.result;
}

/* --- small batches made by hand --- */

static inline struct trace_id trace_of(uint32_t n)
{
	struct trace_id id = {.b = {1}};

	store_be64(id.b + 8, n);
	return id;
}

static inline struct batch *batch_for(const char *service, int64_t received_ns)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	batch_resource(b);
	batch_scope(b);
	batch_attr_string(b, SLICE("service.name"), slice_cstr(service));
	b->resources[0].attrs = (struct attr_range){0, 1};
	b->owner = batch_string(b, SLICE("local"));
	b->received_ns = received_ns;
	return b;
}

static inline struct event *span_add(struct batch *b, uint32_t trace, span_id_t id,
				     span_id_t parent, uint64_t start, uint64_t end)
{
	uint32_t name = batch_string(b, SLICE("work"));
	struct event *e = batch_event(b);

	*e = (struct event){.trace_id = trace_of(trace),
			    .id1 = id,
			    .id2 = parent,
			    .name = name,
			    .time_ns = start,
			    .end_ns = end,
			    .type = EVENT_SPAN};
	return e;
}

static inline struct batch *sealed(struct batch *b)
{
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* --- the same answers --- */

static inline int refs_cmp(const void *a, const void *b)
{
	const struct event_ref *x = a, *y = b;
	int c = memcmp(&event_get(*x)->trace_id, &event_get(*y)->trace_id, sizeof(struct trace_id));

	return c ? c : event_cmp(*x, *y);
}

/* The same rows; in the same order unless `sorted`. */
static inline void assert_same_rows(struct event_set *a, struct event_set *b, bool sorted)
{
	assert_int_equal(events_unique(a->refs, &a->n), 0);
	assert_int_equal(events_unique(b->refs, &b->n), 0);
	assert_int_equal(a->n, b->n);
	if (sorted && a->n > 1) {
		qsort(a->refs, a->n, sizeof(*a->refs), refs_cmp);
		qsort(b->refs, b->n, sizeof(*b->refs), refs_cmp);
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct batch *x = a->refs[i].batch, *y = b->refs[i].batch;

		assert_int_equal(refs_cmp(&a->refs[i], &b->refs[i]), 0);
		assert_slice_equal(batch_text(x, x->owner), batch_text(y, y->owner));
		assert_slice_equal(batch_text(x, x->sender), batch_text(y, y->sender));
	}
}

static inline void assert_same_trace(struct store *a, struct store *b, struct trace_id id)
{
	struct event_set x = {0}, y = {0};
	int r = store_trace(a, id, &x);

	assert_int_equal(store_trace(b, id, &y), r);
	if (r == 0)
		assert_same_rows(&x, &y, false);
	event_set_done(&x);
	event_set_done(&y);
}

/* A trace read in parts of so many rows is what it is when read at once. */
static inline void assert_whole_in_parts(struct store *s, struct trace_id id, size_t most)
{
	struct event_set whole = {0}, part = {0};
	struct store_parts parts;
	size_t at = 0;
	int r;

	store_trace(s, id, &whole);
	store_parts_init(&parts, s, id);
	while ((r = store_parts_next(&parts, most, &part)) > 0) {
		assert_in_range(part.n, 1, most);
		assert_true(at + part.n <= whole.n);
		for (size_t i = 0; i < part.n; i++)
			assert_int_equal(event_cmp(part.refs[i], whole.refs[at++]), 0);
		event_set_done(&part);
	}
	assert_int_equal(r, 0);
	assert_int_equal(at, whole.n);
	store_parts_done(&parts);
	for (size_t skip = 1; skip <= whole.n; skip += most) {
		store_parts_init(&parts, s, id);
		parts.skip = skip;
		r = store_parts_next(&parts, most, &part);
		assert_int_equal(r, skip < whole.n);
		if (r > 0)
			assert_int_equal(event_cmp(part.refs[0], whole.refs[skip]), 0);
		event_set_done(&part);
		store_parts_done(&parts);
	}
	event_set_done(&whole);
}

static inline void assert_same_list(const struct trace_list *a, const struct trace_list *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->more, b->more);
	for (size_t i = 0; i < a->n; i++) {
		const struct trace_summary *x = &a->rows[i], *y = &b->rows[i];

		assert_true(trace_id_eq(x->id, y->id));
		assert_true(x->start_ns == y->start_ns && x->duration_ns == y->duration_ns);
		assert_int_equal(x->spans, y->spans);
		assert_int_equal(x->errors, y->errors);
		assert_int_equal(x->unfinished, y->unfinished);
		assert_slice_equal(x->root_service, y->root_service);
		assert_slice_equal(x->root_name, y->root_name);
		assert_int_equal(x->service_n, y->service_n);
		for (size_t k = 0; k < x->service_n; k++)
			assert_slice_equal(x->services[k], y->services[k]);
	}
}

/* The whole answer, page by page.  Returns how many traces. */
static inline size_t assert_same_find(struct store *a, struct store *b, struct store_query q)
{
	size_t n = 0;

	for (bool more = true; more;) {
		struct trace_list x = {0}, y = {0};

		assert_int_equal(store_find(a, &q, &x), 0);
		assert_int_equal(store_find(b, &q, &y), 0);
		assert_same_list(&x, &y);
		n += x.n;
		more = x.more;
		if (more) {
			q.after = true;
			q.after_start_ns = x.rows[x.n - 1].start_ns;
			q.after_duration_ns = x.rows[x.n - 1].duration_ns;
			q.after_id = x.rows[x.n - 1].id;
		}
		trace_list_done(&x);
		trace_list_done(&y);
	}
	return n;
}

static inline void assert_same_services(struct store *a, struct store *b)
{
	struct service_list x = {0}, y = {0};

	assert_int_equal(store_services(a, &x), 0);
	assert_int_equal(store_services(b, &y), 0);
	assert_int_equal(x.n, y.n);
	for (size_t i = 0; i < x.n; i++) {
		assert_slice_equal(x.rows[i].name, y.rows[i].name);
		assert_int_equal(x.rows[i].spans, y.rows[i].spans);
		assert_int_equal(x.rows[i].errors, y.rows[i].errors);
		assert_int_equal(x.rows[i].operation_n, y.rows[i].operation_n);
		for (size_t k = 0; k < x.rows[i].operation_n; k++)
			assert_slice_equal(x.rows[i].operations[k], y.rows[i].operations[k]);
	}
	service_list_done(&x);
	service_list_done(&y);
}

static inline void assert_same_operations(struct store *a, struct store *b)
{
	struct operation_list x = {0}, y = {0};

	assert_int_equal(store_operations(a, &x), 0);
	assert_int_equal(store_operations(b, &y), 0);
	assert_int_equal(x.n, y.n);
	for (size_t i = 0; i < x.n; i++) {
		const struct operation_summary *p = &x.rows[i], *q = &y.rows[i];

		assert_slice_equal(p->service, q->service);
		assert_slice_equal(p->name, q->name);
		assert_true(p->spans == q->spans && p->errors == q->errors &&
			    p->p50_ns == q->p50_ns && p->p90_ns == q->p90_ns &&
			    p->p99_ns == q->p99_ns && p->max_ns == q->max_ns);
	}
	operation_list_done(&x);
	operation_list_done(&y);
}

/* Rows of one more page behind those of others. */
static inline void set_join(struct event_set *set, struct event_set *page)
{
	set->refs = realloc(set->refs, (set->n + page->n) * sizeof(*set->refs));
	set->batches = realloc(set->batches, (set->batch_n + page->batch_n) * sizeof(void *));
	assert_non_null(set->refs);
	assert_non_null(set->batches);
	memcpy(set->refs + set->n, page->refs, page->n * sizeof(*set->refs));
	memcpy(set->batches + set->batch_n, page->batches, page->batch_n * sizeof(void *));
	set->n += page->n;
	set->batch_n += page->batch_n;
	free(page->refs);
	free(page->batches);
	*page = (struct event_set){0};
}

/* Everything, page by page.  Returns how many pages. */
static inline size_t bulk_gather(struct store *s, struct event_set *set)
{
	struct store_bulk bulk;
	struct event_set page = {0};
	size_t pages = 0;
	int r;

	store_bulk_init(&bulk, s);
	for (; (r = store_bulk_next(&bulk, &page)) > 0; pages++) {
		assert_true(page.n > 0);
		set_join(set, &page);
	}
	assert_int_equal(r, 0);
	store_bulk_done(&bulk);
	return pages;
}

static inline void assert_same_all(struct store *a, struct store *b)
{
	struct event_set x = {0}, y = {0}, pages = {0};

	assert_int_equal(store_all(a, &x), 0);
	assert_int_equal(store_all(b, &y), 0);
	assert_same_rows(&x, &y, true);
	bulk_gather(b, &pages);
	assert_same_rows(&x, &pages, true);
	event_set_done(&x);
	event_set_done(&y);
	event_set_done(&pages);
}

/* Everything the feed gives behind a cursor. */
static inline void feed_gather(struct store *s, uint64_t after, struct event_set *set,
			       uint64_t *ret_cursor)
{
	struct store_feed f;
	struct feed_page page;
	int r;

	store_feed_init(&f, s, after);
	while ((r = store_feed_next(&f, &page)) > 0) {
		set->refs = realloc(set->refs, (set->n + page.set.n) * sizeof(*set->refs));
		set->batches =
			realloc(set->batches, (set->batch_n + page.set.batch_n) * sizeof(void *));
		assert_non_null(set->refs);
		assert_non_null(set->batches);
		memcpy(set->refs + set->n, page.set.refs, page.set.n * sizeof(*set->refs));
		memcpy(set->batches + set->batch_n, page.set.batches,
		       page.set.batch_n * sizeof(void *));
		set->n += page.set.n;
		set->batch_n += page.set.batch_n;
		free(page.set.refs);
		free(page.set.batches);
		assert_true(page.cursor >= after);
	}
	assert_int_equal(r, 0);
	if (ret_cursor)
		*ret_cursor = f.cursor;
	store_feed_done(&f);
}

#endif
