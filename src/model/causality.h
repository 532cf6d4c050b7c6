/* model/causality.h - happened-before between the positions of a trace.
 *
 *   inside a block     begin → its points → end;  begin → the begins it causes → end
 *   inside a unit      in the unit's order (sequence numbers, else the thread's own clock)
 *   spans, no units    those of one process with the same parent and the same thread.id (or none)
 *                      form a unit: A → B if A ended before B began on that process's raw clock;
 *                      points of one span likewise
 *   between processes  edges only, never clocks
 *
 * Answers that needed the third line say so: they leaned on a clock (warning W102). */
#ifndef CAUSET_MODEL_CAUSALITY_H
#define CAUSET_MODEL_CAUSALITY_H

#include "model/trace.h"

/* Did `a` happen before `b`?  1 yes, 0 no (or equal), -ENOMEM.  *ret_clock (may be NULL): the
 * answer is yes, and no way without the clock rule leads from a to b.  O(1) where the tree answers;
 * otherwise a search over what lies between, in the worst case linear in the trace. */
int trace_happened_before(struct trace *t, struct trace_pos a, struct trace_pos b, bool *ret_clock);

/* Everything that happened after some positions: one bit each, by trace_pos_number().  The sources'
 * own bits are set too.  The caller frees it.  One walk over what follows. */
int trace_reach(struct trace *t, const struct trace_pos *from, size_t n, uint64_t **ret_bits);

/* Positions as numbers: 2 × block for begins, that + 1 for ends, then points. */
static inline uint32_t trace_pos_number(const struct trace *t, struct trace_pos at)
{
	uint32_t index = at.index;

	if (at.kind == POS_POINT)
		return (uint32_t)(2 * t->block_n) + index;
	return 2 * index + (at.kind == POS_END);
}

static inline bool trace_reached(const struct trace *t, const uint64_t *bits, struct trace_pos at)
{
	uint32_t i = trace_pos_number(t, at);

	return bits[i / 64] >> (i % 64) & 1;
}

/* NULL-safe; trace_free() calls it. */
struct causality *causality_free(struct causality *c);

#endif
