/* cli/inferred.h - what `causet infer` has found, and the ways to show it. */
#ifndef CAUSET_CLI_INFERRED_H
#define CAUSET_CLI_INFERRED_H

#include "cli/cli.h"
#include "infer/calls.h"
#include "infer/infer.h"
#include "infer/names.h"
#include "infer/patterns.h"

struct inferred {
	struct cli *cli;
	const char *mode;
	struct names nodes, operations;
	struct calls calls;
	struct call_link *links; /* calls.n */
	uint32_t *pattern_of;    /* calls.n: of roots */
	struct patterns patterns;
	uint32_t *rank; /* patterns.n: in the order asked for */
	struct pairing_tally tally;
	enum patterns_order order;
	size_t top;   /* patterns shown; 0: all */
	bool by_call; /* name every call's parent, too */
};

static inline size_t inferred_shown(const struct inferred *in)
{
	return in->top && in->top < in->patterns.n ? in->top : in->patterns.n;
}

/* Each appends everything to `out`. */
void inferred_table(const struct inferred *in, struct buffer *out);

/* One pattern as a tree beside its timeline. */
void inferred_tree(const struct inferred *in, const struct pattern *p, size_t number,
		   struct buffer *out);

#endif
