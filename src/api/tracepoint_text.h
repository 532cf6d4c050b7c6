/* api/tracepoint_text.h - a text of tracepoint definitions, checked and cut into its statements. */
#ifndef CAUSET_API_TRACEPOINT_TEXT_H
#define CAUSET_API_TRACEPOINT_TEXT_H

#include "catalog/tracepoint.h"
#include "lang/diag.h"

/* Names and texts of the definitions, in the arena and in order.  -EINVAL: something is wrong, or
 * is no definition, or there is none; diagnostics say what and where.  `catalog`, where other
 * definitions are, may be NULL.  -ENOMEM. */
int tracepoint_text_read(struct slice text, struct catalog *catalog, struct arena *arena,
			 struct diags *diags, struct tracepoint_row **ret_rows, size_t *ret_n);

#endif
