/* cli/table.c - rows of text in columns that fit the terminal. */
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/text.h"

#define GAP        2
#define SHRINK_MIN 8

struct table table_of(const struct table_column *columns, size_t n, struct arena *arena)
{
	struct table t = {.columns = columns, .column_n = n, .arena = arena};

	for (size_t i = 0; i < n; i++)
		t.widths[i] = text_width(slice_cstr(columns[i].title));
	return t;
}

void table_cell(struct table *t, struct slice text)
{
	size_t column = t->n % t->column_n, width = text_width(text);
	struct slice copy = arena_dup(t->arena, text);

	if (!copy.p || !vec_reserve(&t->cells, &t->capacity, t->n + 1, sizeof(*t->cells))) {
		t->failed = true;
		return;
	}
	t->cells[t->n++] = copy;
	t->widths[column] = MAX(t->widths[column], width);
}

void table_cell_text(struct table *t, const char *text)
{
	table_cell(t, slice_cstr(text));
}

void table_cell_u64(struct table *t, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	table_cell_text(t, text);
}

/* Takes columns away from the widest that may shrink, one by one: tables have few of either. */
static void shrink(struct table *t, size_t width)
{
	size_t all = 0;

	for (size_t i = 0; i < t->column_n; i++)
		all += t->widths[i] + (i ? GAP : 0);
	while (all > width) {
		size_t widest = t->column_n;

		for (size_t i = 0; i < t->column_n; i++)
			if (t->columns[i].shrinks && t->widths[i] > SHRINK_MIN &&
			    (widest == t->column_n || t->widths[i] > t->widths[widest]))
				widest = i;
		if (widest == t->column_n)
			return;
		t->widths[widest]--;
		all--;
	}
}

static void row_write(const struct table *t, const struct slice *cells, struct buffer *out)
{
	for (size_t i = 0; i < t->column_n; i++) {
		struct slice text = cells ? cells[i] : slice_cstr(t->columns[i].title);

		if (i)
			text_repeat(out, " ", GAP);
		if (t->columns[i].right)
			text_pad_left(out, text, t->widths[i]);
		else if (i + 1 < t->column_n)
			text_pad(out, text, t->widths[i]);
		else
			text_put(out, text, t->widths[i]); /* no blanks at the end of a line */
	}
	buffer_byte(out, '\n');
}

void table_write(struct table *t, size_t width, struct buffer *out)
{
	if (width)
		shrink(t, width);
	row_write(t, NULL, out);
	for (size_t i = 0; i + t->column_n <= t->n; i += t->column_n)
		row_write(t, &t->cells[i], out);
	out->failed |= t->failed;
}

void table_done(struct table *t)
{
	free(t->cells);
	t->cells = NULL;
	t->n = t->capacity = 0;
}
