/* capture/conv.h - a conversation: one connection, as the parser of its protocol sees it.
 *
 * Takes the two directions' bytes from TCP (in order; holes are said), finds out which protocol it
 * is and who is the client, keeps what a parser has not consumed, and turns what the parser says
 * into messages.  Memory is bounded: a window a direction, calls open at once, and all
 * conversations together (struct conv_shared).  One thread. */
#ifndef CAUSET_CAPTURE_CONV_H
#define CAUSET_CAPTURE_CONV_H

#include "capture/ip.h"
#include "capture/message_order.h"
#include "capture/node_names.h"
#include "capture/protocol.h"
#include "infer/names.h"

#define CONV_MAX_WINDOW (64 << 10) /* unread bytes kept of one direction */
#define CONV_MAX_OPEN   4096       /* calls open at once on one connection */
#define CONV_MAX_RUNS   16         /* changes of direction before detection gives up */
#define CONV_NO_KEY     UINT64_MAX

/* A call whose end has not been seen. */
struct open_call {
	struct open_call *next, *previous; /* of its conversation, oldest first */
	uint64_t key;                      /* the protocol's id, or CONV_NO_KEY */
	uint64_t id; /* of its messages: a count, or (stable) what the packets say */
	int64_t start_ns;
	int64_t reply_ns; /* first byte of the answer; 0: none yet */
	uint32_t name;    /* of the operation */
	uint32_t tag;     /* the request it belongs to, by what the wire says; NAMES_NONE */
	uint16_t mark;    /* the parser's own */
	bool damaged;     /* bytes of it were lost */
	bool has_ack;
	uint32_t ack; /* of the server's bytes, its client had everything before this one */
};

/* A call that has ended, for whoever wants more than two messages. */
struct captured_call {
	uint64_t id; /* of its messages */
	int64_t start_ns, reply_ns, end_ns;
	uint32_t caller, callee; /* nodes */
	uint32_t name, tag;
	const struct protocol *protocol;
};

struct conv_stats {
	uint64_t calls, returns;
	uint64_t orphan_answers; /* an answer whose call was not seen */
	uint64_t unanswered;     /* calls whose connection ended first */
	uint64_t guessed_ends;   /* an end taken from the last byte seen, the real one being lost */
	uint64_t abandoned;      /* calls given up because too many were open */
	uint64_t gaps, gap_bytes; /* holes in streams that a parser had to be told of */
	uint64_t passed_gaps;     /* holes inside what was being passed over anyway */
	uint64_t lost_threads;    /* a parser met bytes that are not its protocol */
	uint64_t ignored_bytes;   /* until the thread was found again */
};

/* What all conversations of a capture share. */
struct conv_shared {
	struct names *nodes, *operations;
	struct node_rules *rules;
	struct message_order order;
	uint16_t file;
	uint64_t serial;
	bool first_byte; /* a return is the first byte of the answer instead of the last */
	bool stable; /* ids come from the packets: the same call has the same id in every capture */
	size_t memory; /* bytes held by windows, states and open calls */
	struct conv_stats stats;
	uint64_t by_protocol[32]; /* calls, by row of protocols[]; the last one: unknown */
	/* Conversations whose answer ends when nothing more comes, oldest first. */
	struct conv *quiet_first, *quiet_last;
	struct open_call *spare; /* freed ones, to be used again */
	/* Truth on the wire; header.n == 0: not asked for. */
	struct slice tag_header;
	struct names tags;
	void (*on_call)(void *context, const struct captured_call *call); /* or NULL */
	void *on_call_context;
};

struct conv_half {
	uint8_t *window; /* unread bytes, kept until there are enough */
	uint32_t n, capacity;
	bool lost;     /* looking for a place to start again */
	uint8_t tried; /* segments looked at since */
	bool closed;
	uint64_t skip; /* bytes the parser is not interested in */
	bool has_ack;
	uint32_t ack;      /* what this side has received of the other, as its packets say */
	uint32_t head_seq; /* TCP's number of the first unread byte */
	uint32_t next_seq; /* and of the one behind the last */
	int64_t head_ns;   /* when the first unread byte came */
	int64_t last_ns;   /* when the latest byte came */
};

