#include "t.h"

#include "core/propagation.h"

#define W3C_TRACE "0af7651916cd43dd8448eb211c80319c"
#define W3C       "00-" W3C_TRACE "-b7ad6b7169203331-01"
#define B3_TRACE  "80f198ee56343ba864fe8b2a57d3eff7"
#define B3_ONE    B3_TRACE "-e457b5a2e4d86bd1-1"
#define MAX_ROW   6

static void the_first_good_dialect_counts(void **state)
{
	static const struct {
		const char *what;
		struct {
			const char *name, *value;
		} headers[MAX_ROW];
		enum propagation_dialect dialect;
		const char *trace; /* NULL: none */
		enum b3_sampling sampling;
		size_t states, baggage;
	} rows[] = {
		{"nothing", {{"host", "x"}}, PROPAGATION_NONE, NULL, B3_DEFER, 0, 0},
		{"W3C, name in any case",
		 {{"TraceParent", W3C}, {"TRACESTATE", "a=1"}},
		 PROPAGATION_W3C,
		 W3C_TRACE,
		 B3_ACCEPT,
		 1,
		 0},
		{"W3C before B3",
		 {{"b3", B3_ONE}, {"traceparent", W3C}},
		 PROPAGATION_W3C,
		 W3C_TRACE,
		 B3_ACCEPT,
		 0,
		 0},
		{"traceparent twice",
		 {{"traceparent", W3C}, {"traceparent", W3C}, {"tracestate", "a=1"}},
		 PROPAGATION_NONE,
		 NULL,
		 B3_DEFER,
		 0,
		 0},
		{"traceparent twice, B3 good",
		 {{"traceparent", W3C}, {"traceparent", W3C}, {"b3", B3_ONE}},
		 PROPAGATION_B3_SINGLE,
		 B3_TRACE,
		 B3_ACCEPT,
		 0,
		 0},
		{"bad traceparent drops tracestate",
		 {{"traceparent", "00-x"}, {"tracestate", "a=1"}},
		 PROPAGATION_NONE,
		 NULL,
		 B3_DEFER,
		 0,
		 0},
		{"bad tracestate keeps traceparent",
		 {{"traceparent", W3C}, {"tracestate", "A=1"}, {"tracestate", "a=1"}},
		 PROPAGATION_W3C,
		 W3C_TRACE,
		 B3_ACCEPT,
		 0,
		 0},
		{"lines joined",
		 {{"tracestate", "a=1"},
		  {"traceparent", W3C},
		  {"tracestate", "b=1,c=1"},
		  {"baggage", "x=1"},
		  {"Baggage", "y=1,z=1"}},
		 PROPAGATION_W3C,
		 W3C_TRACE,
		 B3_ACCEPT,
		 3,
		 3},
		{"B3 several",
		 {{"X-B3-TraceId", B3_TRACE},
		  {"x-b3-spanid", "e457b5a2e4d86bd1"},
		  {"x-b3-sampled", "0"}},
		 PROPAGATION_B3_MULTI,
		 B3_TRACE,
		 B3_DENY,
		 0,
		 0},
		{"bad single B3, good several",
		 {{"b3", ""}, {"X-B3-TraceId", B3_TRACE}, {"x-b3-spanid", "e457b5a2e4d86bd1"}},
		 PROPAGATION_B3_MULTI,
		 B3_TRACE,
		 B3_DEFER,
		 0,
		 0},
		{"only a decision", {{"b3", "0"}}, PROPAGATION_B3_SINGLE, NULL, B3_DENY, 0, 0},
		{"baggage alone", {{"baggage", "x=1"}}, PROPAGATION_NONE, NULL, B3_DEFER, 0, 1},
	};
	struct propagation p;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct header_field headers[MAX_ROW];
		char hex[TRACE_ID_HEX + 1];
		size_t n = 0;

		for (; n < MAX_ROW && rows[i].headers[n].name; n++)
			headers[n] = (struct header_field){slice_cstr(rows[i].headers[n].name),
							   slice_cstr(rows[i].headers[n].value)};
		propagation_extract(headers, n, &p);
		trace_id_format(p.trace, hex);
		if (p.dialect != rows[i].dialect || p.sampling != rows[i].sampling ||
		    p.tracestate.n != rows[i].states || p.baggage.n != rows[i].baggage ||
		    trace_id_is_zero(p.trace) != !rows[i].trace ||
		    (rows[i].trace && strcmp(hex, rows[i].trace) != 0))
			fail_msg("%s", rows[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_good_dialect_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
