/* store/view.c - what the store consists of at one moment: segments and heads. */
#include "store/view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/u64.h"
#include "segment/group.h"
#include "store/store_int.h"
#include "store/summary.h"

#define FILTER_BITS 16    /* for each split trace */
#define FIRST_ROWS  65536 /* of a piece; who asks for more is asked how much it is */

/* --- segments --- */

struct view_segment *view_segment_new(const struct manifest_segment *row, struct segment *segment)
{
	struct view_segment *s = calloc(1, sizeof(*s));

	if (!s) {
		segment_unref(segment);
		return NULL;
	}
	atomic_init(&s->refs, 1);
	pthread_mutex_init(&s->services_lock, NULL);
	pthread_mutex_init(&s->hashes_lock, NULL);
	s->row = *row;
	s->segment = segment;
	return s;
}

struct view_segment *view_segment_ref(struct view_segment *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

struct view_segment *view_segment_unref(struct view_segment *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	segment_unref(s->segment);
	service_tally_free(s->services);
	pthread_mutex_destroy(&s->services_lock);
	pthread_mutex_destroy(&s->hashes_lock);
	free(s->hashes);
	id_filter_unref(s->filter);
	free(s);
	return NULL;
}

int view_segment_knows(struct view_segment *s, uint64_t hash)
{
	int r = -ENODATA;

	pthread_mutex_lock(&s->hashes_lock);
	if (s->hashes)
		r = bsearch(&hash, s->hashes, s->hash_n, sizeof(hash), u64_order) != NULL;
	pthread_mutex_unlock(&s->hashes_lock);
	return r;
}

/* --- views --- */

int view_segment_is_plain(struct view_segment *s)
{
	const struct segment_info *info = segment_info(s->segment);
	const struct segment_tables *tables;
	const struct shapes *shapes;
	int r = atomic_load(&s->plain);

	if (info->rows == info->blocks)
		return 1; /* ends are rows, too */
	if (r > 0)
		return r - 1;
	r = segment_pin(s->segment, &tables);
	if (r < 0)
		return r;
	shapes = tables_shapes(tables);
	r = 1;
	for (uint32_t i = 0; r == 1 && i < shapes->n; i++)
		r = shapes->rows[i].type != EVENT_END;
	segment_unpin(s->segment);
	atomic_store(&s->plain, (uint8_t)(r + 1));
	return r;
}

int snapshot_is_plain(const struct snapshot *s)
{
	const struct view *v = s->view;
	int r = 1;

	for (size_t i = 0; r == 1 && i < v->segment_n; i++)
		r = view_segment_is_plain(v->segments[i]);
	/* Only native requests have ends, and nothing else. */
	for (size_t h = 0; r == 1 && h < v->head_n; h++)
		for (uint32_t i = 0; r == 1 && i < s->marks[h].batches; i++) {
			const struct batch *b = runs_batch(&v->heads[h]->runs, i);

			r = b->event_n == 0 || b->events[0].format != FORMAT_NATIVE;
		}
	return r;
}

struct view *view_new(size_t segments)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->segments = malloc((segments + 1) * sizeof(struct view_segment *));
	if (!v->segments) {
		free(v);
		return NULL;
	}
	atomic_init(&v->refs, 1);
	pthread_mutex_init(&v->split_lock, NULL);
	return v;
}

void view_add_segment(struct view *v, struct view_segment *s)
{
	v->segments[v->segment_n++] = view_segment_ref(s);
}

void view_add_head(struct view *v, struct head *h)
{
	v->heads[v->head_n++] = head_ref(h);
}

struct view *view_ref(struct view *v)
{
	atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	return v;
}

struct view *view_unref(struct view *v)
{
	if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	for (size_t i = 0; i < v->segment_n; i++)
		view_segment_unref(v->segments[i]);
	for (size_t i = 0; i < v->head_n; i++)
		head_unref(v->heads[i]);
	pthread_mutex_destroy(&v->split_lock);
	free(v->split);
	free(v->split_placed);
	free(v->split_filter);
	free(v->split_bounds);
	free(v->split_longest);
	free(v->segments);
	free(v);
	return NULL;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct trace_id));
}

static uint64_t filter_bit(const struct view *v, struct trace_id id)
{
	return segment_id_hash(id) & v->split_mask;
}

static int filter_make(struct view *v, const struct trace_id *ids, size_t n)
{
	uint64_t bits = 64;

	while (bits < n * FILTER_BITS)
		bits *= 2;
	v->split_filter = calloc(bits / 64, sizeof(*v->split_filter));
	if (!v->split_filter)
		return -ENOMEM;
	v->split_mask = bits - 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t bit = filter_bit(v, ids[i]);

		v->split_filter[bit / 64] |= 1ULL << bit % 64;
	}
	return 0;
}

