/* store/find.c - questions about many traces, asked of a snapshot.
 *
 * A search walks towards what it wants and stops when nothing better can come: traces in the heads,
 * then groups of segments, each with a bound on what is in it, the most promising first.  A trace
 * that lies in one place is judged there, by zone maps, shapes and a few columns; one that lies in
 * several is put together and judged as a whole. */
#include "store/find.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "store/find_int.h"
#include "store/giant.h"
#include "store/store_int.h"

#define LIMIT_DEFAULT 20
#define OPEN_GROUPS   8  /* groups of different segments are visited in turns */
#define KEPT_GROUPS   24 /* of those looked at */
#define MANY_HITS     3  /* of one group, beside the first */
#define ALONE_GROUPS  8  /* looked at before others are asked to help */
#define THREADS_MOST  15u
#define SHARED_PLACES 8   /* groups with hits from which on their rows are fetched by several … */
#define SHARED_HITS   128 /* … if there are at most so many hits, … */
#define SHARED_ROWS   1024 /* … those with at most so many rows */

/* --- the hits --- */

static bool before(const struct finding *f, const struct trace_key *a, const struct trace_key *b)
{
	return trace_key_order(f->query->order, a, b) < 0;
}

bool find_may_enter(const struct finding *f, int64_t start_ns, int64_t duration_ns)
{
	/* The best it could be: no id sorts before this one. */
	const struct trace_key best = {start_ns, duration_ns, {{0}}};

	return f->hit_n <= f->limit || before(f, &best, &f->hits[0].key);
}

static void sift_down(struct finding *f, size_t n)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < n; at = child) {
		struct find_hit moved = f->hits[at];

		if (child + 1 < n && before(f, &f->hits[child].key, &f->hits[child + 1].key))
			child++;
		if (!before(f, &moved.key, &f->hits[child].key))
			return;
		f->hits[at] = f->hits[child];
		f->hits[child] = moved;
	}
}

void find_enter(struct finding *f, const struct find_hit *hit)
{
	size_t at = f->hit_n;

	if (f->hit_n == f->limit + 1) {
		if (!before(f, &hit->key, &f->hits[0].key))
			return;
		f->hits[0] = *hit;
		sift_down(f, f->hit_n);
		return;
	}
	f->hits[f->hit_n++] = *hit;
	for (; at > 0 && before(f, &f->hits[(at - 1) / 2].key, &f->hits[at].key);
	     at = (at - 1) / 2) {
		struct find_hit moved = f->hits[at];

		f->hits[at] = f->hits[(at - 1) / 2];
		f->hits[(at - 1) / 2] = moved;
	}
}

/* The heap becomes a list, the best first. */
static void hits_sort(struct finding *f)
{
	for (size_t n = f->hit_n; n > 1; n--) {
		struct find_hit last = f->hits[0];

		f->hits[0] = f->hits[n - 1];
		f->hits[n - 1] = last;
		sift_down(f, n - 1);
	}
}

/* --- traces in several places --- */

static int fold_page(void *context, const struct event_ref *refs, size_t n)
{
	trace_fold_add(context, refs, n);
	return 0;
}

int find_whole(struct finding *f, struct trace_id id)
{
	struct find_hit hit = {.key.id = id, .segment = FIND_ANYWHERE};
	struct trace_fold fold;
	int r = store_query_has_part(f->query, id) ? id_set_add(&f->joint, id) : 0, over;

	if (r > 0 && (over = leash_stopped()) < 0) /* many of these, perhaps with the lock held */
		r = over;
	if (r <= 0)
		return r;
	trace_fold_begin(&fold, f->query);
	r = (f->query->tag_n ? snapshot_trace_pages : snapshot_trace_pages_bare)(f->snapshot, id,
										 fold_page, &fold);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (trace_fold_matches(&fold, &hit.key.start_ns, &hit.key.duration_ns) &&
	    trace_key_is_after(f->query, &hit.key))
		find_enter(f, &hit);
	return 0;
}

int find_is_elsewhere(struct finding *f, struct trace_id id)
{
	int r = view_is_split(f->snapshot->view, id);

	return r != 0 ? r : id_set_has(&f->in_heads, id);
}

/* --- the search --- */

