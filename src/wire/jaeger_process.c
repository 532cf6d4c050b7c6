/* wire/jaeger_process.c - Jaeger's processes to resources; scopes by name and version. */
#include "base/vec.h"
#include "wire/jaeger_decode_int.h"

static bool same_process(const void *context, uint32_t value, const void *key)
{
	const struct jaeger_json *d = context;

	return d->processes[value].id == *(const uint32_t *)key;
}

static void read_tags_plain(struct jaeger_json *d, struct attr_range *range)
{
	if (json_null(&d->r))
		return;
	json_array(&d->r);
	while (json_next_item(&d->r)) {
		batch_attr(d->batch, jaeger_tag_read(&d->r, d->batch, &d->scratch));
		range->count++;
	}
}

/* How many of the first n stand up to and with the last service.name among them; 0: none does. */
static uint32_t past_service(const struct batch *b, const struct attr *run, uint32_t n)
{
	while (n > 0 && !slice_eq(batch_text(b, run[n - 1].key), SLICE("service.name")))
		n--;
	return n;
}

/* The service's name stands first, wherever it was; of several the last one counts and stands last.
 */
static void place_service(struct batch *b, struct attr_range attrs)
{
	struct attr *run = b->attrs + attrs.first, a;
	uint32_t at = past_service(b, run, attrs.count);

	if (at == 0 || run[--at].type != VALUE_STRING || run[at].string == 0)
		return;
	a = run[at];
	memmove(run + at, run + at + 1, (attrs.count - at - 1) * sizeof(*run));
	if (past_service(b, run, at) > 0) {
		run[attrs.count - 1] = a;
		return;
	}
	memmove(run + 1, run, (attrs.count - 1) * sizeof(*run));
	run[0] = a;
}

/* {"serviceName":…,"tags":[…]} */
uint32_t jaeger_read_process(struct jaeger_json *d)
{
	struct batch *b = d->batch;
	uint32_t index = batch_resource(b), service = 0;
	struct attr_range attrs;
	struct json_reader tags = {0}, here;
	struct slice name;

	json_object(&d->r);
	while (json_next_name(&d->r, &name)) {
		if (slice_eq(name, SLICE("serviceName")))
			service = jaeger_read_text(d);
		else if (slice_eq(name, SLICE("tags")))
			jaeger_pass(d, &tags);
		else
			json_skip(&d->r);
	}
	attrs = (struct attr_range){(uint32_t)b->attr_n, 0};
	if (jaeger_go_back(d, &tags, &here)) {
		read_tags_plain(d, &attrs);
		jaeger_go_on(d, &here);
	}
	if (service) {
		batch_attr(b, (struct attr){.key = batch_string(b, SLICE("service.name")),
					    .type = VALUE_STRING,
					    .string = service});
		attrs.count++;
	}
	if (b->failed)
		return 0;
	b->resources[index].attrs = attrs;
	place_service(b, attrs);
	return index;
}

void jaeger_read_processes(struct jaeger_json *d)
{
	struct json_string key;

	if (json_null(&d->r))
		return;
	json_object(&d->r);
	while (json_next_key(&d->r, &key)) {
		struct slice text = json_text(key, &d->scratch);
		uint32_t id = batch_string(d->batch, text);
		uint64_t hash = hash_u64(id, d->process_map.seed);
		uint32_t at = map_get(&d->process_map, hash, same_process, d, &id);

		if (at == MAP_NONE) {
			at = (uint32_t)d->process_n;
			if (d->scratch.failed ||
			    !vec_reserve(&d->processes, &d->process_capacity, d->process_n + 1,
					 sizeof(*d->processes)) ||
			    !map_put(&d->process_map, hash, at)) {
				jaeger_out_of_memory(d);
				return;
			}
			d->processes[d->process_n++].id = id;
		}
		d->processes[at].resource = jaeger_read_process(d);
	}
}

uint32_t jaeger_find_process(struct jaeger_json *d, uint32_t id)
{
	uint32_t at =
		map_get(&d->process_map, hash_u64(id, d->process_map.seed), same_process, d, &id);

	if (at != MAP_NONE)
		return d->processes[at].resource;
	if (!d->has_nobody) {
		d->nobody = batch_resource(d->batch);
		d->has_nobody = true;
	}
	return d->nobody;
}

static bool same_scope(const void *context, uint32_t value, const void *key)
{
	const struct batch *b = context;
	const struct scope *wanted = key;

	return b->scopes[value].name == wanted->name && b->scopes[value].version == wanted->version;
}

uint32_t jaeger_find_scope(struct jaeger_json *d, const struct scope *wanted)
{
	struct batch *b = d->batch;
	uint64_t both = (uint64_t)wanted->name << 32 | wanted->version;
	uint64_t hash = hash_u64(both, d->scope_map.seed);
	uint32_t at = map_get(&d->scope_map, hash, same_scope, b, wanted);

	if (at != MAP_NONE)
		return at;
	at = batch_scope(b);
	if (b->failed)
		return 0;
	b->scopes[at] = *wanted;
	if (!map_put(&d->scope_map, hash, at))
		jaeger_out_of_memory(d);
	return at;
}
