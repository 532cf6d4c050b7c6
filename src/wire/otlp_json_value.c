/* wire/otlp_json_value.c - OTLP's attributes from JSON to the batch.
 *
 * The hot path of OTLP JSON: names stand in the tables in the order senders write them, string
 * values first. */
#include "wire/otlp_json_value.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "wire/base64.h"

static struct attr read_value(struct otlp_json *d, unsigned position, int depth);

static inline uint32_t intern(struct batch *b, struct slice s, uint32_t *guess)
{
	uint32_t from = b->offset[*guess];

	/* Code 0 guesses nothing: it is the empty string. */
	if (b->offset[*guess + 1] - from == s.n && bytes_equal(b->text + from, s.p, s.n))
		return *guess;
	*guess = batch_string(b, s);
	return *guess;
}

/* The text of the string that stands next; out of memory stops the reader. */
static bool read_text(struct otlp_json *d, struct slice *ret_text)
{
	struct json_string s;
	const char *where = d->r.at;

	if (!json_string(&d->r, &s))
		return false;
	*ret_text = json_text(s, &d->scratch);
	if (__builtin_expect(d->scratch.failed, 0)) {
		d->batch->failed = -ENOMEM;
		return json_stop(&d->r, where, "out of memory");
	}
	return true;
}

uint32_t otlp_json_text(struct otlp_json *d)
{
	struct slice text;

	return read_text(d, &text) ? batch_string(d->batch, text) : 0;
}

enum otlp_id otlp_json_trace_id(struct otlp_json *d, struct trace_id *id)
{
	struct json_string s;

	*id = (struct trace_id){0};
	if (!json_string(&d->r, &s) || s.raw.n == 0)
		return OTLP_ID_MISSING;
	if (hex_decode(s.raw, id->b, sizeof(id->b)) < 0) {
		*id = (struct trace_id){0};
		return OTLP_ID_BAD;
	}
	return trace_id_is_zero(*id) ? OTLP_ID_MISSING : OTLP_ID_GOOD;
}

enum otlp_id otlp_json_span_id(struct otlp_json *d, span_id_t *id)
{
	struct json_string s;
	uint8_t bytes[8];

	*id = 0;
	if (!json_string(&d->r, &s) || s.raw.n == 0)
		return OTLP_ID_MISSING;
	if (hex_decode(s.raw, bytes, sizeof(bytes)) < 0)
		return OTLP_ID_BAD;
	*id = load_be64(bytes);
	return *id == 0 ? OTLP_ID_MISSING : OTLP_ID_GOOD;
}

/* An enum: its number, or one of its names. */
int32_t otlp_json_enum(struct otlp_json *d, const struct json_name *names, unsigned count)
{
	const char *where = d->r.at;
	struct json_string s;
	int64_t value = 0;
	unsigned hint = 0;

	if (json_peek(&d->r) == JSON_STRING) {
		struct json_reader before = d->r;
		int found;

		if (!json_string(&d->r, &s))
			return 0;
		found = json_name_find(names, count, &hint, s.raw);
		if (found >= 0)
			return found;
		d->r = before; /* a number in quotes, perhaps */
	}
	if (json_i64(&d->r, &value) && (value < INT32_MIN || value > INT32_MAX))
		json_stop(&d->r, where, "an integer out of range");
	return (int32_t)value;
}

static uint32_t read_bytes(struct otlp_json *d)
{
	const char *where = d->r.at;
	struct buffer bytes = {0};
	struct slice text;
	uint32_t code = 0;
	int error;

	if (!read_text(d, &text))
		return 0;
	error = base64_decode(text, &bytes);
	if (error == 0)
		code = batch_string(d->batch, buffer_get(&bytes));
	else if (error == -ENOMEM)
		d->batch->failed = -ENOMEM;
	else
		json_stop(&d->r, where, "base64 is expected");
	buffer_done(&bytes);
	return code;
}

static void push(struct otlp_json *d, struct attr child)
{
	if (!vec_reserve(&d->stack, &d->stack_capacity, d->stack_n + 1, sizeof(*d->stack))) {
		d->batch->failed = -ENOMEM;
		json_stop(&d->r, d->r.at, "out of memory");
		return;
	}
	d->stack[d->stack_n++] = child;
}

/* Moves the children above `base` from the stack to their place in the batch. */
static struct value_range pop_children(struct otlp_json *d, size_t base)
{
	uint32_t count = (uint32_t)(d->stack_n - base), first = batch_nested(d->batch, count);

