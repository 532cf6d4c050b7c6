/* model/batch_copy.c - rows of many batches copied into one. */
#include "model/batch_copy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

/* Decoders refuse deeper values; what lies below is left out. */
#define COPY_DEPTH_MAX 128

void batch_copy_init(struct batch_copy *c, struct batch *to)
{
	*c = (struct batch_copy){.to = to};
	map_init(&c->resources);
	map_init(&c->scopes);
}

void batch_copy_done(struct batch_copy *c)
{
	map_done(&c->resources);
	map_done(&c->scopes);
	free(c->resource_list);
	free(c->scope_list);
}

static void fail(struct batch_copy *c)
{
	if (c->to->failed == 0)
		c->to->failed = -ENOMEM;
}

static uint32_t copy_text(struct batch_copy *c, const struct batch *from, uint32_t code)
{
	return c->to->failed ? 0 : batch_string(c->to, batch_text(from, code));
}

static struct attr copy_value(struct batch_copy *c, const struct batch *from, const struct attr *a,
			      unsigned depth)
{
	struct attr out = {.key = copy_text(c, from, a->key), .type = a->type};
	struct value_range children;
	uint32_t first;

	switch (a->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		out.string = copy_text(c, from, a->string);
		break;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		children = attr_children(from, a);
		if (depth == COPY_DEPTH_MAX || children.count == 0)
			break;
		first = batch_nested(c->to, children.count);
		if (c->to->failed)
			break;
		out.word = batch_list(c->to, a->type, (struct value_range){first, children.count})
				   .word;
		for (uint32_t i = 0; i < children.count && !c->to->failed; i++) {
			struct attr child =
				copy_value(c, from, &from->nested[children.first + i], depth + 1);

			c->to->nested[first + i] = child;
		}
		break;
	default:
		out.word = batch_word(c->to, attr_bits(from, a));
	}
	return out;
}

void batch_copy_attrs(struct batch_copy *c, const struct batch *from, struct attr_range range)
{
	for (uint32_t i = 0; i < range.count && !c->to->failed; i++) {
		struct attr a = copy_value(c, from, &from->attrs[range.first + i], 0);

		batch_attr(c->to, a);
	}
}

static struct attr_range copy_range(struct batch_copy *c, const struct batch *from,
				    struct attr_range range)
{
	uint32_t first = (uint32_t)c->to->attr_n;

	batch_copy_attrs(c, from, range);
	return (struct attr_range){first, (uint32_t)c->to->attr_n - first};
}

static bool same_resource(const void *context, uint32_t value, const void *key)
{
	const struct copied *a = &((const struct batch_copy *)context)->resource_list[value];
	const struct copied *b = key;

	return a->batch == b->batch && a->from == b->from;
}

static bool same_scope(const void *context, uint32_t value, const void *key)
{
	const struct copied *a = &((const struct batch_copy *)context)->scope_list[value];
	const struct copied *b = key;

	return a->batch == b->batch && a->from == b->from;
}

static uint64_t place_hash(const struct batch *b, uint32_t index, uint64_t seed)
{
	return hash_u64((uint64_t)(uintptr_t)b ^ (uint64_t)index << 40, seed);
}

static uint32_t copy_resource(struct batch_copy *c, const struct batch *from, uint32_t index)
{
	struct copied key = {from, index, 0};
	uint64_t hash = place_hash(from, index, c->resources.seed);
	uint32_t at = map_get(&c->resources, hash, same_resource, c, &key);
	struct resource copy;

	if (at != MAP_NONE)
		return c->resource_list[at].to;
	copy = from->resources[index];
	copy.attrs = copy_range(c, from, copy.attrs);
	copy.schema_url = copy_text(c, from, copy.schema_url);
	copy.unknown = copy_text(c, from, copy.unknown);
	copy.unknown_group = copy_text(c, from, copy.unknown_group);
	copy.entities = copy_value(c, from, &copy.entities, 0);
	key.to = batch_resource(c->to);
	if (c->to->failed)
		return 0;
	c->to->resources[key.to] = copy;
	if (!vec_reserve(&c->resource_list, &c->resource_capacity, c->resource_n + 1,
			 sizeof(key)) ||
	    !map_put(&c->resources, hash, (uint32_t)c->resource_n)) {
		fail(c);
		return 0;
	}
	c->resource_list[c->resource_n++] = key;
	return key.to;
}

static uint32_t copy_scope(struct batch_copy *c, const struct batch *from, uint32_t index)
{
	struct copied key = {from, index, 0};
	uint64_t hash = place_hash(from, index, c->scopes.seed);
	uint32_t at = map_get(&c->scopes, hash, same_scope, c, &key);
	struct scope copy;

	if (at != MAP_NONE)
		return c->scope_list[at].to;
	copy = from->scopes[index];
	copy.attrs = copy_range(c, from, copy.attrs);
	copy.name = copy_text(c, from, copy.name);
	copy.version = copy_text(c, from, copy.version);
	copy.schema_url = copy_text(c, from, copy.schema_url);
	copy.unknown = copy_text(c, from, copy.unknown);
	copy.unknown_group = copy_text(c, from, copy.unknown_group);
	key.to = batch_scope(c->to);
	if (c->to->failed)
		return 0;
	c->to->scopes[key.to] = copy;
	if (!vec_reserve(&c->scope_list, &c->scope_capacity, c->scope_n + 1, sizeof(key)) ||
	    !map_put(&c->scopes, hash, (uint32_t)c->scope_n)) {
		fail(c);
		return 0;
	}
	c->scope_list[c->scope_n++] = key;
	return key.to;
}

static void copy_extra(struct batch_copy *c, uint32_t to, const struct batch *from,
		       const struct event_extra *x)
{
	struct event_extra copy = *x, *target;

	copy.trace_state = copy_text(c, from, x->trace_state);
	copy.status_message = copy_text(c, from, x->status_message);
	copy.severity_text = copy_text(c, from, x->severity_text);
	copy.unknown = copy_text(c, from, x->unknown);
	copy.unknown_status = copy_text(c, from, x->unknown_status);
	copy.body = copy_value(c, from, &x->body, 0);
	target = batch_extra(c->to, to);
	if (!c->to->failed)
		*target = copy;
}

uint32_t batch_copy_event(struct batch_copy *c, struct event_ref ref)
{
	const struct event *e = event_get(ref);
	struct event copy = *e;
	uint32_t index;

	copy.name = copy_text(c, ref.batch, e->name);
	copy.resource = copy_resource(c, ref.batch, e->resource);
	copy.scope = copy_scope(c, ref.batch, e->scope);
	copy.attrs = copy_range(c, ref.batch, e->attrs);
	copy.extra = 0;
	*batch_event(c->to) = copy;
	index = (uint32_t)c->to->event_n - 1;
	batch_place(c->to, index, event_place(ref));
	if (e->extra != 0 && !c->to->failed)
		copy_extra(c, index, ref.batch, batch_extra_get(ref.batch, e));
	return index;
}
