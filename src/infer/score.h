/* infer/score.h - how right an answer is, by the truth.
 *
 * Links are those of calls made by nodes that serve calls, as TraceWeaver counts: a trace is right
 * if every such call of its own found its true parent and none of another trace was given to it.
 * Nodes with several callers are left out of a trace, as TraceWeaver leaves them out, and counted
 * in `right_with_shared`.  Patterns are counted as Project5 counts: per pattern, what was found too
 * often is a false positive and what was found too rarely a false negative, in patterns, instances
 * (paths) and messages. */
#ifndef CAUSET_INFER_SCORE_H
#define CAUSET_INFER_SCORE_H

#include "infer/patterns.h"
#include "infer/truth_read.h"

#define SCORE_BUCKETS 11 /* confidences nearest to 0, 0.1, … 1 */
#define SCORE_TOPS    6  /* N of top-N: 1, 2, 5, 10, 20, 50 */

struct score_errors {
	uint64_t n; /* true ones */
	uint64_t false_positives, false_negatives;
};

struct score_bucket {
	uint64_t n, right;
	double confidence; /* sum */
};

/* True patterns among the N most frequent that are not among the N found most often; `near` leaves
 * out those within 2 % and 6 % of making it. */
struct score_top {
	uint32_t n, omitted, near2, near6;
};

struct score {
	uint64_t links, links_right;
	uint64_t unknown; /* calls the truth does not mention: not counted */
	uint64_t traces, traces_right, traces_right_with_shared;
	uint64_t shared_nodes; /* with several callers */
	struct score_errors link, pattern, instance, message;
	struct score_top top[SCORE_TOPS];
	uint32_t top_n;
	/* Mean delays of the hops of patterns that were found: by how much they are off, relative
	 * to the true ones, on average over instances and for the worst hop of a frequent pattern.
	 */
	double delay_error, delay_error_worst;
	uint64_t delay_hops;
	struct score_bucket calibration[SCORE_BUCKETS];
};

static inline double score_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 1;
}

/* -ENOMEM. */
int score_links(const struct calls *calls, const struct call_link *links,
		const struct truth_of_calls *truth, const struct names *nodes,
		struct score *ret_score);

#endif
