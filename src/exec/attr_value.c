/* exec/attr_value.c - attributes as values of the language. */
#include "exec/attr_value.h"

#include "base/cleanup.h"
#include "core/varint.h"
#include "segment/packed_value.h"

#define DEPTH_MOST 16 /* what is nested deeper is nil */

struct value bits_value(enum value_type type, uint64_t bits)
{
	switch (type) {
	case VALUE_BOOL:
		return value_bool(bits & 1);
	case VALUE_INT:
		return value_int((int64_t)bits);
	case VALUE_DOUBLE:
		return (struct value){.type = V_FLOAT, .bits = bits};
	default:
		return value_nil();
	}
}

/* --- in batches --- */

static struct value pair(struct arena *arena, struct value key, struct value v)
{
	struct value *both = arena_zalloc(arena, 2, sizeof(*both));

	if (!both)
		return value_nil();
	both[0] = key;
	both[1] = v;
	return value_list(both, 2);
}

static struct value value_at(const struct batch *b, const struct attr *a, struct arena *arena,
			     int depth);

static struct value nested(const struct batch *b, const struct attr *a, struct arena *arena,
			   int depth)
{
	struct value_range children = attr_children(b, a);
	uint32_t n = MIN(children.count, (uint32_t)ATTR_LIST_MOST);
	struct value *list = depth < DEPTH_MOST ? arena_zalloc(arena, n + 1, sizeof(*list)) : NULL;

	if (!list)
		return value_nil();
	for (uint32_t i = 0; i < n; i++) {
		const struct attr *child = &b->nested[children.first + i];

		list[i] = value_at(b, child, arena, depth + 1);
		if (a->type == VALUE_KVLIST)
			list[i] = pair(arena, value_text(batch_text(b, child->key)), list[i]);
	}
	return value_list(list, n);
}

static struct value value_at(const struct batch *b, const struct attr *a, struct arena *arena,
			     int depth)
{
	struct value v;

	switch (a->type) {
	case VALUE_STRING:
		return value_text(batch_text(b, a->string));
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		v = value_text(batch_text(b, a->string));
		v.type = V_BYTES;
		return v;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		return nested(b, a, arena, depth);
	default:
		return bits_value(a->type, attr_bits(b, a));
	}
}

struct value attr_value(const struct batch *b, const struct attr *a, struct arena *arena)
{
	return value_at(b, a, arena, 0);
}

/* --- packed --- */

struct unpacking {
	const uint8_t *at, *end;
	struct arena *arena;
	bool bad;
};

static uint64_t number(struct unpacking *u)
{
	uint64_t n = 0;
	const uint8_t *next = u->bad ? NULL : varint_decode(u->at, u->end, &n);

	if (!next) {
		u->bad = true;
		return 0;
	}
	u->at = next;
	return n;
}

static const uint8_t *take(struct unpacking *u, uint64_t n)
{
	const uint8_t *at = u->at;

	if (u->bad || n > (size_t)(u->end - u->at)) {
		u->bad = true;
		return NULL;
	}
	u->at += n;
	return at;
}

static struct value unpack_text(struct unpacking *u)
{
	uint64_t n = number(u);
	const uint8_t *at = take(u, n);

	return at ? value_text(slice_of(at, n)) : value_nil();
}

static struct value unpack(struct unpacking *u, int depth);

/* What is too long or too deep is cut as it is in a batch, and passed over. */
static struct value unpack_list(struct unpacking *u, bool keys, int depth)
{
	uint64_t n = number(u), kept = depth < DEPTH_MOST ? MIN(n, (uint64_t)ATTR_LIST_MOST) : 0;
	struct value *list;

	/* Each takes a byte at least. */
	if (u->bad || depth == PACKED_MOST_DEPTH || n > (size_t)(u->end - u->at)) {
		u->bad = true;
		return value_nil();
	}
	list = arena_zalloc(u->arena, kept + 1, sizeof(*list));
	u->bad = !list;
	for (uint64_t i = 0; i < n && !u->bad; i++) {
		struct value key = keys ? unpack_text(u) : value_nil(), v = unpack(u, depth + 1);

		if (i < kept)
			list[i] = keys ? pair(u->arena, key, v) : v;
	}
	return !u->bad && depth < DEPTH_MOST ? value_list(list, (uint32_t)kept) : value_nil();
}

static struct value unpack(struct unpacking *u, int depth)
{
	const uint8_t *at = take(u, 1);
	uint8_t type = at ? *at : (uint8_t)VALUE_EMPTY;
	uint64_t bits = 0;
	struct value v;

	switch (type) {
	case VALUE_STRING:
		return unpack_text(u);
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		v = unpack_text(u);
		v.type = v.type == V_STRING ? V_BYTES : V_NIL;
		return v;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		return unpack_list(u, type == VALUE_KVLIST, depth);
	case VALUE_BOOL:
		at = take(u, 1);
		return at ? value_bool(*at & 1) : value_nil();
	case VALUE_INT:
	case VALUE_DOUBLE:
		at = take(u, 8);
		if (at)
			memcpy(&bits, at, 8);
		return at ? bits_value(type, bits) : value_nil();
	default:
		return value_nil();
	}
}

struct value text_value(enum value_type type, struct slice text, struct arena *arena)
{
	struct unpacking u = {.arena = arena};
	struct value v = value_text(text);

	if (type == VALUE_STRING)
		return v;
	if (type != VALUE_ARRAY && type != VALUE_KVLIST) {
		v.type = V_BYTES;
		return v;
	}
	u.at = (const uint8_t *)text.p;
	u.end = u.at + text.n;
	v = unpack(&u, 0);
	return u.bad ? value_nil() : v;
}
