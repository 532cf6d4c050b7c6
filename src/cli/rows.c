/* cli/rows.c - what a query answers: JSON, CSV, and which form a result takes. */
#include "cli/rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/query_json.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/rows_int.h"

#define PLUS_MINUS "\xc2\xb1" /* ± */

void rows_init(struct rows *r, struct cli *cli, enum rows_form form)
{
	*r = (struct rows){.cli = cli, .form = form};
}

static void forget(struct rows *r)
{
	for (size_t i = 0; i < r->series_n; i++)
		free(r->series[i].values);
	free(r->series);
	free(r->cells);
	r->series = NULL;
	r->cells = NULL;
	r->widths = NULL;
	r->columns = NULL;
	r->upright = r->sparklines = false;
	r->series_n = r->series_capacity = r->cell_n = r->cell_capacity = r->column_n = 0;
	r->row_n = 0;
	arena_clear(&r->arena);
}

void rows_done(struct rows *r)
{
	forget(r);
	arena_done(&r->arena);
	buffer_done(&r->out);
}

int rows_print(struct rows *r, bool all)
{
	return r->out.failed || (r->out.n > 0 && (all || r->out.n >= ROWS_PRINT_BYTES))
		       ? cli_print(r->cli, &r->out)
		       : 0;
}

static void put_quoted(struct slice text, struct buffer *out)
{
	bool plain = text.n > 0;

	for (size_t i = 0; i < text.n && plain; i++)
		plain = text.p[i] != '"' && text.p[i] != ',' && text.p[i] != '\n' &&
			text.p[i] != '\r';
	if (plain && text.p[0] != ' ' && text.p[text.n - 1] != ' ') {
		buffer_slice(out, text);
		return;
	}
	buffer_byte(out, '"');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buffer_byte(out, '"');
		buffer_byte(out, text.p[i]);
	}
	buffer_byte(out, '"');
}

void cell_format_csv(struct value v, struct buffer *out)
{
	struct arena arena = {0};
	struct buffer json = {0};
	struct json_writer w = json_write(&json);

	switch ((enum value_is)v.type) {
	case V_NIL: /* empty, as against the empty text, which is "" */
		break;
	case V_DURATION:
		buffer_printf(out, "%" PRId64, v.i);
		break;
	case V_FLOAT:
		json_put_double(&w, v.f);
		buffer_slice(out, slice_trim(buffer_get(&json)));
		break;
	case V_LIST:
		query_json_value(&w, PLAN_LIST, v);
		put_quoted(buffer_get(&json), out);
		break;
	default:
		put_quoted(value_format(&arena, v), out);
	}
	out->failed |= json.failed;
	buffer_done(&json);
	arena_done(&arena);
}

static void format_float(double f, struct buffer *out)
{
	buffer_printf(out, "%.6g", f);
}

void cell_format(struct value v, double plus_minus, struct buffer *out)
{
	char text[QUANTITY_TEXT_BYTES];
	struct arena arena = {0};

	switch ((enum value_is)v.type) {
	case V_NIL:
		break;
	case V_DURATION:
		buffer_text(out, duration_format(v.i, text));
		break;
	case V_TIME:
		moment_format(v.i, text);
		memcpy(text + 23, "Z", 2); /* milliseconds are enough for people */
		buffer_text(out, text);
		break;
	case V_FLOAT:
		format_float(v.f, out);
		break;
	default:
		buffer_slice(out, value_format(&arena, v));
	}
	if (plus_minus != 0 && v.type == V_DURATION)
		buffer_printf(out, " " PLUS_MINUS "%s", duration_format((int64_t)plus_minus, text));
	else if (plus_minus != 0)
		buffer_printf(out, " " PLUS_MINUS "%.3g", plus_minus);
	arena_done(&arena);
}

