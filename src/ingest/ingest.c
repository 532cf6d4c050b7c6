/* ingest/ingest.c - the way in: a request's body becomes a batch, is redacted, and goes to the
 * store.
 *
 *   body ─▶ seen before? ─▶ decode ─▶ sample ─▶ redact ─▶ seal ─▶ store ─▶ (acknowledged) ─▶ answer
 *
 * Everything up to the store happens on the request's loop thread, in one go; the answer is given
 * on whatever thread the store acknowledges from. */
#include "ingest/ingest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/blocks.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "ingest/forms.h"
#include "ingest/receipt.h"
#include "ingest/recent.h"
#include "ingest/redact.h"
#include "ingest/second_sampling.h"

#define RECENT_MOST (1 << 20) /* bodies; 32 MiB when full */

struct ingest {
	struct ingest_options options;
	struct recent *recent; /* NULL: repeats are not looked for */
	struct second *second; /* NULL: no catalogue */
	struct redact *redact; /* NULL: no catalogue */
	struct blocks *blocks; /* where batches lie */
	struct ingest_counters counters;
};

/* One request between decoding and its answer; lies in the request's arena. */
struct taken {
	struct store_append append;
	struct ingest *ingest;
	struct http_request *req;
	enum ingest_kind kind;
	const struct ingest_form *form;
	struct decode_tally tally;
	struct recent_key key;
};

_Static_assert(sizeof(struct recent_key) == sizeof(((struct store_append *)0)->body_hash),
	       "the key is what the store remembers");

static void known_before(void *context, const uint8_t body_hash[16], int64_t received_ns)
{
	struct ingest *in = context;
	struct recent_key key;

	memcpy(&key, body_hash, sizeof(key));
	recent_add(in->recent, key, clock_mono_ns());
}

/* What was acknowledged before a restart is known after it. */
static int recent_start(struct ingest *in)
{
	const struct ingest_options *o = &in->options;
	int r = recent_new(o->repeat_ns, RECENT_MOST, store_hash_seed(o->store), &in->recent);

	return r < 0 ? r : store_recent(o->store, clock_wall_ns() - o->repeat_ns, known_before, in);
}

int ingest_open(const struct ingest_options *options, struct ingest **ret_ingest,
		struct error *error)
{
	struct ingest *in = calloc(1, sizeof(*in));
	int r = 0;

	if (!in)
		return error_set(error, -ENOMEM, "out of memory");
	in->options = *options;
	in->blocks = blocks_new();
	if (!in->blocks)
		r = error_set(error, -ENOMEM, "out of memory");
	if (r == 0 && options->repeat_ns > 0)
		r = recent_start(in);
	if (r < 0 && in->blocks)
		error_set(error, r, "cannot read which requests came lately: %s", strerror(-r));
	if (r == 0 && options->catalog)
		r = second_new(options->catalog, &in->second, error);
	if (r == 0 && options->catalog)
		r = redact_new(options->catalog, &in->redact, error);
	if (r < 0) {
		ingest_close(in);
		return r;
	}
	*ret_ingest = in;
	return 0;
}

struct ingest *ingest_close(struct ingest *in)
{
	if (!in)
		return NULL;
	recent_free(in->recent);
	second_free(in->second);
	redact_free(in->redact);
	blocks_close(in->blocks);
	free(in);
	return NULL;
}

void ingest_tidy(struct ingest *in)
{
	blocks_trim(in->blocks);
}

const struct ingest_counters *ingest_counters(const struct ingest *in)
{
	return &in->counters;
}

