/* api/query_json.c - results of queries as JSON. */
#include "api/query_json.h"

#include <math.h>
#include <stdio.h>

#define SAFE_INTEGER (INT64_C(1) << 53) /* what JavaScript can hold */

static void put_int(struct json_writer *w, int64_t i)
{
	if (i > SAFE_INTEGER || i < -SAFE_INTEGER)
		json_put_i64_text(w, i);
	else
		json_put_i64(w, i);
}

/* The type a column has whose values are of this type; PLAN_ANY: no column says so. */
static enum plan_type column_of(enum value_is type)
{
	static const enum plan_type types[V_TYPES] = {
		[V_NIL] = PLAN_NIL,       [V_BOOL] = PLAN_BOOL, [V_INT] = PLAN_INT,
		[V_FLOAT] = PLAN_FLOAT,   [V_TIME] = PLAN_TIME, [V_DURATION] = PLAN_DURATION,
		[V_STATUS] = PLAN_STATUS, [V_KIND] = PLAN_KIND, [V_STRING] = PLAN_STRING,
		[V_BYTES] = PLAN_ANY,     [V_LIST] = PLAN_LIST,
	};

	return types[type];
}

static const char *const names[V_TYPES] = {
	[V_INT] = "int",       [V_FLOAT] = "float", [V_TIME] = "time",   [V_DURATION] = "duration",
	[V_STATUS] = "status", [V_KIND] = "kind",   [V_BYTES] = "bytes",
};

static void put_bare(struct json_writer *w, struct value v)
{
	switch ((enum value_is)v.type) {
	case V_BOOL:
		json_put_bool(w, v.b);
		break;
	case V_INT:
	case V_DURATION:
		put_int(w, v.i);
		break;
	case V_FLOAT:
		json_put_double(w, v.f);
		break;
	case V_TIME:
		json_put_i64_text(w, v.i);
		break;
	case V_STATUS:
		json_put_cstr(w, value_status_name(v.i));
		break;
	case V_KIND:
		json_put_cstr(w, value_kind_name(v.i));
		break;
	case V_STRING:
		json_put_string(w, value_slice(v));
		break;
	case V_BYTES:
		json_put_base64(w, value_slice(v));
		break;
	case V_LIST:
		json_begin_array(w);
		for (uint32_t i = 0; i < v.n; i++)
			query_json_value(w, PLAN_ANY, v.list[i]);
		json_end_array(w);
		break;
	case V_NIL:
	case V_TYPES:
		json_put_null(w);
	}
}

/* Would a reader who knows the column's type take the bare form for what it is? */
static bool is_plain(enum plan_type column, struct value v)
{
	switch ((enum value_is)v.type) {
	case V_NIL:
	case V_BOOL:
	case V_LIST:
		return true;
	case V_STRING: /* a column of numbers has none, but one of any type may */
		return column == PLAN_ANY || column == PLAN_STRING || column == PLAN_LIST ||
		       column == PLAN_NIL || column == PLAN_BOOL;
	case V_INT:
		if (v.i > SAFE_INTEGER || v.i < -SAFE_INTEGER)
			return column == PLAN_INT;
		return column != PLAN_TIME && column != PLAN_DURATION;
	case V_FLOAT:
		if (!isfinite(v.f))
			return column == PLAN_FLOAT;
		return column != PLAN_TIME && column != PLAN_DURATION;
	default:
		return v.type != V_BYTES && column == column_of((enum value_is)v.type);
	}
}

void query_json_value(struct json_writer *w, enum plan_type column, struct value v)
{
	if (is_plain(column, v)) {
		put_bare(w, v);
		return;
	}
	json_begin_object(w);
	if (v.type == V_STRING)
		json_put_name(w, "string");
	else
		json_put_key(w, slice_cstr(names[v.type]));
	put_bare(w, v);
	json_end_object(w);
}

void query_json_columns(struct json_writer *w, const struct query_column *columns, size_t n)
{
	json_begin_array(w);
	for (size_t i = 0; i < n; i++) {
		json_begin_object(w);
		json_put_name(w, "name");
		json_put_string(w, columns[i].name);
		json_put_name(w, "type");
		json_put_cstr(w, plan_type_name(columns[i].type));
		if (columns[i].series) {
			json_put_name(w, "series");
			json_put_bool(w, true);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

void query_json_row(struct json_writer *w, const struct query_column *columns,
		    const struct value *values, const double *plus_minus, size_t n)
{
	json_begin_array(w);
	for (size_t i = 0; i < n; i++) {
		if (!plus_minus || plus_minus[i] == 0) {
			query_json_value(w, columns[i].type, values[i]);
			continue;
		}
		json_begin_object(w);
		json_put_name(w, "value");
		query_json_value(w, columns[i].type, values[i]);
		json_put_name(w, "plusMinus");
		json_put_double(w, plus_minus[i]);
		json_end_object(w);
	}
	json_end_array(w);
}

static void put_count(struct json_writer *w, const char *name, uint64_t value)
{
	json_put_key(w, slice_cstr(name));
	json_put_u64(w, value);
}

void query_json_stats(struct json_writer *w, const struct query_stats *s, int64_t elapsed_ns)
{
	json_begin_object(w);
	put_count(w, "elapsedNano", (uint64_t)elapsed_ns);
	put_count(w, "traces", s->traces);
	put_count(w, "tracesPruned", s->traces_pruned);
	put_count(w, "rows", s->rows);
	put_count(w, "rowsOut", s->rows_out);
	put_count(w, "segments", s->segments);
	put_count(w, "segmentsTotal", s->segments_total);
	put_count(w, "tuplesPacked", s->tuples_packed);
	put_count(w, "memoryPeak", s->memory_peak);
	json_put_name(w, "estimated");
	json_put_bool(w, s->estimated);
	json_put_name(w, "truncated");
	json_put_bool(w, s->truncated);
	json_put_name(w, "warnings");
	json_begin_array(w);
	for (size_t i = 0; i < s->warning_n; i++) {
		json_begin_object(w);
		json_put_name(w, "code");
		json_put_cstr(w, diag_code_text(s->warnings[i].code));
		json_put_name(w, "message");
		json_put_cstr(w, s->warnings[i].text);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

static void put_diag(struct json_writer *w, const struct diag *d, struct slice text)
{
	struct diag_place place = diag_place(text, d->begin);

	json_begin_object(w);
	json_put_name(w, "code");
	json_put_cstr(w, diag_code_text(d->code));
	json_put_name(w, "severity");
	json_put_cstr(w, diag_severity(d->code) == DIAG_ERROR ? "error" : "warning");
	put_count(w, "begin", d->begin);
	put_count(w, "end", d->end);
	put_count(w, "line", place.line);
	put_count(w, "column", place.column);
	json_put_name(w, "message");
	json_put_cstr(w, d->message);
	if (d->fix.text) {
		json_put_name(w, "fix");
		json_begin_object(w);
		put_count(w, "begin", d->fix.begin);
		put_count(w, "end", d->fix.end);
		json_put_name(w, "text");
		json_put_cstr(w, d->fix.text);
		json_end_object(w);
	}
	json_end_object(w);
}

void query_json_diags(struct json_writer *w, const struct diags *diags, struct slice text)
{
	json_begin_array(w);
	for (size_t i = 0; i < diags->n; i++)
		put_diag(w, &diags->items[i], text);
	json_end_array(w);
}
