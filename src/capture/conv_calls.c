/* capture/conv_calls.c - the calls of a conversation, and the messages they become.
 *
 * A call is two messages with one id: CALL when its first byte was seen, RET when its last one was.
 * The capture point is somewhere between the two nodes, so both are plain sightings. */
#include <errno.h>
#include <stdlib.h>

#include "capture/conv.h"
#include "capture/conv_int.h"
#include "core/hash.h"

#define STABLE_SEED   0xca97u /* fixed: two runs must agree */
#define LAST_PROTOCOL 31

int conv_shared_init(struct conv_shared *s, struct names *nodes, struct names *operations,
		     struct message_sink sink)
{
	*s = (struct conv_shared){.nodes = nodes, .operations = operations};
	message_order_init(&s->order, sink);
	names_init(&s->tags);
	return 0;
}

void conv_shared_done(struct conv_shared *s)
{
	while (s->spare) {
		struct open_call *call = s->spare;

		s->spare = call->next;
		free(call);
	}
	message_order_done(&s->order);
	names_done(&s->tags);
}

int conv_shared_advance(struct conv_shared *s, int64_t now_ns)
{
	while (s->quiet_first &&
	       (now_ns == INT64_MAX ||
		s->quiet_first->half[SIDE_SERVER].last_ns + CONV_QUIET_NS <= now_ns)) {
		struct conv *c = s->quiet_first;

		conv_unquiet(c);
		if (c->oldest)
			conv_return_at(c, c->oldest, c->half[SIDE_SERVER].last_ns);
	}
	return message_order_release(&s->order,
				     now_ns == INT64_MAX ? now_ns : now_ns - ORDER_HOLD_NS);
}

void conv_quiet(struct conv *c)
{
	struct conv_shared *s = c->shared;

	conv_unquiet(c);
	c->quiet = true;
	c->quiet_previous = s->quiet_last;
	c->quiet_next = NULL;
	if (s->quiet_last)
		s->quiet_last->quiet_next = c;
	else
		s->quiet_first = c;
	s->quiet_last = c;
}

void conv_unquiet(struct conv *c)
{
	struct conv_shared *s = c->shared;

	if (!c->quiet)
		return;
	if (c->quiet_previous)
		c->quiet_previous->quiet_next = c->quiet_next;
	else
		s->quiet_first = c->quiet_next;
	if (c->quiet_next)
		c->quiet_next->quiet_previous = c->quiet_previous;
	else
		s->quiet_last = c->quiet_previous;
	c->quiet = false;
}

static struct open_call *call_alloc(struct conv_shared *s)
{
	struct open_call *call = s->spare;

	if (call)
		s->spare = call->next;
	else
		call = malloc(sizeof(*call));
	if (call)
		s->memory += sizeof(*call);
	return call;
}

void conv_forget(struct conv *c, struct open_call *call)
{
	struct conv_shared *s = c->shared;

	if (call->previous)
		call->previous->next = call->next;
	else
		c->oldest = call->next;
	if (call->next)
		call->next->previous = call->previous;
	else
		c->newest = call->previous;
	c->open_n--;
	s->memory -= sizeof(*call);
	call->next = s->spare;
	s->spare = call;
}

static int name_nodes(struct conv *c)
{
	struct conv_shared *s = c->shared;
	int r;

	if (c->server_node != NAMES_NONE)
		return 0;
	if (s->rules)
		s->rules->now_ns = c->half[SIDE_CLIENT].last_ns;
	r = node_name(s->rules, s->nodes, c->client, c->client_port, false, &c->client_node);
	if (r == 0)
		r = node_name(s->rules, s->nodes, c->server, c->server_port, true, &c->server_node);
	if (r < 0)
		s->order.failed = r;
	return r;
}

static int emit(struct conv *c, const struct open_call *call, enum message_op op, int64_t time_ns)
{
	bool answer = op == MESSAGE_RET;
	struct message m = {
		.time_ns = time_ns,
		.id = call->id,
		.sender = answer ? c->server_node : c->client_node,
		.receiver = answer ? c->client_node : c->server_node,
		.name = call->name,
		.op = (uint8_t)op,
		.sight = MESSAGE_SEEN,
		.file = c->shared->file,
	};

	return message_order_put(&c->shared->order, &m);
}