/* All lists in one: each was sorted, so the sort has little to do. */
static int split_make(struct view *v)
{
	size_t n = 0, kept = 0;
	struct trace_id *all;

	for (size_t i = 0; i < v->segment_n; i++)
		n += segment_info(v->segments[i]->segment)->split;
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < v->segment_n; i++) {
		const struct trace_id *ids;
		size_t id_n;
		int r = segment_info(v->segments[i]->segment)->split
				? segment_split(v->segments[i]->segment, &ids, &id_n)
				: -ENOENT;

		if (r == -ENOENT)
			continue;
		if (r < 0) {
			free(all);
			return r;
		}
		memcpy(all + n, ids, id_n * sizeof(*ids));
		n += id_n;
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), by_bytes);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !trace_id_eq(all[i], all[kept - 1]))
			all[kept++] = all[i];
	if (filter_make(v, all, kept) < 0) {
		free(all);
		return -ENOMEM;
	}
	v->split = all;
	v->split_n = kept;
	v->split_made = true;
	return 0;
}

int view_split(struct view *v, const struct trace_id **ret_ids, size_t *ret_n)
{
	int r = 0;

	pthread_mutex_lock(&v->split_lock);
	if (!v->split_made)
		r = split_make(v);
	pthread_mutex_unlock(&v->split_lock);
	if (r < 0)
		return r;
	*ret_ids = v->split;
	*ret_n = v->split_n;
	return 0;
}

/* --- by place --- */

struct split_place {
	struct trace_id id;
	uint32_t segment, group;
};

static int by_split_place(const void *a, const void *b)
{
	const struct split_place *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return memcmp(&x->id, &y->id, sizeof(x->id));
}

/* The first group that may have it.  What cannot be read stands anywhere. */
static struct split_place split_place(const struct view *v, struct trace_id id)
{
	struct split_place place = {id, UINT32_MAX, UINT32_MAX};

	for (uint32_t i = 0; i < v->segment_n && place.group == UINT32_MAX; i++) {
		uint32_t groups[SEGMENT_CANDIDATES], at = 0;

		if (segment_candidates(v->segments[i]->segment, id, &at, groups) > 0) {
			place.segment = i;
			place.group = groups[0];
		}
	}
	return place;
}

static int split_place_all(struct view *v)
{
	struct split_place *places = malloc((v->split_n + 1) * sizeof(*places));
	struct trace_id *ids = malloc((v->split_n + 1) * sizeof(*ids));

	if (!places || !ids) {
		free(places);
		free(ids);
		return -ENOMEM;
	}
	for (size_t i = 0; i < v->split_n; i++)
		places[i] = split_place(v, v->split[i]);
	if (v->split_n > 1)
		qsort(places, v->split_n, sizeof(*places), by_split_place);
	for (size_t i = 0; i < v->split_n; i++)
		ids[i] = places[i].id;
	free(places);
	v->split_placed = ids;
	return 0;
}

int view_split_placed(struct view *v, const struct trace_id **ret_ids, size_t *ret_n)
{
	int r = view_split(v, ret_ids, ret_n);

	pthread_mutex_lock(&v->split_lock);
	if (r == 0 && !v->split_placed)
		r = split_place_all(v);
	pthread_mutex_unlock(&v->split_lock);
	if (r == 0)
		*ret_ids = v->split_placed;
	return r;
}

int view_is_split(struct view *v, struct trace_id id)
{
	const struct trace_id *ids;
	size_t n;
	int r = view_split(v, &ids, &n);

	return r < 0 ? r : view_split_has(v, id);
}

bool view_split_has(const struct view *v, struct trace_id id)
{
	uint64_t bit;

	if (v->split_n == 0)
		return false;
	bit = filter_bit(v, id);
	return v->split_filter[bit / 64] >> bit % 64 & 1 &&
	       bsearch(&id, v->split, v->split_n, sizeof(id), by_bytes);
}

/* --- snapshots --- */

void snapshot_init(struct snapshot *s, struct view *view)
{
	*s = (struct snapshot){.view = view};
	for (size_t i = 0; i < view->head_n; i++)
		s->marks[i] = runs_mark(&view->heads[i]->runs);
}

int store_snapshot(struct store *store, struct snapshot *ret_snapshot)
{
	return store->ops->snapshot ? store->ops->snapshot(store, ret_snapshot) : -EOPNOTSUPP;
}

void snapshot_done(struct snapshot *s)
{
	s->view = view_unref(s->view);
}

int snapshot_trace(const struct snapshot *s, struct trace_id id, struct event_set *set)
{
	return snapshot_trace_most(s, id, STORE_TRACE_ROWS, set);
}

