/* store/thin.h - what stays of old traces: all that is remarkable, and a share of the rest.
 *
 * Thinning happens when segments are compacted, on whole traces.  Rules say from which age on and
 * what is remarkable: failed traces, the slow tail of each operation, rare shapes, chosen
 * attributes.  Of the rest a share stays, chosen by the hash of sampling/second.h, and each of them
 * records the threshold it passed: so a sum weighted by it estimates what the whole would have
 * given.
 *
 * The share counts from what was sent, not from what is left: a trace that has passed a threshold
 * (the second sampling, an earlier thinning) passes the larger of both.  Hence thinning twice is
 * thinning once, and rules for several ages nest. */
#ifndef CAUSET_STORE_THIN_H
#define CAUSET_STORE_THIN_H

#include "base/error.h"
#include "model/batch.h"

#define THIN_MAX_RULES      16
#define THIN_MAX_ATTRIBUTES 64

/* An attribute of some span of a trace, on itself or its resource, as text. */
struct thin_attribute {
	struct slice key, value; /* globs (core/glob.h); an empty value matches all */
};

struct thin_rule {
	int64_t after_ns;   /* age: since the trace's last row arrived */
	uint64_t threshold; /* of the rest (sampling/second.h) */
	bool errors;        /* traces with a failed span stay */
	double slow;        /* traces at or above this quantile of their operation stay; 0: no */
	uint64_t rare;      /* traces whose shape was seen at most so often stay; 0: no */
	const struct thin_attribute *attributes; /* traces with one of them stay */
	size_t attribute_n;
};

/* Rules in the order of their ages.  Of those a trace is old enough for, the last decides. */
struct thin_rules {
	const struct thin_rule *rows;
	size_t n;
};

/* -EINVAL with the reason: not ordered by age, too many, a threshold or quantile out of range. */
int thin_rules_check(const struct thin_rules *rules, struct error *error);

/* One thinning of a set of traces: every trace is shown twice, first to learn what is usual, then
 * to decide.  One thread.  `rules` are borrowed. */
struct thin;

int thin_new(const struct thin_rules *rules, int64_t now_ns, struct thin **ret_thin);
/* Accepts NULL, returns NULL. */
struct thin *thin_free(struct thin *t);

/* First round: every row of one trace.  -ENOMEM. */
int thin_observe(struct thin *t, const struct event_ref *refs, size_t n);

/* Ends the first round. */
void thin_observed(struct thin *t);

enum thin_fate { THIN_KEEP, THIN_DROP };

struct thin_decision {
	enum thin_fate fate;
	/* What the trace has passed now: the same for all of its rows, never less than any had. */
	uint64_t threshold;
};

/* Second round.  -ENOMEM. */
int thin_decide(struct thin *t, const struct event_ref *refs, size_t n,
		struct thin_decision *ret_decision);

/* The same of a trace that is too large to be shown at once: begin, add each page in the order of
 * arrival, then observe or decide.  -ENOMEM. */
void thin_pages_begin(struct thin *t);
int thin_pages_add(struct thin *t, const struct event_ref *refs, size_t n);
int thin_observe_pages(struct thin *t);
void thin_decide_pages(struct thin *t, struct thin_decision *ret_decision);

/* What has been decided so far. */
struct thin_counts {
	uint64_t young, errors, slow, rare, chosen; /* kept, by the first reason that held */
	uint64_t sampled;                           /* kept, of the rest */
	uint64_t dropped;
};

struct thin_counts thin_counts(const struct thin *t);

#endif
