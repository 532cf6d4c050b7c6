/* catalog/tracepoint.h - named sets of events that queries are asked of, kept as people wrote them.
 *
 * A definition is one statement of the query language, `Tracepoint NAME = …`.  The catalogue keeps
 * its text and knows nothing of its meaning: whoever defines one has parsed and checked it.  A name
 * is defined once; defining it again replaces the text.  Who keeps something made from definitions
 * compares catalog_generation(). */
#ifndef CAUSET_CATALOG_TRACEPOINT_H
#define CAUSET_CATALOG_TRACEPOINT_H

#include <stdbool.h>

#include "catalog/catalog.h"

#define TRACEPOINT_MAX            10000
#define TRACEPOINT_MAX_NAME_CHARS 256
#define TRACEPOINT_MAX_TEXT_BYTES 65536

struct tracepoint_row {
	const char *name;
	const char *text;  /* the whole statement */
	const char *owner; /* who may replace and drop it, besides admins */
	int64_t updated_ns;
};

/* Who changes a definition. */
struct tracepoint_actor {
	const char *owner; /* what is defined is theirs */
	bool admin;        /* may also change what belongs to others */
	const char *by;    /* for the audit log */
};

/* Defines all of them, or none: `rows` have names and texts, the rest is not read.  -EINVAL an
 * empty or too long name or text; -EACCES somebody else's; -ENOSPC too many. */
int tracepoint_define(struct catalog *cat, const struct tracepoint_row *rows, size_t n,
		      const struct tracepoint_actor *actor, struct error *e);

/* -ENOENT when there is none of that name, -EACCES when it is somebody else's. */
int tracepoint_drop(struct catalog *cat, const char *name, const struct tracepoint_actor *actor,
		    struct error *e);

/* Every definition, by name, until `each` returns other than 0, which is then returned.  Texts are
 * valid during the call.  The callback must not use the catalogue. */
int tracepoint_list(struct catalog *cat,
		    int (*each)(void *context, const struct tracepoint_row *row), void *context,
		    struct error *e);

#endif
