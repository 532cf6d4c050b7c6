/* exec/equi_join.h - joins by equal keys, and files of rows to join with. */
#ifndef CAUSET_EXEC_EQUI_JOIN_H
#define CAUSET_EXEC_EQUI_JOIN_H

#include "exec/run.h"

/* A hash join: the second input is kept, the first flows.  Nil is equal to nothing. */
int run_equi_join(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);

/* Rows of a CSV file: the first line names the columns; RFC 4180 quoting; whole and decimal numbers
 * of up to 15 characters are numbers, anything else text, nothing is nil. */
int run_csv(struct query_at *run, const struct plan_node *node, const struct run_sink *sink);

#endif
