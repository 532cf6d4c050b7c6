/* cli/inferred.h - what `causet infer` has found, and the ways to show it.
 *
 * Modes that link calls fill `patterns`; convolution fills `convolution`.  Single calls are shown
 * window by window, as they are decided. */
#ifndef CAUSET_CLI_INFERRED_H
#define CAUSET_CLI_INFERRED_H

#include "cli/cli.h"
#include "infer/convolution.h"
#include "infer/linking.h"
#include "infer/names.h"
#include "infer/patterns.h"
#include "infer/pools.h"

struct inferred {
	struct cli *cli;
	const char *mode;
	struct names nodes, operations;
	struct patterns patterns;
	uint32_t *rank; /* patterns.n: in the order asked for */
	struct linking_tally tally;
	struct pool_found pools[POOLS_MAX]; /* of the last window that had any */
	int pool_n;
	struct convolution convolution;
	enum patterns_order order;
	size_t top; /* patterns shown; 0: all */
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

/* The calls of a window whose paths are complete, as JSON lines. */
void inferred_calls(const struct inferred *in, const struct linking_window *w, struct buffer *out);

/* The same as traces, marked as inferred, in OTLP's JSON lines; printed piece by piece.  An exit
 * code. */
int inferred_otlp(const struct inferred *in, const struct linking_window *w);

/* One pattern as a tree beside its timeline. */
void inferred_tree(const struct inferred *in, const struct pattern *p, size_t number,
		   struct buffer *out);

/* The same for what convolution found. */
void convolution_table(const struct inferred *in, struct buffer *out);
void convolution_json(const struct inferred *in, struct buffer *out);
void convolution_svg(const struct inferred *in, struct buffer *out);
void convolution_dot(const struct inferred *in, struct buffer *out);

/* Compares the calls of a window with the truth in a file and prints how right they are.  An exit
 * code. */
int inferred_score(const struct inferred *in, const struct linking_window *w, const char *path);

/* What differs between two runs, `before` and `in`: a line per finding, the largest first. */
void inferred_compare(const struct inferred *before, const struct inferred *in, struct buffer *out);

#endif
