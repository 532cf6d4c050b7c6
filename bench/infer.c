/* bench/infer.c - how right and how fast inference is.
 *
 *   bench_infer accuracy [SEED]       made-up sets
 *   bench_infer accuracy DIR [MODE]   every NAME.msgs[.gz] in DIR that has a NAME.truth[.gz]
 *   bench_infer memory [MESSAGES]     what a stream of so many keeps in memory
 *   bench_infer paper [FOLDER [22]]   the SOSP 2003 paper's table 1 and figures, as SVG there, or
 *                                     one of them
 *   bench_infer speed [MODE]          a made-up trace at about three candidates a child
 *
 * One subcommand a file; each returns 0 when its bars are met. */
#include <stdio.h>
#include <string.h>

#include "bench/infer.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"accuracy", bench_infer_accuracy},
	{"memory", bench_infer_memory},
	{"paper", bench_infer_paper},
	{"speed", bench_infer_speed},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 2, argv + 2);
	fputs("usage: bench_infer accuracy [SEED | DIR [MODE]] | memory [MESSAGES] | paper [FOLDER [FIGURE]] | speed [MODE]\n",
	      stderr);
	return 2;
}
