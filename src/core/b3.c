/* core/b3.c - Zipkin's B3 propagation, in one header or in several. */
#include "core/b3.h"

#include <errno.h>

static int parse_ids(struct slice trace, struct slice span, struct slice parent, struct b3 *b3)
{
	if ((trace.n != TRACE_ID_HEX && trace.n != TRACE_ID_HEX / 2) || span.n != SPAN_ID_HEX)
		return -EINVAL;
	if (trace_id_parse(trace, &b3->trace) < 0 || span_id_parse(span, &b3->span) < 0)
		return -EINVAL;
	if (parent.p && (parent.n != SPAN_ID_HEX || span_id_parse(parent, &b3->parent) < 0))
		return -EINVAL;
	return 0;
}

static int parse_state(struct slice s, enum b3_sampling *ret_sampling)
{
	if (s.n != 1)
		return -EINVAL;
	switch (s.p[0]) {
	case '0':
		*ret_sampling = B3_DENY;
		return 0;
	case '1':
		*ret_sampling = B3_ACCEPT;
		return 0;
	case 'd':
		*ret_sampling = B3_DEBUG;
		return 0;
	default:
		return -EINVAL;
	}
}

int b3_parse_single(struct slice text, struct b3 *ret_b3)
{
	struct slice rest = slice_trim(text), trace, span, third = {0}, parent = {0};
	struct b3 b3 = {0};

	trace = slice_cut(&rest, '-');
	if (!rest.p) {
		if (parse_state(trace, &b3.sampling) < 0)
			return -EINVAL;
		*ret_b3 = b3;
		return 0;
	}
	span = slice_cut(&rest, '-');
	if (rest.p)
		third = slice_cut(&rest, '-');
	if (rest.p)
		parent = slice_cut(&rest, '-');
	if (rest.p)
		return -EINVAL;
	/* The state may be left out although a parent follows: then 16 digits stand in its place.
	 */
	if (third.p && !parent.p && third.n == SPAN_ID_HEX)
		parent = third;
	else if (third.p && parse_state(third, &b3.sampling) < 0)
		return -EINVAL;
	if (parse_ids(trace, span, parent, &b3) < 0)
		return -EINVAL;
	*ret_b3 = b3;
	return 0;
}

static int parse_sampled(const struct b3_headers *headers, enum b3_sampling *ret_sampling)
{
	struct slice sampled = slice_trim(headers->sampled), flags = slice_trim(headers->flags);

	if (headers->flags.p && slice_eq(flags, SLICE("1"))) {
		*ret_sampling = B3_DEBUG;
		return 0;
	}
	if (!headers->sampled.p)
		return 0;
	if (slice_eq(sampled, SLICE("1")) || slice_eq_nocase(sampled, SLICE("true")))
		*ret_sampling = B3_ACCEPT;
	else if (slice_eq(sampled, SLICE("0")) || slice_eq_nocase(sampled, SLICE("false")))
		*ret_sampling = B3_DENY;
	else
		return -EINVAL;
	return 0;
}

int b3_parse_multi(const struct b3_headers *headers, struct b3 *ret_b3)
{
	struct b3 b3 = {0};

	if (!headers->trace.p && !headers->span.p && !headers->parent.p && !headers->sampled.p &&
	    !headers->flags.p)
		return -ENOENT;
	if (parse_sampled(headers, &b3.sampling) < 0)
		return -EINVAL;
	if (headers->trace.p || headers->span.p) {
		struct slice parent =
			headers->parent.p ? slice_trim(headers->parent) : slice_of(NULL, 0);

		if (parse_ids(slice_trim(headers->trace), slice_trim(headers->span), parent, &b3) <
		    0)
			return -EINVAL;
	} else if (headers->parent.p) {
		return -EINVAL;
	}
	*ret_b3 = b3;
	return 0;
}

static char state_char(enum b3_sampling sampling)
{
	switch (sampling) {
	case B3_DENY:
		return '0';
	case B3_ACCEPT:
		return '1';
	case B3_DEBUG:
		return 'd';
	default:
		return '\0';
	}
}

size_t b3_format_single(const struct b3 *b3, char out[B3_SINGLE_CHARS + 1])
{
	bool ids = !trace_id_is_zero(b3->trace) && b3->span != 0;
	char state = state_char(b3->sampling), *to = out;

	if (ids) {
		trace_id_format(b3->trace, to);
		to += TRACE_ID_HEX;
		*to++ = '-';
		span_id_format(b3->span, to);
		to += SPAN_ID_HEX;
		if (state)
			*to++ = '-';
	}
	if (state)
		*to++ = state;
	if (ids && b3->parent != 0) {
		*to++ = '-';
		span_id_format(b3->parent, to);
		to += SPAN_ID_HEX;
	}
	*to = '\0';
	return (size_t)(to - out);
}

void b3_format_multi(const struct b3 *b3, struct b3_texts *ret_texts)
{
	struct b3_texts t = {0};

	if (!trace_id_is_zero(b3->trace) && b3->span != 0) {
		trace_id_format(b3->trace, t.trace);
		span_id_format(b3->span, t.span);
		if (b3->parent != 0)
			span_id_format(b3->parent, t.parent);
	}
	/* Debug implies sampling; Sampled is then not sent, as B3 asks. */
	if (b3->sampling == B3_DEBUG)
		t.flags[0] = '1';
	else
		t.sampled[0] = state_char(b3->sampling);
	*ret_texts = t;
}
