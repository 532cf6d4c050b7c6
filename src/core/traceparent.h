/* core/traceparent.h - W3C Trace Context's `traceparent` header.
 *
 *   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
 *   version  trace id                   parent id     flags */
#ifndef CAUSET_CORE_TRACEPARENT_H
#define CAUSET_CORE_TRACEPARENT_H

#include "core/ids.h"

#define TRACEPARENT_CHARS       55
#define TRACEPARENT_SAMPLED     0x01
#define TRACEPARENT_RANDOM      0x02 /* level 2: the trace id's low 56 bits are random */
#define TRACEPARENT_KNOWN_FLAGS (TRACEPARENT_SAMPLED | TRACEPARENT_RANDOM)

struct traceparent {
	struct trace_id trace;
	span_id_t parent;
	uint8_t version; /* as received; we always send 00 */
	uint8_t flags;   /* as received, unknown bits too */
};

/* As the specification demands: lower-case digits only, no all-zero ids, version ff refused,
 * version 00 of exactly 55 characters, later versions of 55 or followed by '-' and anything. Blanks
 * around the value, which HTTP allows, are ignored.  -EINVAL otherwise: the caller starts a new
 * trace. */
int traceparent_parse(struct slice text, struct traceparent *ret_traceparent);

/* Version 00 and the flags known to us, with a NUL. */
void traceparent_format(const struct traceparent *t, char out[TRACEPARENT_CHARS + 1]);

#endif
