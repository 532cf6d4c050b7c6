/* Tools: arguments, pages, limits.  What each answers is tests/integration/test_mcp.py's. */
#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "api/tool.h"
#include "core/clock.h"
#include "store/memory.h"
#include "wire/json_reader.h"

struct house {
	struct tool_house tools;
	struct tool_call call;
};

static int house_open(void **state)
{
	static struct house h;

	h = (struct house){0};
	h.tools.pages = query_pages_new((size_t)64 << 20, 600 * NS_PER_S);
	assert_int_equal(memory_store_open((size_t)64 << 20, &h.tools.store), 0);
	*state = &h;
	return 0;
}

static int house_close(void **state)
{
	struct house *h = *state;

	tool_call_done(&h->call);
	query_pages_free(h->tools.pages);
	store_close(h->tools.store);
	return 0;
}

static int ask(struct house *h, const char *tool, const char *arguments)
{
	const char *near = NULL;

	tool_call_done(&h->call);
	h->call = (struct tool_call){.house = &h->tools,
				     .tool = tool_find(slice_cstr(tool), &near),
				     .owner = "somebody",
				     .roles = ROLE_READ | ROLE_QUERY,
				     .now_ns = 1};
	assert_non_null(h->call.tool);
	return tool_run(&h->call, slice_cstr(arguments));
}

/* The number at `name` of the answer; and the text, in `out`. */
static int64_t number_at(struct house *h, const char *wanted)
{
	struct json_reader r = json_open(buffer_get(&h->call.out));
	struct slice name;
	int64_t n = -1;

	assert_true(json_object(&r));
	while (json_next_name(&r, &name))
		if (slice_eq(name, slice_cstr(wanted)))
			assert_true(json_i64(&r, &n));
		else
			json_skip(&r);
	assert_int_equal(json_finish(&r, NULL), 0);
	return n;
}

static bool next_of(struct house *h, char *out, size_t room)
{
	const char *at = strstr(buffer_cstr(&h->call.out), "\"next\":\"");

	if (!at)
		return false;
	snprintf(out, room, "%.*s", (int)strcspn(at + 8, "\""), at + 8);
	return true;
}

static void arguments_are_checked_and_the_way_out_is_named(void **state)
{
	static const struct {
		const char *tool, *arguments, *says;
	} rows[] = {
		{"docs", "", NULL},
		{"docs", " ", NULL},
		{"docs", "{}", NULL},
		{"docs", "{\"topic\":null}", NULL},
		{"docs", "[]", "a JSON object"},
		{"docs", "{", "not JSON"},
		{"docs", "{} x", "not JSON"},
		{"docs", "{\"topic\":1}", "topic: a text"},
		{"docs", "{\"limit\":1.5}", "from 1 to 10000"},
		{"docs", "{\"limit\":99999999999999999999}", "from 1 to 10000"},
		{"docs", "{\"limit\":1,\"limit\":2}", "twice"},
		{"docs", "{\"topik\":\"x\"}", "did you mean topic?"},
		{"docs", "{\"\":1}", "it takes topic, find, limit, max_bytes and cursor"},
		{"docs", "{\"max_bytes\":2047}", "from 2048 to 1048576"},
		{"docs", "{\"max_bytes\":1048577}", "from 2048 to 1048576"},
		{"docs", "{\"cursor\":\"abc.0\"}", "call docs again without it"},
		{"docs", "{\"cursor\":\".\"}", "call docs again without it"},
		{"trace_summary", "{}", "trace_id is wanted"},
		{"trace_summary", "{\"trace_id\":\"00-x\"}", "hex digits"},
		{"trace_summary", "{\"trace_id\":\"1\"}", "there is no trace"},
		{"query", "{\"query\":\"{ }\"}", "a store on disk"},
		{"search", "{\"start\":\"-1h\"}", "behind 1970"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct house *h = *state;
		int r = ask(h, rows[i].tool, rows[i].arguments);

		if (!rows[i].says) {
			assert_int_equal(r, 0);
			continue;
		}
		assert_true(r < 0);
		if (!strstr(buffer_cstr(&h->call.why), rows[i].says))
			fail_msg("%s: %s", rows[i].arguments, buffer_cstr(&h->call.why));
	}
}

static void a_page_is_never_larger_than_asked_for_and_pages_are_the_whole(void **state)
{
	static const int sizes[] = {2048, 2500, 4096, 10000};
	struct house *h = *state;
	int64_t total;

	assert_int_equal(ask(h, "docs", "{\"find\":\"a\",\"limit\":10000,\"max_bytes\":1000000}"),
			 0);
	total = number_at(h, "total");
	assert_int_equal(number_at(h, "returned"), total);
	assert_null(strstr(buffer_cstr(&h->call.out), "\"next\""));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char arguments[200], cursor[100];
		int64_t seen = 0;
		int pages = 1;

		snprintf(arguments, sizeof(arguments), "{\"find\":\"a\",\"max_bytes\":%d}",
			 sizes[i]);
		assert_int_equal(ask(h, "docs", arguments), 0);
		for (;; pages++) {
			assert_true(h->call.out.n <= (size_t)sizes[i]);
			assert_int_equal(number_at(h, "total"), total);
			assert_true(number_at(h, "returned") > 0);
			seen += number_at(h, "returned");
			if (!next_of(h, cursor, sizeof(cursor)))
				break;
			snprintf(arguments, sizeof(arguments),
				 "{\"cursor\":\"%s\",\"max_bytes\":%d}", cursor, sizes[i]);
			assert_int_equal(ask(h, "docs", arguments), 0);
		}
		assert_int_equal(seen, total);
		assert_true(pages > 1);
	}
}

