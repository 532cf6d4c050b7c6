/* api/query_pages.c - answers kept for a while, so that they can be read page by page. */
#include "api/query_pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"

void query_answer_done(struct query_answer *a)
{
	for (size_t i = 0; i < a->result_n; i++) {
		buffer_done(&a->results[i].head);
		buffer_done(&a->results[i].rows);
		free(a->results[i].ends);
	}
	free(a->results);
	buffer_done(&a->tail);
	*a = (struct query_answer){0};
}

struct query_answer_result *query_answer_begin(struct query_answer *a)
{
	if (!vec_reserve(&a->results, &a->result_capacity, a->result_n + 1, sizeof(*a->results)))
		return NULL;
	a->results[a->result_n] = (struct query_answer_result){0};
	return &a->results[a->result_n++];
}

int query_answer_add(struct query_answer *a, struct slice row)
{
	struct query_answer_result *r = &a->results[a->result_n - 1];

	buffer_slice(&r->rows, row);
	if (r->rows.failed || !vec_reserve(&r->ends, &r->capacity, r->n + 1, sizeof(*r->ends)))
		return -ENOMEM;
	r->ends[r->n++] = r->rows.n;
	a->bytes += row.n + sizeof(*r->ends);
	return 0;
}

uint64_t query_answer_rows(const struct query_answer *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a->result_n; i++)
		n += a->results[i].n;
	return n;
}

uint64_t query_answer_page(const struct query_answer *a, uint64_t from, uint64_t limit,
			   struct buffer *out)
{
	uint64_t at = 0, end = from + limit;
	bool comma = false;

	buffer_text(out, "\"results\":[");
	for (size_t i = 0; i < a->result_n; i++) {
		const struct query_answer_result *r = &a->results[i];
		uint64_t first = from > at ? MIN(from - at, (uint64_t)r->n) : 0;
		uint64_t last = end > at ? MIN(end - at, (uint64_t)r->n) : 0;

		at += r->n;
		/* A result without rows is on the first page: somebody asked for it. */
		if (first >= last && !(r->n == 0 && from == 0))
			continue;
		buffer_text(out, comma ? ",{" : "{");
		comma = true;
		buffer_slice(out, buffer_get(&r->head));
		buffer_text(out, ",\"rows\":[");
		for (uint64_t row = first; row < last; row++) {
			size_t begin = row ? r->ends[row - 1] : 0;

			if (row > first)
				buffer_byte(out, ',');
			buffer_append(out, r->rows.p + begin, r->ends[row] - begin);
		}
		buffer_text(out, "]}");
	}
	buffer_byte(out, ']');
	return MIN(end, at);
}

/* --- what is kept --- */

struct page_entry {
	struct page_entry *next; /* used less lately */
	char *owner, *id;
	struct query_answer answer;
	int64_t used_ns; /* monotonic */
};

struct query_pages {
	size_t most, bytes;
	int64_t age_ns;
	pthread_mutex_t lock;
	struct page_entry *first; /* used last */
};

struct query_pages *query_pages_new(size_t bytes_most, int64_t age_ns)
{
	struct query_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->most = bytes_most;
	p->age_ns = age_ns;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

static void entry_free(struct page_entry *e)
{
	if (!e)
		return;
	query_answer_done(&e->answer);
	free(e->owner);
	free(e->id);
	free(e);
}

static void drop_from(struct query_pages *p, struct page_entry **at)
{
	struct page_entry *e = *at;

	*at = NULL;
	while (e) {
		struct page_entry *next = e->next;

		p->bytes -= e->answer.bytes;
		entry_free(e);
		e = next;
	}
}

struct query_pages *query_pages_free(struct query_pages *p)
{
	if (!p)
		return NULL;
	drop_from(p, &p->first);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}

/* With the lock held: what is too old, and the least used beyond the budget. */
static void tidy(struct query_pages *p)
{
	int64_t now = clock_mono_ns();
	size_t bytes = 0;

	for (struct page_entry **at = &p->first; *at; at = &(*at)->next) {
		bytes += (*at)->answer.bytes;
		if (bytes > p->most || now - (*at)->used_ns > p->age_ns) {
			drop_from(p, at);
			return;
		}
	}
}

int query_pages_keep(struct query_pages *p, const char *owner, const char *id,
		     struct query_answer *answer)
{
	struct page_entry *e;

	if (answer->bytes > p->most)
		return -ENOSPC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->owner = strdup(owner);
	e->id = strdup(id);
	if (!e->owner || !e->id) {
		entry_free(e);
		return -ENOMEM;
	}
	e->answer = *answer;
	*answer = (struct query_answer){0};
	e->used_ns = clock_mono_ns();
	pthread_mutex_lock(&p->lock);
	e->next = p->first;
	p->first = e;
	p->bytes += e->answer.bytes;
	tidy(p);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int query_pages_read(struct query_pages *p, const char *owner, struct slice id,
		     void (*page)(void *context, const struct query_answer *answer), void *context)
{
	int r = -ENOENT;

	pthread_mutex_lock(&p->lock);
	tidy(p);
	for (struct page_entry **at = &p->first; *at; at = &(*at)->next) {
		struct page_entry *e = *at;

		if (!slice_eq(id, slice_cstr(e->id)) || strcmp(owner, e->owner) != 0)
			continue;
		*at = e->next;
		e->next = p->first;
		p->first = e;
		e->used_ns = clock_mono_ns();
		page(context, &e->answer);
		r = 0;
		break;
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}
