/* api/attr_json.c - an attribute as {"key":…,"type":…,"value":…}, for people and programs that look
 * at traces.  (OTLP's own JSON is wire/otlp_json.h.) */
#include "api/trace_json.h"
#include "base/cleanup.h"

#define SAFE_INTEGER (1LL << 53) /* beyond it JavaScript rounds */

static const char *const type_names[] = {
	[VALUE_EMPTY] = "empty",       [VALUE_STRING] = "string", [VALUE_BOOL] = "bool",
	[VALUE_INT] = "int",           [VALUE_DOUBLE] = "double", [VALUE_BYTES] = "bytes",
	[VALUE_ARRAY] = "array",       [VALUE_KVLIST] = "map",    [VALUE_RAW] = "protobuf",
	[VALUE_RAW_PAIR] = "protobuf",
};

/* Decoders refuse values nested deeper than DECODE_DEPTH_MAX, so this ends. */
void attr_json_value(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	struct value_range children = attr_children(b, a);
	int64_t integer;

	switch (a->type) {
	case VALUE_STRING:
		json_put_string(w, batch_text(b, a->string));
		break;
	case VALUE_BOOL:
		json_put_bool(w, a->word);
		break;
	case VALUE_INT:
		integer = attr_integer(b, a);
		if (integer > -SAFE_INTEGER && integer < SAFE_INTEGER)
			json_put_i64(w, integer);
		else
			json_put_i64_text(w, integer);
		break;
	case VALUE_DOUBLE:
		json_put_double(w, attr_number(b, a));
		break;
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		json_put_base64(w, batch_text(b, a->string));
		break;
	case VALUE_ARRAY:
		json_begin_array(w);
		for (uint32_t i = 0; i < children.count; i++)
			attr_json_value(w, b, &b->nested[children.first + i]);
		json_end_array(w);
		break;
	case VALUE_KVLIST:
		json_begin_array(w);
		for (uint32_t i = 0; i < children.count; i++)
			attr_json(w, b, &b->nested[children.first + i]);
		json_end_array(w);
		break;
	default:
		json_put_null(w);
	}
}

void attr_json(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	json_begin_object(w);
	json_put_name(w, "key");
	json_put_string(w, batch_text(b, a->key));
	json_put_name(w, "type");
	json_put_cstr(w, a->type < ARRAY_SIZE(type_names) ? type_names[a->type] : "unknown");
	json_put_name(w, "value");
	attr_json_value(w, b, a);
	json_end_object(w);
}
