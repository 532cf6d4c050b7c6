/* api/tempo_narrow.h - which traces can answer a question of TraceQL, as far as the store's own
 * search can tell: a superset of those that do. */
#ifndef CAUSET_API_TEMPO_NARROW_H
#define CAUSET_API_TEMPO_NARROW_H

#include "lang/plan.h"
#include "store/store.h"

#define NARROW_TAGS 16

struct tempo_narrow {
	struct store_query query; /* its texts lie in the plan or here, so it must not be moved */
	struct store_tag tags[NARROW_TAGS];
	char texts[NARROW_TAGS][24]; /* of numbers */
	unsigned narrows;            /* how much is asked; 0: nothing */
};

/* What a trace must have in which the set is not empty.  `plain`: every span came in one piece
 * (snapshot_is_plain()), so that what is asked of a span can be asked of a row. */
void tempo_narrow(struct tempo_narrow *n, const struct plan_set *set, bool plain);

#endif
