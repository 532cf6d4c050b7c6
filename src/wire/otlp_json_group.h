/* wire/otlp_json_group.h - the shape all OTLP JSON requests share: resource groups of scope groups
 * of members.  How it looks in protobuf: wire/otlp_group.h. */
#ifndef CAUSET_WIRE_OTLP_JSON_GROUP_H
#define CAUSET_WIRE_OTLP_JSON_GROUP_H

#include "wire/otlp_json_value.h"

/* Reads one member: a span, a log record, a metric. */
typedef void otlp_json_member(struct otlp_json *d, uint32_t resource, uint32_t scope);

/* The lists of a request by name, in lowerCamelCase and in snake_case. */
struct otlp_json_shape {
	struct slice groups[2], scopes[2], members[2];
	otlp_json_member *member;
};

extern const struct otlp_json_shape otlp_json_traces, otlp_json_logs;

/* Reads a whole request in any of `n` shapes and calls the shape's `member` for each member with
 * the indices of its resource and scope.  Returns 0 or a negative errno with *error filled. */
int otlp_json_groups(struct slice body, struct batch *batch, struct decode_tally *tally,
		     struct error *error, const struct otlp_json_shape *const *shapes, size_t n);

#endif
