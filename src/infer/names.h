/* infer/names.h - names of nodes (and of operations) as small numbers.
 *
 * Messages carry numbers; the names stand here once.  Numbers are given in the order of first
 * sight, from 0, and never change.  One thread writes; many may read when nobody writes. */
#ifndef CAUSET_INFER_NAMES_H
#define CAUSET_INFER_NAMES_H

#include "base/arena.h"
#include "base/map.h"

#define NAMES_NONE      UINT32_MAX
#define NAMES_MAX       (1u << 24) /* different names */
#define NAMES_MAX_BYTES 255        /* of one */

struct names {
	struct slice *at; /* by number; NUL-terminated */
	size_t n, capacity;
	struct map map;
	struct arena arena;
};

void names_init(struct names *names);
void names_done(struct names *names);

/* The number of a name, given one if it is new.  -ENOMEM, -E2BIG (too many or too long). */
int names_intern(struct names *names, struct slice name, uint32_t *ret_number);

/* The number of a name, or NAMES_NONE. */
uint32_t names_find(const struct names *names, struct slice name);

/* The name of a number; "?" for one that was never given. */
struct slice names_get(const struct names *names, uint32_t number);

#endif
