/* api/tool_arguments.c - what a tool may be asked: read strictly from JSON, and described as a JSON
 * Schema from the same table.
 *
 * Who asks may be a language model: a refusal says what would be right, so that the next attempt
 * is. */
#include <errno.h>
#include <stdio.h>

#include "api/tool_int.h"
#include "api/trace_get.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "wire/json_reader.h"

const struct tool_param tool_shared_params[] = {
	{.name = "max_bytes",
	 .type = TOOL_NUMBER,
	 .doc = "most bytes of the answer; the rest is read with cursor",
	 .fallback = TOOL_BYTES,
	 .least = TOOL_BYTES_LEAST,
	 .most = TOOL_BYTES_MOST},
	{.name = "cursor",
	 .type = TOOL_TEXT,
	 .doc = "`next` of an earlier answer: gives the rows behind it; of what else is "
		"given, only max_bytes, limit and max_spans count"},
	{0},
};

/* One argument on its way in. */
struct reading {
	struct tool_call *call;
	struct json_reader *r;
	const struct tool_param *param;
	struct tool_value *value;
};

static int wrong(struct reading *x, const char *wanted)
{
	return tool_fail(x->call, -EINVAL, "%s: %s", x->param->name, wanted);
}

static int text_read(struct reading *x, const char *wanted, struct slice *ret_text)
{
	struct buffer scratch = {0};
	struct json_string s;
	int r = 0;

	if (json_peek(x->r) != JSON_STRING || !json_string(x->r, &s))
		return wrong(x, wanted);
	*ret_text = arena_dup(&x->call->arena, json_text(s, &scratch));
	if (!ret_text->p || scratch.failed)
		r = tool_fail(x->call, -ENOMEM, "out of memory");
	buffer_done(&scratch);
	return r;
}

/* A text, or a number that is taken as one. */
static int text_or_number(struct reading *x, const char *wanted, struct slice *ret_text)
{
	if (json_peek(x->r) == JSON_NUMBER && json_number(x->r, ret_text))
		return 0;
	return text_read(x, wanted, ret_text);
}

static int texts_read(struct reading *x)
{
	static const char wanted[] = "an array of at most 64 texts is wanted";
	struct tool_value *v = x->value;
	int r = 0;

	v->texts = arena_zalloc(&x->call->arena, TOOL_TEXTS_MOST, sizeof(*v->texts));
	if (!v->texts)
		return tool_fail(x->call, -ENOMEM, "out of memory");
	if (json_peek(x->r) != JSON_ARRAY) {
		v->text_n = 1;
		return text_read(x, wanted, &v->texts[0]);
	}
	json_array(x->r);
	while (r == 0 && json_next_item(x->r)) {
		if (v->text_n == TOOL_TEXTS_MOST)
			return wrong(x, wanted);
		r = text_read(x, wanted, &v->texts[v->text_n]);
		v->text_n++;
	}
	return r;
}

static int number_read(struct reading *x)
{
	const struct tool_param *p = x->param;

	if (json_peek(x->r) != JSON_NUMBER || !json_i64(x->r, &x->value->number) ||
	    x->value->number < p->least || x->value->number > p->most)
		return tool_fail(x->call, -EINVAL, "%s: a whole number from %lld to %lld is wanted",
				 p->name, (long long)p->least, (long long)p->most);
	return 0;
}

static int choice_read(struct reading *x)
{
	char wanted[200] = "one of ";
	struct slice text = {0};
	size_t n = strlen(wanted);
	int r;

	for (size_t i = 0; x->param->choices[i] && n < sizeof(wanted); i++)
		n += (size_t)snprintf(wanted + n, sizeof(wanted) - n, "%s\"%s\"", i ? ", " : "",
				      x->param->choices[i]);
	r = text_read(x, wanted, &text);
	for (int64_t i = 0; r == 0 && x->param->choices[i]; i++)
		if (slice_eq(text, slice_cstr(x->param->choices[i]))) {
			x->value->number = i;
			return 0;
		}
	return r < 0 ? r : wrong(x, wanted);
}

