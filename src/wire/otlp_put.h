/* wire/otlp_put.h - writing single protobuf fields.  A field with its default is not written, as
 * every protobuf writer does. */
#ifndef CAUSET_WIRE_OTLP_PUT_H
#define CAUSET_WIRE_OTLP_PUT_H

#include "model/batch.h"
#include "wire/protobuf.h"

static inline void put_text(struct buffer *out, uint32_t number, const struct batch *b,
			    uint32_t code)
{
	if (code)
		pb_put_bytes(out, number, batch_text(b, code));
}

static inline void put_number(struct buffer *out, uint32_t number, uint64_t value)
{
	if (value)
		pb_put_varint(out, number, value);
}

static inline void put_time(struct buffer *out, uint32_t number, uint64_t ns)
{
	if (ns)
		pb_put_fixed64(out, number, ns);
}

static inline void put_flags(struct buffer *out, uint32_t number, uint32_t flags)
{
	if (flags)
		pb_put_fixed32(out, number, flags);
}

static inline void put_trace_id(struct buffer *out, uint32_t number, struct trace_id id)
{
	if (!trace_id_is_zero(id))
		pb_put_bytes(out, number, slice_of(id.b, sizeof(id.b)));
}

static inline void put_span_id(struct buffer *out, uint32_t number, span_id_t id)
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	if (id)
		pb_put_bytes(out, number, slice_of(bytes, sizeof(bytes)));
}

/* Unknown fields are whole: they are appended as they came. */
static inline void put_unknown(struct buffer *out, const struct batch *b, uint32_t code)
{
	buffer_slice(out, batch_text(b, code));
}

#endif
