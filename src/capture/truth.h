/* capture/truth.h - who really caused what, where the wire says so.
 *
 * Some systems carry a request's id from tier to tier (X-Request-Id).  Calls with the same id are
 * one trace; a call's parent is the latest begun one of them that ended at its caller and was open
 * all the time.  For scoring inference only.  One thread. */
#ifndef CAUSET_CAPTURE_TRUTH_H
#define CAUSET_CAPTURE_TRUTH_H

#include "base/buffer.h"
#include "capture/conv.h"

#define TRUTH_MAX_CALLS (64u << 20)

struct truth_call {
	int64_t start_ns, end_ns;
	uint64_t id;
	uint32_t caller, callee, tag;
};

struct truth {
	struct truth_call *calls;
	size_t n, capacity;
	uint64_t untagged; /* calls that carry no id */
	bool failed;       /* some could not be kept */
};

void truth_add(struct truth *t, const struct captured_call *call);
void truth_done(struct truth *t);

/* Lines "id parent trace", parent 0 for a root; `tags` has the traces' names.  Reorders the calls.
 * -ENOMEM when some calls are missing. */
int truth_write(struct truth *t, const struct names *tags, struct buffer *out);

#endif
