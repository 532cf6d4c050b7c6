/* model/infer_peer.c - the other side of calls that only the client told of.
 *
 * A database, a queue or somebody else's API sends no spans.  A client block whose other side never
 * came gets one child, marked REPAIR_INFERRED (causet.inferred), as long as the client's own time:
 * nothing better is known, and no clock is involved.  What the peer is called is read off the
 * client's attributes. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/trace_int.h"

/* In order of preference: names people chose, then addresses, then kinds of systems. */
static const struct slice peer_keys[] = {
	SLICE("peer.service"),       SLICE("service.peer.name"),
	SLICE("server.address"),     SLICE("net.peer.name"),
	SLICE("peer.hostname"),      SLICE("peer.address"),
	SLICE("http.host"),          SLICE("network.peer.address"),
	SLICE("net.sock.peer.addr"), SLICE("net.peer.ip"),
	SLICE("peer.ipv4"),          SLICE("db.system.name"),
	SLICE("db.system"),          SLICE("messaging.system"),
	SLICE("rpc.system.name"),    SLICE("rpc.system"),
	SLICE("faas.invoked_name"),
};

static struct trace_inferred peer_of(const struct trace *t, uint32_t row)
{
	const struct batch *b = trace_row_batch(t, row);
	const struct event *e = trace_row(t, row);
	struct trace_inferred peer = {.name = trace_row_name(t, row)};
	size_t best = ARRAY_SIZE(peer_keys);

	for (uint32_t i = 0; i < e->attrs.count; i++) {
		const struct attr *a = &b->attrs[e->attrs.first + i];
		struct slice key = batch_text(b, a->key);

		if (a->type != VALUE_STRING || a->string == 0)
			continue;
		for (size_t rank = 0; rank <= best && rank < ARRAY_SIZE(peer_keys); rank++) {
			if (!slice_eq(key, peer_keys[rank]))
				continue;
			best = rank; /* of one key that stands there twice the last counts */
			peer.service = batch_text(b, a->string);
			peer.key = peer_keys[rank];
			break;
		}
	}
	return peer;
}

static void mark_seen(struct build *b)
{
	for (size_t i = 0; i < b->t->block_n; i++) {
		const struct trace_block *child = &b->blocks[i];

		if (child->parent == TRACE_NONE)
			continue;
		if (kind_calls(child->kind) || kind_serves(child->kind) ||
		    child->process != b->blocks[child->parent].process)
			b->blocks[child->parent].bits |= BLOCK_HAS_PEER;
	}
}

static bool lacks_peer(const struct trace_block *block)
{
	return kind_calls(block->kind) && !(block->bits & (BLOCK_HAS_PEER | BLOCK_IMPLIED));
}

struct peers {
	const struct trace *t;
	struct map by_name; /* service → process, inferred ones only */
};

static bool same_service(const void *context, uint32_t value, const void *key)
{
	return slice_eq(((const struct peers *)context)->t->processes[value].service,
			*(const struct slice *)key);
}

/* Unseen peers with one name are one process.  The array has room. */
static int peer_process(struct peers *p, struct trace *t, struct slice service,
			uint32_t *ret_process)
{
	uint64_t hash = hash_bytes(service.p, service.n, p->by_name.seed);
	uint32_t at = map_get(&p->by_name, hash, same_service, p, &service);

	if (at == MAP_NONE) {
		at = (uint32_t)t->process_n;
		t->processes[t->process_n++] = (struct trace_process){
			.batch = NULL, .resource = 0, .service = service, .inferred = true};
		if (!map_put(&p->by_name, hash, at))
			return -ENOMEM;
	}
	*ret_process = at;
	return 0;
}

static int add_peer(struct build *b, struct peers *p, uint32_t client)
{
	struct trace *t = b->t;
	struct trace_block *from = &b->blocks[client], *block = &b->blocks[t->block_n];
	struct trace_inferred peer = peer_of(t, from->row);
	uint32_t process;
	int r = peer_process(p, t, peer.service, &process);

	if (r < 0)
		return r;
	*block = (struct trace_block){
		.begin_ns = from->begin_ns,
		.end_ns = from->end_ns,
		.row = from->row,
		.end_row = from->end_row,
		.parent = client,
		.unit = TRACE_NONE,
		.process = process,
		.inferred = (uint32_t)t->inferred_n,
		.repairs = REPAIR_INFERRED | (from->repairs & REPAIR_MISSING_END),
		.bits = from->bits & BLOCK_RUNNING,
		.kind = from->kind == KIND_PRODUCER ? KIND_CONSUMER : KIND_SERVER,
	};
	t->inferred[t->inferred_n++] = peer;
	t->block_n++;
	return 0;
}

int build_peers(struct build *b)
{
	struct trace *t = b->t;
	struct peers p = {.t = t};
	struct trace_process *more;
	size_t n = t->block_n, missing = 0;
	int r = 0;

	mark_seen(b);
	for (size_t i = 0; i < n; i++)
		missing += lacks_peer(&b->blocks[i]);
	if (missing == 0)
		return 0;
	t->inferred = arena_alloc(&t->arena, missing * sizeof(*t->inferred));
	more = arena_alloc(&t->arena, (t->process_n + missing) * sizeof(*more));
	if (!t->inferred || !more)
		return -ENOMEM;
	memcpy(more, t->processes, t->process_n * sizeof(*more));
	t->processes = more;
	map_init(&p.by_name);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (lacks_peer(&b->blocks[i]))
			r = add_peer(b, &p, i);
	map_done(&p.by_name);
	return r;
}
