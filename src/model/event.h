/* model/event.h - the event: what every source emits, and the only thing the way in knows.
 *
 * Events are fixed-size rows.  A finished span is one row (a begin and an end that came together);
 * its span events and links are rows of their own, right behind it.  Structure (which unit, which
 * block, what caused what) is not built here but when somebody asks for the trace: model/trace.h.
 *
 *   type             id1            id2              unit     time, end       also
 *   SPAN             block          parent block     -        begin, end      kind, status, flags
 *   BEGIN            block          parent block     unit     begin           kind
 *   END              block          -                unit     end             status
 *   POINT            block          point, or 0      unit     when
 *   LOG              block, or 0    -                -        when            extra: body, severity
 *   LINK             block          linked block     -        -               extra: its trace
 *   UNIT             unit           parent unit      unit     start, or 0
 *   EDGE             from block     to block         -        left, arrived   name says what kind
 *   SEND, RECEIVE    block          edge             unit     when
 *   CLIENT_SEND …    block          call             unit     when            the four RPC events,
 *   CLIENT_QUEUE                                                              and Canopy's fifth
 *   ENQUEUE …        block          item             unit     when            name is the queue
 *   LOCK_REQUEST …   block          lock             unit     when            name is the lock
 *   COUNTER          block, or 0    -                unit     when            extra: body is the
 * value
 *
 * Units stand beside the rows (struct event_place).  A time of 0 means "not said".  Times are kept
 * as they came (unsigned nanoseconds since 1970, so 2554 fits); the model clamps and says so. */
#ifndef CAUSET_MODEL_EVENT_H
#define CAUSET_MODEL_EVENT_H

#include "core/ids.h"
#include "model/attr.h"

enum event_type {
	EVENT_SPAN,
	EVENT_BEGIN,
	EVENT_END,
	EVENT_POINT,
	EVENT_LOG,
	EVENT_LINK,
	EVENT_UNIT,
	EVENT_EDGE,
	EVENT_SEND,
	EVENT_RECEIVE,
	EVENT_CLIENT_SEND,
	EVENT_SERVER_RECEIVE,
	EVENT_SERVER_SEND,
	EVENT_CLIENT_RECEIVE,
	EVENT_CLIENT_QUEUE,
	EVENT_ENQUEUE,
	EVENT_DEQUEUE,
	EVENT_COMPLETE,
	EVENT_LOCK_REQUEST,
	EVENT_LOCK_ACQUIRE,
	EVENT_LOCK_RELEASE,
	EVENT_COUNTER,
	EVENT_TYPES
};

/* Where the row came from: what an export must give back. */
enum event_format { FORMAT_OTLP, FORMAT_ZIPKIN, FORMAT_JAEGER, FORMAT_NATIVE };

/* OpenTelemetry's numbers; others are kept as they came. */
enum span_kind {
	KIND_UNSPECIFIED,
	KIND_INTERNAL,
	KIND_SERVER,
	KIND_CLIENT,
	KIND_PRODUCER,
	KIND_CONSUMER
};

/* The bit of a kind in a set of them; a kind nobody knows counts as none said. */
#define KIND_BITS ((2U << KIND_CONSUMER) - 1)
static inline uint32_t kind_bit(int32_t kind)
{
	return 1U << (kind >= KIND_UNSPECIFIED && kind <= KIND_CONSUMER ? kind : KIND_UNSPECIFIED);
}

enum span_status { STATUS_UNSET, STATUS_OK, STATUS_ERROR };

enum event_bits {
	EVENT_TRACE_ID_64 = 1 << 0, /* Zipkin, Jaeger: the id came as 16 digits */
	EVENT_SHARED = 1 << 1,      /* Zipkin: server side of a span id used by both sides */
	EVENT_DEBUG = 1 << 2,       /* Zipkin: debug flag */
	EVENT_FORMAT_BIT = 1 << 3,  /* this and those above mean what the row's format says */
};

struct event {
	struct trace_id trace_id;
	span_id_t id1, id2;
	uint64_t time_ns, end_ns;
	uint32_t name;     /* dictionary code */
	uint32_t resource; /* index into batch.resources */
	uint32_t scope;    /* index into batch.scopes */
	struct attr_range attrs;
	uint32_t extra; /* index into batch.extras; 0 means none */
	uint32_t flags; /* OTLP span and link flags */
	int32_t kind;   /* enum span_kind; LOG: severity number */
	int32_t status; /* enum span_status */
	uint8_t type;   /* enum event_type */
	uint8_t format; /* enum event_format */
	uint16_t bits;  /* enum event_bits */
};

_Static_assert(sizeof(struct event) == 88, "one row per event: mind its size");

/* Where in its source the event happened: what native events say and spans do not.  Kept beside
 * the rows of a batch, if any of them says so. */
struct event_place {
	span_id_t unit;
	uint64_t seq; /* order within its source; 0 means "not said" */
};

/* What few events have. */
struct event_extra {
	uint32_t trace_state; /* dictionary codes: */
	uint32_t status_message;
	uint32_t severity_text;
	uint32_t unknown;        /* protobuf fields we do not know, verbatim */
	uint32_t unknown_status; /* the same, of the status message */
	uint32_t dropped_attributes, dropped_points, dropped_links;
	struct trace_id link_trace; /* LINK */
	uint64_t observed_ns;       /* LOG */
	struct attr body;           /* LOG: its body; COUNTER: its value */
};

const char *event_type_name(enum event_type type);

#endif
