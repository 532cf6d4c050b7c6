/* api/query_json_read.c - results of queries, back from JSON. */
#include <openssl/evp.h>
#include <stdio.h>

#include "api/query_json.h"
#include "base/cleanup.h"
#include "base/vec.h"

#define LIST_MAX    (1 << 20) /* elements of one cell */
#define COLUMNS_MAX 4096

static bool out_of_memory(struct json_reader *r)
{
	return json_stop(r, r->at, "out of memory");
}

static bool read_text(struct json_reader *r, struct arena *arena, struct slice *ret_text)
{
	struct buffer scratch = {0};
	struct json_string s;
	bool good = json_string(r, &s);

	if (good) {
		*ret_text = arena_dup(arena, json_text(s, &scratch));
		good = ret_text->p || out_of_memory(r);
	}
	buffer_done(&scratch);
	return good;
}

static bool read_int(struct json_reader *r, enum value_is type, struct value *ret_value)
{
	int64_t i = 0;

	if (!json_i64(r, &i))
		return false;
	*ret_value = value_of(type, i);
	return true;
}

/* A name of one of a few small numbers. */
static bool read_name(struct json_reader *r, enum value_is type, struct arena *arena,
		      struct value *ret_value)
{
	const char *at = r->at;
	struct slice text;

	if (!read_text(r, arena, &text))
		return false;
	for (int64_t i = 0; i < 8; i++) {
		const char *name = type == V_STATUS ? value_status_name(i) : value_kind_name(i);

		if (*name && slice_eq(text, slice_cstr(name))) {
			*ret_value = value_of(type, i);
			return true;
		}
	}
	return json_stop(r, at, "not a status or a kind");
}

static bool read_bytes(struct json_reader *r, struct arena *arena, struct value *ret_value)
{
	struct slice text;
	uint8_t *out;
	int n;

	if (!read_text(r, arena, &text))
		return false;
	out = arena_alloc(arena, text.n + 4);
	if (!out)
		return out_of_memory(r);
	n = EVP_DecodeBlock(out, (const uint8_t *)text.p, (int)text.n);
	if (n < 0)
		return json_stop(r, r->at, "not base64");
	for (size_t i = text.n; i > 0 && text.p[i - 1] == '='; i--)
		n--;
	*ret_value = value_text(slice_of(out, (size_t)n));
	ret_value->type = V_BYTES;
	return true;
}

/* The inside of {"duration":5}. */
static bool read_tagged(struct json_reader *r, struct arena *arena, struct value *ret_value)
{
	static const struct {
		const char *name;
		enum plan_type type;
	} tags[] = {{"int", PLAN_INT},           {"float", PLAN_FLOAT},   {"time", PLAN_TIME},
		    {"duration", PLAN_DURATION}, {"status", PLAN_STATUS}, {"kind", PLAN_KIND},
		    {"string", PLAN_STRING}};
	struct slice name;
	bool good = false;

	if (!json_object(r) || !json_next_name(r, &name))
		return json_stop(r, r->at, "an empty cell");
	if (slice_eq(name, SLICE("bytes"))) {
		good = read_bytes(r, arena, ret_value);
	} else {
		size_t i = 0;

		while (i < ARRAY_SIZE(tags) && !slice_eq(name, slice_cstr(tags[i].name)))
			i++;
		good = i < ARRAY_SIZE(tags)
			       ? query_json_read_value(r, tags[i].type, arena, ret_value)
			       : json_stop(r, r->at, "a cell of a type that is not known");
	}
	return good && (!json_next_name(r, &name) || json_stop(r, r->at, "two values in a cell"));
}

static bool read_list(struct json_reader *r, struct arena *arena, struct value *ret_value)
{
	struct value *items = NULL, *kept;
	size_t n = 0, capacity = 0;
	bool good = json_array(r);

	while (good && json_next_item(r)) {
		good = n < LIST_MAX || json_stop(r, r->at, "a list that is too long");
		if (good && !vec_reserve(&items, &capacity, n + 1, sizeof(*items)))
			good = out_of_memory(r);
		if (good)
			good = query_json_read_value(r, PLAN_ANY, arena, &items[n++]);
	}
	good = good && !r->bad;
	kept = good ? arena_alloc(arena, n * sizeof(*items) + 1) : NULL;
	if (good && !kept)
		good = out_of_memory(r);
	if (good) {
		if (n)
			memcpy(kept, items, n * sizeof(*items));
		*ret_value = value_list(kept, (uint32_t)n);
	}
	free(items);
	return good;
}

static bool read_number(struct json_reader *r, enum plan_type column, struct value *ret_value)
{
	struct json_reader before = *r;
	struct slice digits;
	double f = 0;

	if (column == PLAN_DURATION)
		return read_int(r, V_DURATION, ret_value);
	if (column != PLAN_FLOAT) {
		if (!json_number(r, &digits))
			return false;
		*r = before;
		if (!memchr(digits.p, '.', digits.n) && !memchr(digits.p, 'e', digits.n) &&
		    !memchr(digits.p, 'E', digits.n))
			return read_int(r, V_INT, ret_value);
	}
	if (!json_double(r, &f))
		return false;
	*ret_value = value_float(f);
	return true;
}

