/* core/propagation.c - what a request's headers say about the trace it belongs to. */
#include "core/propagation.h"

#include <errno.h>

struct found {
	struct slice traceparent, b3;
	struct b3_headers multi;
	size_t traceparents;
	bool tracestate_bad;
};

static void keep_first(struct slice *to, struct slice value)
{
	/* A header that is there but empty is not an absent one. */
	if (!to->p)
		*to = value.p ? value : slice_of("", 0);
}

static void look_at(const struct header_field *h, struct found *f, struct propagation *p)
{
	const struct {
		struct slice name;
		struct slice *to;
	} single[] = {
		{SLICE("b3"), &f->b3},
		{SLICE("x-b3-traceid"), &f->multi.trace},
		{SLICE("x-b3-spanid"), &f->multi.span},
		{SLICE("x-b3-parentspanid"), &f->multi.parent},
		{SLICE("x-b3-sampled"), &f->multi.sampled},
		{SLICE("x-b3-flags"), &f->multi.flags},
	};

	if (slice_eq_nocase(h->name, SLICE("traceparent"))) {
		f->traceparents++;
		keep_first(&f->traceparent, h->value);
	} else if (slice_eq_nocase(h->name, SLICE("tracestate"))) {
		if (!f->tracestate_bad && tracestate_parse(&p->tracestate, h->value) < 0)
			f->tracestate_bad = true;
	} else if (slice_eq_nocase(h->name, SLICE("baggage"))) {
		baggage_parse(&p->baggage, h->value);
	} else {
		for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
			if (slice_eq_nocase(h->name, single[i].name))
				keep_first(single[i].to, h->value);
	}
}

static bool take_w3c(const struct found *f, struct propagation *p)
{
	struct traceparent t;

	if (f->traceparents != 1 || traceparent_parse(f->traceparent, &t) < 0)
		return false;
	p->dialect = PROPAGATION_W3C;
	p->trace = t.trace;
	p->parent = t.parent;
	p->random = t.flags & TRACEPARENT_RANDOM;
	p->sampling = t.flags & TRACEPARENT_SAMPLED ? B3_ACCEPT : B3_DENY;
	return true;
}

static void take_b3(const struct found *f, struct propagation *p)
{
	struct b3 b3;

	if (f->b3.p && b3_parse_single(f->b3, &b3) == 0)
		p->dialect = PROPAGATION_B3_SINGLE;
	else if (b3_parse_multi(&f->multi, &b3) == 0)
		p->dialect = PROPAGATION_B3_MULTI;
	else
		return;
	p->trace = b3.trace;
	p->parent = b3.span;
	p->sampling = b3.sampling;
}

void propagation_extract(const struct header_field *headers, size_t n, struct propagation *ret)
{
	struct found f = {0};

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n && i < PROPAGATION_MAX_HEADERS; i++)
		look_at(&headers[i], &f, ret);
	if (!take_w3c(&f, ret)) {
		/* A tracestate means nothing without its traceparent. */
		ret->tracestate.n = 0;
		take_b3(&f, ret);
	}
}
