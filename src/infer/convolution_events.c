/* infer/convolution_events.c - messages to events: two sightings of one message are one. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "core/hash.h"
#include "infer/convolution_int.h"

struct joiner {
	const struct message_list *messages;
	/* By event: the message it was made of. */
	const uint32_t *message_of;
};

static bool same_message(const void *context, uint32_t value, const void *key)
{
	const struct joiner *j = context;
	const struct message *a = &j->messages->at[j->message_of[value]], *b = key;

	return a->id == b->id && a->op == b->op && a->sender == b->sender &&
	       a->receiver == b->receiver && a->sight != b->sight;
}

static int by_sent(const void *a, const void *b)
{
	const struct passage *x = a, *y = b;

	return x->sent_ns < y->sent_ns ? -1 : x->sent_ns > y->sent_ns;
}

int events_make(const struct message_list *messages, struct passage **ret_events, size_t *ret_n)
{
	_cleanup_(freep)
	struct passage *events = malloc((messages->n + 1) * sizeof(*events));
	_cleanup_(freep)
	uint32_t *message_of = malloc((messages->n + 1) * sizeof(*message_of));
	const struct joiner j = {messages, message_of};
	struct map map;
	size_t n = 0;
	bool full = !events || !message_of;

	map_init(&map);
	for (size_t i = 0; i < messages->n && !full; i++) {
		const struct message *m = &messages->at[i];
		bool twins = m->sight != MESSAGE_SEEN && m->id != MESSAGE_NO_ID;
		uint64_t hash = hash_u64(
			m->id ^ hash_u64((uint64_t)m->sender << 32 | m->receiver, m->op), map.seed);
		uint32_t twin = twins ? map_get(&map, hash, same_message, &j, m) : MAP_NONE;

		if (twin != MAP_NONE) {
			*(m->sight == MESSAGE_RECV ? &events[twin].recv_ns
						   : &events[twin].sent_ns) = m->time_ns;
			continue;
		}
		/* Without an id nobody knows which two are one: the sending end counts. */
		if (m->sight == MESSAGE_RECV && !twins)
			continue;
		full = twins && !map_put(&map, hash, (uint32_t)n);
		message_of[n] = (uint32_t)i;
		events[n++] = (struct passage){m->time_ns, m->time_ns, m->sender, m->receiver};
	}
	map_done(&map);
	if (full)
		return -ENOMEM;
	qsort(events, n, sizeof(*events), by_sent);
	*ret_events = TAKE_PTR(events);
	*ret_n = n;
	return 0;
}
