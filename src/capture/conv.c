/* capture/conv.c - bytes of a conversation to its parser: recognition, windows, holes.
 *
 *   segment ─▶ passed over (skip)? ─▶ thread lost? ─▶ kept bytes + segment ─▶ parse() ─▶ keep rest
 *
 * Recognition looks at the first bytes of a segment that begins a run (the direction changed).
 * What nobody recognises is `unknown`, whose calls are changes of direction; recognition goes on
 * for CONV_MAX_RUNS runs, so that a capture that begins in the middle of something finds its feet.
 *
 * After a hole the parser cannot know where it is.  Its side is `lost` until a segment begins like
 * a message of the protocol; programs write whole messages, so this is nearly always the next one.
 */
#include "capture/conv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/conv_int.h"

#define MAX_LOSSES     8          /* of the thread in a row, before the protocol is doubted */
#define MAX_LOST       64         /* segments looked at for a new beginning, likewise */
#define ENOUGH_TO_TELL 32         /* bytes after which "more" is taken for "no" without a hint */
#define MAX_PIECE      (16 << 10) /* given to a parser at once, so that windows stay small */

/* Ends the oldest call, whose end was lost: it was somewhere before `last_ns`. */
static int settle(struct conv *c, int64_t last_ns)
{
	if (c->oldest->reply_ns) {
		c->shared->stats.guessed_ends++;
		return conv_return_at(c, c->oldest, last_ns);
	}
	c->shared->stats.unanswered++;
	conv_forget(c, c->oldest);
	return 0;
}

static int settle_damaged(struct conv *c, int64_t last_ns)
{
	int r = 0;

	while (r == 0 && c->oldest && c->oldest->damaged)
		r = settle(c, last_ns);
	return r;
}

/* Has the client, before it made the next call, received bytes that come behind those at which this
 * call's answer could begin, and are those of `seq` even later?  Then this call was answered. */
static bool was_answered(const struct open_call *call, uint32_t seq)
{
	const struct open_call *next = call->next;

	return next && call->has_ack && next->has_ack && (int32_t)(next->ack - call->ack) > 0 &&
	       (int32_t)(seq - next->ack) >= 0;
}

static void protocol_drop(struct conv *c)
{
	if (c->state) {
		if (c->protocol->done)
			c->protocol->done(c->state);
		c->shared->memory -= c->protocol->state_bytes;
		free(c->state);
	}
	c->state = NULL;
	c->protocol = NULL;
}

static int protocol_take(struct conv *c, const struct protocol *p)
{
	protocol_drop(c);
	if (p->state_bytes) {
		c->state = calloc(1, p->state_bytes);
		if (!c->state)
			return -ENOMEM;
		c->shared->memory += p->state_bytes;
	}
	c->protocol = p;
	c->losses = 0;
	return 0;
}

void conv_init(struct conv *c, struct conv_shared *shared)
{
	*c = (struct conv){.shared = shared,
			   .running = -1,
			   .client_node = NAMES_NONE,
			   .server_node = NAMES_NONE};
}

void conv_done(struct conv *c)
{
	while (c->oldest) {
		c->shared->stats.unanswered++;
		conv_forget(c, c->oldest);
	}
	conv_unquiet(c);
	protocol_drop(c);
	for (int i = 0; i < 2; i++)
		window_free(c, &c->half[i]);
}

void conv_become(struct conv *c, const struct protocol *next)
{
	c->next = next;
	c->becoming = true;
}

static int become(struct conv *c)
{
	c->becoming = false;
	for (int i = 0; i < 2; i++) {
		c->half[i].skip = 0;
		c->half[i].lost = false;
	}
	if (c->next)
		return protocol_take(c, c->next);
	protocol_drop(c);
	c->runs = 0;
	return 0;
}

/* Who was thought to be the client is the server. */
static void flip(struct conv *c)
{
	struct conv_half half = c->half[0];
	struct ip_address address = c->client;
	uint16_t port = c->client_port;

	c->half[0] = c->half[1];
	c->half[1] = half;
	c->client = c->server;
	c->server = address;
	c->client_port = c->server_port;
	c->server_port = port;
	c->client_node = c->server_node = NAMES_NONE;
	c->flipped = !c->flipped;
	if (c->running >= 0)
		c->running = (int8_t)side_other((enum side)c->running);
}

struct guess {
	const struct protocol *protocol;
	enum side side;
	bool more; /* somebody cannot say yet */
};