	d->stack_n = base;
	if (d->batch->failed || count == 0)
		return (struct value_range){0, 0};
	memcpy(d->batch->nested + first, d->stack + base, count * sizeof(*d->stack));
	return (struct value_range){first, count};
}

static struct attr read_pair(struct otlp_json *d, unsigned position, int depth)
{
	static const struct json_name names[] = {JSON_NAME("key", 'k'), JSON_NAME("value", 'v')};
	unsigned slot = position & (OTLP_JSON_GUESSES - 1), hint = 0;
	struct slice name, text;
	struct attr pair = {0};
	uint32_t key = 0;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == 'k') {
			if (read_text(d, &text))
				key = intern(d->batch, text, &d->key_guess[slot]);
		} else if (field == 'v') {
			pair = read_value(d, slot, depth);
		} else {
			json_skip(&d->r);
		}
	}
	pair.key = key;
	return pair;
}

/* {"values":[…]} of an ArrayValue or KeyValueList. */
static struct value_range read_children(struct otlp_json *d, bool pairs, int depth)
{
	size_t base = d->stack_n;
	struct slice name;

	if (depth >= DECODE_DEPTH_MAX) {
		json_stop(&d->r, d->r.at, "an attribute value is nested too deeply");
		return (struct value_range){0, 0};
	}
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (!slice_eq(name, SLICE("values"))) {
			json_skip(&d->r);
			continue;
		}
		if (json_null(&d->r))
			continue;
		d->stack_n = base;
		json_array(&d->r);
		for (unsigned i = 0; json_next_item(&d->r); i++)
			push(d, pairs ? read_pair(d, i, depth + 1) : read_value(d, i, depth + 1));
	}
	return pop_children(d, base);
}

static struct attr read_double(struct otlp_json *d)
{
	double number = 0;

	json_double(&d->r, &number);
	return batch_double(d->batch, number);
}

/* JavaScript takes 1e300 for an integer, and its exporters send it as one: a bare number that does
 * not fit is kept as the double it was, instead of losing the whole request.  In quotes, where
 * exact digits are meant, it is refused. */
static struct attr read_integer(struct otlp_json *d)
{
	bool bare = json_peek(&d->r) == JSON_NUMBER;
	const char *where = d->r.at;
	int64_t integer = 0;

	if (json_i64(&d->r, &integer) || !bare || !json_is_range_error(&d->r))
		return batch_int(d->batch, integer);
	d->r.at = where;
	d->r.bad = NULL;
	return read_double(d);
}

enum value_field { STRING, INT, BOOL, DOUBLE, ARRAY, KVLIST, BYTES };

static struct attr read_value(struct otlp_json *d, unsigned position, int depth)
{
	static const struct json_name names[] = {
		JSON_NAME("stringValue", STRING),  JSON_NAME("intValue", INT),
		JSON_NAME("boolValue", BOOL),      JSON_NAME("doubleValue", DOUBLE),
		JSON_NAME("arrayValue", ARRAY),    JSON_NAME("kvlistValue", KVLIST),
		JSON_NAME("bytesValue", BYTES),    JSON_NAME("string_value", STRING),
		JSON_NAME("int_value", INT),       JSON_NAME("bool_value", BOOL),
		JSON_NAME("double_value", DOUBLE), JSON_NAME("array_value", ARRAY),
		JSON_NAME("kvlist_value", KVLIST), JSON_NAME("bytes_value", BYTES),
	};
	unsigned slot = position & (OTLP_JSON_GUESSES - 1), hint = 0;
	struct attr value = {0};
	struct slice name, text;
	bool truth = false;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field >= 0)
			value = (struct attr){0};
		switch (field) {
		case STRING:
			value.type = VALUE_STRING;
			if (read_text(d, &text))
				value.string = intern(d->batch, text, &d->value_guess[slot]);
			break;
		case INT:
			value = read_integer(d);
			break;
		case BOOL:
			value.type = VALUE_BOOL;
			json_bool(&d->r, &truth);
			value.word = truth;
			break;
		case DOUBLE:
			value = read_double(d);
			break;
		case ARRAY:
			value = batch_list(d->batch, VALUE_ARRAY, read_children(d, false, depth));
			break;
		case KVLIST:
			value = batch_list(d->batch, VALUE_KVLIST, read_children(d, true, depth));
			break;
		case BYTES:
			value.type = VALUE_BYTES;
			value.string = read_bytes(d);
			break;
		default:
			json_skip(&d->r);
		}
	}
	return value;
}

