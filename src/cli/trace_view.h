/* cli/trace_view.h - a trace as a tree of lines: who, what, when, how long, and what was repaired.
 *
 *   * frontend  GET /cart            0ns   120ms ━━━━━━━━━━━━━━━━━━
 *   *   cart  GetCart           +1.20ms  40.0ms  ━━━━━━
 *         redis  GET  [o] !     +2.00ms  1.10ms   ─
 *
 * Written while it is made, so the memory it takes does not grow with the trace. */
#ifndef CAUSET_CLI_TRACE_VIEW_H
#define CAUSET_CLI_TRACE_VIEW_H

#include "cli/cli.h"
#include "model/critical_path.h"
#include "model/trace.h"

struct view_options {
	size_t limit;    /* lines of spans; 0: all */
	size_t depth;    /* levels below the roots; 0: all */
	bool points;     /* show points and logs, too */
	bool attributes; /* show attributes, too */
	size_t columns;
	bool colour;
};

/* Writes the trace to standard output.  `path` may be NULL.  EXIT_OK, or EXIT_FAILED after having
 * said why. */
int trace_view(const struct cli *cli, const struct trace *t, const struct critical_path *path,
	       const struct view_options *options);

#endif
