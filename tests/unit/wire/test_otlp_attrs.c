/* Attributes are read in two ways, one for the usual shape far from the end of the input and one
 * for all the rest.  Here every request is read twice, as it is and with something behind it that
 * nobody wants: both must say the same. */
#include "t.h"

#include <stdio.h>

#include "base/rng.h"
#include "batch_equal.h"
#include "wire/codecs.h"
#include "wire/protobuf.h"

#define TEXT_MAX 140 /* the usual shape ends at 127 */

static struct batch *decode(struct slice bytes, struct error *error)
{
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(bytes.n);
	struct decode_tally tally = {0};

	assert_non_null(b);
	*error = (struct error){0};
	if (codec_find(SLICE("otlp"))->decode(bytes, b, &tally, error) < 0)
		return NULL;
	assert_int_equal(tally.rejected, 0);
	assert_int_equal(batch_seal(b), 0);
	assert_true(batch_check(b));
	return TAKE_PTR(b);
}

/* A request of one span with these attributes, thrice, so that guesses are right in the end. */
static void put_request(struct buffer *out, struct slice attributes)
{
	size_t group = pb_begin(out, 1), scope = pb_begin(out, 2);

	for (int i = 0; i < 3; i++) {
		size_t span = pb_begin(out, 2);

		pb_put_bytes(out, 1, SLICE("0123456789abcdef"));
		pb_put_bytes(out, 2, SLICE("01234567"));
		pb_put_bytes(out, 5, SLICE("the name"));
		buffer_slice(out, attributes);
		pb_end(out, span);
	}
	pb_end(out, scope);
	pb_end(out, group);
	assert_false(out->failed);
}

/* NULL when it is refused. */
static struct batch *decode_both(struct slice attributes)
{
	static const char behind[256];
	_cleanup_(buffer_done)
	struct buffer request = {0};
	_cleanup_(batch_unrefp)
	struct batch *near = NULL, *far = NULL;
	struct error near_error, far_error;

	put_request(&request, attributes);
	near = decode(buffer_get(&request), &near_error);
	pb_put_bytes(&request, 15, slice_of(behind, sizeof(behind)));
	far = decode(buffer_get(&request), &far_error);
	if (!near || !far) {
		assert_ptr_equal(near, far);
		assert_string_equal(near_error.text, far_error.text);
		return NULL;
	}
	assert_batch_equal(near, far);
	return TAKE_PTR(far);
}

static void put_string(struct buffer *out, struct slice key, struct slice value)
{
	size_t pair = pb_begin(out, 9), any;

	pb_put_bytes(out, 1, key);
	any = pb_begin(out, 2);
	pb_put_bytes(out, 1, value);
	pb_end(out, any);
	pb_end(out, pair);
}

static void texts_of_every_length_arrive(void **state)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)('a' + i % 26);
	for (size_t key = 0; key < TEXT_MAX; key += key < 40 ? 1 : 9) {
		for (size_t value = 0; value < TEXT_MAX; value++) {
			_cleanup_(buffer_done)
			struct buffer out = {0};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;

			put_string(&out, slice_of(text, key), slice_of(text, value));
			b = decode_both(buffer_get(&out));
			assert_non_null(b);
			assert_int_equal(b->attr_n, 3);
			for (int i = 0; i < 3; i++) {
				assert_true(slice_eq(batch_text(b, b->attrs[i].key),
						     slice_of(text, key)));
				assert_true(slice_eq(batch_text(b, b->attrs[i].string),
						     slice_of(text, value)));
			}
		}
	}
}

static void numbers_of_every_size_arrive(void **state)
{
	for (unsigned bit = 0; bit <= 64; bit++) {
		_cleanup_(buffer_done)
		struct buffer out = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		uint64_t value = bit == 64 ? UINT64_MAX : (1ULL << bit) + bit;
		size_t pair = pb_begin(&out, 9), any;

		pb_put_bytes(&out, 1, SLICE("n"));
		any = pb_begin(&out, 2);
		pb_put_varint(&out, 3, value);
		pb_end(&out, any);
		pb_end(&out, pair);
		b = decode_both(buffer_get(&out));
		assert_non_null(b);
		assert_int_equal(b->attrs[2].type, VALUE_INT);
		assert_int_equal(attr_bits(b, &b->attrs[2]), value);
	}
}

