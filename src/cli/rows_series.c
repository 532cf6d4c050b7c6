/* cli/rows_series.c - a result of series as a table with a sparkline each.
 *
 * Columns of such a result are the time of a step, the keys that name a series, and its numbers;
 * the steps of a series come one behind the other.  A line is: keys, bars, least, greatest, last.
 */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/rows_int.h"
#include "cli/sparkline.h"
#include "cli/text.h"

#define SERIES_MAX 100000 /* more are not for people */
#define STEPS_MAX  100000 /* of one series */
#define BARS_MIN   8
#define BARS_MOST  60

enum role { ROLE_TIME, ROLE_KEY, ROLE_NUMBER };

/* The time of a step comes first, then the keys, numbers last; a column whose type is known only
 * when it runs is a number if it is the last. */
static enum role role_of(const struct rows *r, size_t i)
{
	const struct query_column *c = &r->columns[i];

	if (c->type == PLAN_TIME)
		return ROLE_TIME;
	if (c->series && (c->type == PLAN_INT || c->type == PLAN_FLOAT ||
			  c->type == PLAN_DURATION || i + 1 == r->column_n))
		return ROLE_NUMBER;
	return ROLE_KEY;
}

static size_t count(const struct rows *r, enum role role)
{
	size_t n = 0;

	for (size_t i = 0; i < r->column_n; i++)
		n += role_of(r, i) == role;
	return n;
}

bool rows_is_series(const struct rows *r, const struct value *first)
{
	for (size_t i = 0; i < r->column_n; i++)
		if (role_of(r, i) == ROLE_NUMBER && !value_is_nil(first[i]) &&
		    !value_is_number(first[i]))
			return false;
	return count(r, ROLE_TIME) == 1 && count(r, ROLE_NUMBER) > 0;
}

static bool keys_same(const struct rows *r, const struct series *s, const struct slice *keys,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!slice_eq(s->keys[i], keys[i]))
			return false;
	return true;
}

/* The keys of a row, as text in the arena; NULL: out of memory. */
static struct slice *keys_of(struct rows *r, const struct value *values)
{
	struct slice *keys = arena_zalloc(&r->arena, count(r, ROLE_KEY) + 1, sizeof(*keys));
	struct buffer text = {0};
	size_t n = 0;

	for (size_t i = 0; keys && i < r->column_n; i++) {
		if (role_of(r, i) != ROLE_KEY)
			continue;
		buffer_clear(&text);
		cell_format(values[i], 0, &text);
		keys[n] = arena_dup(&r->arena, buffer_get(&text));
		if (text.failed || !keys[n++].p)
			keys = NULL;
	}
	buffer_done(&text);
	return keys;
}

int rows_series_add(struct rows *r, const struct value *values)
{
	size_t numbers = count(r, ROLE_NUMBER);
	struct slice *keys = keys_of(r, values);
	struct series *s = r->series_n ? &r->series[r->series_n - 1] : NULL;

	if (!keys)
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");
	if (!s || !keys_same(r, s, keys, count(r, ROLE_KEY))) {
		if (r->series_n == SERIES_MAX)
			return cli_fail(r->cli, EXIT_FAILED,
					"more than %d series; --json and --csv give them all",
					SERIES_MAX);
		if (!vec_reserve(&r->series, &r->series_capacity, r->series_n + 1,
				 sizeof(*r->series)))
			return cli_fail(r->cli, EXIT_FAILED, "out of memory");
		s = &r->series[r->series_n++];
		*s = (struct series){.keys = keys};
	}
	if (s->n >= STEPS_MAX * numbers)
		return cli_fail(r->cli, EXIT_FAILED,
				"a series of more than %d steps; --json and "
				"--csv give them all",
				STEPS_MAX);
	if (!vec_reserve(&s->values, &s->capacity, s->n + numbers, sizeof(*s->values)))
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < r->column_n; i++)
		if (role_of(r, i) == ROLE_NUMBER)
			s->values[s->n++] =
				value_is_number(values[i]) ? value_number(values[i]) : NAN;
	return 0;
}

/* One line's numbers of one column, and what they come to. */
struct line {
	double *values;
	size_t n;
	double least, greatest, last;
};