static int value_read(struct reading *x)
{
	static const char moment[] = "a moment is wanted: RFC 3339 such as "
				     "\"2026-01-02T03:04:05Z\", a number since 1970, or relative "
				     "to now such as \"-1h\"";
	static const char duration[] = "a duration with its unit is wanted, such as \"250ms\"";
	static const char trace[] = "a trace id is wanted: up to 32 hex digits, or a traceparent";
	static const char span[] = "a span id is wanted: up to 16 hex digits";
	struct tool_value *v = x->value;
	int r;

	switch (x->param->type) {
	case TOOL_TEXT:
		return text_read(x, "a text is wanted", &v->text);
	case TOOL_TEXTS:
		return texts_read(x);
	case TOOL_NUMBER:
		return number_read(x);
	case TOOL_FLAG:
		if (json_peek(x->r) != JSON_BOOL || !json_bool(x->r, &v->flag))
			return wrong(x, "true or false is wanted");
		return 0;
	case TOOL_CHOICE:
		return choice_read(x);
	case TOOL_MOMENT:
		r = text_or_number(x, moment, &v->text);
		if (r == 0 && moment_parse(v->text, x->call->now_ns, &v->number) < 0)
			r = wrong(x, moment);
		return r;
	case TOOL_DURATION:
		r = text_read(x, duration, &v->text);
		if (r == 0 && (duration_parse(v->text, &v->number) < 0 || v->number < 0))
			r = wrong(x, duration);
		return r;
	case TOOL_TRACE:
		r = text_read(x, trace, &v->text);
		if (r == 0 && trace_id_read(v->text, &v->trace) < 0)
			r = wrong(x, trace);
		return r;
	case TOOL_SPAN:
		r = text_read(x, span, &v->text);
		if (r == 0 && span_id_parse(v->text, &v->span) < 0)
			r = wrong(x, span);
		return r;
	}
	return -EINVAL;
}

static const struct tool_param *param_find(const struct tool_call *call, struct slice name,
					   size_t *ret_index, struct suggestion *near)
{
	const struct tool_param *p = call->tool->params;

	for (size_t i = 0; p[i].name; i++) {
		*ret_index = i;
		if (slice_eq(name, slice_cstr(p[i].name)))
			return &p[i];
		suggestion_offer(near, p[i].name);
	}
	p = tool_shared_params;
	for (size_t i = 0; p[i].name; i++) {
		if (slice_eq(name, slice_cstr(p[i].name)))
			return &p[i];
		suggestion_offer(near, p[i].name);
	}
	return NULL;
}

static int unknown(struct tool_call *call, struct slice name, const struct suggestion *near)
{
	struct buffer all = {0};

	if (near->best) {
		return tool_fail(call, -EINVAL, "%s takes no '%.*s'; did you mean %s?",
				 call->tool->name, SLICE_ARG(slice_first(name, 64)), near->best);
	}
	for (const struct tool_param *p = call->tool->params; p->name; p++)
		buffer_printf(&all, "%s, ", p->name);
	tool_fail(call, -EINVAL, "%s takes no '%.*s'; it takes %smax_bytes and cursor",
		  call->tool->name, SLICE_ARG(slice_first(name, 64)), buffer_cstr(&all));
	buffer_done(&all);
	return -EINVAL;
}

static int argument_read(struct tool_call *call, struct json_reader *r, struct slice key)
{
	char name[JSON_NAME_MAX + 1];
	struct suggestion near;
	struct tool_value own = {0};
	struct reading x = {.call = call, .r = r};
	size_t index = 0;
	int result;

	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(slice_first(key, JSON_NAME_MAX)));
	near = suggestion_for(slice_cstr(name));
	x.param = param_find(call, slice_cstr(name), &index, &near);
	if (!x.param)
		return unknown(call, slice_cstr(name), &near);
	if (json_null(r)) /* as good as not there */
		return 0;
	x.value = x.param == &call->tool->params[index] ? &call->values[index] : &own;
	if (x.value->given)
		return tool_fail(call, -EINVAL, "%s is given twice", name);
	x.value->given = true;
	result = value_read(&x);
	if (result < 0 || x.value != &own)
		return result;
	if (x.param == &tool_shared_params[0])
		call->max_bytes = own.number;
	else
		call->cursor = own.text;
	return 0;
}

int tool_arguments_read(struct tool_call *call, struct slice arguments)
{
	struct json_reader r = json_open(arguments);
	struct error error = {0};
	struct slice key;
	int result = 0;

	call->max_bytes = TOOL_BYTES;
	for (size_t i = 0; call->tool->params[i].name; i++)
		call->values[i].number = call->tool->params[i].fallback;
	if (slice_trim(arguments).n > 0) {
		if (json_peek(&r) != JSON_OBJECT || !json_object(&r))
			return tool_fail(call, -EINVAL,
					 "the arguments are a JSON object, such as {\"max_bytes\": "
					 "8000}");
		while (result == 0 && json_next_name(&r, &key))
			result = argument_read(call, &r, key);
		if (result == 0 && json_finish(&r, &error) < 0)
			return tool_fail(call, -EINVAL, "the arguments are not JSON: byte %zu: %s",
					 error.offset, error.text);
	}
	for (size_t i = 0; result == 0 && !call->cursor.p && call->tool->params[i].name; i++)
		if (call->tool->params[i].required && !call->values[i].given)
			result = tool_fail(call, -EINVAL, "%s is wanted: %s",
					   call->tool->params[i].name, call->tool->params[i].doc);
	return result;
}

