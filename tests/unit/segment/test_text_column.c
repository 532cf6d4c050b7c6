/* UUIDs are found wherever they stand in a text, and nothing else is taken for one. */
#include "t.h"

#include <stdlib.h>

#include "segment/text_column.h"

#define TEXT_MOST 100

/* Memory of its own, so that looking behind the end is noticed. */
static bool has_uuid(const char *text, size_t n)
{
	char *copy = malloc(n + 1);
	bool has;

	assert_non_null(copy);
	copy = realloc(copy, n ? n : 1);
	memcpy(copy, text, n);
	has = text_has_uuid(slice_of(copy, n));
	free(copy);
	return has;
}

static void a_uuid_is_found_wherever_it_stands(void **state)
{
	static const char uuid[] = "0f8fad5b-d9cb-469f-a165-70867728950e", fill[] = "a-";

	for (size_t n = UUID_TEXT; n <= TEXT_MOST; n++)
		for (size_t at = 0; at <= n - UUID_TEXT; at++) {
			char text[TEXT_MOST];

			for (size_t i = 0; i < n; i++)
				text[i] = fill[(i + at) % 2];
			assert_false(has_uuid(text, n));
			memcpy(text + at, uuid, UUID_TEXT);
			assert_true(has_uuid(text, n));
			for (size_t i = 0; i < UUID_TEXT; i++) {
				text[at + i] = 'F'; /* not lower-case */
				assert_false(has_uuid(text, n));
				text[at + i] = uuid[i];
			}
		}
}

static void texts_come_back_as_they_were(void **state)
{
	static const char *const texts[] = {
		"0f8fad5b-d9cb-469f-a165-70867728950e",
		"GET /a?id=0f8fad5b-d9cb-469f-a165-70867728950e&b=1",
		"GET /a?id=7c9e6679-7425-40de-944b-e07fc1f90ae7&b=1",
		"GET /a",
		"GET /a",
		"7c9e6679-7425-40de-944b-e07fc1f90ae7",
		"\x01",
		"\x01 0f8fad5b-d9cb-469f-a165-70867728950e",
		"\x01 0f8fad5b-d9cb-469f-a165-70867728950e",
		"17",
		"017",
		"",
		"0",
		"0f8fad5b-d9cb-469f-a165-70867728950E",
		"GET /a",
	};
	enum { N = sizeof(texts) / sizeof(texts[0]) };
	struct column_codec *codec = column_codec_new();
	struct text_column column = {0};
	struct text_encoder encoder = {0};
	struct text_column_facts facts;
	struct uuid_table uuids;
	struct buffer out = {0};
	struct slice slices[N];

	for (size_t i = 0; i < N; i++)
		slices[i] = slice_cstr(texts[i]);
	uuid_table_init(&uuids);
	assert_int_equal(text_column_cut(&encoder, &uuids, slices, N, &facts), 0);
	assert_int_equal(uuids.n, 2);
	assert_int_equal(text_column_write(&encoder, codec, N, &out), 0);
	assert_int_equal(text_column_decode(codec, buffer_get(&out), N, 0, N,
					    (const uint8_t(*)[UUID_BYTES])uuids.ids, uuids.n, 10000,
					    &column),
			 0);
	for (size_t i = 0; i < N; i++)
		assert_true(slice_eq(text_column_get(&column, i), slices[i]));
	text_column_done(&column);
	text_encoder_done(&encoder);
	uuid_table_done(&uuids);
	buffer_done(&out);
	column_codec_free(codec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_uuid_is_found_wherever_it_stands),
		cmocka_unit_test(texts_come_back_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
