/* Spans are counted by operation, weighted by how they were sampled. */
#include "rows.h"

#include "feature/span_metrics.h"
#include "sampling/threshold.h"

static void add(struct span_metrics *m, struct batch *b)
{
	struct event_ref refs[64];

	assert_int_equal(batch_seal(b), 0);
	assert_true(b->event_n <= ARRAY_SIZE(refs));
	for (uint32_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, i};
	assert_int_equal(span_metrics_add(m, refs, b->event_n, 0), 0);
	batch_unref(b);
}

static void spans_of_one_operation_are_one_series(void **state)
{
	struct span_metrics m;
	struct batch *b = batch_for("front");

	assert_int_equal(span_metrics_init(&m), 0);
	add_span(b, 1, 1, 0, KIND_SERVER);
	add_span(b, 1, 2, 1, KIND_SERVER);
	add_span(b, 1, 3, 1, KIND_CLIENT);
	add_span(b, 1, 4, 1, KIND_SERVER)->status = STATUS_ERROR;
	add_span(b, 1, 5, 1, (enum span_kind)99);
	add_span(b, 1, 6, 1, KIND_SERVER)->type = EVENT_POINT; /* is none */
	add(&m, b);
	assert_int_equal(m.spans.n, 4);
	assert_int_equal(m.seen, 5);
	assert_true(m.spans.rows[0].calls == 2);
	assert_text(m.spans.rows[0].labels[SPAN_KIND], "SPAN_KIND_SERVER");
	assert_text(m.spans.rows[0].labels[SPAN_STATUS], "STATUS_CODE_UNSET");
	assert_text(m.spans.rows[2].labels[SPAN_STATUS], "STATUS_CODE_ERROR");
	assert_text(m.spans.rows[3].labels[SPAN_KIND], "SPAN_KIND_UNSPECIFIED");
	assert_true(m.spans.rows[0].latencies[0].counts[0] == 2);
	span_metrics_done(&m);
}

static void a_sampled_span_stands_for_those_that_were_not_kept(void **state)
{
	struct span_metrics m;
	struct batch *b = batch_for("front");

	assert_int_equal(span_metrics_init(&m), 0);
	add_span(b, UINT64_MAX, 1, 0, KIND_SERVER); /* random enough for any threshold */
	batch_extra(b, 0)->trace_state = batch_string(b, SLICE("ot=th:c"));
	b->kept_threshold = THRESHOLD_NEVER / 2; /* and half of the rest */
	add(&m, b);
	assert_true(m.spans.rows[0].calls == 8);
	span_metrics_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_of_one_operation_are_one_series),
		cmocka_unit_test(a_sampled_span_stands_for_those_that_were_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
