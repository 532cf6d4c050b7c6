/* wire/otlp_json_raw.c - protobuf values that were kept as bytes, as JSON.
 *
 * An AnyValue with a field nobody knows is kept whole (VALUE_RAW).  JSON has no place for the
 * unknown part; the known part is written, so that a reader still sees the value.  Field numbers:
 * wire/otlp_value.h. */
#include "wire/otlp_json_value.h"
#include "wire/protobuf.h"

static void put_any(struct json_writer *w, struct slice any, int depth);

static void put_pair(struct json_writer *w, struct slice pair, int depth)
{
	struct slice key = {0}, value = {0};
	struct pb_reader r = pb_open(pair);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	}
	json_begin_object(w);
	json_put_name(w, "key");
	json_put_string(w, key);
	json_put_name(w, "value");
	put_any(w, value, depth);
	json_end_object(w);
}

static void put_children(struct json_writer *w, struct slice list, bool pairs, int depth)
{
	struct pb_reader r = pb_open(list);
	struct pb_field f;

	json_begin_object(w);
	json_put_name(w, "values");
	json_begin_array(w);
	while (pb_next(&r, &f)) {
		if (f.tag != PB_TAG(1, PB_BYTES))
			continue;
		if (pairs)
			put_pair(w, f.bytes, depth + 1);
		else
			put_any(w, f.bytes, depth + 1);
	}
	json_end_array(w);
	json_end_object(w);
}

static void put_known(struct json_writer *w, const struct pb_field *f, int depth)
{
	double number;

	switch (f->tag) {
	case PB_TAG(1, PB_BYTES):
		json_put_name(w, "stringValue");
		json_put_string(w, f->bytes);
		break;
	case PB_TAG(2, PB_VARINT):
		json_put_name(w, "boolValue");
		json_put_bool(w, f->value != 0);
		break;
	case PB_TAG(3, PB_VARINT):
		json_put_name(w, "intValue");
		json_put_i64_text(w, (int64_t)f->value);
		break;
	case PB_TAG(4, PB_FIXED64):
		memcpy(&number, &f->value, sizeof(number));
		json_put_name(w, "doubleValue");
		json_put_double(w, number);
		break;
	case PB_TAG(5, PB_BYTES):
		json_put_name(w, "arrayValue");
		put_children(w, f->bytes, false, depth);
		break;
	case PB_TAG(6, PB_BYTES):
		json_put_name(w, "kvlistValue");
		put_children(w, f->bytes, true, depth);
		break;
	default:
		json_put_name(w, "bytesValue");
		json_put_base64(w, f->bytes);
	}
}

static void put_any(struct json_writer *w, struct slice any, int depth)
{
	struct pb_field f, last = {.bytes = any};
	struct pb_reader r = pb_open(any);
	bool found = depth >= DECODE_DEPTH_MAX;

	while (depth < DECODE_DEPTH_MAX && pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
		case PB_TAG(2, PB_VARINT):
		case PB_TAG(3, PB_VARINT):
		case PB_TAG(4, PB_FIXED64):
		case PB_TAG(5, PB_BYTES):
		case PB_TAG(6, PB_BYTES):
		case PB_TAG(7, PB_BYTES):
			last = f; /* of a oneof the last counts */
			found = true;
			break;
		default:
			break;
		}
	}
	json_begin_object(w);
	if (found)
		put_known(w, &last, depth);
	json_end_object(w);
}

void otlp_json_put_raw(struct json_writer *w, struct slice any)
{
	put_any(w, any, 0);
}

void otlp_json_put_raw_pair(struct json_writer *w, struct slice pair)
{
	put_pair(w, pair, 0);
}

void otlp_json_put_raw_entity(struct json_writer *w, struct slice entity)
{
	static const char *const names[] = {"schemaUrl", "type", "idKeys", "descriptionKeys"};

	json_begin_object(w);
	for (uint32_t number = 1; number <= 4; number++) {
		struct pb_reader r = pb_open(entity);
		struct slice last = {0};
		struct pb_field f;
		bool begun = false;

		while (pb_next(&r, &f)) {
			if (f.tag != PB_TAG(number, PB_BYTES))
				continue;
			last = f.bytes;
			if (!begun)
				json_put_name(w, names[number - 1]);
			if (!begun && number > 2)
				json_begin_array(w);
			begun = true;
			if (number > 2)
				json_put_string(w, f.bytes);
		}
		if (begun && number > 2)
			json_end_array(w);
		else if (begun)
			json_put_string(w, last);
	}
	json_end_object(w);
}
