/* api/query_pages.h - answers kept for a while, so that they can be read page by page.
 *
 * A page is a piece of one answer: the query ran once, and what arrives meanwhile does not move
 * rows from page to page.  Kept in memory, within a budget; what was not used for longest goes
 * first.  Any thread. */
#ifndef CAUSET_API_QUERY_PAGES_H
#define CAUSET_API_QUERY_PAGES_H

#include "base/buffer.h"
#include "core/slice.h"

/* Rows of one answer, as JSON.  One thread until it is kept; then read only. */
struct query_answer {
	struct query_answer_result {
		struct buffer head; /* "name":…,"columns":[…] */
		struct buffer rows; /* {"row":…} objects or arrays, one behind the other */
		size_t *ends;       /* of each row in it */
		size_t n, capacity;
	} * results;
	size_t result_n, result_capacity;
	struct buffer tail; /* what every page says besides: "stats":…,"diagnostics":… */
	size_t bytes;       /* of all of it, about */
};

/* Frees what is inside; usable again. */
void query_answer_done(struct query_answer *a);

/* A further result; its head is to be filled.  NULL: out of memory. */
struct query_answer_result *query_answer_begin(struct query_answer *a);

/* A row of the last result; text is copied.  -ENOMEM. */
int query_answer_add(struct query_answer *a, struct slice row);

/* Rows of all results. */
uint64_t query_answer_rows(const struct query_answer *a);

/* Appends `"results":[…]` with rows from … from + limit - 1; where they end is returned. */
uint64_t query_answer_page(const struct query_answer *a, uint64_t from, uint64_t limit,
			   struct buffer *out);

struct query_pages;

struct query_pages *query_pages_new(size_t bytes_most, int64_t age_ns);
struct query_pages *query_pages_free(struct query_pages *p);

/* Keeps it under a name, for one owner; its content is taken.  -ENOMEM, and -ENOSPC when it alone
 * is too large: then it is not kept (and still the caller's). */
int query_pages_keep(struct query_pages *p, const char *owner, const char *id,
		     struct query_answer *answer);

/* Calls page() with the answer of that name, while it cannot go away.  -ENOENT: it is not there, or
 * not any more, or somebody else's. */
int query_pages_read(struct query_pages *p, const char *owner, struct slice id,
		     void (*page)(void *context, const struct query_answer *answer), void *context);

#endif
