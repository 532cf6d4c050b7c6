/* capture/ip_fragment.h - IP packets that came in pieces.
 *
 * A few are put together at a time; the oldest makes room.  Overlapping pieces are joined as they
 * come, the first bytes winning.  One thread. */
#ifndef CAUSET_CAPTURE_IP_FRAGMENT_H
#define CAUSET_CAPTURE_IP_FRAGMENT_H

#include "capture/ip.h"

#define FRAGMENT_SLOTS   64
#define FRAGMENT_MAX     65535
#define FRAGMENT_WAIT_NS INT64_C(30000000000)

struct fragment_slot {
	struct ip_address from, to;
	uint32_t id;
	uint8_t protocol;
	bool used;
	int64_t first_ns;
	uint32_t total; /* 0: the last piece has not come */
	uint32_t got;
	uint8_t *bytes; /* FRAGMENT_MAX, and behind it a bit per 8 bytes that are there */
};

struct ip_fragments {
	struct fragment_slot slots[FRAGMENT_SLOTS];
	uint64_t whole, given_up;
};

void ip_fragments_done(struct ip_fragments *f);

/* Adds a piece.  1 and the whole packet (borrowed until the next call) when it was the last one
 * missing, 0 when more are missing, -ENOMEM. */
int ip_fragments_add(struct ip_fragments *f, const struct ip_packet *piece, int64_t time_ns,
		     struct ip_packet *ret_whole);

#endif
