/* wire/json_value.c - values and names as protobuf's JSON mapping has them. */
#include <errno.h>

#include "model/batch.h" /* bytes_equal() */
#include "wire/json_number.h"
#include "wire/json_reader.h"

/* The text of a number, bare or in quotes. */
static bool number_text(struct json_reader *r, struct slice *ret_text)
{
	struct json_string s;

	if (json_peek(r) != JSON_STRING)
		return json_number(r, ret_text);
	if (!json_string(r, &s))
		return false;
	*ret_text = s.raw;
	return true;
}

static const char out_of_range[] = "an integer out of range";

static bool refuse_integer(struct json_reader *r, struct slice text, int error)
{
	return json_stop(r, text.p, error == -ERANGE ? out_of_range : "an integer is expected");
}

bool json_is_range_error(const struct json_reader *r)
{
	return r->bad && r->why == out_of_range;
}

bool json_i64(struct json_reader *r, int64_t *ret_value)
{
	struct slice text;
	int error;

	if (!number_text(r, &text))
		return false;
	error = number_parse_i64(text, ret_value);
	return error == 0 || refuse_integer(r, text, error);
}

bool json_u64(struct json_reader *r, uint64_t *ret_value)
{
	struct slice text;
	int error;

	if (!number_text(r, &text))
		return false;
	error = number_parse_u64(text, ret_value);
	return error == 0 || refuse_integer(r, text, error);
}

bool json_u32(struct json_reader *r, uint32_t *ret_value)
{
	const char *where = r->at;
	uint64_t value;

	if (!json_u64(r, &value))
		return false;
	if (value > UINT32_MAX)
		return refuse_integer(r, slice_of(where, 0), -ERANGE);
	*ret_value = (uint32_t)value;
	return true;
}

bool json_double(struct json_reader *r, double *ret_value)
{
	struct slice text;

	if (!number_text(r, &text))
		return false;
	return number_parse_double(text, ret_value) == 0 ||
	       json_stop(r, text.p, "a number is expected");
}

int json_name_find(const struct json_name *names, unsigned count, unsigned *hint, struct slice name)
{
	unsigned at = *hint;

	for (unsigned i = 0; i < count; i++, at++) {
		if (at >= count)
			at = 0;
		if (names[at].text.n == name.n && bytes_equal(names[at].text.p, name.p, name.n)) {
			*hint = at + 1;
			return names[at].field;
		}
	}
	return -1;
}
