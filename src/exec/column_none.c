/* exec/column_none.c - where comparisons are not linked in, they are refused. */
#include <errno.h>

#include "exec/run.h"

__attribute__((weak)) int compare_run(struct query_at *run, const struct plan_node *node,
				      const struct run_sink *sink)
{
	(void)node;
	(void)sink;
	return error_set(run->error, -EOPNOTSUPP, "compare cannot be computed here");
}
