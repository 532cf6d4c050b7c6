/* ingest/second_sampling.c - the second sampling: which traces the server keeps of those it is
 * sent. */
#include "ingest/second_sampling.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "catalog/keep.h"
#include "model/batch_copy.h"
#include "sampling/second.h"

struct second {
	struct catalog *cat;
	_Atomic uint64_t generation; /* of the catalogue when the threshold was read */
	_Atomic uint64_t threshold;
};

/* Reading it twice at the same time does no harm: both read the same or the newer. */
static int reload(struct second *s, struct error *e)
{
	uint64_t generation = catalog_generation(s->cat), threshold;
	int r = keep_get(s->cat, &threshold, e);

	if (r < 0)
		return r;
	atomic_store(&s->threshold, threshold);
	atomic_store(&s->generation, generation);
	return 0;
}

int second_new(struct catalog *cat, struct second **ret_second, struct error *e)
{
	struct second *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set(e, -ENOMEM, "out of memory");
	s->cat = cat;
	r = reload(s, e);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret_second = s;
	return 0;
}

struct second *second_free(struct second *s)
{
	free(s);
	return NULL;
}

/* The rows of `from` that pass, in a batch of their own. */
static int copy_kept(const struct batch *from, uint64_t threshold, struct batch **ret_batch)
{
	_cleanup_(batch_unrefp)
	struct batch *to = batch_new(0);
	struct batch_copy copy;
	int r;

	if (!to)
		return -ENOMEM;
	batch_copy_init(&copy, to);
	for (uint32_t i = 0; i < from->event_n; i++)
		if (threshold_keeps(threshold, second_randomness(from->events[i].trace_id)))
			batch_copy_event(&copy, (struct event_ref){from, i});
	batch_copy_done(&copy);
	to->owner = batch_string(to, batch_text(from, from->owner));
	to->sender = batch_string(to, batch_text(from, from->sender));
	to->received_ns = from->received_ns;
	r = to->failed;
	if (r == 0)
		*ret_batch = TAKE_PTR(to);
	return r;
}

static size_t count_dropped(const struct batch *b, uint64_t threshold)
{
	size_t n = 0;

	for (size_t i = 0; i < b->event_n; i++)
		n += !threshold_keeps(threshold, second_randomness(b->events[i].trace_id));
	return n;
}

int second_apply(struct second *s, struct batch **batch, size_t *ret_dropped)
{
	struct batch *kept = NULL;
	uint64_t threshold;
	size_t dropped;
	int r;

	/* When the catalogue cannot be read what was known stays in force, and the next batch
	 * tries again. */
	if (catalog_generation(s->cat) != atomic_load(&s->generation))
		reload(s, NULL);
	threshold = atomic_load_explicit(&s->threshold, memory_order_relaxed);
	dropped = threshold == THRESHOLD_ALWAYS ? 0 : count_dropped(*batch, threshold);
	if (dropped > 0) {
		r = copy_kept(*batch, threshold, &kept);
		if (r < 0)
			return r;
		batch_unref(*batch);
		*batch = kept;
	}
	(*batch)->kept_threshold = threshold;
	*ret_dropped = dropped;
	return 0;
}
