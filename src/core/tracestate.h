/* core/tracestate.h - W3C Trace Context's `tracestate` header, and OpenTelemetry's member in it.
 *
 *   ot=th:c;rv:6e6d1a75832a2f,fw529a3039@dt=FfAA,congo=t61rcWkgMzE
 *
 * Members are borrowed from the header's bytes, in order, whatever they mean: what others put in is
 * passed on.  Nothing is allocated. */
#ifndef CAUSET_CORE_TRACESTATE_H
#define CAUSET_CORE_TRACESTATE_H

#include "core/slice.h"

#define TRACESTATE_MAX_MEMBERS     32
#define TRACESTATE_MAX_KEY_CHARS   256
#define TRACESTATE_MAX_VALUE_CHARS 256

struct tracestate_member {
	struct slice key, value;
};

struct tracestate {
	size_t n;
	struct tracestate_member members[TRACESTATE_MAX_MEMBERS];
};

/* Appends the members of one header line; call it for each line in order, starting from an empty
 * struct.  Empty members are skipped; of several members with one key the first is kept (it is the
 * most recent).  -EINVAL for a member against the grammar, -E2BIG for a 33rd: the specification has
 * the whole tracestate discarded then, so *t is empty afterwards; the traceparent stays good. */
int tracestate_parse(struct tracestate *t, struct slice header);

/* The member's value; p is NULL when there is none. */
struct slice tracestate_get(const struct tracestate *t, struct slice key);

/* Puts the member first, as one that was changed must be, and removes its former value.  The last
 * member gives way when the list is full.  Key and value are borrowed.  -EINVAL against the
 * grammar. */
int tracestate_set(struct tracestate *t, struct slice key, struct slice value);

/* Does nothing when there is no such member. */
void tracestate_remove(struct tracestate *t, struct slice key);

/* Writes the header's value, no NUL; returns its length.  What does not fit is left out by whole
 * members, as the specification asks: first those longer than 128 characters, from the end; then
 * the last ones. */
size_t tracestate_format(const struct tracestate *t, char *out, size_t capacity);

/* A sub-key of OpenTelemetry's member: ot_get(SLICE("th:c;rv:1"), SLICE("th")) is "c"; p is NULL
 * when it is not there. */
struct slice ot_get(struct slice member, struct slice key);

/* The member with one sub-key set, or removed when value.p is NULL; the others stay, in order.
 * Writes to `out` and returns the length, which is 0 when nothing is left.  -EINVAL when key or
 * value are against the grammar, -ENOBUFS past TRACESTATE_MAX_VALUE_CHARS. */
int ot_set(struct slice member, struct slice key, struct slice value,
	   char out[TRACESTATE_MAX_VALUE_CHARS]);

#endif