const char *ingest_kind_name(enum ingest_kind kind)
{
	static const char *const names[INGEST_KINDS] = {"traces", "logs", "metrics", "events",
							"zipkin"};

	return names[kind];
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void answer(struct taken *t)
{
	count(&t->ingest->counters.kinds[t->kind].accepted, t->tally.accepted);
	count(&t->ingest->counters.kinds[t->kind].rejected, t->tally.rejected);
	if (t->kind == INGEST_ZIPKIN && t->tally.rejected > 0 && t->tally.accepted == 0)
		t->ingest->options.fail(t->req, 400, "%s", t->tally.reason);
	else
		receipt_give(t->req, t->kind, t->form, &t->tally);
}

/* The request has ended.  One that was kept in part is not remembered: the client should hear of
 * its rejected rows again. */
static void ended(struct taken *t, bool kept)
{
	if (t->ingest->recent)
		recent_end(t->ingest->recent, t->key, kept && t->tally.rejected == 0,
			   clock_mono_ns());
}

static void acknowledged(struct store_append *append, int result)
{
	struct taken *t = container_of(append, struct taken, append);
	struct ingest *in = t->ingest;

	ended(t, result == 0);
	if (result == -ENOBUFS) {
		count(&in->counters.kinds[t->kind].refused, 1);
		in->options.fail(
			t->req, 429,
			"more comes in than can be stored just now; try again later, or raise memory-limit");
	} else if (result < 0) {
		count(&in->counters.kinds[t->kind].failed, 1);
		in->options.fail(t->req, 503,
				 "the request could not be stored (%s); try again later",
				 strerror(-result));
	} else {
		answer(t);
	}
}

/* Answers a request that came before; false then. */
static bool is_new(struct taken *t, struct slice owner)
{
	struct ingest *in = t->ingest;

	t->key = recent_key(in->recent, t->req->body, owner, (int)t->kind);
	switch (recent_begin(in->recent, t->key, clock_mono_ns())) {
	case RECENT_KNOWN:
		count(&in->counters.kinds[t->kind].repeated, 1);
		receipt_give(t->req, t->kind, t->form, &t->tally);
		return false;
	case RECENT_UNDER_WAY:
		count(&in->counters.kinds[t->kind].refused, 1);
		in->options.fail(t->req, 503,
				 "the same request is being stored just now; try again later");
		return false;
	default:
		return true;
	}
}

/* "10.0.0.7" of "10.0.0.7:53422", "::1" of "[::1]:53422".  The port is the kernel's choice for one
 * connection: with it every connection would pass for another sender. */
static struct slice host_of(struct slice peer)
{
	size_t n = peer.n;

	while (n > 0 && peer.p[n - 1] != ':')
		n--;
	if (n == 0)
		return peer;
	if (n > 2 && peer.p[0] == '[' && peer.p[n - 2] == ']')
		return slice_of(peer.p + 1, n - 3);
	return slice_of(peer.p, n - 1);
}

/* Fails the request and returns NULL where the body does not become a batch. */
static struct batch *decode(struct taken *t, struct slice owner)
{
	_cleanup_(batch_unrefp)
	struct batch *batch = batch_new(t->req->body.n / t->form->shrink);
	struct ingest *in = t->ingest;
	struct redact_count redacted = {0};
	size_t sampled_out = 0;
	struct error error = {0};
	struct slice peer = host_of(slice_cstr(t->req->peer));
	int r = batch ? t->form->decode(t->req->body, batch, &t->tally, &error) : -ENOMEM;

	if (r == 0 && batch->strings > STORE_BATCH_STRINGS)
		r = error_set(&error, -E2BIG, "the request has more than %zu distinct strings",
			      STORE_BATCH_STRINGS);
	if (r < 0 && r != -ENOMEM) {
		count(&in->counters.kinds[t->kind].malformed, 1);
		in->options.fail(t->req, r == -E2BIG ? 413 : 400, "%s", error.text);
		return NULL;
	}
	if (r == 0) {
		batch->owner = batch_string(batch, owner);
		batch->sender = batch_string(batch, peer);
		batch->received_ns = t->req->received_ns;
		if (in->second)
			r = second_apply(in->second, &batch, &sampled_out);
		if (r == 0 && in->redact)
			r = redact_batch(in->redact, &batch, &redacted);
	}
	if (r == 0)
		r = batch_seal_in(batch, in->blocks);
	if (r < 0) {
		count(&in->counters.kinds[t->kind].failed, 1);
		in->options.fail(t->req, 503, "out of memory; try again later");
		return NULL;
	}
	count(&in->counters.sampled_out, sampled_out);
	count(&in->counters.attributes_dropped, redacted.dropped);
	count(&in->counters.attributes_hashed, redacted.hashed);
	return TAKE_PTR(batch);
}

void ingest_take(struct ingest *in, struct http_request *req, const char *owner,
		 enum ingest_kind kind)
{
	const struct ingest_form *form = ingest_form_find(kind, req);
	struct taken *t;

	count(&in->counters.kinds[kind].requests, 1);
	count(&in->counters.kinds[kind].bytes, req->body.n);
	if (!form) {
		struct slice type = http_header_get(req, "content-type");

		count(&in->counters.kinds[kind].malformed, 1);
		in->options.fail(req, 415, "content-type %.*s is not understood here; send %s",
				 SLICE_ARG(slice_first(type, 100)), ingest_form_types(kind));
		return;
	}
	t = arena_zalloc(&req->arena, 1, sizeof(*t));
	if (!t) {
		in->options.fail(req, 503, "out of memory; try again later");
		return;
	}
	*t = (struct taken){
		.append.done = acknowledged, .ingest = in, .req = req, .kind = kind, .form = form};
	if (in->recent && !is_new(t, slice_cstr(owner)))
		return;
	t->append.batch = decode(t, slice_cstr(owner));
	if (!t->append.batch) {
		ended(t, false);
		return;
	}
	if (t->append.batch->event_n ==
	    0) { /* nothing to keep: empty, all rejected, or all sampled out */
		batch_unref(t->append.batch);
		ended(t, false);
		answer(t);
		return;
	}
	t->append.has_body_hash = in->recent && t->tally.rejected == 0;
	memcpy(t->append.body_hash, &t->key, sizeof(t->key));
	store_append(in->options.store, &t->append);
}