/* A scalar as every exporter writes it, up to its closing braces. */
static bool take_scalar(struct otlp_json *d, unsigned slot, struct attr *value)
{
	struct json_reader *r = &d->r;
	struct slice text;

	if (json_take(r, SLICE("stringValue\":\""))) {
		if (!json_plain(r, &text))
			return false;
		value->type = VALUE_STRING;
		value->string = intern(d->batch, text, &d->value_guess[slot]);
	} else if (json_take(r, SLICE("intValue\":"))) {
		bool quoted = json_take(r, SLICE("\""));
		int64_t integer;

		if (!json_digits(r, &integer) || (quoted && !json_take(r, SLICE("\""))))
			return false;
		*value = batch_int(d->batch, integer);
	} else if (json_take(r, SLICE("boolValue\":"))) {
		value->word = json_take(r, SLICE("true"));
		if (!value->word && !json_take(r, SLICE("false")))
			return false;
		value->type = VALUE_BOOL;
	} else {
		return false;
	}
	return json_take(r, SLICE("}}"));
}

/* A pair without blanks, in the usual order, as exporters write them.  False, and nothing read,
 * for any other. */
static bool read_compact_pair(struct otlp_json *d, unsigned position, struct attr *pair)
{
	unsigned slot = position & (OTLP_JSON_GUESSES - 1);
	const char *start = d->r.at;
	struct slice key;

	*pair = (struct attr){0};
	if (json_take(&d->r, SLICE("{\"key\":\"")) && json_plain(&d->r, &key) &&
	    json_take(&d->r, SLICE(",\"value\":{\"")) && take_scalar(d, slot, pair)) {
		pair->key = intern(d->batch, key, &d->key_guess[slot]);
		return true;
	}
	d->r.at = start;
	return false;
}

struct attr otlp_json_value(struct otlp_json *d)
{
	return read_value(d, 0, 0);
}

struct attr_range otlp_json_attrs(struct otlp_json *d)
{
	struct attr_range range = {(uint32_t)d->batch->attr_n, 0};

	json_array(&d->r);
	for (; json_next_item(&d->r); range.count++) {
		struct attr *next = batch_attr_next(d->batch);

		if (!read_compact_pair(d, range.count, next))
			*next = read_pair(d, range.count, 0);
	}
	return range;
}

/* --- entity references --- */

/* A list of strings. */
static struct attr read_keys(struct otlp_json *d)
{
	size_t base = d->stack_n;

	json_array(&d->r);
	while (json_next_item(&d->r))
		push(d, (struct attr){.type = VALUE_STRING, .string = otlp_json_text(d)});
	return batch_list(d->batch, VALUE_ARRAY, pop_children(d, base));
}

enum entity_field { SCHEMA_URL, TYPE, ID_KEYS, DESCRIPTION_KEYS, ENTITY_FIELDS };

/* All four fields, whatever was said: as the protobuf decoder leaves them. */
static struct attr read_entity(struct otlp_json *d)
{
	static const struct json_name names[] = {
		JSON_NAME("schemaUrl", SCHEMA_URL),
		JSON_NAME("type", TYPE),
		JSON_NAME("idKeys", ID_KEYS),
		JSON_NAME("descriptionKeys", DESCRIPTION_KEYS),
		JSON_NAME("schema_url", SCHEMA_URL),
		JSON_NAME("id_keys", ID_KEYS),
		JSON_NAME("description_keys", DESCRIPTION_KEYS),
	};
	struct attr parts[ENTITY_FIELDS] = {{.type = VALUE_STRING},
					    {.type = VALUE_STRING},
					    {.type = VALUE_ARRAY},
					    {.type = VALUE_ARRAY}};
	size_t base = d->stack_n;
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == SCHEMA_URL || field == TYPE)
			parts[field].string = otlp_json_text(d);
		else if (field == ID_KEYS || field == DESCRIPTION_KEYS)
			parts[field] = read_keys(d);
		else
			json_skip(&d->r);
	}
	for (int i = 0; i < ENTITY_FIELDS; i++) {
		parts[i].key = batch_string(d->batch, names[i].text);
		push(d, parts[i]);
	}
	return batch_list(d->batch, VALUE_KVLIST, pop_children(d, base));
}

struct attr otlp_json_entities(struct otlp_json *d)
{
	size_t base = d->stack_n;

	json_array(&d->r);
	while (json_next_item(&d->r))
		push(d, read_entity(d));
	if (d->stack_n == base)
		return (struct attr){0};
	return batch_list(d->batch, VALUE_ARRAY, pop_children(d, base));
}