/* Where the row of by_protocol[] is. */
static size_t row_of(const struct protocol *p)
{
	for (size_t i = 0; protocols[i] && i < LAST_PROTOCOL; i++)
		if (protocols[i] == p)
			return i;
	return LAST_PROTOCOL;
}

/* Two captures of one call agree on its connection and on the number of its first byte (for
 * datagrams on the protocol's id). */
static uint64_t call_id(struct conv *c, uint64_t key)
{
	struct conv_shared *s = c->shared;
	struct {
		struct ip_address client, server;
		uint16_t client_port, server_port;
		uint32_t seq;
		uint64_t key;
	} what = {
		c->client, c->server, c->client_port, c->server_port, c->half[SIDE_CLIENT].head_seq,
		key};

	s->serial++;
	return message_id_of_number(s->stable ? hash_bytes(&what, sizeof(what), STABLE_SEED)
					      : s->serial);
}

struct open_call *conv_call(struct conv *c, uint64_t key, uint32_t name, struct slice request)
{
	return conv_call_at(c, key, name, request, c->half[SIDE_CLIENT].head_ns);
}

struct open_call *conv_call_at(struct conv *c, uint64_t key, uint32_t name, struct slice request,
			       int64_t start_ns)
{
	struct conv_shared *s = c->shared;
	struct open_call *call;

	/* Whatever was damaged has ended if its client asks again, and is answered in order. */
	while (c->protocol->fifo && c->oldest && c->oldest->damaged) {
		if (c->oldest->reply_ns) {
			s->stats.guessed_ends++;
			conv_return(c, c->oldest);
		} else {
			s->stats.unanswered++;
			conv_forget(c, c->oldest);
		}
	}
	if (c->open_n >= CONV_MAX_OPEN) {
		s->stats.abandoned++;
		conv_forget(c, c->oldest);
	}
	if (name_nodes(c) < 0)
		return NULL;
	call = call_alloc(s);
	if (!call) {
		s->order.failed = -ENOMEM;
		return NULL;
	}
	*call = (struct open_call){
		.previous = c->newest,
		.key = key,
		.id = call_id(c, key),
		.start_ns = start_ns,
		.name = name,
		.tag = NAMES_NONE,
		.has_ack = c->half[SIDE_CLIENT].has_ack,
		.ack = c->half[SIDE_CLIENT].ack,
	};
	if (c->newest)
		c->newest->next = call;
	else
		c->oldest = call;
	c->newest = call;
	c->open_n++;
	s->stats.calls++;
	s->by_protocol[row_of(c->protocol)]++;
	conv_search(c, call, request);
	emit(c, call, MESSAGE_CALL, call->start_ns);
	return call;
}

struct open_call *conv_oldest(struct conv *c)
{
	return c->oldest;
}

struct open_call *conv_find(struct conv *c, uint64_t key)
{
	for (struct open_call *call = c->oldest; call; call = call->next)
		if (call->key == key)
			return call;
	return NULL;
}

void conv_reply(struct conv *c, struct open_call *call)
{
	if (call && !call->reply_ns)
		call->reply_ns = c->half[SIDE_SERVER].head_ns;
}

int conv_return(struct conv *c, struct open_call *call)
{
	return conv_return_at(c, call, c->half[SIDE_SERVER].last_ns);
}

int conv_return_at(struct conv *c, struct open_call *call, int64_t time_ns)
{
	struct conv_shared *s = c->shared;
	int r;

	if (time_ns < call->start_ns)
		time_ns = call->start_ns;
	r = emit(c, call, MESSAGE_RET, s->first_byte && call->reply_ns ? call->reply_ns : time_ns);
	s->stats.returns++;
	if (s->on_call) {
		struct captured_call done = {
			.id = call->id,
			.start_ns = call->start_ns,
			.reply_ns = call->reply_ns ? call->reply_ns : time_ns,
			.end_ns = time_ns,
			.caller = c->client_node,
			.callee = c->server_node,
			.name = call->name,
			.tag = call->tag,
			.protocol = c->protocol,
		};

		s->on_call(s->on_call_context, &done);
	}
	conv_forget(c, call);
	return r;
}
