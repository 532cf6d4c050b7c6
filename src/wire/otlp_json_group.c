/* wire/otlp_json_group.c - the shape all OTLP JSON requests share.
 *
 * JSON lets keys come in any order, so members may stand before their resource: the resource's
 * place in the batch is taken first and filled when it comes. */
#include "wire/otlp_json_group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "wire/otlp_json.h"

static bool named(struct slice name, const struct slice names[2])
{
	return slice_eq(name, names[0]) || slice_eq(name, names[1]);
}

enum { NAME, VERSION, ATTRIBUTES, DROPPED, ENTITIES };

static void read_resource(struct otlp_json *d, uint32_t index)
{
	static const struct json_name names[] = {
		JSON_NAME("attributes", ATTRIBUTES), JSON_NAME("droppedAttributesCount", DROPPED),
		JSON_NAME("entityRefs", ENTITIES),   JSON_NAME("dropped_attributes_count", DROPPED),
		JSON_NAME("entity_refs", ENTITIES),
	};
	struct resource resource = d->batch->resources[index];
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == ATTRIBUTES)
			resource.attrs = otlp_json_attrs(d);
		else if (field == DROPPED)
			json_u32(&d->r, &resource.dropped_attributes);
		else if (field == ENTITIES)
			resource.entities = otlp_json_entities(d);
		else
			json_skip(&d->r);
	}
	d->batch->resources[index] = resource;
}

static void read_scope(struct otlp_json *d, uint32_t index)
{
	static const struct json_name names[] = {
		JSON_NAME("name", NAME),
		JSON_NAME("version", VERSION),
		JSON_NAME("attributes", ATTRIBUTES),
		JSON_NAME("droppedAttributesCount", DROPPED),
		JSON_NAME("dropped_attributes_count", DROPPED),
	};
	struct scope scope = d->batch->scopes[index];
	unsigned hint = 0;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		int field = json_name_find(names, ARRAY_SIZE(names), &hint, name);

		if (json_null(&d->r))
			continue;
		if (field == NAME)
			scope.name = otlp_json_text(d);
		else if (field == VERSION)
			scope.version = otlp_json_text(d);
		else if (field == ATTRIBUTES)
			scope.attrs = otlp_json_attrs(d);
		else if (field == DROPPED)
			json_u32(&d->r, &scope.dropped_attributes);
		else
			json_skip(&d->r);
	}
	d->batch->scopes[index] = scope;
}

static const struct slice schema_url_names[2] = {{"schemaUrl", 9}, {"schema_url", 10}};

static void read_scope_group(struct otlp_json *d, uint32_t resource,
			     const struct otlp_json_shape *shape)
{
	uint32_t index = batch_scope(d->batch);
	struct slice name;

	if (d->batch->failed) {
		json_stop(&d->r, d->r.at, "out of memory");
		return;
	}
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("scope"))) {
			read_scope(d, index);
		} else if (named(name, shape->members)) {
			json_array(&d->r);
			while (json_next_item(&d->r))
				shape->member(d, resource, index);
		} else if (named(name, schema_url_names)) {
			uint32_t text = otlp_json_text(d);

			d->batch->scopes[index].schema_url = text;
		} else {
			json_skip(&d->r);
		}
	}
}

static void read_resource_group(struct otlp_json *d, const struct otlp_json_shape *shape)
{
	uint32_t index = batch_resource(d->batch);
	struct slice name;

	if (d->batch->failed) {
		json_stop(&d->r, d->r.at, "out of memory");
		return;
	}
	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (json_null(&d->r))
			continue;
		if (slice_eq(name, SLICE("resource"))) {
			read_resource(d, index);
		} else if (named(name, shape->scopes)) {
			json_array(&d->r);
			while (json_next_item(&d->r))
				read_scope_group(d, index, shape);
		} else if (named(name, schema_url_names)) {
			uint32_t text = otlp_json_text(d);

			d->batch->resources[index].schema_url = text;
		} else {
			json_skip(&d->r);
		}
	}
}

static const struct otlp_json_shape *find_shape(const struct otlp_json_shape *const *shapes,
						size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
		if (named(name, shapes[i]->groups))
			return shapes[i];
	return NULL;
}

int otlp_json_groups(struct slice body, struct batch *batch, struct decode_tally *tally,
		     struct error *error, const struct otlp_json_shape *const *shapes, size_t n)
{
	struct otlp_json d = {.r = json_open(body), .batch = batch, .tally = tally};
	struct slice name;
	int result;

	json_object(&d.r);
	while (json_next_name(&d.r, &name)) {
		const struct otlp_json_shape *shape = find_shape(shapes, n, name);

		if (json_null(&d.r))
			continue;
		if (!shape) {
			json_skip(&d.r);
			continue;
		}
		json_array(&d.r);
		while (json_next_item(&d.r))
			read_resource_group(&d, shape);
	}
	result = batch->failed;
	if (result < 0)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	else
		result = json_finish(&d.r, error);
	buffer_done(&d.scratch);
	free(d.stack);
	return result;
}

int otlp_json_decode(struct slice body, struct batch *batch, struct decode_tally *tally,
		     struct error *error)
{
	static const struct otlp_json_shape *const shapes[] = {&otlp_json_traces, &otlp_json_logs};

	return otlp_json_groups(body, batch, tally, error, shapes, ARRAY_SIZE(shapes));
}
