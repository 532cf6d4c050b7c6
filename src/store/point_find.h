/* store/point_find.h - which traces have a point (an event of a span, a log) with some attribute.
 *
 * Searches (store/find.h) ask about spans and their resources; this adds what stands on points, for
 * those who count it as the span's own. */
#ifndef CAUSET_STORE_POINT_FIND_H
#define CAUSET_STORE_POINT_FIND_H

#include "store/view.h"

struct point_find {
	/* A point has the attribute, as text, or, with an empty key, this name. */
	struct store_tag tag;
	int64_t from_ns; /* of traces that start then or later, as far as that is known; 0: all */
	/* One that may have it, perhaps more than once; it starts then or before.  Anything but 0
	 * ends it and is returned. */
	int (*trace)(void *context, struct trace_id id, int64_t start_ns);
	void *context;
};

/* 0, what the callback returned, or a negative errno.  Groups that have no such point are not
 * opened. */
int snapshot_point_find(const struct snapshot *s, const struct point_find *find);

/* The same of a store; -EOPNOTSUPP where it keeps no views. */
int store_point_find(struct store *s, const struct point_find *find);

#endif
