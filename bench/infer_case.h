/* bench/infer_case.h - one experiment: a made-up trace, an algorithm, and how right it was. */
#ifndef CAUSET_BENCH_INFER_CASE_H
#define CAUSET_BENCH_INFER_CASE_H

#include "infer/convolution.h"
#include "infer/infer.h"
#include "infer/message_list.h"
#include "infer/score.h"

/* A system of the paper; %s of its text is where settings go. */
struct infer_system {
	const char *name, *spec;
};

extern const struct infer_system infer_systems[];
enum { SYSTEM_MULTI_TIER, SYSTEM_PARALLEL, SYSTEM_0_2, SYSTEM_D_CC, SYSTEM_BREAKER, SYSTEM_N };

struct infer_case {
	struct names nodes;
	struct message_list messages;
	struct truth_reader truth; /* its rows */
	uint64_t lost;
	double seconds; /* of the trace */
};

/* Makes the trace of a spec.  0, or 1 after having said why not. */
int case_make(struct infer_case *c, const char *spec_text);
void case_done(struct infer_case *c);

struct case_answer {
	struct score score;
	struct patterns patterns;
	double cpu_s;  /* pairing, linking, patterns */
	long peak_kib; /* the most this process has taken so far, before the answer is scored */
	double parallelism;
	size_t calls;
};

/* Runs a mode over it. */
int case_link(const struct infer_case *c, const struct infer_mode *mode,
	      const struct infer_options *options, struct case_answer *ret);
void answer_done(struct case_answer *a);

/* The patterns of the truth. */
int case_true_patterns(const struct infer_case *c, struct patterns *ret);

/* Share of the instances in `truth` that `found` does not have. */
double patterns_missing(const struct patterns *truth, const struct patterns *found);

/* Share of the true path instances that were not found, and of those found that are none. */
double answer_false_negatives(const struct case_answer *a);
double answer_false_positives(const struct case_answer *a);

#endif