static void guess_as(const struct conv *c, struct slice bytes, enum side side, uint16_t port,
		     struct guess *g)
{
	for (size_t i = 0; protocols[i] && !g->protocol; i++) {
		const struct protocol *p = protocols[i];
		enum detect d = p->udp ? DETECT_NO : p->detect(bytes, side);
		bool hinted = protocol_has_port(p, port);

		if (d == DETECT_YES || (d == DETECT_MAYBE && hinted)) {
			g->protocol = p;
			g->side = side;
		} else if (d == DETECT_MORE && (hinted || bytes.n < ENOUGH_TO_TELL)) {
			g->more = true;
		}
	}
}

/* Which protocol begins with these bytes?  1: c->protocol is set; 0: more are needed. */
static int recognise(struct conv *c, enum side side, struct slice bytes)
{
	struct guess g = {0};
	int r;

	guess_as(c, bytes, side, c->server_port, &g);
	if (!g.protocol && !c->client_known)
		guess_as(c, bytes, side_other(side), c->client_port, &g);
	if (!g.protocol && g.more && bytes.n < CONV_MAX_WINDOW / 2)
		return 0;
	if (!g.protocol)
		g = (struct guess){&proto_unknown, side, false};
	if (g.protocol == c->protocol)
		return 1;
	if (c->protocol)
		while (c->oldest) /* of the unknown one: it was no such thing */
			conv_forget(c, c->oldest);
	if (g.side != side)
		flip(c);
	if (g.protocol != &proto_unknown)
		c->client_known = true;
	r = protocol_take(c, g.protocol);
	return r < 0 ? r : 1;
}

/* The thread of one side is lost: by a hole, or by bytes that make no sense. */
static void lose(struct conv *c, enum side side)
{
	struct conv_half *h = &c->half[side];

	if (c->protocol->fifo && side == SIDE_SERVER && c->oldest)
		c->oldest->damaged = true;
	if (c->protocol->gap)
		c->protocol->gap(c, side, h->n ? slice_of(h->window, h->n) : SLICE(""));
	h->n = 0;
	h->skip = 0;
	h->lost = true;
	h->tried = 0;
	if (c->losses < MAX_LOSSES)
		c->losses++;
}

/* What was taken for a protocol is none: begin again. */
static void doubt(struct conv *c)
{
	while (c->oldest) {
		c->shared->stats.abandoned++;
		conv_forget(c, c->oldest);
	}
	protocol_drop(c);
	for (int i = 0; i < 2; i++) {
		c->half[i].n = 0;
		c->half[i].skip = 0;
		c->half[i].lost = false;
	}
	c->losses = 0;
}

/* Feeds the parser until it wants more. */
static int parse(struct conv *c, enum side side, struct slice bytes, int64_t time_ns)
{
	struct conv_half *h = &c->half[side];
	struct slice view = bytes;
	size_t old = h->n, at = 0;

	if (old > 0) {
		int r = window_append(c, h, bytes);

		if (r == -EBADMSG) {
			c->shared->stats.lost_threads++;
			lose(c, side);
			return 0;
		}
		if (r < 0)
			return r;
		view = slice_of(h->window, h->n);
	} else {
		h->head_ns = time_ns;
		h->head_seq = h->next_seq - (uint32_t)bytes.n;
	}
	for (;;) {
		struct slice rest = slice_of(view.p + at, view.n - at);
		ssize_t done = c->protocol->parse(c, side, rest);

		if (c->shared->order.failed < 0)
			return c->shared->order.failed;
		if (done == -EBADMSG) {
			c->shared->stats.lost_threads++;
			lose(c, side);
			return 0;
		}
		if (done < 0)
			return (int)done;
		if (done == 0)
			return window_keep(c, h, rest);
		c->losses = 0;
		if ((size_t)done > rest.n) {
			h->skip = (size_t)done - rest.n;
			h->n = 0;
			return 0;
		}
		at += (size_t)done;
		h->head_seq += (uint32_t)done;
		if (at >= old)
			h->head_ns = time_ns;
		if (c->becoming) {
			int r = become(c);

			if (r < 0)
				return r;
			if (!c->protocol) /* recognised with the next segment */
				return window_keep(c, h, slice_of(view.p + at, view.n - at));
		}
	}
}

/* Is this a place to start again? */
static bool found(struct conv *c, enum side side, struct slice bytes, int64_t last_ns)
{
	struct conv_half *h = &c->half[side];
	enum detect d = c->protocol->detect(bytes, side);

	if (d == DETECT_NO || d == DETECT_MORE) {
		c->shared->stats.ignored_bytes += bytes.n;
		if (h->tried < UINT8_MAX)
			h->tried++;
		return false;
	}
	h->lost = false;
	if (!c->protocol->fifo || side == SIDE_CLIENT)
		return true;
	while (c->oldest && was_answered(c->oldest, h->next_seq - (uint32_t)bytes.n))
		settle(c, last_ns);
	if (c->oldest && c->oldest->damaged) {
		if (!c->oldest->reply_ns || (c->protocol->parts && c->open_n == 1))
			c->oldest->damaged = false; /* its answer begins here, or goes on */
		else if (!c->protocol->parts)
			settle_damaged(c, last_ns);
	}
	return true;
}