/* Groups that are open, by segment: opening another one of the same segment is cheaper. */
struct open_groups {
	struct segment_group *rows[OPEN_GROUPS];
	uint32_t segments[OPEN_GROUPS], numbers[OPEN_GROUPS];
	uint32_t n; /* closed so far */
};

static int group_get(const struct finding *f, struct open_groups *open, uint32_t segment,
		     uint32_t number, struct segment_group **ret_group)
{
	size_t slot = segment % OPEN_GROUPS;
	struct segment_group **group = &open->rows[slot];
	int r = 0;

	/* The first groups are those that the next question looks at as well, and stay as they are
	 * where room is for them. */
	if (*group && (open->segments[slot] != segment ||
		       (open->numbers[slot] != number && ++open->n < KEPT_GROUPS)))
		*group = group_close(*group);
	if (!*group)
		r = group_open_few(f->snapshot->view->segments[segment]->segment, number, group);
	else if (open->numbers[slot] != number)
		r = group_reopen_few(*group, number);
	open->segments[slot] = segment;
	open->numbers[slot] = r == 0 ? number : UINT32_MAX;
	*ret_group = *group;
	return r;
}

static void open_groups_done(struct open_groups *open)
{
	for (size_t i = 0; i < OPEN_GROUPS; i++)
		group_close(open->rows[i]);
}

/* One thread's share of a search. */
struct finder {
	struct finding *f;
	struct open_groups open;
	struct match_room *room;
	struct leash *leash; /* of who asks */
	size_t most;         /* groups at the most; 0: no limit */
};

/* The next group that promises anything: 1, or 0 if there is none, negative errno.  Under the
 * lock. */
static int next_group(struct finding *f, const struct find_group **ret_group,
		      struct match_asked *ret_asked)
{
	bool slowest = f->query->order == STORE_SLOWEST;

	while (f->next_group < f->group_n) {
		const struct find_group *at = &f->groups[f->next_group];
		const struct find_segment *segment = &f->segments[at->segment];
		int r;

		if (!find_may_enter(f, slowest ? INT64_MAX : at->bound_ns,
				    slowest ? at->bound_ns : INT64_MAX))
			return 0; /* and what follows promises less */
		f->next_group++;
		r = find_ask_segment(f, at->segment);
		if (r < 0)
			return r;
		if (segment->impossible ||
		    (segment->match && !match_ask(segment->match, at->zone, ret_asked)))
			continue;
		*ret_group = at;
		return 1;
	}
	return 0;
}

static int find_groups(struct finder *w)
{
	struct finding *f = w->f;
	int r = 1;

	for (size_t n = 0; r > 0 && (w->most == 0 || n < w->most); n++) {
		const struct find_group *at;
		struct segment_group *group;
		struct match_asked asked;
		int over = leash_check(); /* without the lock: it may wait */

		pthread_mutex_lock(&f->lock);
		f->failed = f->failed ? f->failed : over;
		r = f->failed ? 0 : next_group(f, &at, &asked);
		if (r < 0)
			f->failed = r;
		pthread_mutex_unlock(&f->lock);
		if (r <= 0)
			break;
		r = group_get(f, &w->open, at->segment, at->group, &group);
		if (r == 0)
			r = find_in_group(f, at, group, &asked, w->room);
		if (r == 0) {
			r = 1;
			continue;
		}
		pthread_mutex_lock(&f->lock);
		f->failed = f->failed ? f->failed : r;
		pthread_mutex_unlock(&f->lock);
	}
	return r;
}

static void *find_groups_thread(void *argument)
{
	struct finder *w = argument;
	bool held = leash_hold(w->leash);

	find_groups(w);
	if (held)
		leash_drop();
	return NULL;
}

/* A search that is not soon at its end is shared with the other processors. */
static int find_in_groups(struct finding *f, struct finder *first)
{
	struct finder others[THREADS_MOST];
	pthread_t threads[THREADS_MOST];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = 0, want;
	int r = find_list_groups(f);

	if (r < 0)
		return r;
	first->most = ALONE_GROUPS;
	r = find_groups(first);
	first->most = 0;
	if (r <= 0)
		return f->failed;
	want = processors > 1 ? MIN((uint32_t)processors - 1, THREADS_MOST) : 0;
	for (; n < want && f->group_n - f->next_group > ALONE_GROUPS; n++) {
		others[n] =
			(struct finder){.f = f, .room = match_room_new(), .leash = leash_held()};
		if (!others[n].room ||
		    pthread_create(&threads[n], NULL, find_groups_thread, &others[n]) != 0) {
			match_room_free(others[n].room);
			break; /* with fewer it takes longer */
		}
	}
	find_groups(first);
	while (n-- > 0) {
		pthread_join(threads[n], NULL);
		open_groups_done(&others[n].open);
		match_room_free(others[n].room);
	}
	return f->failed;
}