static void csv_head(struct rows *r)
{
	if (r->results > 1)
		buffer_text(&r->out, "\r\n"); /* results are apart by an empty line */
	for (size_t i = 0; i < r->column_n; i++) {
		if (i)
			buffer_byte(&r->out, ',');
		put_quoted(r->columns[i].name, &r->out);
	}
	buffer_text(&r->out, "\r\n");
}

static void csv_row(struct rows *r, const struct value *values)
{
	for (size_t i = 0; i < r->column_n; i++) {
		if (i)
			buffer_byte(&r->out, ',');
		cell_format_csv(values[i], &r->out);
	}
	buffer_text(&r->out, "\r\n");
}

/* {"service":"cart","n":12,"n ±":3.4} */
static void json_row(struct rows *r, const struct value *values, const double *plus_minus)
{
	struct json_writer w = json_write(&r->out);

	json_begin_object(&w);
	if (r->name.n) {
		json_put_name(&w, "result");
		json_put_string(&w, r->name);
	}
	for (size_t i = 0; i < r->column_n; i++) {
		json_put_key(&w, r->keys[i]);
		query_json_value(&w, r->columns[i].type, values[i]);
		if (plus_minus && plus_minus[i] != 0) {
			struct buffer key = {0};

			buffer_slice(&key, r->keys[i]);
			buffer_text(&key, " " PLUS_MINUS);
			json_put_key(&w, buffer_get(&key));
			json_put_double(&w, plus_minus[i]);
			r->out.failed |= key.failed;
			buffer_done(&key);
		}
	}
	json_end_object(&w);
	buffer_byte(&r->out, '\n');
}

static int no_memory(const struct rows *r)
{
	return cli_fail(r->cli, EXIT_FAILED, "out of memory");
}

/* Objects have one value a key: further columns of a name are numbered. */
static bool keys_make(struct rows *r)
{
	r->keys = arena_zalloc(&r->arena, r->column_n + 1, sizeof(*r->keys));
	for (size_t i = 0; r->keys && i < r->column_n; i++) {
		size_t same = 1;

		r->keys[i] = r->columns[i].name;
		for (size_t j = 0; j < i; j++)
			same += slice_eq(r->columns[i].name, r->columns[j].name);
		if (same > 1) {
			const char *name = arena_printf(&r->arena, "%.*s %zu",
							SLICE_ARG(r->columns[i].name), same);

			if (!name)
				return false;
			r->keys[i] = slice_cstr(name);
		}
	}
	return r->keys;
}

int rows_begin(struct rows *r, struct slice name, const struct query_column *columns, size_t n)
{
	int code = rows_end(r);

	if (code)
		return code;
	forget(r);
	r->results++;
	r->column_n = n;
	r->columns = arena_zalloc(&r->arena, n + 1, sizeof(*columns));
	r->name = arena_dup(&r->arena, name);
	if (!r->columns || !r->name.p)
		return no_memory(r);
	for (size_t i = 0; i < n; i++) {
		r->columns[i] = columns[i];
		r->columns[i].name = arena_dup(&r->arena, columns[i].name);
		if (!r->columns[i].name.p)
			return no_memory(r);
	}
	if (r->form == ROWS_CSV)
		csv_head(r);
	return keys_make(r) ? 0 : no_memory(r);
}

int rows_add(struct rows *r, const struct value *values, const double *plus_minus)
{
	int code = 0;

	r->n++;
	r->row_n++;
	if (r->form == ROWS_JSON) {
		json_row(r, values, plus_minus);
	} else if (r->form == ROWS_CSV) {
		csv_row(r, values);
	} else {
		if (r->row_n == 1)
			r->sparklines = rows_is_series(r, values);
		code = r->sparklines ? rows_series_add(r, values)
				     : rows_table_add(r, values, plus_minus);
	}
	return code ? code : rows_print(r, false);
}

int rows_end(struct rows *r)
{
	int code = 0;

	if (r->columns && r->form == ROWS_TABLE)
		code = r->sparklines ? rows_series_end(r) : rows_table_end(r);
	r->columns = NULL;
	return code ? code : rows_print(r, true);
}
