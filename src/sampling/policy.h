/* sampling/policy.h - which traces are kept with which probability, and who said so.
 *
 * A list of rules over service and operation, first match wins, and a fallback.  Pure arithmetic on
 * borrowed text: the same code decides in a traced process and in the server. */
#ifndef CAUSET_SAMPLING_POLICY_H
#define CAUSET_SAMPLING_POLICY_H

#include "sampling/threshold.h"

#define POLICY_MAX_RULES 1024

struct policy_rule {
	struct slice name;      /* stored with the traces it chose, as causet.policy */
	struct slice service;   /* glob (core/glob.h); empty matches everything */
	struct slice operation; /* glob; empty matches everything */
	uint64_t threshold;
};

/* Borrowed, with the rules' texts, and not changed while in use. */
struct policy {
	const struct policy_rule *rules;
	size_t n;                    /* up to POLICY_MAX_RULES are looked at */
	struct policy_rule fallback; /* only its name and threshold are read */
};

/* The rule for a trace that starts with this operation.  Never NULL. */
const struct policy_rule *policy_match(const struct policy *policy, struct slice service,
				       struct slice operation);

/* What becomes of a trace, and what travels with it. */
struct policy_decision {
	bool keep;
	uint64_t threshold;  /* the trace's, after this decision */
	struct slice policy; /* the rule that decided it; empty when an earlier sampler did */
};

/* Applies a rule to a trace that arrived with `upstream` (THRESHOLD_ALWAYS for one that starts
 * here, THRESHOLD_UNKNOWN when it was sampled and nobody said how).  The larger threshold decides,
 * so a rule never keeps what was already rejected, and says whose it is. */
struct policy_decision policy_decide(const struct policy_rule *rule, uint64_t upstream,
				     uint64_t randomness);

#endif
