/* wire/jaeger_json_decode.c - Jaeger's JSON to rows: answers and traces.
 *
 * Processes and warnings stand behind the spans that need them: so a trace is walked twice, first
 * to see where its parts lie (and that they are JSON), then to read its spans. */
#include <errno.h>
#include <stdlib.h>

#include "wire/jaeger_decode_int.h"

void jaeger_pass(struct jaeger_json *d, struct json_reader *ret_place)
{
	*ret_place = d->r;
	json_skip(&d->r);
}

bool jaeger_go_back(struct jaeger_json *d, const struct json_reader *to,
		    struct json_reader *ret_here)
{
	if (!to->at || d->r.bad)
		return false;
	*ret_here = d->r;
	d->r = *to;
	return true;
}

void jaeger_go_on(struct jaeger_json *d, const struct json_reader *here)
{
	if (!d->r.bad)
		d->r = *here;
}

void jaeger_out_of_memory(struct jaeger_json *d)
{
	d->batch->failed = -ENOMEM;
	json_stop(&d->r, d->r.at, "out of memory");
}

static struct slice read_slice(struct jaeger_json *d)
{
	struct json_string s;
	struct slice text = {0};

	if (!json_null(&d->r) && json_string(&d->r, &s)) {
		text = json_text(s, &d->scratch);
		if (d->scratch.failed)
			jaeger_out_of_memory(d);
	}
	return text;
}

uint32_t jaeger_read_text(struct jaeger_json *d)
{
	return batch_string(d->batch, read_slice(d));
}

static bool all_zeros(struct slice hex)
{
	for (size_t i = 0; i < hex.n; i++)
		if (hex.p[i] != '0')
			return false;
	return true;
}

bool jaeger_read_trace_id(struct jaeger_json *d, struct trace_id *id, bool *is_64)
{
	struct slice hex = read_slice(d);

	*id = (struct trace_id){0};
	*is_64 = hex.n <= SPAN_ID_HEX;
	return (hex.n <= TRACE_ID_HEX && all_zeros(hex)) || trace_id_parse(hex, id) == 0;
}

bool jaeger_read_span_id(struct jaeger_json *d, span_id_t *id)
{
	struct slice hex = read_slice(d);

	*id = 0;
	return (hex.n <= SPAN_ID_HEX && all_zeros(hex)) || span_id_parse(hex, id) == 0;
}

struct attr jaeger_read_warnings(struct jaeger_json *d, const char *key)
{
	struct json_reader counted = d->r;
	uint32_t count = 0, first;
	struct attr list;

	if (json_null(&d->r))
		return (struct attr){0};
	for (json_array(&counted); json_next_item(&counted); count++)
		json_skip(&counted);
	first = batch_nested(d->batch, count);
	list = batch_list(d->batch, VALUE_ARRAY, (struct value_range){first, count});
	list.key = batch_string(d->batch, slice_cstr(key));
	json_array(&d->r);
	for (uint32_t i = 0; json_next_item(&d->r); i++) {
		struct attr text = {.type = VALUE_STRING, .string = jaeger_read_text(d)};

		if (i < count && !d->batch->failed)
			d->batch->nested[first + i] = text;
	}
	return count == 0 || d->batch->failed ? (struct attr){0} : list;
}

static void read_trace(struct jaeger_json *d)
{
	struct json_reader spans = {0}, processes = {0}, here;
	struct slice name;

	d->trace_id = (struct trace_id){0};
	d->trace_is_64 = d->bad_trace = false;
	d->trace_warnings = (struct attr){0};
	d->process_n = 0;
	map_clear(&d->process_map);
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("spans")))
			jaeger_pass(d, &spans);
		else if (slice_eq(name, SLICE("processes")))
			jaeger_pass(d, &processes);
		else if (slice_eq(name, SLICE("traceID")))
			d->bad_trace = !jaeger_read_trace_id(d, &d->trace_id, &d->trace_is_64);
		else if (slice_eq(name, SLICE("warnings")))
			d->trace_warnings = jaeger_read_warnings(d, "jaeger.trace_warnings");
		else
			json_skip(&d->r);
	}
	if (jaeger_go_back(d, &processes, &here)) {
		jaeger_read_processes(d);
		jaeger_go_on(d, &here);
	}
	if (jaeger_go_back(d, &spans, &here)) {
		json_array(&d->r);
		while (json_next_item(&d->r))
			jaeger_read_span(d);
		jaeger_go_on(d, &here);
	}
}

static void read_traces(struct jaeger_json *d)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r))
		read_trace(d);
}

/* An object is an answer if it has "data", else a trace. */
static void read_object(struct jaeger_json *d)
{
	struct json_reader start = d->r;
	bool answer = false;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (slice_eq(name, SLICE("data"))) {
			answer = true;
			read_traces(d);
		} else {
			json_skip(&d->r);
		}
	}
	if (answer || d->r.bad)
		return;
	d->r = start;
	read_trace(d);
}

int jaeger_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		       struct error *error)
{
	struct jaeger_json d = {.r = json_open(body), .batch = batch, .tally = tally};
	int result;

	map_init(&d.process_map);
	map_init(&d.scope_map);
	if (json_peek(&d.r) == JSON_OBJECT)
		read_object(&d);
	else
		read_traces(&d);
	result = batch->failed;
	if (result < 0)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	else
		result = json_finish(&d.r, error);
	map_done(&d.process_map);
	map_done(&d.scope_map);
	free(d.processes);
	buffer_done(&d.scratch);
	return result;
}
