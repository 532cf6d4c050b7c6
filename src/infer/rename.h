/* infer/rename.h - names of nodes brought together: what one source calls 10.0.0.7:80 another calls
 * web.
 *
 * Rules are "PATTERN=NAME", the first that matches counts; a pattern is a glob (core/glob.h).  A
 * NAME that ends in ":*" keeps what follows the last colon.  One thread. */
#ifndef CAUSET_INFER_RENAME_H
#define CAUSET_INFER_RENAME_H

#include "base/error.h"
#include "infer/message.h"
#include "infer/names.h"

#define RENAME_MAX_RULES 1000

struct rename_rule {
	struct slice pattern, name;
};

struct rename {
	struct names *nodes;
	struct message_sink sink;
	struct rename_rule rules[RENAME_MAX_RULES];
	size_t rule_n;
	uint32_t *map; /* by number; NAMES_NONE: not asked yet */
	size_t map_n, map_capacity;
};

/* NULL when out of memory.  `sink` gets the messages with their new nodes. */
struct rename *rename_new(struct names *nodes, struct message_sink sink);
struct rename *rename_free(struct rename *r);

/* `rule` must outlive it.  -EINVAL, -E2BIG with a sentence. */
int rename_add(struct rename *r, struct slice rule, struct error *error);

struct message_sink rename_sink(struct rename *r);

#endif
