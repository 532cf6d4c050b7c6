/* wire/otlp_group.h - the shape all requests in protobuf share: resource groups of scope groups of
 * members.
 *
 *   Request        groups = 1 (native events: 12)
 *   ResourceGroup  resource = 1, scopes = 2, schema_url = 3
 *   ScopeGroup     scope = 1, members = 2, schema_url = 3
 *   Resource       attributes = 1, dropped = 2, entity_refs = 3
 *   InstrumentationScope
 *                  name = 1, version = 2, attributes = 3, dropped = 4
 *   EntityRef      schema_url = 1, type = 2, id_keys = 3 (repeated), description_keys = 4
 * (repeated)
 */
#ifndef CAUSET_WIRE_OTLP_GROUP_H
#define CAUSET_WIRE_OTLP_GROUP_H

#include "wire/otlp_value.h"

/* Decodes one member: a span, a log record, a native event. */
typedef int otlp_member_decode(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			       uint32_t scope);

/* Walks a request whose groups are field `number` and calls `member` for each member with the
 * indices of its resource and scope. */
int otlp_groups_decode(struct slice body, uint32_t number, struct batch *batch,
		       struct decode_tally *tally, struct error *error, otlp_member_decode *member);

/* Writes one member from the rows at refs[0]…refs[n - 1]; returns how many rows it took (at least
 * 1). */
typedef size_t otlp_member_encode(const struct event_ref *refs, size_t n, struct buffer *out);

/* Writes a request whose groups are field `number`: rows that follow each other with the same
 * batch, resource and scope share their group.  `member` writes field 2 of the scope group. */
void otlp_groups_encode(const struct event_ref *refs, size_t n, uint32_t number, struct buffer *out,
			otlp_member_encode *member);

#endif
