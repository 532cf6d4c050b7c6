/* api/query_json.h - results of queries as JSON, out and back in.
 *
 * The form is docs/format/query.md.  Cells are plain where the column's type says what they are:
 *
 *   bool int float string    themselves; integers beyond ±2^53 as text, NaN and infinities as text
 *   time                     nanoseconds since 1970, as text
 *   duration                 nanoseconds
 *   status, kind             their names
 *   list                     an array
 *
 * What the column does not say is an object with one key: {"duration":5}, {"time":"…"},
 * {"bytes":"…"}.  A number is a number: whether 5 was an integer or not may be lost.  Both
 * directions are here so that none changes without the other. */
#ifndef CAUSET_API_QUERY_JSON_H
#define CAUSET_API_QUERY_JSON_H

#include "exec/query.h"
#include "lang/diag.h"
#include "wire/json_reader.h"
#include "wire/json_writer.h"

void query_json_value(struct json_writer *w, enum plan_type column, struct value v);

/* [{"name":…,"type":…,"series":true},…] */
void query_json_columns(struct json_writer *w, const struct query_column *columns, size_t n);

/* An array of cells.  One that is an estimate is {"value":…,"plusMinus":…}, with half the width of
 * its 95 % interval; plus_minus may be NULL. */
void query_json_row(struct json_writer *w, const struct query_column *columns,
		    const struct value *values, const double *plus_minus, size_t n);

/* {"traces":…,…,"warnings":[…]} */
void query_json_stats(struct json_writer *w, const struct query_stats *stats, int64_t elapsed_ns);

/* [{"code":"E201","severity":"error","begin":…,"end":…,"line":…,"column":…,"message":…,"fix":…}] */
void query_json_diags(struct json_writer *w, const struct diags *diags, struct slice text);

/* ---- back in; everything that stays lies in the arena.  False with the reader stopped. ---- */

bool query_json_read_value(struct json_reader *r, enum plan_type column, struct arena *arena,
			   struct value *ret_value);
bool query_json_read_columns(struct json_reader *r, struct arena *arena,
			     struct query_column **ret_columns, size_t *ret_n);
/* Exactly n cells; *ret_estimate: some are estimates, and ret_plus_minus is not all 0. */
bool query_json_read_row(struct json_reader *r, const struct query_column *columns, size_t n,
			 struct arena *arena, struct value *ret_values, double *ret_plus_minus,
			 bool *ret_estimate);
/* Adds them to `diags`, which is initialised. */
bool query_json_read_diags(struct json_reader *r, struct diags *diags);
bool query_json_read_stats(struct json_reader *r, struct query_stats *ret_stats);

#endif
