/* The modelled trace as JSON, piece by piece. */
#include "t.h"

#include <stdio.h>

#include "api/trace_json.h"
#include "wire/json_reader.h"

/* A trace of n spans below one root, each with attributes of every type. */
static struct batch *many(uint32_t n)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t name = batch_string(b, SLICE("a \"name\"\n"));
		struct attr_range attrs = {(uint32_t)b->attr_n, 4};
		struct event *e;

		batch_attr_string(b, SLICE("text"), SLICE("v\x01\xff"));
		batch_attr_int(b, SLICE("big"), INT64_MAX);
		batch_attr_bool(b, SLICE("yes"), true);
		batch_attr_double(b, SLICE("number"), 1.5);
		e = batch_event(b);
		*e = (struct event){.trace_id = {{7}},
				    .id1 = i,
				    .id2 = i > 1,
				    .time_ns = 1000 + i,
				    .end_ns = i == 1 ? 900000 : 2000 + i,
				    .name = name,
				    .attrs = attrs,
				    .kind = KIND_INTERNAL,
				    .status = i % 2 ? STATUS_ERROR : STATUS_OK,
				    .type = EVENT_SPAN};
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static void pieces_make_one_object(void **state)
{
	enum { N = 2000 };
	struct batch *b = many(N);
	static struct event_ref refs[N];
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct critical_path path;
	struct trace_json json;
	struct json_reader r;
	struct trace *t;
	int pieces = 0;

	for (uint32_t i = 0; i < N; i++)
		refs[i] = (struct event_ref){b, i};
	assert_int_equal(trace_build(refs, N, 0, &t), 0);
	assert_int_equal(critical_path_whole(t, &path), 0);
	json = trace_json_of(t, &path);
	for (size_t before = 0; trace_json_next(&json, &out); before = out.n, pieces++)
		assert_true(out.n - before < TRACE_JSON_PIECE + 4096);
	assert_true(pieces > 3);
	r = json_open(buffer_get(&out));
	json_skip(&r);
	assert_int_equal(json_finish(&r, NULL), 0);
	assert_non_null(
		strstr(buffer_cstr(&out),
		       "{\"key\":\"big\",\"type\":\"int\",\"value\":\"9223372036854775807\"}"));
	assert_non_null(strstr(buffer_cstr(&out), "\"name\":\"a \\\"name\\\"\\n\""));
	assert_false(trace_json_next(&json, &out));
	critical_path_done(&path);
	trace_free(t);
	batch_unref(b);
}

static void an_empty_trace_is_an_object_too(void **state)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct trace_json json;
	struct json_reader r;
	struct trace *t;

	assert_int_equal(trace_build(NULL, 0, 0, &t), 0);
	json = trace_json_of(t, NULL);
	while (trace_json_next(&json, &out))
		;
	r = json_open(buffer_get(&out));
	json_skip(&r);
	assert_int_equal(json_finish(&r, NULL), 0);
	trace_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_one_object),
		cmocka_unit_test(an_empty_trace_is_an_object_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
