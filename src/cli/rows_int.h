/* cli/rows_int.h - what the files of rows share. */
#ifndef CAUSET_CLI_ROWS_INT_H
#define CAUSET_CLI_ROWS_INT_H

#include "cli/rows.h"

struct row_cell {
	struct slice text; /* in the arena, or in what was given while it is written at once */
};

/* One line of a table of series. */
struct series {
	struct slice *keys; /* as many as there are key columns */
	double *values;     /* value columns one after the other, step by step */
	size_t n, capacity; /* numbers in values */
};

#define ROWS_PRINT_BYTES ((size_t)64 << 10) /* what is printed at once */

/* Prints what has been written if it is enough, or `all` of it. */
int rows_print(struct rows *r, bool all);

int rows_table_add(struct rows *r, const struct value *values, const double *plus_minus);
int rows_table_end(struct rows *r);

/* Is this a result of series, which tables show as sparklines?  The first row says what a column of
 * any type holds, and whether its numbers are lists: those are shown as they are. */
bool rows_is_series(const struct rows *r, const struct value *first);
int rows_series_add(struct rows *r, const struct value *values);
int rows_series_end(struct rows *r);

#endif
