/* Bad input for every codec that reads protobuf: a clear error with its place, or kept whole. */
#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "batch_equal.h"
#include "batch_random.h"
#include "wire/codecs.h"
#include "wire/protobuf.h"

/* Decodes a copy that lies at the end of its allocation.  Returns NULL when it was refused, after
 * checking that the refusal is a good one. */
static struct batch *decode(const struct codec *c, struct slice bytes, struct decode_tally *tally,
			    struct error *error)
{
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(bytes.n);
	_cleanup_(freep)
	char *copy = malloc(bytes.n ? bytes.n : 1);
	int r;

	assert_non_null(b);
	assert_non_null(copy);
	if (bytes.n)
		memcpy(copy, bytes.p, bytes.n);
	*tally = (struct decode_tally){0};
	*error = (struct error){0};
	r = c->decode(slice_of(copy, bytes.n), b, tally, error);
	if (r < 0) {
		assert_int_equal(error->code, r);
		assert_true(r == -EBADMSG);
		assert_true(error->text[0] != 0);
		assert_true(error->offset <= bytes.n);
		return NULL;
	}
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return TAKE_PTR(b);
}

/* Refused, or the same after another round. */
static void survive(const struct codec *c, struct slice bytes)
{
	_cleanup_(batch_unrefp)
	struct batch *b = NULL, *again = NULL;
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct batch_difference why;
	struct decode_tally tally;
	struct error error;
	size_t n;

	b = decode(c, bytes, &tally, &error);
	if (!b)
		return;
	n = batch_refs(b, &refs);
	c->encode(refs, n, &out);
	again = decode(c, buffer_get(&out), &tally, &error);
	if (!again)
		fail_msg("%s refuses what it wrote: %s", c->name, error.text);
	if (!batch_equal(b, again, &why))
		fail_msg("%s: %s", c->name, why.text);
}

/* A request with one span (event, log record) in it, and `fields` inside that. */
static void put_request(const struct codec *c, struct buffer *out, struct slice fields)
{
	struct slice name = slice_cstr(c->name);
	bool zipkin = slice_starts(name, SLICE("zipkin"));
	bool events = slice_starts(name, SLICE("events"));
	size_t group = pb_begin(out, events ? 12 : 1), scope = 0, member = 0;

	if (!zipkin) {
		scope = pb_begin(out, 2);
		member = pb_begin(out, 2);
	}
	pb_put_bytes(out, slice_ends(name, SLICE("logs")) ? 9 : 1, SLICE("0123456789abcdef"));
	if (events)
		pb_put_varint(out, 2, 2);
	if (events || zipkin)
		pb_put_bytes(out, 3, SLICE("01234567"));
	else if (slice_eq(name, SLICE("otlp")))
		pb_put_bytes(out, 2, SLICE("01234567"));
	buffer_slice(out, fields);
	if (!zipkin) {
		pb_end(out, member);
		pb_end(out, scope);
	}
	pb_end(out, group);
}

static uint32_t attributes_field(const struct codec *c)
{
	struct slice name = slice_cstr(c->name);

	return slice_starts(name, SLICE("zipkin"))   ? 0
	       : slice_starts(name, SLICE("events")) ? 10
	       : slice_ends(name, SLICE("logs"))     ? 6
						     : 9;
}

static uint32_t name_field(const struct codec *c)
{
	struct slice name = slice_cstr(c->name);

	return slice_starts(name, SLICE("events")) ? 9 : slice_ends(name, SLICE("logs")) ? 12 : 5;
}

static struct batch *random_for(const struct codec *c, uint64_t seed, size_t rows)
{
	struct slice name = slice_cstr(c->name);
	struct batch_random what = {.rows = rows};
	struct rng rng = {seed};

	what.shape = slice_starts(name, SLICE("events")) ? RANDOM_EVENTS
		     : slice_ends(name, SLICE("logs"))   ? RANDOM_LOGS
							 : RANDOM_TRACES;
	return batch_random(&rng, &what);
}

static size_t protobuf_codecs(const struct codec *out[], size_t most)
{
	size_t count, n = 0;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++)
		if (codecs[i].frame == FRAME_FIELDS) {
			assert_true(n < most);
			out[n++] = &codecs[i];
		}
	assert_true(n > 0);
	return n;
}

#define FOR_EACH_CODEC(c)                                                                          \
	const struct codec *all_[16];                                                              \
	size_t count_ = protobuf_codecs(all_, 16);                                                 \
	for (size_t at_ = 0; at_ < count_; at_++)                                                  \
		for (const struct codec *c = all_[at_]; c; c = NULL)

static void cut_at_every_byte(void **state)
{
	FOR_EACH_CODEC(c)
	{
		_cleanup_(batch_unrefp)
		struct batch *b = random_for(c, 7, 3);
		_cleanup_(freep)
		struct event_ref *refs = NULL;
		_cleanup_(buffer_done)
		struct buffer bytes = {0};
		size_t n = batch_refs(b, &refs);

		c->encode(refs, n, &bytes);
		assert_true(bytes.n > 100);
		for (size_t cut = 0; cut < bytes.n; cut++)
			survive(c, slice_of(bytes.p, cut));
	}
}

