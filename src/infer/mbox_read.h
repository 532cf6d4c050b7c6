/* infer/mbox_read.h - messages out of the Received: headers of mail.
 *
 * Each header is a message from the host it was received from to the host that received it, at the
 * time it says.  Which mail it belongs to is not looked at: to find that out is what the
 * convolution algorithm is for.  Headers without a time, or from hosts that are no name (localhost,
 * unknown), are counted and left out.  Mail in a mailbox is told apart by lines "From …".  One
 * thread. */
#ifndef CAUSET_INFER_MBOX_READ_H
#define CAUSET_INFER_MBOX_READ_H

#include "infer/message.h"
#include "infer/names.h"

#define MBOX_MAX_HEADER 16384

struct mbox_reader {
	struct names *nodes;
	struct message_sink sink;
	uint16_t file;
	bool in_header;
	char header[MBOX_MAX_HEADER]; /* the one being read, unfolded */
	size_t header_n;
	uint64_t mails, headers, unusable;
};

void mbox_reader_init(struct mbox_reader *r, struct names *nodes, struct message_sink sink);

/* One line of the mailbox.  -ENOMEM, -E2BIG, or what the sink returned. */
int mbox_reader_line(struct mbox_reader *r, struct slice line);

/* After the last line. */
int mbox_reader_finish(struct mbox_reader *r);

/* Does this look like a mailbox or a mail with Received: headers? */
bool mbox_sniff(struct slice head);

/* The date of a mail header: [Day,] 10 Oct 2026 13:55:36 +0200.  -EINVAL. */
int mail_date_parse(struct slice text, int64_t *ret_ns);

#endif
