/* exec/light_int.h - how a light trace is made. */
#ifndef CAUSET_EXEC_LIGHT_INT_H
#define CAUSET_EXEC_LIGHT_INT_H

#include "exec/light_trace.h"

#define LIGHT_SPANS_MOST 256 /* in one trace */
#define LIGHT_NONE       UINT16_MAX

/* The spans of a trace, in the order of their rows. */
struct light_spans {
	uint32_t n;
	uint32_t row[LIGHT_SPANS_MOST];
	uint64_t id[LIGHT_SPANS_MOST];
	uint16_t parent[LIGHT_SPANS_MOST];                        /* LIGHT_NONE: a root */
	uint16_t first[LIGHT_SPANS_MOST], next[LIGHT_SPANS_MOST]; /* children */
	uint16_t block[LIGHT_SPANS_MOST];
	uint16_t roots;
};

/* Makes blocks of them, in pre-order; siblings as `order` has them, NULL: as rows do.  -EAGAIN:
 * some are in a cycle; -ENOMEM. */
int light_tree(struct light_trace *l, struct light_spans *s, const uint16_t *order);

/* The same with everything that clocks have a say in: exec/light_model.c. */
int light_model(struct light_trace *l, struct light_spans *s);

/* How the span of one row, which has sound times like its parent, stands to it. */
uint16_t light_row_bits(const struct light_trace *l, uint32_t row, uint32_t parent_row);
bool light_row_timed(const struct light_trace *l, uint32_t row);

#endif
