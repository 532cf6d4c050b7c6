/* infer/generate.h - makes up a trace from a spec, with the truth about it.
 *
 * The same spec gives the same trace.  Every instance of a tracelet thinks, runs it, thinks, and so
 * on; nodes do not queue: delays are drawn, not simulated.  Messages come in order of time; memory
 * is that of what is under way.  One thread. */
#ifndef CAUSET_INFER_GENERATE_H
#define CAUSET_INFER_GENERATE_H

#include "infer/message.h"
#include "infer/spec.h"

/* One call (or, of a route, one message): who caused it. */
struct truth {
	uint64_t id, parent; /* parent MESSAGE_NO_ID: a root */
	uint64_t path;       /* which invocation it belongs to, from 1 */
};

struct generate_sink {
	struct message_sink messages;
	int (*truth)(void *context, const struct truth *truth); /* may be NULL */
	void *context;
};

struct generate_tally {
	uint64_t paths, calls, messages;
	uint64_t lost;
};

/* Runs the whole spec.  -ENOMEM, or what a sink returned. */
int generate(const struct spec *spec, const struct generate_sink *sink,
	     struct generate_tally *ret_tally);

#endif
