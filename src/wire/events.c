/* wire/events.c - native events, whatever they are written in: types, and what each needs. */
#include "wire/events.h"

#define PREFIX "EVENT_TYPE_"

enum need { NEEDS_NOTHING = 0, NEEDS_ID1 = 1, NEEDS_ID2 = 2, NEEDS_LINK = 4 };

/* The table of docs/format/events.proto. */
static const struct form {
	const char *name;
	uint8_t number;
	uint8_t needs;
} forms[EVENT_TYPES] = {
	[EVENT_SPAN] = {PREFIX "SPAN", 1, NEEDS_ID1},
	[EVENT_BEGIN] = {PREFIX "BEGIN", 2, NEEDS_ID1},
	[EVENT_END] = {PREFIX "END", 3, NEEDS_ID1},
	[EVENT_POINT] = {PREFIX "POINT", 4, NEEDS_ID1},
	[EVENT_LOG] = {PREFIX "LOG", 5, NEEDS_NOTHING},
	[EVENT_LINK] = {PREFIX "LINK", 6, NEEDS_ID1 | NEEDS_ID2 | NEEDS_LINK},
	[EVENT_UNIT] = {PREFIX "UNIT", 7, NEEDS_ID1},
	[EVENT_EDGE] = {PREFIX "EDGE", 8, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_SEND] = {PREFIX "SEND", 9, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_RECEIVE] = {PREFIX "RECEIVE", 10, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_CLIENT_SEND] = {PREFIX "CLIENT_SEND", 11, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_SERVER_RECEIVE] = {PREFIX "SERVER_RECEIVE", 12, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_SERVER_SEND] = {PREFIX "SERVER_SEND", 13, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_CLIENT_RECEIVE] = {PREFIX "CLIENT_RECEIVE", 14, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_CLIENT_QUEUE] = {PREFIX "CLIENT_QUEUE", 15, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_ENQUEUE] = {PREFIX "ENQUEUE", 16, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_DEQUEUE] = {PREFIX "DEQUEUE", 17, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_COMPLETE] = {PREFIX "COMPLETE", 18, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_LOCK_REQUEST] = {PREFIX "LOCK_REQUEST", 19, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_LOCK_ACQUIRE] = {PREFIX "LOCK_ACQUIRE", 20, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_LOCK_RELEASE] = {PREFIX "LOCK_RELEASE", 21, NEEDS_ID1 | NEEDS_ID2},
	[EVENT_COUNTER] = {PREFIX "COUNTER", 22, NEEDS_NOTHING},
};

/* By causet.v1.Origin. */
static const enum event_format formats[] = {FORMAT_NATIVE, FORMAT_OTLP, FORMAT_ZIPKIN,
					    FORMAT_JAEGER};

uint32_t events_type_number(enum event_type type)
{
	return forms[type].number;
}

int events_type_find(uint64_t number)
{
	for (int type = 0; type < EVENT_TYPES; type++)
		if (forms[type].number == number)
			return type;
	return -1;
}

const char *events_type_name(enum event_type type)
{
	return forms[type].name;
}

int events_type_parse(struct slice name)
{
	for (int type = 0; type < EVENT_TYPES; type++) {
		struct slice full = slice_cstr(forms[type].name);

		if (slice_eq_nocase(name, full) ||
		    slice_eq_nocase(name, slice_from(full, sizeof(PREFIX) - 1)))
			return type;
	}
	return -1;
}

int events_format_find(uint64_t origin)
{
	return origin < sizeof(formats) / sizeof(formats[0]) ? (int)formats[origin] : -1;
}

uint32_t events_origin(enum event_format format)
{
	uint32_t origin = 0;

	while (origin + 1 < sizeof(formats) / sizeof(formats[0]) && formats[origin] != format)
		origin++;
	return origin;
}

/* Why the row cannot be accepted, or NULL. */
static const char *objection(const struct events_row *row, const struct form *form)
{
	if (row->bad_length)
		return "an id of a wrong length: trace ids have 16 bytes (32 hex digits), others 8 (16)";
	if (trace_id_is_zero(row->event.trace_id))
		return "no trace_id";
	if ((form->needs & NEEDS_ID1) && row->event.id1 == 0)
		return "no id1, which its type needs";
	if ((form->needs & NEEDS_ID2) && row->event.id2 == 0)
		return "no id2, which its type needs";
	if ((form->needs & NEEDS_LINK) && trace_id_is_zero(row->extra.link_trace))
		return "no link_trace_id, which its type needs";
	return NULL;
}

static bool extra_is_zero(const struct event_extra *x)
{
	static const struct event_extra zero;

	return memcmp(x, &zero, sizeof(zero)) == 0; /* it has no padding */
}

_Static_assert(sizeof(struct event_extra) == 8 * sizeof(uint32_t) + 16 + 8 + sizeof(struct attr),
	       "event_extra has no padding");

void events_row_add(struct batch *b, const struct events_row *row, struct batch_mark mark,
		    struct decode_tally *tally, size_t where)
{
	int type = row->type < 0 ? -1 : events_type_find((uint64_t)row->type);
	const char *why;
	uint32_t index;

	if (type < 0) {
		batch_rewind(b, mark);
		if (row->type == 0)
			decode_reject(tally, "event without a type (byte %zu)", where);
		else if (row->type < 0)
			decode_reject(tally, "event of an unknown type (byte %zu)", where);
		else
			decode_reject(tally, "event of unknown type %lld (byte %zu)",
				      (long long)row->type, where);
		return;
	}
	why = objection(row, &forms[type]);
	if (why) {
		batch_rewind(b, mark);
		decode_reject(tally, "%s event with %s (byte %zu)", event_type_name(type), why,
			      where);
		return;
	}
	index = (uint32_t)b->event_n;
	*batch_event(b) = row->event;
	if (b->failed)
		return;
	b->events[index].type = (uint8_t)type;
	batch_place(b, index, row->place);
	if (!extra_is_zero(&row->extra))
		*batch_extra(b, index) = row->extra;
	tally->accepted++;
}
