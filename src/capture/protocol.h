/* capture/protocol.h - what a protocol's parser is, and the table of them.
 *
 * A parser sees two streams of bytes, the client's and the server's, in order and without holes,
 * and says where calls begin and end (capture/conv.h).  It keeps whatever it needs in a state of
 * its own, cleared memory of `state_bytes`.  Detection is by content; ports are only hints.
 *
 * A new protocol is one file proto_<name>.c and one row in protocols.c. */
#ifndef CAUSET_CAPTURE_PROTOCOL_H
#define CAUSET_CAPTURE_PROTOCOL_H

#include <sys/types.h>

#include "core/slice.h"

struct conv;

enum side { SIDE_CLIENT, SIDE_SERVER };

static inline enum side side_other(enum side s)
{
	return s == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
}

enum detect {
	DETECT_NO,
	DETECT_MORE,  /* so far it could be; too little to say */
	DETECT_MAYBE, /* taken where the port agrees, or where the stream was this protocol before
		       */
	DETECT_YES,
};

struct protocol {
	const char *name;
	uint16_t ports[8]; /* where servers usually listen; 0 ends */
	bool udp;          /* datagrams instead of streams: parse() sees one at a time, whole */
	bool fifo;         /* answers come in the order of calls, without an id */
	bool parts;        /* an answer is many messages: detect() cannot tell the first one */
	size_t state_bytes;

	/* Could a message of `side` begin with these bytes? */
	enum detect (*detect)(struct slice bytes, enum side side);

	/* Reads unread bytes of one side, from the first.  Returns how many it is done with, which
	 * may be more than there are: the rest is passed over as it comes, seen or lost.  0: a
	 * longer run of bytes is needed (they are kept).  -EBADMSG: this is not the protocol, or
	 * its thread was lost; -ENOMEM.  After progress it is called again, at last with no bytes
	 * at all, so that an end that needs no further byte is noticed. */
	ssize_t (*parse)(struct conv *c, enum side side, struct slice bytes);

	/* Bytes of one side were lost outside of what parse() asked to pass over.  `unread` is what
	 * was kept and will be dropped: the beginning of a message, perhaps (captures may cut
	 * packets short).  Parsing goes on at the next segment that detect() takes.  Open calls
	 * have been seen to. */
	void (*gap)(struct conv *c, enum side side, struct slice unread);

	/* No more bytes will come from this side.  May be NULL. */
	void (*closed)(struct conv *c, enum side side);

	/* Frees what the state points to.  May be NULL. */
	void (*done)(void *state);
};

extern const struct protocol proto_http1, proto_http2, proto_redis, proto_postgres, proto_dns,
	proto_dns_tcp, proto_mysql, proto_memcached, proto_memcached_binary, proto_kafka,
	proto_mongodb, proto_thrift, proto_tls, proto_unknown;

/* Those to try, in order, NULL at the end; proto_unknown is not among them. */
extern const struct protocol *const protocols[];

bool protocol_has_port(const struct protocol *p, uint16_t port);

#endif