static int find_hits(struct finding *f, struct finder *first)
{
	int r;

	f->hits = calloc(f->limit + 1, sizeof(*f->hits));
	f->segments = calloc(f->snapshot->view->segment_n + 1, sizeof(*f->segments));
	first->room = match_room_new();
	if (!f->hits || !f->segments || !first->room)
		return -ENOMEM;
	r = find_in_heads(f);
	if (r == 0)
		r = find_in_groups(f, first);
	if (r == 0)
		hits_sort(f);
	return r;
}

static int head_hit_rows(const struct finding *f, const struct find_hit *hit, struct event_set *set)
{
	const struct snapshot *s = f->snapshot;
	int r = head_trace(s->view->heads[hit->group], s->marks[hit->group], hit->key.id, set);

	return r == 0 && set->n > GIANT_ROWS ? -E2BIG : r;
}

static int hit_rows(const struct finding *f, struct open_groups *open, const struct find_hit *hit,
		    bool many, struct event_set *set)
{
	struct segment_group *group;
	int r;

	if (hit->segment == FIND_ANYWHERE)
		return snapshot_trace_bare(f->snapshot, hit->key.id, GIANT_ROWS, set);
	if (hit->segment == FIND_IN_HEAD)
		return head_hit_rows(f, hit, set);
	r = group_get(f, open, hit->segment, hit->group, &group);
	if (r == 0 && many)
		group_expect_many(group);
	return r == 0 ? group_rows_bare(group, hit->first, hit->rows, set) : r;
}

/* Hits of one group after each other, so that it is opened once. */
static int by_place(const void *a, const void *b)
{
	const struct find_hit *x = *(const struct find_hit *const *)a,
			      *y = *(const struct find_hit *const *)b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* Are there more hits in the group of the i-th than one by one are cheap? */
static bool has_many(const struct find_hit *const *places, size_t i, size_t n)
{
	return i + MANY_HITS < n && by_place(&places[i], &places[i + MANY_HITS]) == 0;
}

/* --- rows of hits in many groups, fetched by several threads --- */

struct fetched {
	struct event_set set;
	bool done;
	int result;
};

/* One thread's share. */
struct fetching {
	const struct finding *f;
	struct open_groups *open;
	const struct find_hit *const *places;
	size_t from, end, n;
	struct fetched *fetched;
	struct leash *leash; /* of who asks */
};

static void fetch(const struct fetching *x)
{
	for (size_t i = x->from; i < x->end; i++) {
		struct fetched *to = &x->fetched[i];

		if (x->places[i]->segment >= FIND_IN_HEAD || x->places[i]->rows > SHARED_ROWS)
			continue; /* one at a time */
		to->result = leash_check();
		if (to->result == 0)
			to->result = hit_rows(x->f, x->open, x->places[i],
					      has_many(x->places, i, x->n), &to->set);
		to->done = true;
	}
}

static void *fetch_thread(void *argument)
{
	const struct fetching *x = argument;
	bool held = leash_hold(x->leash);

	fetch(x);
	if (held)
		leash_drop();
	return NULL;
}

static size_t threads_for(const struct find_hit *const *places, size_t n)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t groups = n > 0;

	for (size_t i = 1; i < n; i++)
		groups += by_place(&places[i - 1], &places[i]) != 0;
	if (groups < SHARED_PLACES || n > SHARED_HITS || processors < 2)
		return 1;
	groups = MIN(groups / (SHARED_PLACES / 2), (size_t)THREADS_MOST);
	return MIN((size_t)processors, groups);
}

