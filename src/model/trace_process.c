/* model/trace_process.c - which rows come from the same process, and so from the same clock.
 *
 * Resources are the same process when the attributes that identify one agree; others (SDK version,
 * deployment, …) may differ between batches.  Numbers are given by sorted identity, so they do not
 * depend on what arrived first. */
#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "model/event_order.h"
#include "model/process_identity.h"
#include "model/trace_int.h"

static const struct slice identity[] = {
	SLICE("service.namespace"), SLICE("service.name"), SLICE("service.instance.id"),
	SLICE("host.name"),         SLICE("host.id"),      SLICE("k8s.pod.name"),
	SLICE("k8s.pod.uid"),       SLICE("container.id"), SLICE("process.pid"),
};

/* A resource of a batch, and the process it stands for. */
struct seen {
	const struct batch *batch;
	uint32_t resource, process;
};

struct named {
	struct slice identity; /* in the trace's arena */
	const struct batch *batch;
	uint32_t resource;
	uint32_t number; /* while sorting: its provisional one */
};

struct roll {
	struct map by_resource, by_identity;
	struct seen *seen;
	size_t seen_n, seen_capacity;
	struct named *named;
	size_t named_n, named_capacity;
	struct buffer text;
};

static void roll_done(struct roll *r)
{
	map_done(&r->by_resource);
	map_done(&r->by_identity);
	free(r->seen);
	free(r->named);
	buffer_done(&r->text);
}

static bool same_resource(const void *context, uint32_t value, const void *key)
{
	const struct seen *a = &((const struct roll *)context)->seen[value], *b = key;

	return a->batch == b->batch && a->resource == b->resource;
}

static bool same_identity(const void *context, uint32_t value, const void *key)
{
	return slice_eq(((const struct roll *)context)->named[value].identity,
			*(const struct slice *)key);
}

/* Each value with its type and length in front, so that no two sets of values look alike. */
void process_identity(const struct batch *b, uint32_t resource, struct buffer *out)
{
	struct attr_range attrs = b->resources[resource].attrs;

	buffer_clear(out);
	for (size_t i = 0; i < ARRAY_SIZE(identity); i++) {
		const struct attr *a = batch_attr_find(b, attrs, identity[i]);
		struct slice value = {0};
		uint64_t bits;

		if (!a) {
			buffer_byte(out, '-');
			continue;
		}
		if (a->type == VALUE_STRING || a->type == VALUE_BYTES)
			value = batch_text(b, a->string);
		else if (a->type == VALUE_INT || a->type == VALUE_DOUBLE) {
			bits = attr_bits(b, a);
			value = slice_of(&bits, sizeof(bits));
		}
		buffer_printf(out, "%u:%zu:", a->type, value.n);
		buffer_slice(out, value);
	}
}

/* Of several resources that stand for one process the smallest represents it. */
static void represent(struct named *n, const struct batch *b, uint32_t resource)
{
	int r = resource_cmp(b, resource, n->batch, n->resource);

	if (r == 0)
		r = slice_cmp(batch_text(b, b->sender), batch_text(n->batch, n->batch->sender));
	if (r < 0) {
		n->batch = b;
		n->resource = resource;
	}
}

static int process_of(struct roll *r, struct arena *arena, const struct batch *b, uint32_t resource,
		      uint32_t *ret_process)
{
	struct seen key = {b, resource, 0};
	uint64_t hash = hash_u64((uint64_t)(uintptr_t)b ^ resource, r->by_resource.seed);
	uint32_t at = map_get(&r->by_resource, hash, same_resource, r, &key);
	struct slice text;
	uint64_t text_hash;

	if (at != MAP_NONE) {
		*ret_process = r->seen[at].process;
		return 0;
	}
	process_identity(b, resource, &r->text);
	if (r->text.failed)
		return -ENOMEM;
	text = buffer_get(&r->text);
	text_hash = hash_bytes(text.p, text.n, r->by_identity.seed);
	key.process = map_get(&r->by_identity, text_hash, same_identity, r, &text);
	if (key.process == MAP_NONE) {
		struct slice copy = arena_dup(arena, text);

		if (!copy.p ||
		    !vec_reserve(&r->named, &r->named_capacity, r->named_n + 1, sizeof(*r->named)))
			return -ENOMEM;
		key.process = (uint32_t)r->named_n;
		r->named[r->named_n++] = (struct named){copy, b, resource, key.process};
		if (!map_put(&r->by_identity, text_hash, key.process))
			return -ENOMEM;
	} else {
		represent(&r->named[key.process], b, resource);
	}
	if (!vec_reserve(&r->seen, &r->seen_capacity, r->seen_n + 1, sizeof(*r->seen)))
		return -ENOMEM;
	r->seen[r->seen_n] = key;
	if (!map_put(&r->by_resource, hash, (uint32_t)r->seen_n++))
		return -ENOMEM;
	*ret_process = key.process;
	return 0;
}

static int by_identity_cmp(const void *a, const void *b)
{
	return slice_cmp(((const struct named *)a)->identity, ((const struct named *)b)->identity);
}

static struct slice host_of(const struct batch *b, uint32_t resource)
{
	struct attr_range attrs = b->resources[resource].attrs;
	struct slice host = batch_attr_text(b, attrs, SLICE("host.name"));

	if (host.n == 0)
		host = batch_attr_text(b, attrs, SLICE("k8s.pod.name"));
	return host.n ? host : batch_text(b, b->sender);
}

/* Sorts what was found, writes t->processes and gives the final number of each provisional one. */
static int number(struct build *b, struct roll *r, uint32_t **ret_final)
{
	struct trace *t = b->t;
	uint32_t *final = malloc((r->named_n + 1) * sizeof(*final));

	if (!final)
		return -ENOMEM;
	t->processes = arena_zalloc(&t->arena, r->named_n, sizeof(*t->processes));
	if (!t->processes) {
		free(final);
		return -ENOMEM;
	}
	if (r->named_n)
		qsort(r->named, r->named_n, sizeof(*r->named), by_identity_cmp);
	for (size_t i = 0; i < r->named_n; i++) {
		const struct named *n = &r->named[i];

		final[n->number] = (uint32_t)i;
		t->processes[i] = (struct trace_process){
			.batch = n->batch,
			.resource = n->resource,
			.service = batch_attr_text(n->batch, n->batch->resources[n->resource].attrs,
						   SLICE("service.name")),
			.host = host_of(n->batch, n->resource),
		};
	}
	t->process_n = r->named_n;
	*ret_final = final;
	return 0;
}

int build_processes(struct build *b, const struct event_ref *refs, size_t n, uint32_t *process)
{
	_cleanup_(roll_done)
	struct roll r = {0};
	_cleanup_(freep)
	uint32_t *final = NULL;
	int error;

	map_init(&r.by_resource);
	map_init(&r.by_identity);
	for (size_t i = 0; i < n; i++) {
		uint32_t resource = event_get(refs[i])->resource;

		if (i > 0 && refs[i].batch == refs[i - 1].batch &&
		    resource == event_get(refs[i - 1])->resource) {
			process[i] = process[i - 1];
			continue;
		}
		error = process_of(&r, &b->t->arena, refs[i].batch, resource, &process[i]);
		if (error < 0)
			return error;
	}
	error = number(b, &r, &final);
	if (error < 0)
		return error;
	for (size_t i = 0; i < n; i++)
		process[i] = final[process[i]];
	return 0;
}