/* Recognition with these bytes and what was kept because it was too little to tell.  1: the
 * protocol is known now (*ret_kept: the bytes were added to the window); 0: they are kept; or an
 * error. */
static int learn(struct conv *c, enum side given, struct slice bytes, int64_t time_ns,
		 bool *ret_kept)
{
	struct conv_half *h = &c->half[conv_side(c, given)];
	struct slice first = bytes;
	int r;

	*ret_kept = h->n > 0;
	if (h->n > 0) {
		r = window_append(c, h, bytes);
		if (r < 0)
			return r == -EBADMSG ? 0 : r;
		first = slice_of(h->window, h->n);
	} else {
		h->head_ns = time_ns;
		h->head_seq = h->next_seq - (uint32_t)bytes.n;
	}
	r = recognise(c, conv_side(c, given), first);
	if (r == 0 && !*ret_kept)
		return window_keep(c, h, first);
	return r;
}

/* One piece of a segment; `first` when it begins it. */
static int piece(struct conv *c, enum side given, struct slice bytes, int64_t time_ns, bool first)
{
	enum side side = conv_side(c, given);
	struct conv_half *h = &c->half[side];
	int64_t last_ns = h->last_ns;
	bool begins = c->running != (int8_t)side;

	h->next_seq += (uint32_t)bytes.n;
	c->running = (int8_t)side;
	if (begins && c->runs < UINT8_MAX)
		c->runs++;
	if (time_ns > h->last_ns)
		h->last_ns = time_ns;
	if (c->protocol && (c->losses >= MAX_LOSSES || (h->lost && h->tried >= MAX_LOST)))
		doubt(c);
	if (!c->protocol || (c->protocol == &proto_unknown && begins && c->runs <= CONV_MAX_RUNS)) {
		bool whole;
		int r = learn(c, given, bytes, time_ns, &whole);

		if (r <= 0)
			return r;
		side = conv_side(c, given);
		h = &c->half[side];
		if (whole)
			bytes.n = 0; /* they are in the window already */
	}
	if (h->skip > 0) {
		uint64_t step = MIN(h->skip, (uint64_t)bytes.n);

		h->skip -= step;
		if (h->skip > 0)
			return 0;
		bytes = slice_of(bytes.p + step, bytes.n - step);
	}
	if (h->lost && (!first || !found(c, side, bytes, last_ns)))
		return 0;
	return parse(c, side, bytes, time_ns);
}

int conv_data(struct conv *c, enum side given, struct slice bytes, int64_t time_ns)
{
	bool first = true;

	while (bytes.n > 0) {
		struct slice now = slice_first(bytes, MAX_PIECE);
		int r = piece(c, given, now, time_ns, first);

		if (r < 0)
			return r;
		first = false;
		bytes = slice_of(bytes.p + now.n, bytes.n - now.n);
	}
	return 0;
}

int conv_gap(struct conv *c, enum side given, uint64_t n, int64_t time_ns)
{
	enum side side = conv_side(c, given);
	struct conv_half *h = &c->half[side];

	h->next_seq += (uint32_t)n;
	if (!c->protocol || c->protocol == &proto_unknown || h->lost) {
		h->n = 0;
		return 0;
	}
	if (h->skip >= n) {
		c->shared->stats.passed_gaps++;
		if (time_ns > h->last_ns)
			h->last_ns = time_ns;
		h->skip -= n;
		return h->skip > 0 ? 0 : parse(c, side, slice_of("", 0), time_ns);
	}
	c->shared->stats.gaps++;
	c->shared->stats.gap_bytes += n;
	lose(c, side);
	c->losses = 0; /* not the parser's fault */
	return 0;
}

int conv_closed(struct conv *c, enum side given)
{
	enum side side = conv_side(c, given);

	if (c->half[side].closed)
		return 0;
	c->half[side].closed = true;
	if (c->protocol && c->protocol->closed)
		c->protocol->closed(c, side);
	if (side == SIDE_SERVER)
		settle_damaged(c, c->half[side].last_ns);
	return c->shared->order.failed;
}

int conv_datagram(struct conv *c, enum side given, struct slice bytes, int64_t time_ns)
{
	enum side side = conv_side(c, given);
	struct conv_half *h = &c->half[side];
	ssize_t r;

	h->head_ns = time_ns;
	h->last_ns = time_ns;
	r = c->protocol->parse(c, side, bytes);
	if (r == -EBADMSG)
		c->shared->stats.lost_threads++;
	else if (r < 0)
		return (int)r;
	return c->shared->order.failed;
}
