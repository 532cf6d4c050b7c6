/* model/batch_check.c - the invariants of a batch, callable. */
#include "model/batch.h"
#include "sampling/threshold.h"

static bool range_ok(size_t first, size_t count, size_t n)
{
	return first <= n && count <= n - first;
}

static bool attr_ok(const struct batch *b, const struct attr *a)
{
	struct value_range children;

	if (a->key >= b->strings || (a->word >= ATTR_WIDE && a->word - ATTR_WIDE >= b->wide_n))
		return false;
	switch (a->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		return a->string < b->strings;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		children = attr_children(b, a);
		return range_ok(children.first, children.count, b->nested_n);
	default:
		return a->type <= VALUE_RAW_PAIR;
	}
}

static bool event_ok(const struct batch *b, const struct event *e)
{
	return e->type < EVENT_TYPES && e->name < b->strings && e->resource < b->resource_n &&
	       e->scope < b->scope_n && e->extra < b->extra_n &&
	       range_ok(e->attrs.first, e->attrs.count, b->attr_n);
}

static bool extra_ok(const struct batch *b, const struct event_extra *x)
{
	return x->trace_state < b->strings && x->status_message < b->strings &&
	       x->severity_text < b->strings && x->unknown < b->strings &&
	       x->unknown_status < b->strings && attr_ok(b, &x->body);
}

static bool resource_ok(const struct batch *b, const struct resource *r)
{
	return range_ok(r->attrs.first, r->attrs.count, b->attr_n) && r->schema_url < b->strings &&
	       r->unknown < b->strings && r->unknown_group < b->strings && attr_ok(b, &r->entities);
}

static bool scope_ok(const struct batch *b, const struct scope *s)
{
	return range_ok(s->attrs.first, s->attrs.count, b->attr_n) && s->name < b->strings &&
	       s->version < b->strings && s->schema_url < b->strings && s->unknown < b->strings &&
	       s->unknown_group < b->strings;
}

static bool dictionary_ok(const struct batch *b)
{
	if (b->strings == 0 || b->offset[0] != 0 || b->offset[1] != 0 ||
	    b->offset[b->strings] != b->text_n)
		return false;
	for (size_t i = 0; i < b->strings; i++)
		if (b->offset[i] > b->offset[i + 1])
			return false;
	return true;
}

bool batch_check(const struct batch *b)
{
	if (!dictionary_ok(b) || b->owner >= b->strings || b->sender >= b->strings ||
	    b->kept_threshold >= THRESHOLD_NEVER || (b->place_n && b->place_n != b->event_n))
		return false;
	for (size_t i = 0; i < b->attr_n; i++)
		if (!attr_ok(b, &b->attrs[i]))
			return false;
	for (size_t i = 0; i < b->nested_n; i++)
		if (!attr_ok(b, &b->nested[i]))
			return false;
	for (size_t i = 0; i < b->event_n; i++)
		if (!event_ok(b, &b->events[i]))
			return false;
	for (size_t i = 0; i < b->extra_n; i++)
		if (!extra_ok(b, &b->extras[i]))
			return false;
	for (size_t i = 0; i < b->resource_n; i++)
		if (!resource_ok(b, &b->resources[i]))
			return false;
	for (size_t i = 0; i < b->scope_n; i++)
		if (!scope_ok(b, &b->scopes[i]))
			return false;
	return true;
}
