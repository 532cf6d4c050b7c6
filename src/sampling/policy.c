/* sampling/policy.c - which traces are kept with which probability, and who said so. */
#include "sampling/policy.h"

#include "core/glob.h"

static bool matches(struct slice glob, struct slice text)
{
	return glob.n == 0 || glob_match(glob, text);
}

const struct policy_rule *policy_match(const struct policy *policy, struct slice service,
				       struct slice operation)
{
	for (size_t i = 0; i < policy->n && i < POLICY_MAX_RULES; i++) {
		const struct policy_rule *rule = &policy->rules[i];

		if (matches(rule->service, service) && matches(rule->operation, operation))
			return rule;
	}
	return &policy->fallback;
}

struct policy_decision policy_decide(const struct policy_rule *rule, uint64_t upstream,
				     uint64_t randomness)
{
	struct policy_decision d = {.threshold = threshold_compose(upstream, rule->threshold)};

	/* The rule's own threshold says whether this sampler keeps it; an upstream one has been
	 * applied upstream, and where it is UNKNOWN there is nothing to compare with. */
	d.keep = threshold_keeps(rule->threshold, randomness);
	if (upstream < rule->threshold || upstream == THRESHOLD_ALWAYS)
		d.policy = rule->name;
	return d;
}
