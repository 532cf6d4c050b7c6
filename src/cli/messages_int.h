/* cli/messages_int.h - readers of one kind of file each, for the table in messages.c. */
#ifndef CAUSET_CLI_MESSAGES_INT_H
#define CAUSET_CLI_MESSAGES_INT_H

#include "cli/messages.h"

int messages_log(struct messages_input *in, struct error *error);
int messages_mbox(struct messages_input *in, struct error *error);

/* Spans in any format we read: calls between services, their parent links ignored. */
bool messages_spans_sniff(struct slice head, struct slice name);
int messages_spans(struct messages_input *in, struct error *error);

#endif
