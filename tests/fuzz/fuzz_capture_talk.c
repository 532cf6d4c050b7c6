/* A conversation of any bytes, to the parser of any protocol, in any pieces, with holes.
 *
 *   input  protocol u8 · steps of (kind u8 · length u8 · bytes)
 *   kind   bit 0 side, bits 1-3: 0-4 data, 5 hole, 6 close, 7 time passes */
#include <assert.h>
#include <stdlib.h>

#include "capture/conv.h"
#include "fuzz.h"

struct seen {
	uint64_t calls, returns, late;
	int64_t last_ns;
};

static int put(void *context, const struct message *m, size_t n)
{
	struct seen *s = context;

	for (size_t i = 0; i < n; i++) {
		if (m[i].time_ns < s->last_ns)
			s->late++;
		else
			s->last_ns = m[i].time_ns;
		s->calls += m[i].op == MESSAGE_CALL;
		s->returns += m[i].op == MESSAGE_RET;
	}
	return 0;
}

static void step(struct conv *c, uint8_t kind, struct slice bytes, int64_t *now_ns)
{
	enum side side = kind & 1 ? SIDE_SERVER : SIDE_CLIENT;

	switch (kind >> 1 & 7) {
	case 5:
		assert(conv_gap(c, side, bytes.n + 1, *now_ns) == 0);
		break;
	case 6:
		assert(conv_closed(c, side) == 0);
		break;
	case 7:
		*now_ns += 1500000000;
		assert(conv_shared_advance(c->shared, *now_ns) == 0);
		break;
	default:
		assert(conv_data(c, side, bytes, *now_ns) == 0);
	}
	*now_ns += 1000;
	assert(c->open_n <= CONV_MAX_OPEN);
	assert(c->half[0].n <= CONV_MAX_WINDOW && c->half[1].n <= CONV_MAX_WINDOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct names nodes, operations;
	struct conv_shared *shared;
	struct conv c;
	struct seen seen = {.last_ns = INT64_MIN};
	int64_t now_ns = 1000000000;
	size_t at = 1, known = 0;

	if (n < 1 || !(shared = malloc(sizeof(*shared))))
		return 0;
	names_init(&nodes);
	names_init(&operations);
	assert(conv_shared_init(shared, &nodes, &operations, (struct message_sink){put, &seen}) ==
	       0);
	shared->tag_header = SLICE("X-Request-Id");
	conv_init(&c, shared);
	while (protocols[known])
		known++;
	/* A port that hints at the protocol; the upper bit: who is the client is not known. */
	c.server_port = protocols[(data[0] & 0x7f) % known]->ports[0];
	c.client_known = !(data[0] & 0x80);
	while (at + 2 <= n) {
		size_t length = data[at + 1];

		length = length < n - at - 2 ? length : n - at - 2;
		step(&c, data[at], slice_of(data + at + 2, length), &now_ns);
		at += 2 + length;
	}
	conv_done(&c);
	assert(conv_shared_advance(shared, INT64_MAX) == 0);
	assert(seen.returns <= seen.calls && seen.calls == shared->stats.calls);
	assert(seen.late == shared->order.late); /* what is out of order has been counted */
	assert(shared->memory == 0);
	conv_shared_done(shared);
	names_done(&nodes);
	names_done(&operations);
	free(shared);
	return 0;
}