static void every_bit_flipped(void **state)
{
	FOR_EACH_CODEC(c)
	{
		for (uint64_t seed = 1; seed < 4; seed++) {
			_cleanup_(batch_unrefp)
			struct batch *b = random_for(c, seed, 2);
			_cleanup_(freep)
			struct event_ref *refs = NULL;
			_cleanup_(buffer_done)
			struct buffer bytes = {0};
			size_t n = batch_refs(b, &refs);

			c->encode(refs, n, &bytes);
			for (size_t bit = 0; bit < bytes.n * 8 && bit < 20000; bit++) {
				bytes.p[bit / 8] ^= (char)(1 << bit % 8);
				survive(c, buffer_get(&bytes));
				bytes.p[bit / 8] ^= (char)(1 << bit % 8);
			}
		}
	}
}

/* AnyValue { array { AnyValue { array { … */
static void put_nested(struct buffer *out, uint32_t number, unsigned depth, bool pairs)
{
	_cleanup_(freep)
	size_t *begun = calloc((size_t)depth * 3 + 2, sizeof(*begun));
	size_t n = 0;

	assert_non_null(begun);
	begun[n++] = pb_begin(out, number);
	pb_put_bytes(out, 1, SLICE("deep"));
	begun[n++] = pb_begin(out, 2);
	for (unsigned i = 0; i < depth; i++) {
		begun[n++] = pb_begin(out, pairs ? 6 : 5);
		begun[n++] = pb_begin(out, 1);
		if (pairs)
			begun[n++] = pb_begin(out, 2);
	}
	while (n > 0)
		pb_end(out, begun[--n]);
}

static void nested_too_deep(void **state)
{
	FOR_EACH_CODEC(c)
	{
		const struct {
			unsigned depth;
			bool accepted;
		} rows[] = {{1, true},
			    {DECODE_DEPTH_MAX, true},
			    {DECODE_DEPTH_MAX + 1, false},
			    {10000, false}};

		for (size_t i = 0; i < ARRAY_SIZE(rows) * 2 && attributes_field(c); i++) {
			_cleanup_(buffer_done)
			struct buffer field = {0}, bytes = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			struct decode_tally tally;
			struct error error;

			put_nested(&field, attributes_field(c), rows[i / 2].depth, i % 2);
			put_request(c, &bytes, buffer_get(&field));
			b = decode(c, buffer_get(&bytes), &tally, &error);
			if ((b != NULL) != rows[i / 2].accepted)
				fail_msg("%s: %u levels", c->name, rows[i / 2].depth);
			if (b)
				survive(c, buffer_get(&bytes));
			else {
				assert_non_null(strstr(error.text, "nested"));
				assert_true(error.offset != ERROR_NO_OFFSET);
			}
		}
	}
}

/* Values that hold each other and a field that we do not know: each is kept as bytes, but the bytes
 * of the innermost are not kept once for every level. */
static void nesting_does_not_multiply_memory(void **state)
{
	_cleanup_(freep)
	char *large = malloc(1 << 20);

	assert_non_null(large);
	memset(large, 'x', 1 << 20);
	FOR_EACH_CODEC(c)
	{
		_cleanup_(buffer_done)
		struct buffer field = {0}, bytes = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		size_t begun[2 + 60 * 2], n = 0;
		struct decode_tally tally;
		struct error error;

		if (!attributes_field(c))
			continue;
		begun[n++] = pb_begin(&field, attributes_field(c));
		begun[n++] = pb_begin(&field, 2);
		for (int i = 0; i < 60; i++) {
			begun[n++] = pb_begin(&field, 5);
			begun[n++] = pb_begin(&field, 1);
		}
		pb_put_bytes(&field, 1, slice_of(large, 1 << 20));
		while (n > 0) {
			pb_end(&field, begun[--n]);
			pb_end(&field, begun[--n]);
			if (n > 0)
				pb_put_varint(&field, 99, n);
		}
		put_request(c, &bytes, buffer_get(&field));
		b = decode(c, buffer_get(&bytes), &tally, &error);
		assert_non_null(b);
		assert_true(batch_bytes(b) < 3 << 20);
		survive(c, buffer_get(&bytes));
	}
}

/* Any field number with any wire type is either understood or kept. */
static void wrong_wire_types(void **state)
{
	FOR_EACH_CODEC(c)
	{
		for (uint32_t number = 1; number < 40; number++) {
			_cleanup_(buffer_done)
			struct buffer field = {0}, bytes = {0};

			pb_put_varint(&field, number, 7);
			pb_put_fixed64(&field, number, 7);
			pb_put_fixed32(&field, number, 7);
			pb_put_bytes(&field, number, SLICE(""));
			put_request(c, &bytes, buffer_get(&field));
			survive(c, buffer_get(&bytes));
		}
	}
}

