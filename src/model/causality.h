/* model/causality.h - happened-before between the positions of a trace.
 *
 *   inside a block     begin → its points → end;  begin → the begins it causes → end
 *   inside a unit      in the unit's order (sequence numbers, else the thread's own clock)
 *   spans, no units    those of one process with the same parent and the same thread.id (or none)
 *                      form a unit: A → B if A ended before B began on that process's raw clock
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

#endif
