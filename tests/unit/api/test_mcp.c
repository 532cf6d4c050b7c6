/* Messages of the Model Context Protocol. */
#include "t.h"

#include <errno.h>
#include <stdio.h>

#include "api/mcp.h"

static void messages_are_what_they_say(void **state)
{
	static const struct {
		const char *text;
		enum mcp_kind kind;
		const char *id, *method, *params;
	} rows[] = {
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_REQUEST, "1", "ping",
		 ""},
		{" { \"method\" : \"a\\u0062\" , \"id\" : \"x y\" , \"jsonrpc\" : \"2.0\" } ",
		 MCP_REQUEST, "\"x y\"", "ab", ""},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":[1]}}", MCP_NOTIFICATION,
		 "", "n", "{\"a\":[1]}"},
		{"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":null,\"more\":{}}",
		 MCP_NOTIFICATION, "", "n", ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":-1.5e3,\"result\":{}}", MCP_RESPONSE, "-1.5e3", "",
		 ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", MCP_RESPONSE, "1", "",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_message m;
		struct error error = {0};

		assert_int_equal(mcp_read(slice_cstr(rows[i].text), &m, &error), 0);
		assert_int_equal(m.kind, rows[i].kind);
		assert_text(m.id, rows[i].id);
		assert_string_equal(m.method, rows[i].method);
		assert_text(m.params, rows[i].params);
	}
}

static void what_is_no_message_is_refused_with_its_id_where_it_has_one(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *id;
	} rows[] = {
		{"", MCP_PARSE_ERROR, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\"", MCP_PARSE_ERROR, ""},
		{"5", MCP_INVALID_REQUEST, ""},
		{"[1]", MCP_INVALID_REQUEST, ""},
		{"{\"id\":7,\"method\":\"p\"}", MCP_INVALID_REQUEST, "7"},
		{"{\"jsonrpc\":\"2.0\",\"id\":7}", MCP_INVALID_REQUEST, "7"},
		{"{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"p\"}", MCP_INVALID_REQUEST, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":null}", MCP_INVALID_REQUEST, "7"},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\",\"params\":\"x\"}",
		 MCP_INVALID_PARAMS, "7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_message m;
		struct error error = {0};

		assert_int_equal(mcp_read(slice_cstr(rows[i].text), &m, &error), rows[i].code);
		assert_text(m.id, rows[i].id);
		assert_true(error.text[0]);
	}
}

static struct mcp_message message_of(const char *text)
{
	struct mcp_message m;
	struct error error = {0};

	assert_int_equal(mcp_read(slice_cstr(text), &m, &error), 0);
	return m;
}

#define CALL(params)                                                                               \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":" params "}"

static void a_call_names_its_tool(void **state)
{
	struct mcp_message m =
		message_of(CALL("{\"_meta\":{},\"arguments\":{\"a\":1},\"name\":\"services\"}"));
	struct error error = {0};
	struct mcp_call call;

	assert_true(mcp_is_call(&m));
	assert_int_equal(mcp_call_read(&m, &call, &error), 0);
	assert_string_equal(call.tool->name, "services");
	assert_text(call.arguments, "{\"a\":1}");
	m = message_of(CALL("{\"name\":\"serivces\"}"));
	assert_int_equal(mcp_call_read(&m, &call, &error), MCP_INVALID_PARAMS);
	assert_non_null(strstr(error.text, "did you mean services?"));
	m = message_of("{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}");
	assert_false(mcp_is_call(&m)); /* nobody waits for an answer */
}

static void a_cancellation_finds_the_call_of_its_session_alone(void **state)
{
	static const char *const misses[] = {
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		"cancelled\",\"params\":{\"requestId\":8}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		"cancelled\",\"params\":{\"requestId\":\"7\"}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
		"cancelled\",\"params\":{\"requestId\":{}}}",
	};
	struct mcp_message hit = message_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
					    "cancelled\",\"params\":{\"requestId\": 7 }}");
	struct mcp_calls *calls = mcp_calls_new();
	_Atomic bool mine = false, other = false;
	int ticket;

	assert_non_null(calls);
	ticket = mcp_calls_begin(calls, "a", SLICE("7"), &mine);
	assert_true(ticket >= 0);
	assert_int_equal(mcp_calls_begin(calls, "a", SLICE("7"), &other), -EEXIST);
	assert_true(mcp_calls_begin(calls, "b", SLICE("7"), &other) >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(misses); i++) {
		struct mcp_message m = message_of(misses[i]);

		mcp_calls_cancel(calls, "a", &m);
		assert_false(atomic_load(&mine));
	}
	mcp_calls_cancel(calls, "a", &hit);
	assert_true(atomic_load(&mine));
	assert_false(atomic_load(&other));
	mcp_calls_end(calls, ticket);
	atomic_store(&mine, false);
	mcp_calls_cancel(calls, "a", &hit); /* it has ended */
	assert_false(atomic_load(&mine));
	mcp_calls_cancel_all(calls);
	assert_true(atomic_load(&other));
	mcp_calls_free(calls);
}

static void a_cancellation_counts_before_the_call_runs_and_while_it_does(void **state)
{
	struct mcp_message m =
		message_of("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			   "\"params\":{\"requestId\":7}}");

	for (int before = 0; before < 2; before++) {
		struct mcp_calls *calls = mcp_calls_new();
		_Atomic bool early = false, job = false;
		int ticket = mcp_calls_begin(calls, "a", SLICE("7"), &early);

		assert_true(ticket >= 0);
		if (before)
			mcp_calls_cancel(calls, "a", &m);
		mcp_calls_run(calls, ticket, &job);
		assert_int_equal(atomic_load(&job), before);
		mcp_calls_cancel(calls, "a", &m);
		assert_true(atomic_load(&job));
		mcp_calls_end(calls, ticket);
		mcp_calls_free(calls);
	}
}

static void too_many_calls_are_refused(void **state)
{
	struct mcp_calls *calls = mcp_calls_new();
	_Atomic bool cancel = false;
	char id[16];

	for (int i = 0; i <= MCP_CALLS_MOST; i++) {
		snprintf(id, sizeof(id), "%d", i);
		assert_int_equal(mcp_calls_begin(calls, "", slice_cstr(id), &cancel),
				 i < MCP_CALLS_MOST ? i : -EBUSY);
	}
	mcp_calls_end(calls, 5);
	assert_int_equal(mcp_calls_begin(calls, "", SLICE("again"), &cancel), 5);
	mcp_calls_free(calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_what_they_say),
		cmocka_unit_test(what_is_no_message_is_refused_with_its_id_where_it_has_one),
		cmocka_unit_test(a_call_names_its_tool),
		cmocka_unit_test(a_cancellation_finds_the_call_of_its_session_alone),
		cmocka_unit_test(a_cancellation_counts_before_the_call_runs_and_while_it_does),
		cmocka_unit_test(too_many_calls_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