static void text_that_is_not_utf8(void **state)
{
	FOR_EACH_CODEC(c)
	{
		static const struct slice odd[] = {
			{"\xff\xfe", 2}, {"\xed\xa0\x80", 3}, {"a\0b", 3}, {"\xc0\x80", 2}};

		for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
			_cleanup_(buffer_done)
			struct buffer field = {0}, bytes = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			struct decode_tally tally;
			struct error error;

			pb_put_bytes(&field, name_field(c), odd[i]);
			put_request(c, &bytes, buffer_get(&field));
			b = decode(c, buffer_get(&bytes), &tally, &error);
			assert_non_null(b);
			assert_int_equal(b->event_n, 1);
			assert_slice_equal(batch_text(b, b->events[0].name), odd[i]);
			survive(c, buffer_get(&bytes));
		}
	}
}

static void any_time_is_kept(void **state)
{
	static const uint64_t times[] = {0, 1, INT64_MAX, 9223372036854775808ULL, UINT64_MAX};

	FOR_EACH_CODEC(c)
	{
		struct slice name = slice_cstr(c->name);
		uint32_t number = slice_ends(name, SLICE("logs")) ? 1 : 7;

		for (size_t i = 0; i < ARRAY_SIZE(times) && !slice_starts(name, SLICE("zipkin"));
		     i++) {
			_cleanup_(buffer_done)
			struct buffer field = {0}, bytes = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			struct decode_tally tally;
			struct error error;

			pb_put_fixed64(&field, number, times[i]);
			put_request(c, &bytes, buffer_get(&field));
			b = decode(c, buffer_get(&bytes), &tally, &error);
			assert_non_null(b);
			assert_int_equal(b->event_n, 1);
			assert_true(b->events[0].time_ns == times[i]);
			survive(c, buffer_get(&bytes));
		}
	}
}

static void put_attribute(struct buffer *out, uint32_t number, struct slice key, struct slice value)
{
	size_t pair = pb_begin(out, number), any;

	pb_put_bytes(out, 1, key);
	any = pb_begin(out, 2);
	pb_put_bytes(out, 1, value);
	pb_end(out, any);
	pb_end(out, pair);
}

static void a_hundred_thousand_keys_and_a_large_value_are_kept_whole(void **state)
{
	_cleanup_(freep)
	char *large = malloc(1 << 20);

	assert_non_null(large);
	memset(large, 'x', 1 << 20);
	FOR_EACH_CODEC(c)
	{
		_cleanup_(buffer_done)
		struct buffer field = {0}, bytes = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally;
		struct error error;
		const struct attr *a;
		char key[32];

		if (!attributes_field(c))
			continue;
		for (int i = 0; i < 100000; i++) {
			snprintf(key, sizeof(key), "key.%d", i);
			put_attribute(&field, attributes_field(c), slice_cstr(key), SLICE("v"));
		}
		put_attribute(&field, attributes_field(c), SLICE("large"),
			      slice_of(large, 1 << 20));
		put_request(c, &bytes, buffer_get(&field));
		b = decode(c, buffer_get(&bytes), &tally, &error);
		assert_non_null(b);
		assert_int_equal(b->event_n, 1);
		assert_int_equal(b->events[0].attrs.count, 100001);
		a = batch_attr_find(b, b->events[0].attrs, SLICE("large"));
		assert_non_null(a);
		assert_int_equal(batch_text(b, a->string).n, 1 << 20);
		survive(c, buffer_get(&bytes));
	}
}

static void lengths_that_lie(void **state)
{
	static const struct slice lies[] = {
		{"\x4a\x05x", 3},                                         /* more than there is */
		{"\x4a\xff\xff\xff\xff\x0f", 6},                          /* 4 GiB */
		{"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},     /* all bits */
		{"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12}, /* too long a number */
		{"\x4a", 1},                                              /* none */
		{"\x39\x01\x02", 3},                                      /* half a fixed64 */
		{"\x3d\x01\x02", 3},                                      /* half a fixed32 */
		{"\x0b\x0c", 2},                                          /* a group */
		{"\x07", 1},                                              /* wire type 7 */
		{"\x00\x00", 2},                                          /* field 0 */
		{"\xff\xff\xff\xff\x7f\x00", 6},                          /* field above 2^29 */
	};

	FOR_EACH_CODEC(c)
	{
		for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
			_cleanup_(buffer_done)
			struct buffer bytes = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			struct decode_tally tally;
			struct error error;

			put_request(c, &bytes, lies[i]);
			b = decode(c, buffer_get(&bytes), &tally, &error);
			if (b)
				fail_msg("%s believes lie %zu", c->name, i);
			assert_true(error.offset != ERROR_NO_OFFSET);
			assert_true(error.offset >= bytes.n - lies[i].n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(every_bit_flipped),
		cmocka_unit_test(nested_too_deep),
		cmocka_unit_test(nesting_does_not_multiply_memory),
		cmocka_unit_test(wrong_wire_types),
		cmocka_unit_test(text_that_is_not_utf8),
		cmocka_unit_test(any_time_is_kept),
		cmocka_unit_test(a_hundred_thousand_keys_and_a_large_value_are_kept_whole),
		cmocka_unit_test(lengths_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
