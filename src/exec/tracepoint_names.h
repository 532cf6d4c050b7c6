/* exec/tracepoint_names.h - what the catalogue defines, as the checker asks for it.
 *
 * The definitions are those of the moment when the first name is asked for.  One thread. */
#ifndef CAUSET_EXEC_TRACEPOINT_NAMES_H
#define CAUSET_EXEC_TRACEPOINT_NAMES_H

#include "base/arena.h"
#include "catalog/catalog.h"
#include "lang/check.h"

struct tracepoint_names {
	struct lang_names names; /* for check_options */
	struct catalog *catalog; /* NULL: nothing is defined */
	struct arena arena;
	struct tracepoint_text {
		struct slice name, text;
	} * items; /* by name */
	size_t n, capacity;
	int loaded; /* 1, or a negative errno */
};

void tracepoint_names_init(struct tracepoint_names *t, struct catalog *catalog);
void tracepoint_names_done(struct tracepoint_names *t);

#endif
