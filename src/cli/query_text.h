/* cli/query_text.h - the text of a query from the command line: written there, in a file, or on
 * standard input. */
#ifndef CAUSET_CLI_QUERY_TEXT_H
#define CAUSET_CLI_QUERY_TEXT_H

#include "cli/cli.h"

struct query_text {
	struct slice text; /* in the arena of the program */
	const char *name;  /* of the file, for messages; "" when it was written on the line */
};

/* "-" is standard input, the name of a file that file, anything else the text itself.  With
 * `file`, it must be one.  0, or an exit code after a message. */
int query_text_read(struct cli *cli, const char *argument, bool file, struct query_text *ret_text);

#endif
