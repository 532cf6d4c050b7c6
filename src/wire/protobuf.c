/* wire/protobuf.c - writing protobuf's wire format. */
#include "wire/protobuf.h"

static void put_number(struct buffer *b, uint64_t value)
{
	uint8_t *to = (uint8_t *)buffer_reserve(b, VARINT_MAX);

	if (to)
		b->n += varint_encode(value, to);
}

void pb_put_varint(struct buffer *b, uint32_t number, uint64_t value)
{
	put_number(b, PB_TAG(number, PB_VARINT));
	put_number(b, value);
}

void pb_put_fixed64(struct buffer *b, uint32_t number, uint64_t value)
{
	put_number(b, PB_TAG(number, PB_FIXED64));
	buffer_append(b, &value, sizeof(value));
}

void pb_put_fixed32(struct buffer *b, uint32_t number, uint32_t value)
{
	put_number(b, PB_TAG(number, PB_FIXED32));
	buffer_append(b, &value, sizeof(value));
}

void pb_put_bytes(struct buffer *b, uint32_t number, struct slice bytes)
{
	put_number(b, PB_TAG(number, PB_BYTES));
	put_number(b, bytes.n);
	buffer_slice(b, bytes);
}

size_t pb_begin(struct buffer *b, uint32_t number)
{
	put_number(b, PB_TAG(number, PB_BYTES));
	buffer_byte(b, 0);
	return b->n;
}

void pb_end(struct buffer *b, size_t begun)
{
	size_t n, more;

	if (b->failed)
		return;
	n = b->n - begun;
	more = varint_size(n) - 1;
	if (more > 0) {
		if (!buffer_reserve(b, more))
			return;
		memmove(b->p + begun + more, b->p + begun, n);
		b->n += more;
	}
	varint_encode(n, (uint8_t *)b->p + begun - 1);
}
