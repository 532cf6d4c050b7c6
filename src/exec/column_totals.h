/* exec/column_totals.h - segments that a query over columns counts as wholes, by their totals.
 *
 * What a query asks of all spans of a segment, and of nothing but service, name, kind, status,
 * resource and duration, the segment's totals say (segment/totals.h).  They are counted by the same
 * places as rows are, so the answer is the same. */
#ifndef CAUSET_EXEC_COLUMN_TOTALS_H
#define CAUSET_EXEC_COLUMN_TOTALS_H

#include "exec/column_scan.h"

/* May totals answer the query at all? */
bool column_totals_fit(const struct column_scan *s);

/* Adds a segment to the groups: 1; or nothing of it, 0, when its rows must be looked at: it reaches
 * beyond the time that is asked about, is sampled, has rows of traces that lie in several places,
 * or its totals do not say what is asked.  Negative errno. */
int column_totals_add(struct column_scan *s, const struct column_shapes *shapes,
		      struct grouping *groups);

#endif
