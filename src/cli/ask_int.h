/* cli/ask_int.h - the two ways of asking. */
#ifndef CAUSET_CLI_ASK_INT_H
#define CAUSET_CLI_ASK_INT_H

#include "cli/ask.h"
#include "lang/diag.h"

/* Rows to the sink, statistics to ask->stats.  An exit code, after a message. */
int ask_local_run(struct ask *ask);
int ask_remote_run(struct ask *ask);

int ask_local_explain(struct ask *ask, bool live, struct buffer *out);
int ask_remote_explain(struct ask *ask, bool live, struct buffer *out);

/* The files that csv("…") names in the text, to be sent along. */
struct ask_files {
	struct query_file *items;
	size_t n, capacity;
};

/* EXIT_OK, or an exit code after a message. */
int ask_files_read(struct ask *ask, struct ask_files *files);
void ask_files_done(struct ask_files *files);

/* One row to the sink. */
int ask_give(struct ask *ask, const struct value *values, const double *plus_minus, size_t n);

/* Prints what is wrong, and warnings unless --quiet. */
void ask_show_diags(const struct ask *ask, struct diags *diags);

#endif
