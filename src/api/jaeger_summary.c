/* api/jaeger_summary.c - one trace in a line, as Jaeger's UI lists search results.
 *
 *   TraceSummary    trace_id = 1 (hex), root_service_name = 2, root_operation_name = 3,
 *                   min_start_time_unix_nano = 4 (fixed64), max_end_time_unix_nano = 5 (fixed64),
 *                   span_count = 6, error_span_count = 7, orphan_span_count = 8, services = 9
 *   ServiceSummary  name = 1, span_count = 2, error_span_count = 3 */
#include "api/jaeger_summary.h"

#include <errno.h>
#include <stdlib.h>

#include "api/jaeger_operations.h"
#include "api/plain.h"
#include "base/cleanup.h"
#include "wire/protobuf.h"

struct row {
	struct slice service;
	bool error;
};

static int by_service(const void *a, const void *b)
{
	return slice_cmp(((const struct row *)a)->service, ((const struct row *)b)->service);
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Neighbours of one name become a service. */
static int fold(struct row *rows, size_t n, struct arena *arena, struct jaeger_summary *s)
{
	s->services = arena_zalloc(arena, n + 1, sizeof(*s->services));
	if (!s->services)
		return -ENOMEM;
	qsort(rows, n, sizeof(*rows), by_service);
	for (size_t i = 0; i < n; i++) {
		struct jaeger_summary_service *last =
			s->service_n ? &s->services[s->service_n - 1] : NULL;

		if (!last || !slice_eq(last->name, rows[i].service)) {
			last = &s->services[s->service_n++];
			last->name = arena_dup(arena, rows[i].service);
			if (!last->name.p)
				return -ENOMEM;
		}
		last->spans++;
		last->errors += rows[i].error;
	}
	return 0;
}

static uint32_t count_orphans(const uint64_t *ids, const uint64_t *parents, size_t n)
{
	uint32_t orphans = 0;

	for (size_t i = 0; i < n; i++)
		orphans += parents[i] != 0 && !bsearch(&parents[i], ids, n, sizeof(*ids), by_id);
	return orphans;
}

static int count(const struct plain *plain, struct arena *arena, struct jaeger_summary *s)
{
	struct row *rows = calloc(plain->n + 1, sizeof(*rows));
	uint64_t *ids = calloc(2 * plain->n + 1, sizeof(*ids)), *parents = ids + plain->n;
	size_t n = 0;
	int r = rows && ids ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < plain->n; i++) {
		const struct event *e = event_get(plain->refs[i]);

		if (e->type != EVENT_SPAN)
			continue;
		ids[n] = e->id1;
		parents[n] = e->id2;
		rows[n++] = (struct row){batch_service(plain->refs[i].batch, e),
					 e->status == STATUS_ERROR};
		s->errors += e->status == STATUS_ERROR;
	}
	s->spans = (uint32_t)n;
	if (r == 0) {
		qsort(ids, n, sizeof(*ids), by_id);
		s->orphans = count_orphans(ids, parents, n);
		r = fold(rows, n, arena, s);
	}
	free(rows);
	free(ids);
	return r;
}

int jaeger_summary_make(const struct trace_summary *summary, const struct event_set *set,
			struct arena *arena, struct jaeger_summary *ret_summary)
{
	struct jaeger_summary s = {
		.id = summary->id,
		.root_service = summary->root_service,
		.root_operation = summary->root_name,
		.start_ns = (uint64_t)summary->start_ns,
		.end_ns = (uint64_t)summary->start_ns + (uint64_t)summary->duration_ns,
	};
	struct plain plain = {0};
	int r = plain_rows(codec_find(SLICE("otlp")), set->refs, set->n, &plain);

	if (r == 0)
		r = count(&plain, arena, &s);
	plain_done(&plain);
	if (r == 0)
		*ret_summary = s;
	return r;
}

static void put_count(struct json_writer *w, const char *name, uint32_t value)
{
	json_put_name(w, name);
	json_put_u64(w, value);
}

void jaeger_summary_put(struct json_writer *w, const struct jaeger_summary *s)
{
	json_begin_object(w);
	json_put_name(w, "traceId");
	json_put_hex(w, s->id.b, sizeof(s->id.b));
	json_put_name(w, "rootServiceName");
	json_put_string(w, jaeger_service_name(s->root_service));
	json_put_name(w, "rootOperationName");
	json_put_string(w, s->root_operation);
	json_put_name(w, "minStartTimeUnixNano");
	json_put_u64_text(w, s->start_ns);
	json_put_name(w, "maxEndTimeUnixNano");
	json_put_u64_text(w, s->end_ns);
	put_count(w, "spanCount", s->spans);
	put_count(w, "errorSpanCount", s->errors);
	put_count(w, "orphanSpanCount", s->orphans);
	json_put_name(w, "services");
	json_begin_array(w);
	for (size_t i = 0; i < s->service_n; i++) {
		json_begin_object(w);
		json_put_name(w, "name");
		json_put_string(w, jaeger_service_name(s->services[i].name));
		put_count(w, "spanCount", s->services[i].spans);
		put_count(w, "errorSpanCount", s->services[i].errors);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

void jaeger_summary_put_proto(struct buffer *out, const struct jaeger_summary *s)
{
	size_t begun = pb_begin(out, 1);
	char id[TRACE_ID_HEX + 1];

	trace_id_format(s->id, id);
	pb_put_bytes(out, 1, slice_cstr(id));
	pb_put_bytes(out, 2, jaeger_service_name(s->root_service));
	pb_put_bytes(out, 3, s->root_operation);
	pb_put_fixed64(out, 4, s->start_ns);
	pb_put_fixed64(out, 5, s->end_ns);
	pb_put_varint(out, 6, s->spans);
	pb_put_varint(out, 7, s->errors);
	pb_put_varint(out, 8, s->orphans);
	for (size_t i = 0; i < s->service_n; i++) {
		size_t service = pb_begin(out, 9);

		pb_put_bytes(out, 1, jaeger_service_name(s->services[i].name));
		pb_put_varint(out, 2, s->services[i].spans);
		pb_put_varint(out, 3, s->services[i].errors);
		pb_end(out, service);
	}
	pb_end(out, begun);
}
