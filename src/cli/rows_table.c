/* cli/rows_table.c - a result as a table that fits the terminal.
 *
 * Widths come from the first rows, which wait; later rows are written as they come, and on a
 * terminal they are cut to those widths.  Where there are more columns than a line can hold, a row
 * is written upright, one line a cell. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/rows_int.h"
#include "cli/text.h"

#define WAITING_ROWS 1000
#define GAP          2
#define SHRINK_MIN   8
#define BOLD         "\x1b[1m"
#define PLAIN        "\x1b[0m"

static bool is_right(const struct query_column *c)
{
	return c->type == PLAN_INT || c->type == PLAN_FLOAT || c->type == PLAN_DURATION;
}

/* Texts give way first, then numbers: a number that is cut is none. */
static bool shrink(struct rows *r, size_t *all, size_t room, bool numbers)
{
	while (*all > room) {
		size_t widest = r->column_n;

		for (size_t i = 0; i < r->column_n; i++)
			if (is_right(&r->columns[i]) == numbers && r->widths[i] > SHRINK_MIN &&
			    (widest == r->column_n || r->widths[i] > r->widths[widest]))
				widest = i;
		if (widest == r->column_n)
			return false;
		r->widths[widest]--;
		(*all)--;
	}
	return true;
}

static int measure(struct rows *r)
{
	size_t all = r->column_n ? (r->column_n - 1) * GAP : 0;

	r->widths = arena_zalloc(&r->arena, r->column_n + 1, sizeof(*r->widths));
	if (!r->widths)
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");
	for (size_t i = 0; i < r->column_n; i++)
		r->widths[i] = text_width(r->columns[i].name);
	for (size_t i = 0; i < r->cell_n; i++) {
		size_t column = i % r->column_n;

		r->widths[column] = MAX(r->widths[column], text_width(r->cells[i].text));
	}
	for (size_t i = 0; i < r->column_n; i++)
		all += r->widths[i];
	if (r->cli->terminal)
		r->upright = !shrink(r, &all, r->cli->columns, false);
	return 0;
}

static void write_upright(struct rows *r, const struct row_cell *cells, uint64_t number)
{
	size_t widest = 0;

	for (size_t i = 0; i < r->column_n; i++)
		widest = MAX(widest, text_width(r->columns[i].name));
	widest = MIN(widest, r->cli->columns / 2);
	buffer_printf(&r->out, "%srow %llu\n", number > 1 ? "\n" : "", (unsigned long long)number);
	for (size_t i = 0; i < r->column_n; i++) {
		buffer_text(&r->out, "  ");
		text_pad(&r->out, r->columns[i].name, widest);
		buffer_text(&r->out, "  ");
		text_put(&r->out, cells[i].text, SIZE_MAX);
		buffer_byte(&r->out, '\n');
	}
}

static void write_line(struct rows *r, const struct row_cell *cells)
{
	for (size_t i = 0; i < r->column_n; i++) {
		struct slice text = cells ? cells[i].text : r->columns[i].name;
		bool last = i + 1 == r->column_n;
		size_t width = r->widths[i];

		if (!r->cli->terminal) /* nothing is cut for a program */
			width = MAX(width, text_width(text));
		if (i)
			text_repeat(&r->out, " ", GAP);
		if (is_right(&r->columns[i]))
			text_pad_left(&r->out, text, width);
		else if (last)
			text_put(&r->out, text, width);
		else
			text_pad(&r->out, text, width);
	}
	buffer_byte(&r->out, '\n');
}

static void write_head(struct rows *r)
{
	if (r->results > 1)
		buffer_byte(&r->out, '\n');
	if (r->name.n) {
		text_put(&r->out, r->name, SIZE_MAX);
		buffer_text(&r->out, ":\n");
	}
	if (r->upright)
		return;
	if (r->cli->colour)
		buffer_text(&r->out, BOLD);
	write_line(r, NULL);
	if (r->cli->colour)
		buffer_text(&r->out, PLAIN);
}

/* Settles the widths and writes what has waited. */
static int settle(struct rows *r)
{
	int code = measure(r);

	if (code)
		return code;
	if (r->column_n == 0)
		return 0;
	write_head(r);
	for (size_t i = 0; i + r->column_n <= r->cell_n; i += r->column_n) {
		if (r->upright)
			write_upright(r, &r->cells[i], i / r->column_n + 1);
		else
			write_line(r, &r->cells[i]);
	}
	r->cell_n = 0;
	return 0;
}

int rows_table_add(struct rows *r, const struct value *values, const double *plus_minus)
{
	struct buffer text = {0};
	bool good = vec_reserve(&r->cells, &r->cell_capacity, r->cell_n + r->column_n + 1,
				sizeof(*r->cells));
	size_t from = r->cell_n;
	struct arena arena = {0}, *keep = r->widths ? &arena : &r->arena;

	for (size_t i = 0; good && i < r->column_n; i++) {
		buffer_clear(&text);
		cell_format(values[i], plus_minus ? plus_minus[i] : 0, &text);
		r->cells[r->cell_n].text = arena_dup(keep, buffer_get(&text));
		good = !text.failed && r->cells[r->cell_n++].text.p;
	}
	buffer_done(&text);
	if (good && r->widths) {
		if (r->upright)
			write_upright(r, &r->cells[from], r->row_n);
		else
			write_line(r, &r->cells[from]);
		r->cell_n = from;
	}
	arena_done(&arena);
	if (!good)
		return cli_fail(r->cli, EXIT_FAILED, "out of memory");
	return !r->widths && r->row_n == WAITING_ROWS ? settle(r) : 0;
}

int rows_table_end(struct rows *r)
{
	return r->widths || r->row_n == 0 ? 0 : settle(r);
}
