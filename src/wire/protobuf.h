/* wire/protobuf.h - reading and writing protobuf's wire format, without copies and without a
 * schema.
 *
 * Reader: a cursor over bytes that outlive it.  It never reads past `end`; a malformed byte stops
 * it with `bad` pointing there, so that a decoder loops over fields and checks once. */
#ifndef CAUSET_WIRE_PROTOBUF_H
#define CAUSET_WIRE_PROTOBUF_H

#include "base/buffer.h"
#include "core/varint.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_reader {
	const uint8_t *at, *end;
	const uint8_t *bad; /* where it stopped making sense, or NULL */
};

/* One field: its tag, and a value in one of two forms. */
struct pb_field {
	uint32_t tag;         /* PB_TAG(number, type): what decoders switch on */
	uint64_t value;       /* VARINT, FIXED64, FIXED32 */
	struct slice bytes;   /* BYTES */
	const uint8_t *start; /* of the tag */
};

#define PB_TAG(number, type) ((uint32_t)(number) << 3 | (type))

static inline struct pb_reader pb_open(struct slice s)
{
	const uint8_t *p = (const uint8_t *)(s.p ? s.p : ""); /* C knows no NULL + 0 */

	return (struct pb_reader){p, p + s.n, NULL};
}

static inline bool pb_stop(struct pb_reader *r, const uint8_t *where)
{
	r->bad = where;
	r->at = r->end;
	return false;
}

static inline bool pb_varint(struct pb_reader *r, uint64_t *ret_value)
{
	const uint8_t *next;

	if (__builtin_expect(r->at < r->end && *r->at < 0x80, 1)) {
		*ret_value = *r->at++;
		return true;
	}
	if (r->end - r->at >= 2 && r->at[1] < 0x80) { /* most longer lengths and tags */
		*ret_value = (uint64_t)(r->at[0] & 0x7f) | (uint64_t)r->at[1] << 7;
		r->at += 2;
		return true;
	}
	next = varint_decode(r->at, r->end, ret_value);
	if (!next)
		return pb_stop(r, r->at);
	r->at = next;
	return true;
}

/* The next field; false at the end and at malformed bytes (then r->bad is set).  Groups (types 3
 * and 4, gone since proto2) are malformed. */
static inline bool pb_next(struct pb_reader *r, struct pb_field *f)
{
	uint64_t tag, n;
	uint32_t v;

	if (r->at >= r->end)
		return false;
	f->start = r->at;
	tag = *r->at;
	if (__builtin_expect(tag < 0x80, 1))
		r->at++;
	else if (!pb_varint(r, &tag) || tag >> 32 != 0)
		return pb_stop(r, f->start);
	if (tag >> 3 == 0)
		return pb_stop(r, f->start);
	f->tag = (uint32_t)tag;
	if (__builtin_expect((tag & 7) == PB_BYTES, 1)) {
		if (!pb_varint(r, &n))
			return false;
		if (n > (uint64_t)(r->end - r->at))
			return pb_stop(r, f->start);
		f->bytes = slice_of(r->at, n);
		r->at += n;
		return true;
	}
	switch (tag & 7) {
	case PB_VARINT:
		return pb_varint(r, &f->value);
	case PB_FIXED64:
		if (r->end - r->at < 8)
			return pb_stop(r, f->start);
		memcpy(&f->value, r->at, 8);
		r->at += 8;
		return true;
	case PB_FIXED32:
		if (r->end - r->at < 4)
			return pb_stop(r, f->start);
		memcpy(&v, r->at, 4);
		f->value = v;
		r->at += 4;
		return true;
	default:
		return pb_stop(r, f->start);
	}
}

/* Tag and value of the field just read, verbatim: how unknown fields are kept. */
static inline struct slice pb_whole(const struct pb_reader *r, const struct pb_field *f)
{
	return slice_of(f->start, (size_t)(r->at - f->start));
}

/* A tag and a length (or other number) that take one byte each, as pb_load16() sees them.  A length
 * that does not fit gives a number that two bytes cannot have. */
static inline uint32_t pb_head(uint32_t tag, size_t length)
{
	return length < 0x80 ? tag | (uint32_t)length << 8 : UINT32_MAX;
}

static inline uint32_t pb_load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* --- writing: appends to a buffer (whose errors are sticky); zero and empty are written too --- */

void pb_put_varint(struct buffer *b, uint32_t number, uint64_t value);
void pb_put_fixed64(struct buffer *b, uint32_t number, uint64_t value);
void pb_put_fixed32(struct buffer *b, uint32_t number, uint32_t value);
void pb_put_bytes(struct buffer *b, uint32_t number, struct slice bytes);

/* A message field of unknown length: begin, write its fields, end with what begin returned.  The
 * content moves when its length takes more than one byte. */
size_t pb_begin(struct buffer *b, uint32_t number);
void pb_end(struct buffer *b, size_t begun);

#endif
