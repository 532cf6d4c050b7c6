/* model/event_order.c - one order for all events, by what they say and not by where they lie. */
#include "model/event_order.h"

/* Decoders refuse deeper values; what lies below is taken as equal. */
#define COMPARE_DEPTH_MAX 128

#define CMP(a, b)         ((a) < (b) ? -1 : (a) > (b))

static int text_cmp(const struct batch *a, uint32_t x, const struct batch *b, uint32_t y)
{
	if (a == b && x == y)
		return 0;
	return slice_cmp(batch_text(a, x), batch_text(b, y));
}

static int attr_cmp(const struct batch *a, const struct attr *x, const struct batch *b,
		    const struct attr *y, unsigned depth)
{
	int r = CMP(x->type, y->type);
	struct value_range left, right;

	if (r == 0)
		r = text_cmp(a, x->key, b, y->key);
	if (r != 0 || depth > COMPARE_DEPTH_MAX)
		return r;
	switch (x->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		return text_cmp(a, x->string, b, y->string);
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		left = attr_children(a, x);
		right = attr_children(b, y);
		r = CMP(left.count, right.count);
		for (uint32_t i = 0; r == 0 && i < left.count; i++)
			r = attr_cmp(a, &a->nested[left.first + i], b, &b->nested[right.first + i],
				     depth + 1);
		return r;
	case VALUE_EMPTY:
		return 0;
	default:
		return CMP(attr_bits(a, x), attr_bits(b, y));
	}
}

static int attrs_cmp(const struct batch *a, struct attr_range x, const struct batch *b,
		     struct attr_range y)
{
	int r = CMP(x.count, y.count);

	for (uint32_t i = 0; r == 0 && i < x.count; i++)
		r = attr_cmp(a, &a->attrs[x.first + i], b, &b->attrs[y.first + i], 0);
	return r;
}

int resource_cmp(const struct batch *a, uint32_t a_resource, const struct batch *b,
		 uint32_t b_resource)
{
	const struct resource *x = &a->resources[a_resource], *y = &b->resources[b_resource];
	int r;

	if (a == b && a_resource == b_resource)
		return 0;
	r = attrs_cmp(a, x->attrs, b, y->attrs);
	if (r == 0)
		r = text_cmp(a, x->schema_url, b, y->schema_url);
	if (r == 0)
		r = CMP(x->dropped_attributes, y->dropped_attributes);
	return r;
}

static int scope_cmp(const struct batch *a, uint32_t a_scope, const struct batch *b,
		     uint32_t b_scope)
{
	const struct scope *x, *y;
	int r;

	if (a == b && a_scope == b_scope)
		return 0;
	x = &a->scopes[a_scope];
	y = &b->scopes[b_scope];
	r = text_cmp(a, x->name, b, y->name);
	if (r == 0)
		r = text_cmp(a, x->version, b, y->version);
	if (r == 0)
		r = text_cmp(a, x->schema_url, b, y->schema_url);
	if (r == 0)
		r = attrs_cmp(a, x->attrs, b, y->attrs);
	return r;
}

static int extra_cmp(const struct batch *a, const struct event_extra *x, const struct batch *b,
		     const struct event_extra *y)
{
	const uint32_t left[] = {x->trace_state, x->status_message, x->severity_text, x->unknown,
				 x->unknown_status};
	const uint32_t right[] = {y->trace_state, y->status_message, y->severity_text, y->unknown,
				  y->unknown_status};
	int r = CMP(x->observed_ns, y->observed_ns);

	if (r == 0)
		r = CMP(x->dropped_attributes, y->dropped_attributes);
	if (r == 0)
		r = CMP(x->dropped_points, y->dropped_points);
	if (r == 0)
		r = CMP(x->dropped_links, y->dropped_links);
	if (r == 0)
		r = memcmp(&x->link_trace, &y->link_trace, sizeof(x->link_trace));
	for (size_t i = 0; r == 0 && i < sizeof(left) / sizeof(left[0]); i++)
		r = text_cmp(a, left[i], b, right[i]);
	return r ? r : attr_cmp(a, &x->body, b, &y->body, 0);
}

static int fields_cmp(struct event_ref a, struct event_ref b)
{
	const struct event *x = event_get(a), *y = event_get(b);
	struct event_place x_place, y_place;

	if (x->id1 != y->id1)
		return CMP(x->id1, y->id1);
	if (x->type != y->type)
		return CMP(x->type, y->type);
	if (x->time_ns != y->time_ns)
		return CMP(x->time_ns, y->time_ns);
	x_place = event_place(a);
	y_place = event_place(b);
	if (x_place.seq != y_place.seq)
		return CMP(x_place.seq, y_place.seq);
	if (x->end_ns != y->end_ns)
		return CMP(x->end_ns, y->end_ns);
	if (x->id2 != y->id2)
		return CMP(x->id2, y->id2);
	if (x_place.unit != y_place.unit)
		return CMP(x_place.unit, y_place.unit);
	if (x->kind != y->kind)
		return CMP(x->kind, y->kind);
	if (x->status != y->status)
		return CMP(x->status, y->status);
	if (x->flags != y->flags)
		return CMP(x->flags, y->flags);
	if (x->bits != y->bits)
		return CMP(x->bits, y->bits);
	return CMP(x->format, y->format);
}

int event_cmp(struct event_ref a, struct event_ref b)
{
	const struct event *x = event_get(a), *y = event_get(b);
	int r;

	if (x == y)
		return 0;
	r = fields_cmp(a, b);
	if (r == 0)
		r = text_cmp(a.batch, x->name, b.batch, y->name);
	if (r == 0)
		r = attrs_cmp(a.batch, x->attrs, b.batch, y->attrs);
	if (r == 0)
		r = extra_cmp(a.batch, batch_extra_get(a.batch, x), b.batch,
			      batch_extra_get(b.batch, y));
	if (r == 0)
		r = scope_cmp(a.batch, x->scope, b.batch, y->scope);
	if (r == 0)
		r = resource_cmp(a.batch, x->resource, b.batch, y->resource);
	return r;
}
