/* cli/rows.h - what a query answers, on the way to standard output.
 *
 * Results come one after the other: begin, rows, end.  Three forms: a table for people, which has
 * series as sparklines; JSON, one object a row; CSV.  Texts are good during a call only.
 * Everything returns 0 or an exit code after a message.  One thread. */
#ifndef CAUSET_CLI_ROWS_H
#define CAUSET_CLI_ROWS_H

#include "cli/cli.h"
#include "exec/query.h"

enum rows_form { ROWS_TABLE, ROWS_JSON, ROWS_CSV };

struct rows {
	struct cli *cli;
	enum rows_form form;
	uint64_t n; /* rows of all results */

	/* The result at hand. */
	size_t results;
	struct slice name;
	struct query_column *columns;
	struct slice *keys; /* their names, each once: JSON */
	size_t column_n;
	struct arena arena;     /* its columns, and rows that wait */
	struct buffer out;      /* not printed yet */
	struct row_cell *cells; /* rows that wait until widths are known */
	size_t cell_n, cell_capacity;
	size_t *widths;  /* NULL: not known yet */
	bool upright;    /* too many columns: one line a cell */
	uint64_t row_n;  /* of this result */
	bool sparklines; /* a result of series, which tables show so */
	struct series *series;
	size_t series_n, series_capacity;
};

void rows_init(struct rows *r, struct cli *cli, enum rows_form form);
void rows_done(struct rows *r);

/* Ends the one before. */
int rows_begin(struct rows *r, struct slice name, const struct query_column *columns, size_t n);
int rows_add(struct rows *r, const struct value *values, const double *plus_minus);

/* Writes what waits. */
int rows_end(struct rows *r);

/* Cells as a table and CSV have them, appended: "1.5s", "1234 ±56"; nil is empty.  For programs:
 * times in RFC 3339, durations in nanoseconds, lists as JSON. */
void cell_format(struct value v, double plus_minus, struct buffer *out);
void cell_format_csv(struct value v, struct buffer *out);

#endif
