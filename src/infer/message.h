/* infer/message.h - one message between two nodes, as every source of messages gives it.
 *
 * Text traces, packets, logs, mail headers and spans all become a stream of these 32 bytes; the
 * algorithms see nothing else.  Streams are given in pieces, in the order of time as far as the
 * source knows it. */
#ifndef CAUSET_INFER_MESSAGE_H
#define CAUSET_INFER_MESSAGE_H

#include <assert.h>

#include "core/slice.h"

enum message_op {
	MESSAGE_CALL, /* asks for an answer */
	MESSAGE_RET,  /* the answer */
	MESSAGE_MSG,  /* free-form: nobody knows whether there will be an answer */
};

/* Where the message was seen: somewhere between the two, leaving its sender, reaching its receiver.
 * A message may be seen twice, once at each end. */
enum message_sight { MESSAGE_SEEN, MESSAGE_SENT, MESSAGE_RECV };

#define MESSAGE_NO_ID 0

/* Times lie within ±MESSAGE_MAX_NS of 1970 (until 2096), so that any two can be subtracted. */
#define MESSAGE_MAX_NS 4000000000000000000LL

static inline bool message_time_ok(int64_t time_ns)
{
	return time_ns >= -MESSAGE_MAX_NS && time_ns <= MESSAGE_MAX_NS;
}

struct message {
	int64_t time_ns;           /* by the clock of whoever saw it; message_time_ok() */
	uint64_t id;               /* pairs a call with its return; MESSAGE_NO_ID when unknown */
	uint32_t sender, receiver; /* in the names of nodes */
	uint32_t name; /* of the operation, in the names of operations; NAMES_NONE when unknown */
	uint8_t op;    /* enum message_op */
	uint8_t sight; /* enum message_sight */
	uint16_t file; /* which of several sources gave it */
};

static_assert(sizeof(struct message) == 32, "memory per message in flight is promised");

/* Takes a stream of messages, piece by piece.  A negative errno ends the stream and is handed back
 * by whoever was giving it. */
struct message_sink {
	int (*put)(void *context, const struct message *messages, size_t n);
	void *context;
};

/* Ids.  Up to ten characters of [0-9A-Za-z_-] are packed as they are and can be written again;
 * longer text is hashed and written as "~" and its hash; sources without text (a counter of
 * connections and streams) use numbers, of which 60 bits count. */
#define MESSAGE_ID_BYTES 24 /* room for message_id_format() */

uint64_t message_id_of_text(struct slice text);
uint64_t message_id_of_number(uint64_t number);

/* Writes an id into `out`; "-" when there is none. */
const char *message_id_format(uint64_t id, char out[MESSAGE_ID_BYTES]);

/* "CALL_SENT" and so on. */
const char *message_op_name(uint8_t op, uint8_t sight);

#endif
