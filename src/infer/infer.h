/* infer/infer.h - what a mode of inference is: calls in, the parent of each out.
 *
 * A mode looks at a list of calls, ordered by start_ns, and names for each the call that caused it,
 * or none.  Modes keep what they have learnt (delays, triggers) in a state of their own, so that a
 * stream can be linked window by window; a file that fits is one window. */
#ifndef CAUSET_INFER_INFER_H
#define CAUSET_INFER_INFER_H

#include "base/error.h"
#include "infer/calls.h"

#define LINK_NONE 0x7fffffffU

struct call_link {
	uint32_t parent : 31; /* index of the call that caused this one; LINK_NONE: a root */
	uint32_t decided : 1; /* set before: keep it and build on it */
	float confidence; /* 0 … 1: how sure that this is the parent (or that there is none) */
};

static_assert(sizeof(struct call_link) == 8, "memory per message in flight is promised");
static_assert(CALLS_MAX < LINK_NONE, "every call may be a parent");

/* How to infer; 0 means the mode's own default. */
struct infer_options {
	int64_t skew_ns;        /* clocks may differ by this much: containment is loosened by it */
	double smooth;          /* nesting: sd of the smoothing of delays, in bins; 0 none */
	double penalty_overlap; /* nesting: the paper's x; negative: its default, 2 */
	double penalty_same;    /* y */
	double penalty_any;     /* z */
	int64_t bin_base_ns;    /* nesting: lower end of the first bin; 0: from the data */
	int64_t after_reply_ns; /* nesting: a node may make calls for this long after its reply */
	uint64_t seed;          /* for modes that draw lots */
};

#define INFER_OPTIONS_DEFAULT ((struct infer_options){.penalty_overlap = 2})

struct infer_mode {
	const char *name, *summary;
	int (*open)(const struct infer_options *options, void **ret_state);
	/* Decides every call with end_ns <= cut_ns that is not yet decided; calls that end later,
	 * and unfinished ones, are possible parents only and stay undecided.  INT64_MAX decides
	 * all; an unfinished call is then decided as well as can be, usually as a root.  links has
	 * calls->n items; no cycles.  -ENOMEM, or what `error` says. */
	int (*link)(void *state, const struct calls *calls, int64_t cut_ns, struct call_link *links,
		    struct error *error);
	void (*close)(void *state); /* NULL is fine */
};

/* One row per mode; a mode lives in <name>.c. */
extern const struct infer_mode nesting_mode;

/* The mode of that name, or NULL. */
const struct infer_mode *infer_mode_find(struct slice name);

/* Where following parents leads in a circle (which clocks that differ can make) the link that
 * closes it is taken away, with confidence 0.  -ENOMEM. */
int links_break_cycles(struct call_link *links, size_t n);

#endif
