/* segment/packed_value.c - an array or key-value list, with all that is nested in it, as bytes. */
#include "segment/packed_value.h"

#include <errno.h>

#include "core/varint.h"

static void put_number(struct buffer *out, uint64_t value)
{
	char *p = buffer_reserve(out, VARINT_MAX);

	if (p)
		out->n += varint_encode(value, (uint8_t *)p);
}

static void put_text(struct buffer *out, struct slice s)
{
	put_number(out, s.n);
	buffer_slice(out, s);
}

static void put(const struct batch *b, const struct attr *a, struct buffer *out, unsigned depth)
{
	struct value_range children;
	uint64_t bits;
	uint32_t count;

	buffer_byte(out, (char)a->type);
	switch (a->type) {
	case VALUE_EMPTY:
		break;
	case VALUE_BOOL:
		buffer_byte(out, (char)a->word);
		break;
	case VALUE_INT:
	case VALUE_DOUBLE:
		bits = attr_bits(b, a);
		buffer_append(out, &bits, sizeof(bits));
		break;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		children = attr_children(b, a);
		count = depth < PACKED_MOST_DEPTH ? children.count : 0;
		put_number(out, count);
		for (uint32_t i = 0; i < count; i++) {
			const struct attr *child = &b->nested[children.first + i];

			if (a->type == VALUE_KVLIST)
				put_text(out, batch_text(b, child->key));
			put(b, child, out, depth + 1);
		}
		break;
	default:
		put_text(out, batch_text(b, a->string));
	}
}

void packed_value_put(const struct batch *b, const struct attr *a, struct buffer *out)
{
	put(b, a, out, 0);
}

struct cursor {
	const uint8_t *p, *end;
};

static bool get_number(struct cursor *c, uint64_t *ret_value)
{
	const uint8_t *p = varint_decode(c->p, c->end, ret_value);

	if (!p)
		return false;
	c->p = p;
	return true;
}

static bool get_text(struct cursor *c, struct slice *ret_text)
{
	uint64_t n;

	if (!get_number(c, &n) || n > (size_t)(c->end - c->p))
		return false;
	*ret_text = slice_of(c->p, n);
	c->p += n;
	return true;
}

static bool get(struct cursor *c, struct batch *b, struct attr *a, unsigned depth);

static bool get_children(struct cursor *c, struct batch *b, struct attr *a, unsigned depth)
{
	struct slice key;
	uint64_t count;
	uint32_t first;

	/* A child takes a byte at least, so a count cannot ask for more than there is. */
	if (!get_number(c, &count) || count > (size_t)(c->end - c->p) || depth > PACKED_MOST_DEPTH)
		return false;
	if (count == 0)
		return true;
	first = batch_nested(b, (uint32_t)count);
	if (b->failed)
		return true;
	a->word = batch_list(b, a->type, (struct value_range){first, (uint32_t)count}).word;
	for (uint32_t i = 0; i < count && !b->failed; i++) {
		struct attr child = {0};

		if (a->type == VALUE_KVLIST) {
			if (!get_text(c, &key))
				return false;
			child.key = batch_string(b, key);
		}
		if (!get(c, b, &child, depth + 1))
			return false;
		b->nested[first + i] = child;
	}
	return true;
}

static bool get(struct cursor *c, struct batch *b, struct attr *a, unsigned depth)
{
	struct slice text;
	uint64_t bits;

	if (c->p == c->end || *c->p > VALUE_RAW_PAIR)
		return false;
	a->type = *c->p++;
	switch (a->type) {
	case VALUE_EMPTY:
		return true;
	case VALUE_BOOL:
		if (c->p == c->end || *c->p > 1)
			return false;
		a->word = *c->p++;
		return true;
	case VALUE_INT:
	case VALUE_DOUBLE:
		if ((size_t)(c->end - c->p) < sizeof(bits))
			return false;
		memcpy(&bits, c->p, sizeof(bits));
		c->p += sizeof(bits);
		a->word = batch_word(b, bits);
		return true;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		return get_children(c, b, a, depth);
	default:
		if (!get_text(c, &text))
			return false;
		a->string = batch_string(b, text);
		return true;
	}
}

int packed_value_get(struct slice bytes, struct batch *b, struct attr *ret_value)
{
	struct cursor c = {(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n};
	struct attr a = {0};

	if (!get(&c, b, &a, 0) || (c.p != c.end && !b->failed))
		return -EBADMSG;
	*ret_value = a;
	return 0;
}
