/* wire/jaeger_tag.c - Jaeger's KeyValue in JSON, both ways. */
#include "wire/jaeger_tag_int.h"

#include <errno.h>

#include "base/cleanup.h"
#include "wire/base64.h"
#include "wire/json_number.h"
#include "wire/value_text.h"

#define EXACT_IN_JAVASCRIPT ((1LL << 53) - 1) /* larger integers are written as strings */

/* What stands in the object, before it is known what it means. */
struct parts {
	uint32_t key;
	struct slice type;       /* as written; types have no escapes */
	enum json_type json;     /* of the value */
	struct json_string text; /* the value, if it is a string */
	struct slice raw;        /* the value as it stands */
};

static struct slice text_of(struct json_string s, struct batch *b, struct buffer *scratch)
{
	struct slice text = json_text(s, scratch);

	if (scratch->failed)
		b->failed = -ENOMEM;
	return text;
}

static void read_value(struct json_reader *r, struct parts *p)
{
	p->json = json_peek(r);
	p->raw.p = r->at;
	if (p->json == JSON_STRING)
		json_string(r, &p->text);
	else
		json_skip(r);
	p->raw.n = (size_t)(r->at - p->raw.p);
}

static struct attr text_value(const struct parts *p, struct batch *b, struct buffer *scratch)
{
	struct slice text = p->raw;

	if (p->json == JSON_STRING)
		text = text_of(p->text, b, scratch);
	else if (p->json == JSON_NULL)
		text = slice_of(NULL, 0);
	return (struct attr){.type = VALUE_STRING, .string = batch_string(b, text)};
}

static bool binary_value(const struct parts *p, struct batch *b, struct buffer *scratch,
			 struct attr *ret)
{
	struct buffer bytes = {0};
	int error;

	if (p->json != JSON_STRING)
		return false;
	error = base64_decode(text_of(p->text, b, scratch), &bytes);
	if (error == 0)
		*ret = (struct attr){.type = VALUE_BYTES,
				     .string = batch_string(b, buffer_get(&bytes))};
	else if (error == -ENOMEM)
		b->failed = -ENOMEM;
	buffer_done(&bytes);
	return error == 0;
}

/* The value by its declared type; false when it does not fit. */
static bool typed_value(const struct parts *p, struct batch *b, struct buffer *scratch,
			struct attr *ret)
{
	struct slice digits = p->json == JSON_STRING ? p->text.raw : p->raw;
	bool number = p->json == JSON_STRING || p->json == JSON_NUMBER;
	int64_t integer;
	double real;

	if (slice_eq(p->type, SLICE("string"))) {
		*ret = text_value(p, b, scratch);
	} else if (slice_eq(p->type, SLICE("int64")) && number &&
		   number_parse_i64(digits, &integer) == 0) {
		*ret = batch_int(b, integer);
	} else if (slice_eq(p->type, SLICE("float64")) && number &&
		   number_parse_double(digits, &real) == 0) {
		*ret = batch_double(b, real);
	} else if (slice_eq(p->type, SLICE("bool")) &&
		   (slice_eq(digits, SLICE("true")) || slice_eq(digits, SLICE("false")))) {
		*ret = (struct attr){.type = VALUE_BOOL, .word = digits.n == 4};
	} else {
		return slice_eq(p->type, SLICE("binary")) && binary_value(p, b, scratch, ret);
	}
	return true;
}

/* The value by what JSON says it is. */
static struct attr plain_value(const struct parts *p, struct batch *b, struct buffer *scratch)
{
	int64_t integer;
	double real;

	if (p->json == JSON_BOOL)
		return (struct attr){.type = VALUE_BOOL, .word = p->raw.n == 4};
	if (p->json != JSON_NUMBER)
		return text_value(p, b, scratch);
	if (number_parse_i64(p->raw, &integer) == 0)
		return batch_int(b, integer);
	if (number_parse_double(p->raw, &real) < 0)
		real = 0; /* cannot be: the reader has checked it */
	return batch_double(b, real);
}

struct attr jaeger_tag_read(struct json_reader *r, struct batch *b, struct buffer *scratch)
{
	static const struct json_name names[] = {JSON_NAME("key", 'k'), JSON_NAME("type", 't'),
						 JSON_NAME("value", 'v')};
	struct parts p = {.json = JSON_NULL};
	struct attr value = {0};
	struct json_string s;
	unsigned hint = 0;
	struct slice name;

	json_object(r);
	while (json_next_name(r, &name)) {
		switch (json_name_find(names, ARRAY_SIZE(names), &hint, name)) {
		case 'k':
			if (json_string(r, &s))
				p.key = batch_string(b, text_of(s, b, scratch));
			break;
		case 't':
			if (json_null(r))
				break;
			if (json_string(r, &s))
				p.type = s.raw;
			break;
		case 'v':
			read_value(r, &p);
			break;
		default:
			json_skip(r);
		}
	}
	if (r->bad)
		return value;
	if (!typed_value(&p, b, scratch, &value))
		value = plain_value(&p, b, scratch);
	value.key = p.key;
	return value;
}

/* --- writing --- */

static void begin(struct json_writer *w, struct slice key, const char *type)
{
	json_begin_object(w);
	json_put_name(w, "key");
	json_put_string(w, key);
	json_put_name(w, "type");
	json_put_cstr(w, type);
	json_put_name(w, "value");
}

static void put_int(struct json_writer *w, int64_t value)
{
	if (value > EXACT_IN_JAVASCRIPT || value < -EXACT_IN_JAVASCRIPT)
		json_put_i64_text(w, value);
	else
		json_put_i64(w, value);
}

/* Nested values, and those nobody understands: as JSON, in a string. */
static void put_as_text(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	struct buffer text = {0};
	struct json_writer inner = json_write(&text);

	value_put_json(&inner, b, a);
	json_put_string(w, buffer_get(&text));
	w->out->failed |= text.failed;
	buffer_done(&text);
}

void jaeger_tag_put(struct json_writer *w, const struct batch *b, const struct attr *a)
{
	struct slice key = batch_text(b, a->key);

	switch (a->type) {
	case VALUE_BOOL:
		begin(w, key, "bool");
		json_put_bool(w, a->word);
		break;
	case VALUE_INT:
		begin(w, key, "int64");
		put_int(w, attr_integer(b, a));
		break;
	case VALUE_DOUBLE:
		begin(w, key, "float64");
		json_put_double(w, attr_number(b, a));
		break;
	case VALUE_BYTES:
		begin(w, key, "binary");
		json_put_base64(w, batch_text(b, a->string));
		break;
	case VALUE_STRING:
		begin(w, key, "string");
		json_put_string(w, batch_text(b, a->string));
		break;
	case VALUE_EMPTY:
		begin(w, key, "string");
		json_put_string(w, slice_of(NULL, 0));
		break;
	default:
		begin(w, key, "string");
		put_as_text(w, b, a);
	}
	json_end_object(w);
}

void jaeger_tag_put_text(struct json_writer *w, const char *key, struct slice value)
{
	begin(w, slice_cstr(key), "string");
	json_put_string(w, value);
	json_end_object(w);
}

void jaeger_tag_put_true(struct json_writer *w, const char *key)
{
	begin(w, slice_cstr(key), "bool");
	json_put_bool(w, true);
	json_end_object(w);
}

void jaeger_tag_put_int(struct json_writer *w, const char *key, int64_t value)
{
	begin(w, slice_cstr(key), "int64");
	put_int(w, value);
	json_end_object(w);
}
