/* Any bytes as a question in one of the foreign APIs: the first byte says which.  Refused with a
 * sentence, or read within the limits; and what was read can be asked of a trace. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "api/jaeger_v3_question.h"
#include "api/zipkin_question.h"
#include "batch_random.h"

#define NOW_NS 1700000000000000000

/* A trace to ask; the same every time. */
static struct batch *trace_rows(void)
{
	static const struct batch_random what = {.shape = RANDOM_TRACES, .rows = 40};
	static struct batch *batch;
	struct rng rng = {6};

	if (!batch)
		batch = batch_random(&rng, &what);
	return batch;
}

static void ask_jaeger(struct jaeger_question *q, int r, const struct error *error)
{
	struct trace_pick pick = {0};
	struct batch *b = trace_rows();
	struct event_ref refs[16];
	size_t n = 0;

	if (r == -EINVAL && !error->text[0])
		abort();
	if (r < 0)
		return;
	if (q->tag_n > JAEGER_TAGS_MOST || q->limit < 1 || q->limit > JAEGER_LIMIT_MOST)
		abort();
	jaeger_question_pick(q, &pick);
	while (b && n < 16 && n < b->event_n) {
		refs[n] = (struct event_ref){b, (uint32_t)n};
		n++;
	}
	jaeger_question_fits(q, refs, n);
}

static void ask_zipkin(struct zipkin_question *q, int r, const struct error *error)
{
	struct batch *b = trace_rows();
	struct event_ref refs[16];
	struct store_query query;
	size_t n = 0;

	if (r == -EINVAL && !error->text[0])
		abort();
	if (r < 0)
		return;
	query = zipkin_question_query(q);
	if (q->limit < 1 || q->limit > ZIPKIN_LIMIT_MOST || query.to_ns < query.from_ns ||
	    query.tag_n > 1)
		abort();
	while (b && n < 16 && n < b->event_n) {
		refs[n] = (struct event_ref){b, (uint32_t)n};
		n++;
	}
	zipkin_question_fits(q, refs, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct jaeger_question jaeger;
	static struct zipkin_question zipkin;
	struct slice rest = slice_of(size ? data + 1 : data, size ? size - 1 : 0);
	struct http_request req = {.query = rest, .body = rest};
	struct error error = {0};
	struct trace_id id;

	jaeger = (struct jaeger_question){.limit = JAEGER_LIMIT};
	switch (size ? data[0] % 5 : 0) {
	case 0:
		ask_jaeger(&jaeger, jaeger_v3_from_url(&req, &jaeger, &error), &error);
		break;
	case 1:
		ask_jaeger(&jaeger, jaeger_v3_from_json(&req, &jaeger, &error), &error);
		break;
	case 2:
		ask_jaeger(&jaeger, jaeger_v3_from_proto(rest, &jaeger, &error), &error);
		break;
	case 3:
		ask_jaeger(&jaeger, jaeger_tags_parse(&jaeger, rest, &req.arena, &error), &error);
		break;
	default:
		ask_zipkin(&zipkin, zipkin_question_parse(&req, NOW_NS, &zipkin, &error), &error);
	}
	if (jaeger_trace_id_parse(rest, &id) == 0 && trace_id_is_zero(id))
		abort();
	arena_done(&req.arena);
	return 0;
}
