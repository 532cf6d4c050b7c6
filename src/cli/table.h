/* cli/table.h - rows of text in columns that fit the terminal. */
#ifndef CAUSET_CLI_TABLE_H
#define CAUSET_CLI_TABLE_H

#include "base/arena.h"
#include "base/buffer.h"

#define TABLE_MAX_COLUMNS 12

struct table_column {
	const char *title;
	bool right;   /* numbers */
	bool shrinks; /* may be cut when the line is too long */
};

struct table {
	const struct table_column *columns;
	size_t column_n;
	struct arena *arena; /* keeps the cells */
	struct slice *cells; /* row after row */
	size_t n, capacity;  /* cells */
	size_t widths[TABLE_MAX_COLUMNS];
	bool failed; /* out of memory */
};

struct table table_of(const struct table_column *columns, size_t n, struct arena *arena);

/* Adds the next cell, left to right, row by row; copied. */
void table_cell(struct table *t, struct slice text);
void table_cell_text(struct table *t, const char *text);
void table_cell_u64(struct table *t, uint64_t value);

/* Writes titles and rows; columns that may shrink give way until the whole is `width` wide
 * (0: nothing is cut). */
void table_write(struct table *t, size_t width, struct buffer *out);

/* Frees what the arena does not hold. */
void table_done(struct table *t);

#endif
