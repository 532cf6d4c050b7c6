/* api/zipkin_links.c - who called whom, as Zipkin counts it. */
#include "api/zipkin_links.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "wire/zipkin.h"

#define ANCESTORS_MOST 1024 /* spans of no kind between a call and the one above it */
#define NOBODY         SIZE_MAX

/* What is asked of spans; a peer's name as in zipkin_span_from(). */
enum { KEY_ERROR, KEY_PEER, KEY_PEER_NAMES };
static const struct slice keys[] = {
	[KEY_ERROR] = {"error", 5},
	[KEY_PEER] = {"peer.service", 12},
	[KEY_PEER_NAMES] = {"server.address", 14},
	{"net.peer.name", 13},
	{"peer.hostname", 13},
	{"db.name", 7},
};

_Static_assert(ARRAY_SIZE(keys) <= WALK_KEYS_MOST, "what a walk can give");

/* One trace. */
struct linking {
	struct call_tally *tally;
	const struct span_seen *spans;
	size_t *above; /* of each span, whose child it is, or NOBODY */
	bool *calls;   /* it has children */
	size_t capacity, calls_capacity;
};

static int32_t kind_of(const struct span_seen *s)
{
	return s->kind >= KIND_SERVER && s->kind <= KIND_CONSUMER ? s->kind : KIND_UNSPECIFIED;
}

static struct slice peer_of(const struct span_seen *s)
{
	bool calls = s->kind == KIND_CLIENT || s->kind == KIND_PRODUCER;
	struct slice peer = s->texts[KEY_PEER];

	if (s->format == FORMAT_ZIPKIN)
		return s->bits & ZIPKIN_REMOTE_SERVICE ? peer : slice_of(NULL, 0);
	for (size_t i = KEY_PEER_NAMES; calls && peer.n == 0 && i < ARRAY_SIZE(keys); i++)
		peer = s->texts[i];
	return peer;
}

static bool is_error(const struct span_seen *s)
{
	return s->format == FORMAT_ZIPKIN ? s->texts[KEY_ERROR].p != NULL
					  : s->status == STATUS_ERROR;
}

/* Spans whose parent is missing belong to the root, if there is one. */
static int tree_build(struct linking *l, size_t n)
{
	size_t root = NOBODY;

	if (!vec_reserve(&l->above, &l->capacity, n, sizeof(*l->above)) ||
	    !vec_reserve(&l->calls, &l->calls_capacity, n, sizeof(*l->calls)))
		return -ENOMEM;
	for (size_t i = 0; i < n && root == NOBODY; i++)
		if (!l->spans[i].shared &&
		    (l->spans[i].parent_id == 0 || l->spans[i].parent_id == l->spans[i].id))
			root = i;
	for (size_t i = 0; i < n; i++) {
		l->above[i] = l->spans[i].has_parent ? l->spans[i].parent : root;
		l->calls[i] = false;
	}
	if (root != NOBODY)
		l->above[root] = NOBODY;
	for (size_t i = 0; i < n; i++)
		if (l->above[i] != NOBODY)
			l->calls[l->above[i]] = true;
	return 0;
}

/* The nearest span above that has a kind, or NULL. */
static const struct span_seen *remote_above(const struct linking *l, size_t i)
{
	for (unsigned steps = 0; steps < ANCESTORS_MOST; steps++) {
		i = l->above[i];
		if (i == NOBODY)
			return NULL;
		if (kind_of(&l->spans[i]) != KIND_UNSPECIFIED)
			return &l->spans[i];
	}
	return NULL;
}

static int add(struct linking *l, struct slice parent, struct slice child, bool error)
{
	return parent.n && child.n ? call_tally_add(l->tally, parent, child, error) : 0;
}

/* A server's span, or a client's with nothing below it. */
static int link_call(struct linking *l, size_t i, int32_t kind)
{
	const struct span_seen *s = &l->spans[i], *above = remote_above(l, i);
	struct slice peer = peer_of(s), parent = kind == KIND_SERVER ? peer : s->service;
	bool error = is_error(s);
	int r = 0;

	if (above && above->service.n > 0) {
		/* Nobody has told of the call that the client itself was made by. */
		if (kind == KIND_CLIENT && !slice_eq(above->service, s->service))
			r = add(l, above->service, s->service, false);
		if (kind == KIND_SERVER || parent.n == 0)
			parent = above->service;
		/* The client's own span is not counted beside its server's. */
		if (above->kind == KIND_CLIENT && s->parent_id == above->id)
			error |= is_error(above);
	}
	return r < 0 ? r : add(l, parent, kind == KIND_SERVER ? s->service : peer, error);
}

static int link_span(struct linking *l, size_t i)
{
	const struct span_seen *s = &l->spans[i];
	int32_t kind = kind_of(s);

	switch (kind) {
	case KIND_PRODUCER:
		return add(l, s->service, peer_of(s), is_error(s));
	case KIND_CONSUMER:
		return add(l, peer_of(s), s->service, is_error(s));
	case KIND_SERVER:
		return link_call(l, i, kind);
	case KIND_CLIENT: /* who is below knows its own name better */
		return l->calls[i] ? 0 : link_call(l, i, kind);
	default: /* of no kind: a client's, where both sides have names */
		return s->service.n && peer_of(s).n ? link_call(l, i, KIND_CLIENT) : 0;
	}
}

static int link_trace(void *context, const struct span_seen *spans, size_t n)
{
	struct linking *l = context;
	int r;

	l->spans = spans;
	r = tree_build(l, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = link_span(l, i);
	return r;
}

int zipkin_links_store(struct call_tally *t, struct store *store, int64_t from_ns, int64_t to_ns)
{
	struct linking l = {.tally = t};
	const struct store_walk walk = {.from_ns = from_ns,
					.to_ns = to_ns,
					.keys = keys,
					.key_n = ARRAY_SIZE(keys),
					.trace = link_trace,
					.context = &l};
	int r = store_spans(store, &walk);

	if (r == 0)
		call_tally_sort(t);
	free(l.above);
	free(l.calls);
	return r;
}
