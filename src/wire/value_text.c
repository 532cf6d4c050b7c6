/* wire/value_text.c - an attribute's value as plain text. */
#include "wire/value_text.h"

#include "wire/otlp_json_value.h"

static void put_pair(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	json_put_key(w, batch_text(b, a->key));
	value_put_json(w, b, a);
}

void value_put_json(struct json_writer *w, const struct batch *b, const struct attr *value)
{
	struct value_range children = attr_children(b, value);

	switch (value->type) {
	case VALUE_STRING:
		json_put_string(w, batch_text(b, value->string));
		break;
	case VALUE_BOOL:
		json_put_bool(w, value->word);
		break;
	case VALUE_INT:
		json_put_i64(w, attr_integer(b, value));
		break;
	case VALUE_DOUBLE:
		json_put_double(w, attr_number(b, value));
		break;
	case VALUE_BYTES:
		json_put_base64(w, batch_text(b, value->string));
		break;
	case VALUE_ARRAY:
		json_begin_array(w);
		for (uint32_t i = 0; i < children.count; i++)
			value_put_json(w, b, &b->nested[children.first + i]);
		json_end_array(w);
		break;
	case VALUE_KVLIST:
		json_begin_object(w);
		for (uint32_t i = 0; i < children.count; i++)
			put_pair(w, b, &b->nested[children.first + i]);
		json_end_object(w);
		break;
	case VALUE_RAW:
		otlp_json_put_raw(w, batch_text(b, value->string));
		break;
	case VALUE_RAW_PAIR:
		otlp_json_put_raw_pair(w, batch_text(b, value->string));
		break;
	default:
		json_put_null(w);
	}
}

void value_put_object(struct json_writer *w, const struct batch *b, struct attr_range range)
{
	json_begin_object(w);
	for (uint32_t i = 0; i < range.count; i++)
		put_pair(w, b, &b->attrs[range.first + i]);
	json_end_object(w);
}

struct slice value_text(const struct batch *b, const struct attr *value, struct arena *arena,
			bool *failed)
{
	struct buffer text = {0};
	struct json_writer w = json_write(&text);
	struct slice made;

	if (value->type == VALUE_STRING)
		return batch_text(b, value->string);
	if (value->type == VALUE_EMPTY)
		return slice_of(NULL, 0);
	value_put_json(&w, b, value);
	made = buffer_get(&text);
	/* NaN, infinities and base64 are strings in JSON; here everything is. */
	if ((value->type == VALUE_DOUBLE || value->type == VALUE_BYTES) && made.n >= 2 &&
	    made.p[0] == '"')
		made = slice_of(made.p + 1, made.n - 2);
	made = arena_dup(arena, made);
	*failed |= text.failed || !made.p;
	buffer_done(&text);
	return made.p ? made : slice_of(NULL, 0);
}
