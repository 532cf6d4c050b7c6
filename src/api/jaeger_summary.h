/* api/jaeger_summary.h - one trace in a line, as Jaeger's UI lists search results. */
#ifndef CAUSET_API_JAEGER_SUMMARY_H
#define CAUSET_API_JAEGER_SUMMARY_H

#include "base/arena.h"
#include "base/buffer.h"
#include "store/store.h"
#include "wire/json_writer.h"

struct jaeger_summary {
	struct trace_id id;
	struct slice root_service, root_operation;
	uint64_t start_ns, end_ns;
	uint32_t spans, errors, orphans;
	struct jaeger_summary_service {
		struct slice name;
		uint32_t spans, errors;
	} * services; /* sorted by name */
	size_t service_n;
};

/* Texts are borrowed from the summary and the rows; arrays lie in the arena.  -ENOMEM, -E2BIG. */
int jaeger_summary_make(const struct trace_summary *summary, const struct event_set *set,
			struct arena *arena, struct jaeger_summary *ret_summary);

void jaeger_summary_put(struct json_writer *w, const struct jaeger_summary *s);

/* As field 1 of a FindTraceSummariesResponse. */
void jaeger_summary_put_proto(struct buffer *out, const struct jaeger_summary *s);

#endif
