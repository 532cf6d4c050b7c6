/* infer/best.h - the third mode: joint likelihood, learnt from the messages alone.
 *
 * Nothing is given but who called whom and when.  Each node is judged by itself: which of the calls
 * it served contains and explains each call it made.  docs/design/infer_best.md says how. */
#ifndef CAUSET_INFER_BEST_H
#define CAUSET_INFER_BEST_H

#include "infer/infer.h"

struct best;

int best_new(const struct infer_options *options, struct best **ret_best);
struct best *best_free(struct best *b);

/* As infer_mode.link.  `truth`, for measurements, has the true parent of every call: delays and
 * triggers are then learnt from it and only the answer is sought (an oracle); NULL otherwise. */
int best_link(struct best *b, const struct calls *calls, int64_t cut_ns, struct call_link *links,
	      const struct call_link *truth);

extern const struct infer_mode best_mode;

#endif