static bool read_quoted(struct json_reader *r, enum plan_type column, struct arena *arena,
			struct value *ret_value)
{
	struct slice text;
	double f = 0;

	switch (column) {
	case PLAN_INT:
		return read_int(r, V_INT, ret_value);
	case PLAN_DURATION:
		return read_int(r, V_DURATION, ret_value);
	case PLAN_TIME:
		return read_int(r, V_TIME, ret_value);
	case PLAN_FLOAT:
		if (!json_double(r, &f))
			return false;
		*ret_value = value_float(f);
		return true;
	case PLAN_STATUS:
		return read_name(r, V_STATUS, arena, ret_value);
	case PLAN_KIND:
		return read_name(r, V_KIND, arena, ret_value);
	default:
		if (!read_text(r, arena, &text))
			return false;
		*ret_value = value_text(text);
		return true;
	}
}

bool query_json_read_value(struct json_reader *r, enum plan_type column, struct arena *arena,
			   struct value *ret_value)
{
	bool b = false;

	switch (json_peek(r)) {
	case JSON_NULL:
		*ret_value = value_nil();
		return json_null(r);
	case JSON_BOOL:
		if (!json_bool(r, &b))
			return false;
		*ret_value = value_bool(b);
		return true;
	case JSON_NUMBER:
		return read_number(r, column, ret_value);
	case JSON_STRING:
		return read_quoted(r, column, arena, ret_value);
	case JSON_ARRAY:
		return read_list(r, arena, ret_value);
	case JSON_OBJECT:
		return read_tagged(r, arena, ret_value);
	default:
		return json_stop(r, r->at, "a value is missing");
	}
}

static enum plan_type type_named(struct slice name)
{
	for (int i = 0; i < PLAN_TYPES; i++)
		if (slice_eq(name, slice_cstr(plan_type_name((enum plan_type)i))))
			return (enum plan_type)i;
	return PLAN_ANY;
}

static bool read_column(struct json_reader *r, struct arena *arena, struct query_column *ret)
{
	struct query_column c = {.type = PLAN_ANY};
	struct slice name, type;
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		if (slice_eq(name, SLICE("name"))) {
			good = read_text(r, arena, &c.name);
		} else if (slice_eq(name, SLICE("type"))) {
			good = read_text(r, arena, &type);
			c.type = good ? type_named(type) : PLAN_ANY;
		} else if (slice_eq(name, SLICE("series"))) {
			good = json_bool(r, &c.series);
		} else {
			json_skip(r);
		}
	}
	*ret = c;
	return good && !r->bad;
}

bool query_json_read_columns(struct json_reader *r, struct arena *arena,
			     struct query_column **ret_columns, size_t *ret_n)
{
	struct query_column *columns = NULL, *kept = NULL;
	size_t n = 0, capacity = 0;
	bool good = json_array(r);

	while (good && json_next_item(r)) {
		good = n < COLUMNS_MAX || json_stop(r, r->at, "too many columns");
		if (good && !vec_reserve(&columns, &capacity, n + 1, sizeof(*columns)))
			good = out_of_memory(r);
		if (good)
			good = read_column(r, arena, &columns[n++]);
	}
	good = good && !r->bad;
	if (good) {
		kept = arena_alloc(arena, n * sizeof(*columns) + 1);
		good = kept || out_of_memory(r);
	}
	if (good) {
		if (n)
			memcpy(kept, columns, n * sizeof(*columns));
		*ret_columns = kept;
		*ret_n = n;
	}
	free(columns);
	return good;
}

/* Is the cell at hand {"value":…}?  Nothing is consumed. */
static bool is_estimate(const struct json_reader *r)
{
	struct json_reader ahead = *r;
	struct slice name;

	return json_peek(&ahead) == JSON_OBJECT && json_object(&ahead) &&
	       json_next_name(&ahead, &name) && slice_eq(name, SLICE("value"));
}

static bool read_estimate(struct json_reader *r, enum plan_type column, struct arena *arena,
			  struct value *ret_value, double *ret_plus_minus)
{
	struct slice name;
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		if (slice_eq(name, SLICE("value")))
			good = query_json_read_value(r, column, arena, ret_value);
		else if (slice_eq(name, SLICE("plusMinus")))
			good = json_double(r, ret_plus_minus);
		else
			json_skip(r);
	}
	return good && !r->bad;
}

