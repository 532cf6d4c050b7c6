/* wire/jaeger_decode_int.h - the state that the parts of Jaeger's JSON decoder share; private to
 * it.
 *
 *   jaeger_json_decode.c   answers and traces
 *   jaeger_span.c          spans, their logs and references
 *   jaeger_known_tag.c     tags that go into fields of the row
 *   jaeger_process.c       processes and scopes */
#ifndef CAUSET_WIRE_JAEGER_DECODE_INT_H
#define CAUSET_WIRE_JAEGER_DECODE_INT_H

#include "base/map.h"
#include "wire/decode.h"
#include "wire/jaeger_json.h"
#include "wire/jaeger_tag_int.h"
#include "wire/json_reader.h"

/* A process of the trace being read. */
struct process {
	uint32_t id; /* dictionary code */
	uint32_t resource;
};

/* State of one decoding run. */
struct jaeger_json {
	struct json_reader r;
	struct batch *batch;
	struct decode_tally *tally;
	struct buffer scratch;
	struct process *processes; /* of this trace */
	size_t process_n, process_capacity;
	struct map process_map, scope_map;
	uint32_t nobody; /* the resource of spans without a process, once `has_nobody` */
	bool has_nobody;
	/* What the trace says for its spans: */
	struct trace_id trace_id;
	bool trace_is_64, bad_trace;
	struct attr trace_warnings; /* EMPTY once the first span has them */
};

/* A place in the text is a copy of the reader; `at` is NULL when there is none.
 *
 * Remembers the place and skips the value there. */
void jaeger_pass(struct jaeger_json *d, struct json_reader *ret_place);

/* Goes back to a place, if there is one, and later on from where we were, unless the reader has
 * stopped. */
bool jaeger_go_back(struct jaeger_json *d, const struct json_reader *to,
		    struct json_reader *ret_here);
void jaeger_go_on(struct jaeger_json *d, const struct json_reader *here);

/* Fails the batch and stops the reader. */
void jaeger_out_of_memory(struct jaeger_json *d);

/* One string, interned; null is "". */
uint32_t jaeger_read_text(struct jaeger_json *d);

/* Hex of any length up to the id's; "" and zeros are none.  False when it is something else. */
bool jaeger_read_trace_id(struct jaeger_json *d, struct trace_id *id, bool *is_64);
bool jaeger_read_span_id(struct jaeger_json *d, span_id_t *id);

/* A list of strings under a key; EMPTY when there are none. */
struct attr jaeger_read_warnings(struct jaeger_json *d, const char *key);

/* One process: the index of its resource. */
uint32_t jaeger_read_process(struct jaeger_json *d);

/* The processes of a trace, by their ids; and the resource of one of them. */
void jaeger_read_processes(struct jaeger_json *d);
uint32_t jaeger_find_process(struct jaeger_json *d, uint32_t id);

/* The scope with this name and version, made on first use. */
uint32_t jaeger_find_scope(struct jaeger_json *d, const struct scope *wanted);

/* Tags that mean something to us; each is taken once. */
enum known_tag {
	SPAN_KIND,
	ERROR,
	STATUS_CODE,
	STATUS_DESCRIPTION,
	TRACE_STATE,
	SCOPE_NAME,
	SCOPE_VERSION,
	DROPPED_ATTRIBUTES,
	DROPPED_POINTS,
	DROPPED_LINKS,
	KNOWN_TAGS
};

/* What a span says, and where its lists stand. */
struct span_parts {
	struct event row;
	struct event_extra extra;
	struct scope scope;
	uint64_t start_us, duration_us;
	bool bad_trace, has_parent, has_process, error_text;
	bool taken[KNOWN_TAGS];
	span_id_t legacy_parent;
	const char *objection;
	struct json_reader references, tags, logs, warnings;
};

/* Does the tag go into a field of the row, and has it? */
bool jaeger_take_tag(struct jaeger_json *d, struct span_parts *s, const struct attr *a);

/* A string that is not empty; a number from 1 to 2^32 - 1. */
bool jaeger_take_text(const struct attr *a, uint32_t *code);
bool jaeger_take_count(const struct batch *b, const struct attr *a, uint32_t *count);

/* One span with its rows, or one more rejected. */
void jaeger_read_span(struct jaeger_json *d);

#endif