/* Fetches rows ahead; what it leaves out, or cannot start a thread for, is fetched later. */
static void fetch_shared(const struct finding *f, struct open_groups *open,
			 const struct find_hit *const *places, size_t n, size_t thread_n,
			 struct fetched *fetched)
{
	struct open_groups opened[THREADS_MOST] = {0};
	struct fetching shares[THREADS_MOST];
	pthread_t threads[THREADS_MOST];
	size_t started = 0;

	for (size_t i = 0; i < thread_n; i++)
		shares[i] = (struct fetching){.f = f,
					      .open = i == 0 ? open : &opened[i],
					      .places = places,
					      .from = n * i / thread_n,
					      .end = n * (i + 1) / thread_n,
					      .n = n,
					      .fetched = fetched,
					      .leash = leash_held()};
	for (size_t i = 1; i < thread_n; i++, started++)
		if (pthread_create(&threads[i], NULL, fetch_thread, &shares[i]) != 0)
			break;
	fetch(&shares[0]);
	for (size_t i = 1; i <= started; i++) {
		pthread_join(threads[i], NULL);
		open_groups_done(&opened[i]);
	}
}

/* What was found, without looking at it again. */
static void list_keys(const struct finding *f, struct trace_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		list->rows[i] = (struct trace_summary){.id = f->hits[i].key.id,
						       .start_ns = f->hits[i].key.start_ns,
						       .duration_ns = f->hits[i].key.duration_ns};
}

static int summarise(const struct finding *f, struct open_groups *open, struct trace_list *list)
{
	const struct find_hit **places;
	_cleanup_(freep)
	struct fetched *fetched = NULL;
	size_t thread_n;
	int r = 0;

	list->n = MIN(f->hit_n, f->limit);
	list->more = f->hit_n > f->limit;
	list->rows = arena_zalloc(list->arena, list->n + 1, sizeof(*list->rows));
	places = arena_zalloc(list->arena, list->n + 1, sizeof(*places));
	if (!list->rows || !places)
		return -ENOMEM;
	if (f->query->keys) {
		list_keys(f, list);
		return 0;
	}
	for (size_t i = 0; i < list->n; i++)
		places[i] = &f->hits[i];
	qsort(places, list->n, sizeof(*places), by_place);
	thread_n = threads_for(places, list->n);
	fetched = calloc(list->n + 1, sizeof(*fetched));
	if (!fetched)
		return -ENOMEM;
	if (thread_n > 1)
		fetch_shared(f, open, places, list->n, thread_n, fetched);
	for (size_t i = 0; i < list->n; i++) {
		struct trace_summary *to = &list->rows[places[i] - f->hits];
		struct fetched *at = &fetched[i];

		if (!at->done && r == 0)
			r = leash_check();
		if (!at->done && r == 0)
			at->result = hit_rows(f, open, places[i], has_many(places, i, list->n),
					      &at->set);
		if (r == 0 && at->result == -E2BIG)
			r = giant_summarise(f->snapshot, places[i]->key.id, list->arena, to);
		else if (r == 0)
			r = at->result ? at->result
				       : trace_summarise(at->set.refs, at->set.n, list->arena, to);
		event_set_done(&at->set);
	}
	return r;
}

int snapshot_find(const struct snapshot *s, const struct store_query *query,
		  struct trace_list *ret_list)
{
	struct trace_list list = {.arena = calloc(1, sizeof(struct arena))};
	struct finding f = {.snapshot = s,
			    .query = query,
			    .limit = query->limit ? query->limit : LIMIT_DEFAULT};
	struct finder first = {.f = &f};
	int r;

	id_set_init(&f.joint);
	id_set_init(&f.in_heads);
	pthread_mutex_init(&f.lock, NULL);
	r = list.arena ? find_hits(&f, &first) : -ENOMEM;
	if (r == 0)
		r = summarise(&f, &first.open, &list);
	open_groups_done(&first.open);
	match_room_free(first.room);
	for (size_t i = 0; f.segments && i < s->view->segment_n; i++) {
		match_free(f.segments[i].match);
		if (f.segments[i].pinned)
			segment_unpin(s->view->segments[i]->segment);
	}
	pthread_mutex_destroy(&f.lock);
	id_set_done(&f.joint);
	id_set_done(&f.in_heads);
	free(f.segments);
	free(f.groups);
	free(f.hits);
	if (r < 0)
		trace_list_done(&list);
	else
		*ret_list = list;
	return r;
}