bool query_json_read_row(struct json_reader *r, const struct query_column *columns, size_t n,
			 struct arena *arena, struct value *ret_values, double *ret_plus_minus,
			 bool *ret_estimate)
{
	bool estimate = false, good = true;
	size_t i = 0;

	if (!json_array(r))
		return false;
	while (good && json_next_item(r)) {
		if (i == n)
			return json_stop(r, r->at, "more cells than columns");
		ret_plus_minus[i] = 0;
		if (is_estimate(r)) {
			estimate = true;
			good = read_estimate(r, columns[i].type, arena, &ret_values[i],
					     &ret_plus_minus[i]);
		} else {
			good = query_json_read_value(r, columns[i].type, arena, &ret_values[i]);
		}
		i++;
	}
	*ret_estimate = estimate;
	return good && !r->bad && (i == n || json_stop(r, r->at, "fewer cells than columns"));
}

static enum diag_code code_named(struct slice text)
{
	for (int i = 0; i < DIAG_CODES; i++)
		if (slice_eq(text, slice_cstr(diag_code_text((enum diag_code)i))))
			return (enum diag_code)i;
	return DIAG_CLOCK_RULE;
}

static bool read_warning(struct json_reader *r, struct query_stats *s)
{
	struct arena arena = {0};
	struct query_warning w = {0};
	struct slice name, text;
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		bool is_code = slice_eq(name, SLICE("code"));

		if (!is_code && !slice_eq(name, SLICE("message"))) {
			json_skip(r);
			continue;
		}
		good = read_text(r, &arena, &text);
		if (good && is_code)
			w.code = code_named(text);
		else if (good)
			snprintf(w.text, sizeof(w.text), "%.*s", SLICE_ARG(text));
	}
	arena_done(&arena);
	if (good && s->warning_n < QUERY_MAX_WARNINGS)
		s->warnings[s->warning_n++] = w;
	return good && !r->bad;
}

static bool read_warnings(struct json_reader *r, struct query_stats *s)
{
	bool good = json_array(r);

	while (good && json_next_item(r))
		good = read_warning(r, s);
	return good && !r->bad;
}

static bool read_fix(struct json_reader *r, struct arena *arena, struct diag_fix *ret_fix,
		     struct slice *ret_text)
{
	struct slice name;
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		if (slice_eq(name, SLICE("begin")))
			good = json_u32(r, &ret_fix->begin);
		else if (slice_eq(name, SLICE("end")))
			good = json_u32(r, &ret_fix->end);
		else if (slice_eq(name, SLICE("text")))
			good = read_text(r, arena, ret_text);
		else
			json_skip(r);
	}
	return good && !r->bad;
}

static bool read_diag(struct json_reader *r, struct diags *diags)
{
	struct slice name, text = {0}, message = {0}, fix_text = {0};
	struct diag d = {0};
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		if (slice_eq(name, SLICE("code")))
			good = read_text(r, diags->arena, &text);
		else if (slice_eq(name, SLICE("message")))
			good = read_text(r, diags->arena, &message);
		else if (slice_eq(name, SLICE("begin")))
			good = json_u32(r, &d.begin);
		else if (slice_eq(name, SLICE("end")))
			good = json_u32(r, &d.end);
		else if (slice_eq(name, SLICE("fix")))
			good = read_fix(r, diags->arena, &d.fix, &fix_text);
		else
			json_skip(r);
	}
	if (!good || r->bad)
		return false;
	diag_add(diags, code_named(text), d.begin, d.end, "%.*s", SLICE_ARG(message));
	if (fix_text.p)
		diag_fix(diags, d.fix.begin, d.fix.end, fix_text);
	return true;
}

bool query_json_read_diags(struct json_reader *r, struct diags *diags)
{
	bool good = json_array(r);

	while (good && json_next_item(r))
		good = read_diag(r, diags);
	return good && !r->bad;
}

bool query_json_read_stats(struct json_reader *r, struct query_stats *ret_stats)
{
	struct query_stats s = {0};
	uint64_t peak = 0;
	const struct {
		const char *name;
		uint64_t *at;
	} counts[] = {{"traces", &s.traces},
		      {"tracesPruned", &s.traces_pruned},
		      {"rows", &s.rows},
		      {"rowsOut", &s.rows_out},
		      {"segments", &s.segments},
		      {"segmentsTotal", &s.segments_total},
		      {"tuplesPacked", &s.tuples_packed},
		      {"memoryPeak", &peak}};
	struct slice name;
	bool good = json_object(r);

	while (good && json_next_name(r, &name)) {
		size_t i = 0;

		while (i < ARRAY_SIZE(counts) && !slice_eq(name, slice_cstr(counts[i].name)))
			i++;
		if (i < ARRAY_SIZE(counts))
			good = json_u64(r, counts[i].at);
		else if (slice_eq(name, SLICE("estimated")))
			good = json_bool(r, &s.estimated);
		else if (slice_eq(name, SLICE("truncated")))
			good = json_bool(r, &s.truncated);
		else if (slice_eq(name, SLICE("warnings")))
			good = read_warnings(r, &s);
		else
			json_skip(r);
	}
	s.memory_peak = (size_t)peak;
	*ret_stats = s;
	return good && !r->bad;
}
