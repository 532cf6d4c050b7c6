/* Any bytes are refused at a byte of theirs, or mean the same after being read piece by piece and
 * written again: the second writing equals the first. */
#include "fuzz.h"

#include "core/utf8.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

static void copy(struct json_reader *r, struct json_writer *w, struct buffer *scratch)
{
	struct json_string s;
	struct slice number;
	bool truth;

	switch (json_peek(r)) {
	case JSON_OBJECT:
		json_object(r);
		json_begin_object(w);
		while (json_next_key(r, &s)) {
			json_put_key(w, json_text(s, scratch));
			copy(r, w, scratch);
		}
		json_end_object(w);
		break;
	case JSON_ARRAY:
		json_array(r);
		json_begin_array(w);
		while (json_next_item(r))
			copy(r, w, scratch);
		json_end_array(w);
		break;
	case JSON_STRING:
		if (json_string(r, &s)) {
			struct slice text = json_text(s, scratch);

			FUZZ_CHECK(utf8_valid_prefix(text) == text.n);
			json_put_string(w, text);
		}
		break;
	case JSON_NUMBER: {
		struct json_reader again = *r;
		double value;

		if (json_number(r, &number)) {
			FUZZ_CHECK(json_double(&again, &value));
			json_put_double(w, value);
		}
		break;
	}
	case JSON_BOOL:
		if (json_bool(r, &truth))
			json_put_bool(w, truth);
		break;
	case JSON_NULL:
		if (json_null(r))
			json_put_null(w);
		break;
	case JSON_BAD:
		break;
	}
}

static int rewrite(struct slice text, struct buffer *out)
{
	struct json_reader r = json_open(text);
	struct json_writer w = json_write(out);
	struct buffer scratch = {0};

	copy(&r, &w, &scratch);
	buffer_done(&scratch);
	return json_finish(&r, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(data, size);
	struct json_reader r = json_open(text);
	struct buffer once = {0}, twice = {0};
	struct error e = {0};
	int skipped;

	json_skip(&r);
	skipped = json_finish(&r, &e);
	if (skipped < 0)
		FUZZ_CHECK(e.offset <= size);
	FUZZ_CHECK(rewrite(text, &once) == skipped);
	if (skipped == 0) {
		FUZZ_CHECK(rewrite(buffer_get(&once), &twice) == 0);
		FUZZ_CHECK(slice_eq(buffer_get(&once), buffer_get(&twice)));
	}
	buffer_done(&once);
	buffer_done(&twice);
	return 0;
}
