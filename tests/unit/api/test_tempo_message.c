/* Tempo's answers: what is said once comes out as JSON and as protobuf. */
#include "api/tempo_message.h"

#include "t.h"

/* { text = 1, numbers = 2 …, items = 5, map = 6, pairs = 7 } */
static void answer_write(struct buffer *out, bool proto)
{
	struct tempo_message m = tempo_message(out, proto);
	struct value list[] = {value_int(-1), value_of(V_DURATION, 1500000000)};
	struct value values[] = {
		value_text(SLICE("t")),
		value_int(7),
		value_float(0.5),
		value_nil(),
		{.type = V_BOOL, .b = true},
		{.type = V_LIST, .n = 2, .list = list},
	};
	size_t begun = message_begin(&m, NULL, 0);
	struct message_entry entry;
	struct arena arena = {0};

	message_text(&m, "text", 1,
		     SLICE("a\xff"
			   "b"));
	message_text(&m, "nothing", 1, SLICE(""));
	message_u32(&m, "most", 2, 1ULL << 40);
	message_u32(&m, "zero", 2, 0);
	message_64(&m, "long", 3, 5);
	message_double(&m, "share", 4, 0.25);
	message_list(&m, "items");
	message_item(&m, 5, SLICE("x"));
	message_item(&m, 5, SLICE(""));
	message_list_end(&m);
	message_map(&m, "map");
	entry = message_entry(&m, 6, SLICE("k"));
	message_u32(&m, "n", 1, 3);
	message_entry_end(&m, entry);
	message_map_end(&m);
	message_list(&m, "pairs");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		message_pair(&m, 7, SLICE("k"), values[i], &arena);
	message_list_end(&m);
	message_end(&m, begun);
	arena_done(&arena);
}

static void json_has_names(void **state)
{
	struct buffer out = {0};

	answer_write(&out, false);
	assert_string_equal(
		buffer_cstr(&out),
		"{\"text\":\"a\xef\xbf\xbd"
		"b\",\"most\":4294967295,\"long\":\"5\",\"share\":0.25,\"items\":[\"x\",\"\"],"
		"\"map\":{\"k\":{\"n\":3}},\"pairs\":["
		"{\"key\":\"k\",\"value\":{\"stringValue\":\"t\"}},"
		"{\"key\":\"k\",\"value\":{\"intValue\":\"7\"}},"
		"{\"key\":\"k\",\"value\":{\"doubleValue\":0.5}},"
		"{\"key\":\"k\",\"value\":{\"stringValue\":\"nil\"}},"
		"{\"key\":\"k\",\"value\":{\"boolValue\":true}},"
		"{\"key\":\"k\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"-1\"},"
		"{\"stringValue\":\"1.5s\"}]}}}]}");
	buffer_done(&out);
}

static void protobuf_has_numbers_and_only_utf8(void **state)
{
	static const char expected[] =
		"\x0a\x05"
		"a\xef\xbf\xbd"
		"b\x10\xff\xff\xff\xff\x0f\x18\x05\x21\0\0\0\0\0\0\xd0\x3f\x2a\x01x\x2a\0"
		"\x32\x07\x0a\x01k\x12\x02\x08\x03"
		"\x3a\x08\x0a\x01k\x12\x03\x0a\x01t"
		"\x3a\x07\x0a\x01k\x12\x02\x18\x07"
		"\x3a\x0e\x0a\x01k\x12\x09\x21\0\0\0\0\0\0\xe0\x3f"
		"\x3a\x0a\x0a\x01k\x12\x05\x0a\x03nil"
		"\x3a\x07\x0a\x01k\x12\x02\x10\x01"
		"\x3a\x1c\x0a\x01k\x12\x17\x2a\x15\x0a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff"
		"\x01\x0a\x06\x0a\x04"
		"1.5s";
	struct buffer out = {0};

	answer_write(&out, true);
	assert_int_equal(out.n, sizeof(expected) - 1);
	assert_memory_equal(out.p, expected, out.n);
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_names),
		cmocka_unit_test(protobuf_has_numbers_and_only_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
