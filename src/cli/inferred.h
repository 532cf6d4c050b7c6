/* cli/inferred.h - what `causet infer` has found, and the ways to show it.
 *
 * Modes that link calls fill `calls`, `links` and `patterns`; convolution fills `convolution`. */
#ifndef CAUSET_CLI_INFERRED_H
#define CAUSET_CLI_INFERRED_H

#include "cli/cli.h"
#include "infer/calls.h"
#include "infer/convolution.h"
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
	struct convolution convolution;
	enum patterns_order order;
	size_t top;   /* patterns shown; 0: all */
	bool by_call; /* name every call's parent, too */
};

static inline size_t inferred_shown(const struct inferred *in)
{
	return in->top && in->top < in->patterns.n ? in->top : in->patterns.n;
}

/* Sum of the latencies of all paths. */
double inferred_latency(const struct inferred *in);

/* Where a hop begins on average, seen from the start of its path. */
double inferred_offset(const struct pattern *p, uint32_t hop);

/* Each appends everything to `out`. */
void inferred_table(const struct inferred *in, struct buffer *out);
void inferred_json(const struct inferred *in, struct buffer *out);
void inferred_dot(const struct inferred *in, struct buffer *out);
void inferred_svg(const struct inferred *in, struct buffer *out);

/* Every path as a trace, marked as inferred, in OTLP's JSON lines; written piece by piece.  An exit
 * code. */
int inferred_otlp(const struct inferred *in);

/* One pattern as a tree beside its timeline. */
void inferred_tree(const struct inferred *in, const struct pattern *p, size_t number,
		   struct buffer *out);

/* The same for what convolution found. */
void convolution_table(const struct inferred *in, struct buffer *out);
void convolution_json(const struct inferred *in, struct buffer *out);
void convolution_dot(const struct inferred *in, struct buffer *out);

/* What differs between two runs, `before` and `in`: a line per finding, the largest first. */
void inferred_compare(const struct inferred *before, const struct inferred *in, struct buffer *out);

#endif
