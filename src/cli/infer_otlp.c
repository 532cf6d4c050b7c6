/* cli/infer_otlp.c - inferred paths as traces that `causet import` reads.
 *
 * A call becomes a span of the node that was called; a path is a trace.  Each span says that it was
 * inferred and how sure its parent is: causet.inferred, causet.confidence. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/inferred.h"
#include "core/hash.h"
#include "model/batch.h"
#include "wire/codecs.h"

#define SPANS_PER_REQUEST 2000
#define ID_SEED           0x696e666572726564ULL

struct writer {
	const struct inferred *in;
	const struct linking_window *window;
	const struct codec *codec;
	struct batch *batch;
	uint32_t *resource_of; /* by node: in this batch, +1 */
	uint32_t *root_of;     /* by call */
	struct event_ref refs[SPANS_PER_REQUEST];
};

static uint64_t span_id(const struct linking_window *w, uint32_t call)
{
	const struct call *c = &w->calls->at[call];
	uint64_t id = hash_u64(c->id ^ (uint64_t)c->start_ns,
			       ID_SEED ^ ((uint64_t)c->caller << 32 | c->callee) ^
				       (uint64_t)c->end_ns << 1);

	return id ? id : 1;
}

static struct trace_id trace_id_of(const struct linking_window *w, uint32_t root)
{
	struct trace_id id;
	uint64_t high = hash_u64((uint64_t)w->calls->at[root].start_ns, ID_SEED + 1),
		 low = span_id(w, root);

	memcpy(&id, &high, 8);
	memcpy((char *)&id + 8, &low, 8);
	return id;
}

static uint32_t resource_for(struct writer *w, uint32_t node)
{
	struct batch *b = w->batch;
	uint32_t at;

	if (w->resource_of[node])
		return w->resource_of[node] - 1;
	at = batch_resource(b);
	if (b->failed)
		return 0;
	b->resources[at].attrs.first = (uint32_t)b->attr_n;
	b->resources[at].attrs.count = 1;
	batch_attr_string(b, SLICE("service.name"), names_get(&w->in->nodes, node));
	w->resource_of[node] = at + 1;
	return at;
}

static void span_put(struct writer *w, uint32_t call)
{
	const struct inferred *in = w->in;
	const struct call *c = &w->window->calls->at[call];
	struct call_served served = call_served(w->window->calls, call);
	const struct call_link *l = &w->window->links[call];
	struct batch *b = w->batch;
	uint32_t resource = resource_for(w, c->callee), first = (uint32_t)b->attr_n, name;
	struct event *e;

	batch_attr_bool(b, SLICE("causet.inferred"), true);
	batch_attr_double(b, SLICE("causet.confidence"), (double)l->confidence);
	batch_attr_string(b, SLICE("causet.caller"), names_get(&in->nodes, c->caller));
	name = batch_string(b, c->name == NAMES_NONE ? names_get(&in->nodes, c->callee)
						     : names_get(&in->operations, c->name));
	e = batch_event(b);
	e->type = EVENT_SPAN;
	e->format = FORMAT_OTLP;
	e->kind = KIND_SERVER;
	e->trace_id = trace_id_of(w->window, w->root_of[call]);
	e->id1 = span_id(w->window, call);
	e->id2 = l->parent == LINK_NONE ? 0 : span_id(w->window, l->parent);
	e->time_ns = (uint64_t)MAX(served.recv_ns, (int64_t)1);
	e->end_ns = (uint64_t)MAX(served.reply_ns, (int64_t)1);
	e->name = name;
	e->resource = resource;
	e->attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
}

static int batch_begin(struct writer *w)
{
	memset(w->resource_of, 0, w->in->nodes.n * sizeof(*w->resource_of));
	w->batch = batch_new(0);
	if (!w->batch)
		return -ENOMEM;
	batch_scope(w->batch);
	return 0;
}

static int batch_write(struct writer *w)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	int r = batch_seal(w->batch), code = EXIT_OK;

	if (r == 0 && w->batch->event_n > 0) {
		for (size_t i = 0; i < w->batch->event_n; i++)
			w->refs[i] = (struct event_ref){w->batch, (uint32_t)i};
		w->codec->encode(w->refs, w->batch->event_n, &out);
		if (out.n && out.p[out.n - 1] != '\n')
			buffer_byte(&out, '\n');
		code = out.failed ? EXIT_FAILED : cli_print(w->in->cli, &out);
	}
	w->batch = batch_unref(w->batch);
	return r < 0 ? cli_fail(w->in->cli, EXIT_FAILED, "out of memory") : code;
}

/* The root of each call; parents may come later in the list where clocks differ. */
static void roots_find(struct writer *w)
{
	const struct linking_window *in = w->window;

	for (size_t i = 0; i < in->calls->n; i++)
		w->root_of[i] = LINK_NONE;
	for (uint32_t i = 0; i < in->calls->n; i++) {
		uint32_t root = i;

		while (in->links[root].parent != LINK_NONE && w->root_of[root] == LINK_NONE)
			root = in->links[root].parent;
		if (w->root_of[root] != LINK_NONE)
			root = w->root_of[root];
		for (uint32_t at = i; at != LINK_NONE && w->root_of[at] == LINK_NONE;
		     at = in->links[at].parent)
			w->root_of[at] = root;
	}
}

int inferred_otlp(const struct inferred *in, const struct linking_window *window)
{
	_cleanup_(freep)
	struct writer *w = calloc(1, sizeof(*w));
	int code = EXIT_OK;

	if (!w)
		return cli_fail(in->cli, EXIT_FAILED, "out of memory");
	w->in = in;
	w->window = window;
	w->codec = codec_find(SLICE("otlp-json"));
	w->resource_of = calloc(in->nodes.n + 1, sizeof(*w->resource_of));
	w->root_of = malloc((window->calls->n + 1) * sizeof(*w->root_of));
	if (!w->resource_of || !w->root_of || batch_begin(w) < 0) {
		code = cli_fail(in->cli, EXIT_FAILED, "out of memory");
	} else {
		roots_find(w);
		for (uint32_t i = 0; i < window->calls->n && code == EXIT_OK; i++) {
			if (!window->leaving[i] || !call_finished(&window->calls->at[i]))
				continue;
			span_put(w, i);
			if (w->batch->event_n == SPANS_PER_REQUEST) {
				code = batch_write(w);
				if (code == EXIT_OK && batch_begin(w) < 0)
					code = cli_fail(in->cli, EXIT_FAILED, "out of memory");
			}
		}
		if (code == EXIT_OK)
			code = batch_write(w);
	}
	batch_unref(w->batch);
	free(w->resource_of);
	free(w->root_of);
	return code;
}
