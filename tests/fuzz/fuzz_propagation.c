/* Header lines "name: value" in any state: whatever is accepted is written in a form that reads
 * back as the same thing, and fits where it is promised to fit. */
#include "fuzz.h"

#include "core/propagation.h"

#define MAX_LINES 64

static void check_traceparent(const struct propagation *p)
{
	struct traceparent t = {.trace = p->trace, .parent = p->parent, .flags = 1}, back;
	char text[TRACEPARENT_CHARS + 1];

	traceparent_format(&t, text);
	FUZZ_CHECK(traceparent_parse(slice_cstr(text), &back) == 0);
	FUZZ_CHECK(trace_id_eq(back.trace, t.trace) && back.parent == t.parent);
}

static void check_tracestate(struct tracestate *t)
{
	static char text[TRACESTATE_MAX_MEMBERS * 514];
	char ot[TRACESTATE_MAX_VALUE_CHARS];
	struct tracestate back = {0};
	size_t n = tracestate_format(t, text, sizeof(text));
	int r;

	FUZZ_CHECK(tracestate_parse(&back, slice_of(text, n)) == 0 && back.n == t->n);
	for (size_t i = 0; i < t->n; i++)
		FUZZ_CHECK(slice_eq(back.members[i].key, t->members[i].key) &&
			   slice_eq(back.members[i].value, t->members[i].value));
	FUZZ_CHECK(tracestate_format(t, text, n / 2) <= n / 2);

	r = ot_set(tracestate_get(t, SLICE("ot")), SLICE("th"), SLICE("c"), ot);
	if (r < 0)
		return;
	FUZZ_CHECK(slice_eq(ot_get(slice_of(ot, (size_t)r), SLICE("th")), SLICE("c")));
	FUZZ_CHECK(tracestate_set(t, SLICE("ot"), slice_of(ot, (size_t)r)) == 0);
	FUZZ_CHECK(t->n >= 1 && t->n <= TRACESTATE_MAX_MEMBERS);
}

static void check_baggage(const struct baggage_header *b)
{
	static char text[BAGGAGE_MAX_BYTES], decoded[3 * BAGGAGE_MAX_BYTES],
		encoded[9 * BAGGAGE_MAX_BYTES];
	struct baggage_header back = {0};
	size_t n = baggage_format(b, text, sizeof(text)), m;

	baggage_parse(&back, slice_of(text, n));
	FUZZ_CHECK(back.n == b->n && back.malformed == 0 && back.dropped == 0);
	for (size_t i = 0; i < b->n; i++) {
		FUZZ_CHECK(slice_eq(back.members[i].key, b->members[i].key) &&
			   slice_eq(back.members[i].value, b->members[i].value) &&
			   slice_eq(back.members[i].properties, b->members[i].properties));
		FUZZ_CHECK(baggage_value_decode(b->members[i].value, decoded, sizeof(decoded),
						&m) == 0);
		FUZZ_CHECK(m <= 3 * b->members[i].value.n);
		FUZZ_CHECK(baggage_value_encode(slice_of(decoded, m), encoded, sizeof(encoded),
						&m) == 0);
	}
	FUZZ_CHECK(baggage_format(b, text, n / 2) <= n / 2);
}

static void check_b3(const struct propagation *p)
{
	struct b3 b3 = {p->trace, p->parent, 0, p->sampling}, back;
	char text[B3_SINGLE_CHARS + 1];
	struct b3_texts texts;
	size_t n = b3_format_single(&b3, text);

	b3_format_multi(&b3, &texts);
	if (n == 0)
		return;
	FUZZ_CHECK(b3_parse_single(slice_of(text, n), &back) == 0);
	FUZZ_CHECK(trace_id_eq(back.trace, b3.trace) && back.span == b3.span &&
		   back.sampling == b3.sampling);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct header_field headers[MAX_LINES];
	struct slice rest = slice_of(data, size);
	static struct propagation p;
	size_t n = 0;

	while (rest.p && n < MAX_LINES) {
		headers[n].value = slice_cut(&rest, '\n');
		headers[n].name = slice_cut(&headers[n].value, ':');
		n++;
	}
	propagation_extract(headers, n, &p);
	if (p.dialect == PROPAGATION_W3C)
		check_traceparent(&p);
	check_b3(&p);
	check_tracestate(&p.tracestate);
	check_baggage(&p.baggage);
	return 0;
}