/* --- as JSON Schema --- */

static void put_cstr(struct json_writer *w, const char *name, const char *text)
{
	json_put_name(w, name);
	json_put_cstr(w, text);
}

static void put_i64(struct json_writer *w, const char *name, int64_t n)
{
	json_put_name(w, name);
	json_put_i64(w, n);
}

static void put_type(const struct tool_param *p, struct json_writer *w)
{
	switch (p->type) {
	case TOOL_NUMBER:
		put_cstr(w, "type", "integer");
		put_i64(w, "minimum", p->least);
		put_i64(w, "maximum", p->most);
		put_i64(w, "default", p->fallback);
		break;
	case TOOL_FLAG:
		put_cstr(w, "type", "boolean");
		break;
	case TOOL_TEXTS:
		put_cstr(w, "type", "array");
		json_put_name(w, "items");
		json_begin_object(w);
		put_cstr(w, "type", "string");
		json_end_object(w);
		put_i64(w, "maxItems", TOOL_TEXTS_MOST);
		break;
	case TOOL_CHOICE:
		put_cstr(w, "type", "string");
		json_put_name(w, "enum");
		json_begin_array(w);
		for (size_t i = 0; p->choices[i]; i++)
			json_put_cstr(w, p->choices[i]);
		json_end_array(w);
		put_cstr(w, "default", p->choices[0]);
		break;
	case TOOL_TRACE:
		put_cstr(w, "type", "string");
		put_cstr(w, "pattern", "^([0-9a-fA-F]{1,32}|00-[0-9a-fA-F]{32}-.*)$");
		break;
	case TOOL_SPAN:
		put_cstr(w, "type", "string");
		put_cstr(w, "pattern", "^[0-9a-fA-F]{1,16}$");
		break;
	default:
		put_cstr(w, "type", "string");
	}
}

static void put_param(const struct tool_param *p, struct json_writer *w)
{
	json_put_name(w, p->name);
	json_begin_object(w);
	put_type(p, w);
	put_cstr(w, "description", p->doc);
	json_end_object(w);
}

void tool_input_schema(const struct tool *tool, struct json_writer *w)
{
	json_begin_object(w);
	put_cstr(w, "type", "object");
	json_put_name(w, "properties");
	json_begin_object(w);
	for (const struct tool_param *p = tool->params; p->name; p++)
		put_param(p, w);
	for (const struct tool_param *p = tool_shared_params; p->name; p++)
		put_param(p, w);
	json_end_object(w);
	/* Nothing is "required": the cursor of an earlier answer stands for all of it.  What is
	 * missing is told by the call. */
	json_put_name(w, "additionalProperties");
	json_put_bool(w, false);
	json_end_object(w);
}

static void put_member(struct json_writer *w, const char *name, const char *type, const char *doc)
{
	json_put_name(w, name);
	json_begin_object(w);
	put_cstr(w, "type", type);
	put_cstr(w, "description", doc);
	json_end_object(w);
}

void tool_output_schema(const struct tool *tool, struct json_writer *w)
{
	json_begin_object(w);
	put_cstr(w, "type", "object");
	json_put_name(w, "properties");
	json_begin_object(w);
	put_member(w, "summary", "string", "what was found, in a sentence");
	put_member(w, tool->rows, "array", "the rows of this page");
	put_member(w, "returned", "integer", "how many rows this page has");
	put_member(w, "total", "integer", "how many rows there are");
	put_member(w, "truncated", "boolean", "there are rows that this page does not have");
	put_member(w, "next", "string", "the cursor that gives the rows behind this page");
	put_member(w, "incomplete", "string",
		   "why there are more than `total`, and what to ask instead");
	json_end_object(w);
	json_put_name(w, "required");
	json_begin_array(w);
	json_put_cstr(w, "summary");
	json_put_cstr(w, tool->rows);
	json_put_cstr(w, "returned");
	json_put_cstr(w, "total");
	json_put_cstr(w, "truncated");
	json_end_array(w);
	json_end_object(w);
}
