/* wire/otlp_group.h - the shape all OTLP requests share: resource groups of scope groups of
 * members.
 *
 *   Request       { repeated ResourceGroup groups = 1; }
 *   ResourceGroup { Resource resource = 1; repeated ScopeGroup scopes = 2; string schema_url = 3; }
 *   ScopeGroup    { InstrumentationScope scope = 1; repeated Member members = 2; string schema_url
 * = 3; } Resource      { repeated KeyValue attributes = 1; uint32 dropped = 2; repeated EntityRef
 * entities = 3; } InstrumentationScope { string name = 1; string version = 2; repeated KeyValue
 * attributes = 3; uint32 dropped = 4; } EntityRef     { string schema_url = 1; string type = 2;
 * repeated string id_keys = 3; repeated string description_keys = 4; } */
#ifndef CAUSET_WIRE_OTLP_GROUP_H
#define CAUSET_WIRE_OTLP_GROUP_H

#include "wire/otlp_value.h"

/* Decodes one member: a span, a log record, a native event. */
typedef int otlp_member_decode(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			       uint32_t scope);

/* Walks a request and calls `member` for each member with the indices of its resource and scope. */
int otlp_groups_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error, otlp_member_decode *member);

/* Writes one member from the rows at refs[0]…refs[n - 1]; returns how many rows it took (at least
 * 1). */
typedef size_t otlp_member_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* Writes a request: rows that follow each other with the same batch, resource and scope share their
 * group.  `member` writes field 2 of the scope group. */
void otlp_groups_encode(const struct event_ref *refs, size_t n, struct buffer *out,
			otlp_member_encode *member);

#endif
