/* Spans of each service are counted for the hits of a search, and for each of them once. */
#include "t.h"

#include <stdio.h>

#include "api/tempo_counts.h"

static const char *const services[] = {"back", "front"};

/* A span of "front" that failed, `n` of "back". */
static struct batch *some_rows(struct trace_id id, unsigned n)
{
	struct batch *b = batch_new(0);

	batch_scope(b);
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		struct attr_range attrs = {(uint32_t)b->attr_n, 1};

		batch_attr_string(b, SLICE("service.name"), slice_cstr(services[i]));
		b->resources[batch_resource(b)].attrs = attrs;
	}
	for (unsigned i = 0; i < n + 1; i++) {
		struct event *e = batch_event(b);

		e->trace_id = id;
		e->type = EVENT_SPAN;
		e->id1 = 1 + i;
		e->resource = i == n;
		e->status = i == n ? STATUS_ERROR : STATUS_UNSET;
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static struct trace_id id_of(unsigned i)
{
	struct trace_id id = {{1}};

	id.b[15] = (uint8_t)i;
	return id;
}

static void count(struct tempo_counts *c, unsigned i)
{
	struct batch *b = some_rows(id_of(i), i);
	struct event_ref refs[100];

	for (uint32_t k = 0; k < b->event_n; k++)
		refs[k] = (struct event_ref){b, k};
	assert_int_equal(tempo_counts_add(c, id_of(i), refs, b->event_n), 0);
	batch_unref(b);
}

static void add_hit(struct tempo_hits *h, unsigned i)
{
	struct value v = value_of(V_TIME, i);
	char hex[TRACE_ID_HEX + 1];

	trace_id_format(id_of(i), hex);
	assert_int_equal(tempo_hits_add(h, i, slice_cstr(hex), &v), 0);
}

static void assert_counted(const struct tempo_hit *hit, unsigned n)
{
	assert_int_equal(hit->service_n, 2);
	assert_text(hit->services[0].name, "back");
	assert_int_equal(hit->services[0].spans, n);
	assert_int_equal(hit->services[0].errors, 0);
	assert_text(hit->services[1].name, "front");
	assert_int_equal(hit->services[1].spans, 1);
	assert_int_equal(hit->services[1].errors, 1);
}

static void hits_get_the_counts_of_their_traces(void **state)
{
	struct tempo_hits h = {.limit = 10, .spans_most = 1, .column_n = 1};
	struct tempo_counts c = {0};

	(void)state;
	assert_int_equal(tempo_hits_init(&h), 0);
	for (unsigned i = 9; i > 2; i--) /* of one that is no hit, too */
		count(&c, i);
	add_hit(&h, 2); /* nobody has counted it */
	add_hit(&h, 4);
	add_hit(&h, 7);
	assert_int_equal(tempo_counts_give(&c, &h), 0);
	assert_int_equal(c.n, 0);
	assert_counted(h.rows[0], 7);
	assert_counted(h.rows[1], 4);
	assert_null(h.rows[2]->services);
	/* The next page. */
	count(&c, 2);
	assert_int_equal(tempo_counts_give(&c, &h), 0);
	assert_counted(h.rows[2], 2);
	tempo_counts_done(&c);
	tempo_hits_done(&h);
}

static void one_hit_is_counted_by_itself(void **state)
{
	struct tempo_hits h = {.limit = 1, .spans_most = 1, .column_n = 1};
	struct batch *b = some_rows(id_of(5), 5);
	struct event_ref refs[6];

	(void)state;
	assert_int_equal(tempo_hits_init(&h), 0);
	add_hit(&h, 5);
	for (uint32_t k = 0; k < b->event_n; k++)
		refs[k] = (struct event_ref){b, k};
	assert_int_equal(tempo_counts_hit(h.rows[0], id_of(5), refs, b->event_n), 0);
	batch_unref(b);
	assert_counted(h.rows[0], 5);
	tempo_hits_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_get_the_counts_of_their_traces),
		cmocka_unit_test(one_hit_is_counted_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