static int line_of(const struct series *s, size_t numbers, size_t which, struct line *ret_line)
{
	struct line l = {.least = NAN, .greatest = NAN, .last = NAN};

	l.n = s->n / numbers;
	l.values = malloc((l.n + 1) * sizeof(*l.values));
	if (!l.values)
		return -1;
	for (size_t i = 0; i < l.n; i++) {
		double v = s->values[i * numbers + which];

		l.values[i] = v;
		if (isnan(v))
			continue;
		l.least = v >= l.least ? l.least : v;
		l.greatest = v <= l.greatest ? l.greatest : v;
		l.last = v;
	}
	*ret_line = l;
	return 0;
}

static void put_number(struct buffer *out, const struct query_column *c, double v)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};

	if (isnan(v))
		buffer_text(&text, "-");
	else if (c->type == PLAN_DURATION)
		cell_format(value_of(V_DURATION, (int64_t)v), 0, &text);
	else
		cell_format(value_float(v), 0, &text);
	buffer_text(out, "  ");
	text_pad_left(out, buffer_get(&text), 9);
}

static size_t key_width(const struct rows *r, size_t key, struct slice title)
{
	size_t width = text_width(title);

	for (size_t i = 0; i < r->series_n; i++)
		width = MAX(width, text_width(r->series[i].keys[key]));
	return width;
}

/* A table for one column of numbers. */
static int write_numbers(struct rows *r, const struct query_column *column, size_t which)
{
	size_t numbers = count(r, ROLE_NUMBER), used = 3 * 11, most = 0, key = 0, bars;
	size_t *widths = arena_zalloc(&r->arena, r->column_n + 1, sizeof(*widths));

	if (!widths)
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");

	for (size_t i = 0; i < r->column_n; i++)
		if (role_of(r, i) == ROLE_KEY) {
			widths[key] = key_width(r, key, r->columns[i].name);
			if (r->cli->terminal)
				widths[key] = MIN(widths[key], r->cli->columns / 3);
			used += widths[key++] + 2;
		}
	for (size_t i = 0; i < r->series_n; i++)
		most = MAX(most, r->series[i].n / numbers);
	bars = r->cli->columns > used + BARS_MIN ? r->cli->columns - used : BARS_MIN;
	bars = MIN(bars, most);
	bars = MIN(bars, (size_t)BARS_MOST);
	bars = MAX(bars, text_width(column->name));
	key = 0;
	for (size_t i = 0; i < r->column_n; i++)
		if (role_of(r, i) == ROLE_KEY) {
			text_pad(&r->out, r->columns[i].name, widths[key++]);
			buffer_text(&r->out, "  ");
		}
	text_pad(&r->out, column->name, bars);
	buffer_text(&r->out, "      least   greatest       last\n");
	for (size_t i = 0; i < r->series_n; i++) {
		_cleanup_(buffer_done)
		struct buffer spark = {0};
		struct line l;

		if (line_of(&r->series[i], numbers, which, &l) < 0)
			return cli_fail(r->cli, EXIT_FAILED, "out of memory");
		for (size_t k = 0; k < key; k++) {
			text_pad(&r->out, r->series[i].keys[k], widths[k]);
			buffer_text(&r->out, "  ");
		}
		sparkline_put(&spark, l.values, l.n, bars);
		text_pad(&r->out, buffer_get(&spark), bars);
		put_number(&r->out, column, l.least);
		put_number(&r->out, column, l.greatest);
		put_number(&r->out, column, l.last);
		buffer_byte(&r->out, '\n');
		free(l.values);
	}
	return 0;
}

int rows_series_end(struct rows *r)
{
	size_t which = 0;
	int code = 0;

	if (r->series_n == 0)
		return 0;
	if (r->results > 1)
		buffer_byte(&r->out, '\n');
	if (r->name.n) {
		text_put(&r->out, r->name, SIZE_MAX);
		buffer_text(&r->out, ":\n");
	}
	for (size_t i = 0; i < r->column_n && !code; i++)
		if (role_of(r, i) == ROLE_NUMBER) {
			if (which > 0)
				buffer_byte(&r->out, '\n');
			code = write_numbers(r, &r->columns[i], which++);
		}
	return code;
}