struct conv {
	struct conv_shared *shared;
	const struct protocol *protocol; /* NULL: not known yet */
	const struct protocol *next;     /* what it turns into: conv_become() */
	void *state;
	struct conv_half half[2]; /* by side */
	struct open_call *oldest, *newest;
	uint32_t open_n;
	struct ip_address client, server;
	uint16_t client_port, server_port;
	uint32_t client_node, server_node; /* NAMES_NONE until the first message */
	bool client_known;                 /* a SYN was seen, or content said so */
	bool flipped;   /* client and server have changed places since the first byte */
	uint8_t runs;   /* changes of direction while the protocol was not known */
	bool becoming;  /* `next` holds */
	uint8_t losses; /* how often the thread was lost without having been found since */
	int8_t running; /* the side that sent last; -1: none */
	struct conv *quiet_next, *quiet_previous;
	bool quiet; /* in the list */
};

/* `rules` may be NULL.  Everything pointed to must outlive it. */
int conv_shared_init(struct conv_shared *s, struct names *nodes, struct names *operations,
		     struct message_sink sink);
void conv_shared_done(struct conv_shared *s);

/* Time has come to now_ns: answers that ended by silence are ended, messages are given on. */
int conv_shared_advance(struct conv_shared *s, int64_t now_ns);

void conv_init(struct conv *c, struct conv_shared *shared);

/* Frees everything; calls still open are counted as unanswered. */
void conv_done(struct conv *c);

/* Bytes of one side, the next in order.  Sides are those of the beginning, whatever was found out
 * later about who is the client; conv_side() gives the present one.  Every segment is one call:
 * boundaries help to find the thread again.  -ENOMEM, or what the sink said. */
int conv_data(struct conv *c, enum side side, struct slice bytes, int64_t time_ns);

/* The next `n` bytes of one side are lost. */
int conv_gap(struct conv *c, enum side side, uint64_t n, int64_t time_ns);

/* This side sends no more. */
int conv_closed(struct conv *c, enum side side);

/* A whole datagram. */
int conv_datagram(struct conv *c, enum side side, struct slice bytes, int64_t time_ns);

static inline enum side conv_side(const struct conv *c, enum side given)
{
	return c->flipped ? side_other(given) : given;
}

/* --- for parsers: sides are what they are --- */

/* A call begins, at the first unread byte of the client.  `request` is what can be seen of it: it
 * is searched for the truth if that was asked for.  `name` is NAMES_NONE or from conv_operation().
 * NULL when out of memory or refused by the sink (c->shared->order.failed says which). */
struct open_call *conv_call(struct conv *c, uint64_t key, uint32_t name, struct slice request);

/* The same, begun at another time. */
struct open_call *conv_call_at(struct conv *c, uint64_t key, uint32_t name, struct slice request,
			       int64_t start_ns);

/* The bytes behind those that parse() is about to be done with, of both sides, are of another
 * protocol (an upgrade, a tunnel); NULL: to be recognised. */
void conv_become(struct conv *c, const struct protocol *next);

/* The oldest open call, or the one with that key; NULL. */
struct open_call *conv_oldest(struct conv *c);
struct open_call *conv_find(struct conv *c, uint64_t key);

/* The first byte of the answer came: at the server's first unread byte. */
void conv_reply(struct conv *c, struct open_call *call);

/* The call has ended, with the latest byte of the server. */
int conv_return(struct conv *c, struct open_call *call);

/* The same, at a time of the caller's. */
int conv_return_at(struct conv *c, struct open_call *call, int64_t time_ns);

/* The call will have no answer and never should have (a quiet operation): forgotten. */
void conv_forget(struct conv *c, struct open_call *call);

/* An answer whose call was not seen. */
static inline void conv_orphan(struct conv *c)
{
	c->shared->stats.orphan_answers++;
}

/* The number of an operation's name, one word: GET and "/users/17?x=1" become "GET:/users/" and a
 * star.  When there are too many different ones only the verb is left, then nothing (NAMES_NONE).
 */
uint32_t conv_operation(struct conv *c, struct slice verb, struct slice path);

/* Searches further bytes of a call for the truth: a word seen before as the header's value. */
void conv_search(struct conv *c, struct open_call *call, struct slice bytes);

/* A header or the like whose value identifies the request, if it is the one asked for. */
void conv_tag(struct conv *c, struct open_call *call, struct slice key, struct slice value);

/* The answer ends when nothing more comes for a while (CONV_QUIET_NS), or the client speaks. */
#define CONV_QUIET_NS 1000000000
void conv_quiet(struct conv *c);

#endif