static void a_cursor_is_its_owners_alone(void **state)
{
	struct house *h = *state;
	char arguments[200], cursor[100];

	assert_int_equal(ask(h, "docs", "{\"limit\":1}"), 0);
	assert_true(next_of(h, cursor, sizeof(cursor)));
	snprintf(arguments, sizeof(arguments), "{\"cursor\":\"%s\"}", cursor);
	tool_call_done(&h->call);
	h->call.owner = "another";
	assert_int_equal(tool_run(&h->call, slice_cstr(arguments)), -ENOENT);
	h->call.owner = "somebody";
	tool_call_done(&h->call);
	h->call = (struct tool_call){
		.house = &h->tools, .tool = h->call.tool, .owner = "somebody", .roles = ROLE_READ};
	assert_int_equal(tool_run(&h->call, slice_cstr(arguments)), 0);
}

static void a_tool_asks_for_its_role(void **state)
{
	struct house *h = *state;
	const char *near;

	for (const struct tool *t = tools; t->name; t++) {
		tool_call_done(&h->call);
		h->call = (struct tool_call){
			.house = &h->tools, .tool = t, .owner = "somebody", .roles = ROLE_INGEST};
		assert_int_equal(tool_run(&h->call, SLICE("{}")), -EACCES);
	}
	assert_null(tool_find(SLICE("dokz"), &near));
	assert_string_equal(near, "docs");
}

static void a_cancelled_call_ends(void **state)
{
	static const _Atomic bool yes = true;
	struct house *h = *state;
	const char *near;

	h->call = (struct tool_call){.house = &h->tools,
				     .tool = tool_find(SLICE("docs"), &near),
				     .owner = "somebody",
				     .roles = ROLE_ALL,
				     .cancel = &yes};
	assert_int_equal(tool_run(&h->call, SLICE("{}")), -ECANCELED);
}

static void schemas_are_json_and_name_what_is_checked(void **state)
{
	for (const struct tool *t = tools; t->name; t++) {
		struct buffer out = {0};
		struct json_writer w = json_write(&out);
		struct json_reader r;

		json_begin_array(&w);
		tool_input_schema(t, &w);
		tool_output_schema(t, &w);
		json_end_array(&w);
		r = json_open(buffer_get(&out));
		json_skip(&r);
		assert_int_equal(json_finish(&r, NULL), 0);
		for (const struct tool_param *p = t->params; p->name; p++) {
			char quoted[64];

			snprintf(quoted, sizeof(quoted), "\"%s\":{\"type\"", p->name);
			assert_non_null(strstr(buffer_cstr(&out), quoted));
			assert_true(p->type != TOOL_NUMBER ||
				    (p->fallback >= p->least && p->fallback <= p->most));
		}
		buffer_done(&out);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, house_open, house_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(arguments_are_checked_and_the_way_out_is_named),
		TEST(a_page_is_never_larger_than_asked_for_and_pages_are_the_whole),
		TEST(a_cursor_is_its_owners_alone),
		TEST(a_tool_asks_for_its_role),
		TEST(a_cancelled_call_ends),
		TEST(schemas_are_json_and_name_what_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