static void pairs_of_any_shape_are_read_the_same(void **state)
{
	static const struct {
		struct slice bytes;
		bool ok;
		enum value_type type;
	} rows[] = {
		{SLICE("\x4a\x00"), true, VALUE_EMPTY},
		{SLICE("\x4a\x03\x0a\x01k"), true, VALUE_EMPTY},
		{SLICE("\x4a\x05\x0a\x01k\x12\x00"), true, VALUE_EMPTY},
		{SLICE("\x4a\x07\x0a\x01k\x12\x02\x0a\x00"), true, VALUE_STRING},
		{SLICE("\x4a\x07\x0a\x01k\x12\x02\x10\x01"), true, VALUE_BOOL},
		{SLICE("\x4a\x07\x0a\x01k\x12\x02\x10\x02"), true, VALUE_BOOL}, /* not 0, so true */
		{SLICE("\x4a\x08\x0a\x01k\x12\x03\x10\x81\x00"), true, VALUE_BOOL},
		{SLICE("\x4a\x0e\x0a\x01k\x12\x09\x21"
		       "12345678"),
		 true, VALUE_DOUBLE},
		{SLICE("\x4a\x08\x0a\x01k\x12\x03\x3a\x01"
		       "b"),
		 true, VALUE_BYTES},
		{SLICE("\x4a\x07\x12\x02\x18\x05\x0a\x01k"), true, VALUE_INT}, /* the value first */
		{SLICE("\x4a\x08\x0a\x01k\x12\x03\x18\x85\x00"), true, VALUE_INT}, /* too long */
		{SLICE("\x4a\x09\x0a\x01k\x12\x04\x18\x05\x18\x06"), true, VALUE_RAW}, /* two */
		{SLICE("\x4a\x09\x0a\x01k\x12\x02\x18\x05\x18\x06"), true, VALUE_RAW_PAIR},
		{SLICE("\x4a\x87\x00\x0a\x01k\x12\x02\x18\x05"), true, VALUE_INT},
		{SLICE("\xca\x00\x07\x0a\x01k\x12\x02\x18\x05"), true, VALUE_INT},
		{SLICE("\x4a\x07\x0a\x01k\x12\x02\x18\x85"), false, 0},  /* cut off */
		{SLICE("\x4a\x08\x0a\x01k\x12\x02\x18\x05"), false, 0},  /* so is the pair */
		{SLICE("\x4a\x07\x0a\x01k\x12\x03\x18\x05"), false, 0},  /* and its value, */
		{SLICE("\x4a\x08\x0a\x01k\x12\x03\x0a\x02s"), false, 0}, /* and its string */
		{SLICE("\x4a\x05\x0a\x04key"), false, 0},                /* and its key */
		{SLICE("\x4a\x06\x0a\x01k\x12\xff\x0a"), false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(batch_unrefp)
		struct batch *b = decode_both(rows[i].bytes);

		if (!b != !rows[i].ok)
			fail_msg("row %zu is %s", i, b ? "taken" : "refused");
		if (b)
			assert_int_equal(b->attrs[2].type, rows[i].type);
	}
}

/* Neighbours that share their beginnings, ends and lengths must not be taken for each other. */
static void every_text_has_one_code_and_every_code_one_text(void **state)
{
	struct rng rng = {3};
	char text[TEXT_MAX];

	for (int round = 0; round < 200; round++) {
		_cleanup_(buffer_done)
		struct buffer out = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;

		for (int i = 0; i < 40; i++) {
			size_t n = rng_below(&rng, 3) * 16 + rng_below(&rng, 4);

			memset(text, 'x', sizeof(text));
			if (n > 0)
				text[rng_below(&rng, n)] = (char)('a' + rng_below(&rng, 2));
			put_string(&out, slice_of(text, rng_below(&rng, 3)), slice_of(text, n));
		}
		b = decode_both(buffer_get(&out));
		assert_non_null(b);
		for (uint32_t i = 0; i < b->strings; i++)
			for (uint32_t k = 0; k < i; k++)
				assert_false(slice_eq(batch_text(b, i), batch_text(b, k)));
	}
}

/* In a long request, where strings drive each other out of what is remembered of them. */
static void texts_stay_apart_however_many_they_are(void **state)
{
	enum { MANY = 20000 };
	_cleanup_(buffer_done)
	struct buffer out = {0};
	_cleanup_(batch_unrefp)
	struct batch *b = NULL;
	struct rng rng = {5};
	char text[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%u", (unsigned)rng_below(&rng, MANY));
		put_string(&out, SLICE("number"), slice_cstr(text));
	}
	b = decode_both(buffer_get(&out));
	assert_non_null(b);
	assert_int_equal(b->attr_n, 3 * MANY);
	for (size_t i = 0; i < b->attr_n; i++) {
		if (i % MANY == 0)
			rng = (struct rng){5};
		snprintf(text, sizeof(text), "%u", (unsigned)rng_below(&rng, MANY));
		assert_true(slice_eq(batch_text(b, b->attrs[i].string), slice_cstr(text)));
	}
}

struct wanted {
	char key[40], text[340];
	int64_t number;
	bool is_text;
};

/* One of many attributes that differ from others in one byte: of the key, the value, a length or
 * the type. */
static struct wanted near_twin(struct rng *rng)
{
	struct wanted w = {.is_text = rng_below(rng, 4) > 0};
	size_t key = 1 + rng_below(rng, 2) * 30 + rng_below(rng, 3),
	       text = rng_below(rng, 4) * (rng_below(rng, 3) ? 25 : 110) + rng_below(rng, 3);

	memset(w.key, 'k', key);
	w.key[rng_below(rng, key)] = (char)('a' + rng_below(rng, 2));
	memset(w.text, 'v', text);
	if (text > 0)
		w.text[rng_below(rng, text)] = (char)('a' + rng_below(rng, 2));
	w.number = (int64_t)(rng_below(rng, 300) << rng_below(rng, 3) * 16);
	return w;
}

/* The same but for one byte of its text. */
static struct wanted other_byte(struct wanted w, struct rng *rng)
{
	size_t n = strlen(w.text);

	if (n > 0)
		w.text[rng_below(rng, n)] = 'x';
	return w;
}

static void put_wanted(struct buffer *out, const struct wanted *w)
{
	size_t pair, any;

	if (w->is_text) {
		put_string(out, slice_cstr(w->key), slice_cstr(w->text));
		return;
	}
	pair = pb_begin(out, 9);
	pb_put_bytes(out, 1, slice_cstr(w->key));
	any = pb_begin(out, 2);
	pb_put_varint(out, 3, (uint64_t)w->number);
	pb_end(out, any);
	pb_end(out, pair);
}

/* Whole attributes are remembered: none may be taken for one that looks like it, neither when they
 * come again and again nor when they are new most times; not even one of a span that was refused,
 * whose rows are gone. */
static void attributes_are_what_they_are_however_often_they_came(void **state)
{
	enum { SPANS = 400, EACH = 12, FEW = 40 };
	static struct wanted wanted[SPANS * EACH], few[FEW];

	for (unsigned round = 0; round < 8; round++) {
		_cleanup_(buffer_done)
		struct buffer out = {0};
		_cleanup_(batch_unrefp)
		struct batch *b = NULL;
		struct decode_tally tally = {0};
		struct error error = {0};
		struct rng rng = {round + 1};
		size_t group = pb_begin(&out, 1), scope = pb_begin(&out, 2), n = 0;

		for (int i = 0; i < FEW; i++)
			few[i] = i % 2 ? other_byte(few[i - 1], &rng) : near_twin(&rng);
		for (int i = 0; i < SPANS; i++) {
			bool kept = rng_below(&rng, 5) > 0;
			size_t span = pb_begin(&out, 2);

			pb_put_bytes(&out, 1, kept ? SLICE("0123456789abcdef") : SLICE("short"));
			pb_put_bytes(&out, 2, SLICE("01234567"));
			for (int k = 0; k < EACH; k++) {
				struct wanted w =
					round % 2 ? few[rng_below(&rng, FEW)] : near_twin(&rng);

				put_wanted(&out, &w);
				if (kept)
					wanted[n++] = w;
			}
			pb_end(&out, span);
		}
		pb_end(&out, scope);
		pb_end(&out, group);
		assert_false(out.failed);
		b = batch_new(out.n);
		assert_non_null(b);
		assert_int_equal(
			codec_find(SLICE("otlp"))->decode(buffer_get(&out), b, &tally, &error), 0);
		assert_true(tally.rejected > 0);
		assert_int_equal(b->attr_n, n);
		for (size_t i = 0; i < n; i++) {
			const struct attr *a = &b->attrs[i];

			assert_true(slice_eq(batch_text(b, a->key), slice_cstr(wanted[i].key)));
			assert_int_equal(a->type, wanted[i].is_text ? VALUE_STRING : VALUE_INT);
			if (wanted[i].is_text)
				assert_true(slice_eq(batch_text(b, a->string),
						     slice_cstr(wanted[i].text)));
			else
				assert_int_equal(attr_integer(b, a), wanted[i].number);
		}
		assert_true(batch_check(b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_every_length_arrive),
		cmocka_unit_test(numbers_of_every_size_arrive),
		cmocka_unit_test(pairs_of_any_shape_are_read_the_same),
		cmocka_unit_test(every_text_has_one_code_and_every_code_one_text),
		cmocka_unit_test(texts_stay_apart_however_many_they_are),
		cmocka_unit_test(attributes_are_what_they_are_however_often_they_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
