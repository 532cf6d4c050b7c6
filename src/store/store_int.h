/* store/store_int.h - what an engine implements.  It embeds `struct store` as its first member. */
#ifndef CAUSET_STORE_STORE_INT_H
#define CAUSET_STORE_STORE_INT_H

#include "store/store.h"

struct snapshot; /* store/view.h */

struct store_ops {
	void (*append)(struct store *s, struct store_append *append);
	int (*recent)(struct store *s, int64_t since_ns, store_recent_fn *each, void *context);
	uint64_t (*hash_seed)(struct store *s);
	int (*trace)(struct store *s, struct trace_id id, struct event_set *ret_set);
	int (*parts_next)(struct store *s, struct store_parts *p, size_t most,
			  struct event_set *ret_set);
	void (*parts_done)(struct store *s, struct store_parts *p);
	int (*find)(struct store *s, const struct store_query *query, struct trace_list *ret_list);
	int (*services)(struct store *s, struct service_list *ret_list);
	int (*operations)(struct store *s, struct operation_list *ret_list);
	int (*spans)(struct store *s, const struct store_walk *walk);
	int (*all)(struct store *s, struct event_set *ret_set);
	int (*feed_next)(struct store *s, struct store_feed *f, struct feed_page *ret_page);
	uint64_t (*feed_end)(struct store *s);
	void (*feed_done)(struct store *s, struct store_feed *f); /* NULL: nothing to do */
	int (*cursor_get)(struct store *s, struct slice name, uint64_t *ret_seq);
	int (*snapshot)(struct store *s, struct snapshot *ret_snapshot); /* NULL: has none */
	struct store_stats (*stats)(struct store *s);
	void (*close)(struct store *s);
};

struct store {
	const struct store_ops *ops;
};

#define FEED_PAGE_ROWS 65536 /* about so many rows at a time */

#endif
