/* tests/unit/batch_equal.c - do two batches say the same? */
#include "batch_equal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
	const struct batch *a, *b;
	struct batch_difference *why;
	char where[160];
};

static bool differ(struct pair *p, const char *what)
{
	if (p->why)
		snprintf(p->why->text, sizeof(p->why->text), "%s%s", p->where, what);
	return false;
}

static bool number_same(struct pair *p, const char *what, uint64_t x, uint64_t y)
{
	char text[200];

	if (x == y)
		return true;
	snprintf(text, sizeof(text), "%s: %" PRIu64 " and %" PRIu64, what, x, y);
	return differ(p, text);
}

static bool text_same(struct pair *p, const char *what, uint32_t x, uint32_t y)
{
	struct slice s = batch_text(p->a, x), t = batch_text(p->b, y);
	char text[200];

	if (slice_eq(s, t))
		return true;
	snprintf(text, sizeof(text), "%s: \"%.*s\" and \"%.*s\"", what,
		 SLICE_ARG(slice_first(s, 60)), SLICE_ARG(slice_first(t, 60)));
	return differ(p, text);
}

static bool double_same(double x, double y)
{
	return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof(x)) == 0;
}

bool attr_equal(const struct batch *a, const struct attr *x, const struct batch *b,
		const struct attr *y)
{
	struct value_range left = attr_children(a, x), right = attr_children(b, y);

	if (x->type != y->type || !slice_eq(batch_text(a, x->key), batch_text(b, y->key)))
		return false;
	switch (x->type) {
	case VALUE_EMPTY:
		return true;
	case VALUE_BOOL:
		return x->word == y->word;
	case VALUE_INT:
		return attr_integer(a, x) == attr_integer(b, y);
	case VALUE_DOUBLE:
		return double_same(attr_number(a, x), attr_number(b, y));
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		if (left.count != right.count)
			return false;
		for (uint32_t i = 0; i < left.count; i++)
			if (!attr_equal(a, &a->nested[left.first + i], b,
					&b->nested[right.first + i]))
				return false;
		return true;
	default:
		return slice_eq(batch_text(a, x->string), batch_text(b, y->string));
	}
}

static bool attr_same(struct pair *p, const char *what, const struct attr *x, const struct attr *y)
{
	char text[200];

	if (attr_equal(p->a, x, p->b, y))
		return true;
	snprintf(text, sizeof(text), "%s \"%.*s\" (type %d) and \"%.*s\" (type %d)", what,
		 SLICE_ARG(slice_first(batch_text(p->a, x->key), 60)), x->type,
		 SLICE_ARG(slice_first(batch_text(p->b, y->key), 60)), y->type);
	return differ(p, text);
}

static bool attrs_same(struct pair *p, const char *what, struct attr_range x, struct attr_range y)
{
	if (!number_same(p, what, x.count, y.count))
		return false;
	for (uint32_t i = 0; i < x.count; i++)
		if (!attr_same(p, what, &p->a->attrs[x.first + i], &p->b->attrs[y.first + i]))
			return false;
	return true;
}

static bool resource_same(struct pair *p, const struct resource *x, const struct resource *y)
{
	return attrs_same(p, "resource attributes", x->attrs, y->attrs) &&
	       number_same(p, "resource dropped", x->dropped_attributes, y->dropped_attributes) &&
	       text_same(p, "resource schema", x->schema_url, y->schema_url) &&
	       text_same(p, "resource unknown", x->unknown, y->unknown) &&
	       text_same(p, "resource group unknown", x->unknown_group, y->unknown_group) &&
	       attr_same(p, "resource entities", &x->entities, &y->entities);
}

