/* wire/events.h - native events, whatever they are written in: types, and what each needs.
 *
 * The specification is docs/format/events.proto. */
#ifndef CAUSET_WIRE_EVENTS_H
#define CAUSET_WIRE_EVENTS_H

#include "wire/decode.h"

/* Type numbers on the wire are those of causet.v1.EventType and never change; enum event_type may.
 */
uint32_t events_type_number(enum event_type type);

/* The type with this number, or -1. */
int events_type_find(uint64_t number);

/* The name in the specification: "EVENT_TYPE_BEGIN". */
const char *events_type_name(enum event_type type);

/* The type with this name: as in the specification, or without its prefix, in either case.  -1 when
 * there is none. */
int events_type_parse(struct slice name);

/* causet.v1.Origin to enum event_format and back; -1 when there is no such origin. */
int events_format_find(uint64_t origin);
uint32_t events_origin(enum event_format format);

/* What a decoder found before it knows whether the row can be accepted. */
struct events_row {
	struct event event;
	struct event_place place;
	struct event_extra extra;
	int64_t type;    /* as on the wire; -1 when it was a name that is not known */
	bool bad_length; /* an id of a wrong length */
};

/* Appends the row, or counts it as rejected and rewinds the batch to `mark`.  `where` is the row's
 * place in the input, for the reason. */
void events_row_add(struct batch *b, const struct events_row *row, struct batch_mark mark,
		    struct decode_tally *tally, size_t where);

#endif
