/* infer/abstract_read.h - the abstract trace: one message a line, as text.
 *
 *   seconds OP sender receiver id [operation]
 *   1047680084.482205 CALL_SENT nodeA nodeB id37
 *
 * Blanks separate; seconds may have nine decimals; OP is CALL, RET or MSG, alone or with _SENT or
 * _RECV; `-` stands for an unknown id, which may be left out at the end of a line; '#' starts a
 * comment line.  Text comes in any pieces.  A line that is wrong ends the reading with an error
 * that says where, unless bad lines are tolerated, when they are counted.  One thread. */
#ifndef CAUSET_INFER_ABSTRACT_READ_H
#define CAUSET_INFER_ABSTRACT_READ_H

#include "base/buffer.h"
#include "base/error.h"
#include "infer/message.h"
#include "infer/names.h"

#define ABSTRACT_MAX_LINE 4096
#define ABSTRACT_BATCH    256 /* messages given to the sink at once */

struct abstract_reader {
	struct names *nodes, *operations;
	struct message_sink sink;
	uint16_t file;  /* put into every message */
	bool tolerant;  /* count bad lines instead of refusing them */
	uint64_t lines; /* read so far */
	uint64_t bad;   /* tolerated */
	struct error first_bad;
	struct buffer carry; /* a line that has not ended yet */
	struct message batch[ABSTRACT_BATCH];
	size_t batch_n;
};

/* `nodes` and `operations` take the names; both and the sink must outlive the reader. */
void abstract_reader_init(struct abstract_reader *r, struct names *nodes, struct names *operations,
			  struct message_sink sink);
void abstract_reader_done(struct abstract_reader *r);

/* Reads a piece of text.  -EINVAL with "line N: …", -ENOMEM, or what the sink returned. */
int abstract_reader_feed(struct abstract_reader *r, struct slice text, struct error *error);

/* The text has ended: a last line may lack its newline.  Gives the rest to the sink. */
int abstract_reader_finish(struct abstract_reader *r, struct error *error);

/* Does this look like an abstract trace?  Judged by its first line that is no comment. */
bool abstract_sniff(struct slice text);

/* One message as a line of an abstract trace, with its newline. */
void abstract_write(const struct message *m, const struct names *nodes,
		    const struct names *operations, struct buffer *out);

/* Decimal seconds, up to nine decimals that count, as nanoseconds.  -EINVAL, -ERANGE. */
int seconds_parse(struct slice text, int64_t *ret_ns);

#endif