static bool scope_same(struct pair *p, const struct scope *x, const struct scope *y)
{
	return text_same(p, "scope name", x->name, y->name) &&
	       text_same(p, "scope version", x->version, y->version) &&
	       text_same(p, "scope schema", x->schema_url, y->schema_url) &&
	       attrs_same(p, "scope attributes", x->attrs, y->attrs) &&
	       number_same(p, "scope dropped", x->dropped_attributes, y->dropped_attributes) &&
	       text_same(p, "scope unknown", x->unknown, y->unknown) &&
	       text_same(p, "scope group unknown", x->unknown_group, y->unknown_group);
}

static bool extra_same(struct pair *p, const struct event_extra *x, const struct event_extra *y)
{
	return text_same(p, "trace state", x->trace_state, y->trace_state) &&
	       text_same(p, "status message", x->status_message, y->status_message) &&
	       text_same(p, "severity text", x->severity_text, y->severity_text) &&
	       text_same(p, "unknown", x->unknown, y->unknown) &&
	       text_same(p, "unknown of status", x->unknown_status, y->unknown_status) &&
	       number_same(p, "dropped attributes", x->dropped_attributes, y->dropped_attributes) &&
	       number_same(p, "dropped points", x->dropped_points, y->dropped_points) &&
	       number_same(p, "dropped links", x->dropped_links, y->dropped_links) &&
	       (trace_id_eq(x->link_trace, y->link_trace) || differ(p, "link trace")) &&
	       number_same(p, "observed", x->observed_ns, y->observed_ns) &&
	       attr_same(p, "body", &x->body, &y->body);
}

static bool place_same(struct pair *p, const struct event *x, const struct event *y)
{
	struct event_place a = batch_place_get(p->a, (size_t)(x - p->a->events));
	struct event_place b = batch_place_get(p->b, (size_t)(y - p->b->events));

	return number_same(p, "unit", a.unit, b.unit) && number_same(p, "seq", a.seq, b.seq);
}

static bool event_same(struct pair *p, const struct event *x, const struct event *y)
{
	return number_same(p, "type", x->type, y->type) &&
	       (trace_id_eq(x->trace_id, y->trace_id) || differ(p, "trace id")) &&
	       number_same(p, "id1", x->id1, y->id1) && number_same(p, "id2", x->id2, y->id2) &&
	       place_same(p, x, y) && text_same(p, "name", x->name, y->name) &&
	       number_same(p, "time", x->time_ns, y->time_ns) &&
	       number_same(p, "end", x->end_ns, y->end_ns) &&
	       number_same(p, "flags", x->flags, y->flags) &&
	       number_same(p, "kind", (uint32_t)x->kind, (uint32_t)y->kind) &&
	       number_same(p, "status", (uint32_t)x->status, (uint32_t)y->status) &&
	       number_same(p, "format", x->format, y->format) &&
	       number_same(p, "bits", x->bits, y->bits) &&
	       attrs_same(p, "attributes", x->attrs, y->attrs) &&
	       extra_same(p, batch_extra_get(p->a, x), batch_extra_get(p->b, y)) &&
	       resource_same(p, &p->a->resources[x->resource], &p->b->resources[y->resource]) &&
	       scope_same(p, &p->a->scopes[x->scope], &p->b->scopes[y->scope]);
}

bool batch_equal(const struct batch *a, const struct batch *b, struct batch_difference *ret_why)
{
	struct pair p = {.a = a, .b = b, .why = ret_why};
	size_t n = a->event_n < b->event_n ? a->event_n : b->event_n;

	for (size_t i = 0; i < n; i++) {
		snprintf(p.where, sizeof(p.where), "row %zu: ", i);
		if (!event_same(&p, &a->events[i], &b->events[i]))
			return false;
	}
	p.where[0] = '\0';
	return number_same(&p, "rows", a->event_n, b->event_n);
}

size_t batch_refs(const struct batch *b, struct event_ref **ret_refs)
{
	struct event_ref *refs = calloc(b->event_n + 1, sizeof(*refs));

	if (!refs)
		abort(); /* a test without memory has nothing to say */
	for (size_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, (uint32_t)i};
	*ret_refs = refs;
	return b->event_n;
}