/* Has the trace at most so many rows in the segments?  What cannot be read counts as none. */
static bool is_at_most(const struct snapshot *s, struct trace_id id, size_t most)
{
	struct event_set none = {0};
	uint64_t sum = 0;

	for (size_t i = 0; i < s->view->segment_n && sum <= most; i++) {
		uint64_t rows = 0;

		if (segment_trace_page(s->view->segments[i]->segment, id, 0, 0, &none, &rows) == 0)
			sum += rows;
	}
	event_set_done(&none);
	return sum <= most;
}

typedef int segment_page_fn(struct segment *s, struct trace_id id, uint64_t from, uint64_t limit,
			    struct event_set *set, uint64_t *ret_rows);

static int trace_most(const struct snapshot *s, struct trace_id id, size_t most,
		      segment_page_fn *get_page, struct event_set *set)
{
	const struct view *v = s->view;
	bool some = false, counted = false;
	size_t size = most;
	int r;

	most += set->n;
	for (size_t i = 0; i < v->segment_n; i++) {
		struct segment *segment = v->segments[i]->segment;
		uint64_t rows = 0;

		r = get_page(segment, id, 0, FIRST_ROWS, set, &rows);
		/* A large piece: before more of it is read, is all of it wanted? */
		if (r == 0 && rows > FIRST_ROWS) {
			if (!counted && !is_at_most(s, id, size))
				return -E2BIG;
			counted = true;
			r = get_page(segment, id, FIRST_ROWS, rows, set, NULL);
		}
		if (r < 0 && r != -ENOENT)
			return r;
		if (set->n > most)
			return -E2BIG;
		some |= r == 0;
	}
	for (size_t i = 0; i < v->head_n; i++) {
		r = head_trace(v->heads[i], s->marks[i], id, set);
		if (r < 0 && r != -ENOENT)
			return r;
		some |= r == 0;
	}
	if (set->n > most)
		return -E2BIG;
	return some ? 0 : -ENOENT;
}

/* One segment's index in some 250 says that it has a trace when it has not: where two say so, no
 * group is read as a whole in vain.  Where more do, which is rare, there would be too many reads.
 */
static segment_page_fn *page_of(const struct snapshot *s, struct trace_id id)
{
	size_t n = 0;

	for (size_t i = 0; i < s->view->segment_n && n < 3; i++)
		n += segment_may_have(s->view->segments[i]->segment, id) != 0;
	return n == 2 ? segment_trace_page_perhaps : segment_trace_page;
}

int snapshot_trace_most(const struct snapshot *s, struct trace_id id, size_t most,
			struct event_set *set)
{
	return trace_most(s, id, most, page_of(s, id), set);
}

int snapshot_trace_bare(const struct snapshot *s, struct trace_id id, size_t most,
			struct event_set *set)
{
	return trace_most(s, id, most, segment_trace_page_bare, set);
}

/* Who gets the rows of a trace, page by page. */
struct paging {
	segment_page_fn *get_page;
	snapshot_page_fn *page;
	void *context;
};

/* A piece in a segment. */
static int segment_pages(struct segment *segment, struct trace_id id, const struct paging *p,
			 struct event_set *set, bool *some)
{
	uint64_t rows = 1;
	int r = 0;

	for (uint64_t from = 0; r == 0 && from < rows; from += SNAPSHOT_PAGE_ROWS) {
		event_set_clear(set);
		r = p->get_page(segment, id, from, SNAPSHOT_PAGE_ROWS, set, &rows);
		if (r == 0 && set->n > 0) {
			*some = true;
			r = p->page(p->context, set->refs, set->n);
		}
	}
	return r == -ENOENT ? 0 : r;
}

static int trace_pages(const struct snapshot *s, struct trace_id id, const struct paging *p)
{
	const struct view *v = s->view;
	struct event_set set = {0};
	bool some = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->segment_n; i++)
		r = segment_pages(v->segments[i]->segment, id, p, &set, &some);
	for (size_t i = 0; r == 0 && i < v->head_n; i++) {
		event_set_clear(&set);
		r = head_trace(v->heads[i], s->marks[i], id, &set);
		if (r == 0 && set.n > 0) {
			some = true;
			r = p->page(p->context, set.refs, set.n);
		}
		if (r == -ENOENT)
			r = 0;
	}
	event_set_done(&set);
	return r == 0 && !some ? -ENOENT : r;
}

int snapshot_trace_pages(const struct snapshot *s, struct trace_id id, snapshot_page_fn *page,
			 void *context)
{
	return trace_pages(s, id, &(struct paging){page_of(s, id), page, context});
}

int snapshot_trace_pages_bare(const struct snapshot *s, struct trace_id id, snapshot_page_fn *page,
			      void *context)
{
	return trace_pages(s, id, &(struct paging){segment_trace_page_bare, page, context});
}

bool snapshot_in_heads(const struct snapshot *s, struct trace_id id)
{
	for (size_t i = 0; i < s->view->head_n; i++)
		if (s->marks[i].traces > 0 && head_has(s->view->heads[i], s->marks[i], id))
			return true;
	return false;
}
