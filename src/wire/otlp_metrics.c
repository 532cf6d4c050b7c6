/* wire/otlp_metrics.c - OTLP metrics are not ours to keep: count them, so that the refusal is
 * exact.
 *
 *   ResourceMetrics { scope_metrics = 2 }   ScopeMetrics { metrics = 2 }
 *   Metric { gauge = 5, sum = 7, histogram = 9, exponential_histogram = 10, summary = 11 }
 *   each of those { repeated data points = 1 } */
#include <errno.h>

#include "base/cleanup.h"

#include "wire/otlp_group.h"
#include "wire/otlp_proto.h"

static uint64_t count_points(struct slice data)
{
	struct pb_reader r = pb_open(data);
	struct pb_field f;
	uint64_t n = 0;

	while (pb_next(&r, &f))
		n += f.tag == PB_TAG(1, PB_BYTES);
	return n;
}

static int count_metric(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			uint32_t scope)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	uint64_t points = 0;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(5, PB_BYTES):
		case PB_TAG(7, PB_BYTES):
		case PB_TAG(9, PB_BYTES):
		case PB_TAG(10, PB_BYTES):
		case PB_TAG(11, PB_BYTES):
			points += count_points(f.bytes);
			break;
		default:
			break;
		}
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "a metric");
	for (uint64_t i = 0; i < points; i++)
		decode_reject(d->tally, "metrics are not stored: this is a trace store");
	return 0;
}

int otlp_proto_refuse_metrics(struct slice body, struct decode_tally *tally, struct error *error)
{
	_cleanup_(batch_unrefp)
	struct batch *scratch = batch_new(0);

	if (!scratch)
		return error_set(error, -ENOMEM, "out of memory");
	return otlp_groups_decode(body, 1, scratch, tally, error, count_metric);
}
