/* cli/progress.h - one line on a terminal that says how far a long job has come. */
#ifndef CAUSET_CLI_PROGRESS_H
#define CAUSET_CLI_PROGRESS_H

#include "cli/cli.h"

struct progress {
	bool shown; /* standard error is a terminal, and --quiet was not said */
	bool drawn; /* there is a line to take away */
	const char *what;
	int64_t began_ns, next_ns;
	size_t columns;
};

struct progress progress_start(const struct cli *cli, const char *what);

/* Draws at most ten times a second.  `total` 0: not known. */
void progress_update(struct progress *p, uint64_t done, uint64_t total);

/* The same for a query: rows looked at, and how much of the store. */
void progress_rows(struct progress *p, uint64_t rows, uint64_t done, uint64_t total);

/* Takes the line away. */
void progress_end(struct progress *p);

#endif
