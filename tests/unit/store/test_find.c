/* Searches over segments and heads find what the plain engine finds: by every question, in both
 * orders, page by page, with traces cut over groups, segments and heads. */
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/leash.h"
#include "base/rng.h"
#include "core/clock.h"
#include "store/find.h"
#include "store/memory.h"
#include "store/operations.h"
#include "store/point_find.h"
#include "store/scan.h"
#include "store/span_walk.h"
#include "store/store_int.h"
#include "store/summary.h"

#define T0       ((uint64_t)1700000000 * NS_PER_S)
#define SEGMENTS 4
#ifdef __SANITIZE_THREAD__
#define QUESTIONS 17 /* of a world: many times as slow */
#else
#define QUESTIONS 100
#endif

/* --- rows with something to find in them --- */

static const char *const services[] = {"front", "back", "db", ""};
static const char *const names[] = {"get", "put", "GET /", "list things"};
static const char *const colours[] = {"red", "green", "blue", "", "true", "7", "1.5"};

/* Texts, a number and a truth; perhaps none of them. */
static void add_list(struct batch *b, struct rng *rng, struct slice key)
{
	uint32_t count = (uint32_t)rng_below(rng, 4), first = batch_nested(b, count);
	struct attr list = batch_list(b, VALUE_ARRAY, (struct value_range){first, count});

	for (uint32_t i = 0; i < count; i++) {
		uint32_t code = batch_string(b, slice_cstr(colours[rng_below(rng, 7)]));
		struct attr a = {.type = VALUE_STRING, .string = code};

		if (rng_below(rng, 4) == 0)
			a = batch_int(b, 7);
		else if (rng_below(rng, 4) == 0)
			a = (struct attr){.type = VALUE_BOOL, .word = true};
		b->nested[first + i] = a;
	}
	list.key = batch_string(b, key);
	batch_attr(b, list);
}

static void add_attr(struct batch *b, struct rng *rng)
{
	char text[64];

	switch (rng_below(rng, 8)) {
	case 0:
	case 1:
		batch_attr_string(b, SLICE("colour"), slice_cstr(colours[rng_below(rng, 7)]));
		break;
	case 2:
		snprintf(text, sizeof(text), "id-%llu", (unsigned long long)rng_below(rng, 100000));
		batch_attr_string(b, SLICE("request"), slice_cstr(text));
		break;
	case 3:
		batch_attr_int(b, SLICE("n"), (int64_t)rng_below(rng, 10) - 3);
		break;
	case 4:
		batch_attr_double(b, SLICE("x"),
				  (double)rng_below(rng, 8) / (1 + (double)rng_below(rng, 3)));
		break;
	case 5:
		batch_attr_bool(b, SLICE("flag"), rng_below(rng, 2));
		break;
	case 6: /* one key with many types */
		switch (rng_below(rng, 3)) {
		case 0:
			batch_attr_int(b, SLICE("colour"), (int64_t)rng_below(rng, 9));
			break;
		case 1:
			batch_attr_bool(b, SLICE("colour"), true);
			break;
		default:
			add_list(b, rng, rng_below(rng, 2) ? SLICE("colour") : SLICE("n"));
		}
		break;
	default: /* a key of many */
		snprintf(text, sizeof(text), "key%llu", (unsigned long long)rng_below(rng, 40));
		batch_attr_string(b, slice_cstr(text), slice_cstr(colours[rng_below(rng, 3)]));
	}
}

/* Of few; or of so many that no shape has them. */
static uint32_t row_name(struct batch *b, struct rng *rng)
{
	char text[32];

	if (rng_below(rng, 3))
		return batch_string(b, slice_cstr(names[rng_below(rng, 4)]));
	snprintf(text, sizeof(text), "item %llu", (unsigned long long)rng_below(rng, 50000));
	return batch_string(b, slice_cstr(text));
}

static void add_row(struct batch *b, struct rng *rng, uint32_t traces, uint32_t resource)
{
	uint32_t name = row_name(b, rng);
	uint64_t trace = 1 + rng_below(rng, traces);
	struct attr_range attrs = {(uint32_t)b->attr_n, 0};
	struct event *e;

	for (uint64_t n = rng_below(rng, 6); n > 0; n--)
		add_attr(b, rng);
	attrs.count = (uint32_t)b->attr_n - attrs.first;
	e = batch_event(b);
	store_be64(e->trace_id.b + 8, trace);
	e->trace_id.b[0] = 1;
	e->type = rng_below(rng, 8) == 0 ? (uint8_t)rng_below(rng, EVENT_TYPES) : EVENT_SPAN;
	/* Some have an id that is a parent's, some both sides of one. */
	e->id1 = rng_below(rng, 3) ? rng_next(rng) : 1 + rng_below(rng, 9);
	e->id2 = rng_below(rng, 3) ? 1 + rng_below(rng, 12) : 0;
	e->kind = (int32_t)rng_below(rng, 7);
	if (rng_below(rng, 4) == 0) {
		e->format = FORMAT_ZIPKIN;
		e->bits = rng_below(rng, 2) ? EVENT_SHARED : 0;
	}
	/* A trace without times has none in any piece: see "not promised" in store_find.md. */
	e->time_ns = trace % 13 == 0 ? 0 : T0 + trace * 1000 + rng_below(rng, 500);
	e->end_ns = rng_below(rng, 15) == 0 ? 0 : e->time_ns + rng_below(rng, 3000);
	e->status = rng_below(rng, 12) == 0 ? STATUS_ERROR : STATUS_UNSET;
	e->name = name;
	e->resource = resource;
	e->attrs = attrs;
}

static struct batch *random_rows(struct rng *rng, uint32_t traces, uint32_t rows)
{
	struct batch *b = batch_new(0);
	uint32_t resources = 1 + (uint32_t)rng_below(rng, 3);

	b->owner = batch_string(b, rng_below(rng, 3) ? SLICE("local") : SLICE("shop"));
	b->sender = batch_string(b, SLICE("10.0.0.1"));
	b->received_ns = (int64_t)T0;
	batch_scope(b);
	for (uint32_t i = 0; i < resources; i++) {
		struct attr_range attrs = {(uint32_t)b->attr_n, 0};
		uint32_t at;

		if (rng_below(rng, 6))
			batch_attr_string(b, SLICE("service.name"),
					  slice_cstr(services[rng_below(rng, 4)]));
		if (rng_below(rng, 2)) /* what a span may have, too */
			batch_attr_string(b, SLICE("colour"),
					  slice_cstr(colours[rng_below(rng, 3)]));
		attrs.count = (uint32_t)b->attr_n - attrs.first;
		at = batch_resource(b);
		b->resources[at].attrs = attrs;
	}
	for (uint32_t i = 0; i < rows; i++)
		add_row(b, rng, traces, (uint32_t)rng_below(rng, resources));
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* --- a store made by hand: some segments, two heads --- */

struct world {
	char dir[64];
	struct store *memory;
	struct view *view;
	struct snapshot snapshot;
	uint32_t traces;
};

static void ignore(struct store_append *append, int result)
{
	(void)append;
	assert_int_equal(result, 0);
}

static void remember(struct world *w, struct batch *b)
{
	struct store_append append = {.batch = batch_ref(b), .done = ignore};

	store_append(w->memory, &append);
}

struct piece {
	int64_t start_ns;
	uint32_t trace;
};

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Writes the batches of a head as a segment, and adds it to the view. */
static void write_segment(struct world *w, struct head *h, uint64_t number,
			  const struct trace_id *split, size_t split_n)
{
	const struct segment_options options = {.group_rows = 64};
	const struct segment_seal seal = {.split = split, .split_n = split_n};
	struct runs_mark mark = runs_mark(&h->runs);
	struct piece *pieces = calloc(mark.traces, sizeof(*pieces));
	struct manifest_segment row = {.number = number};
	struct segment_writer *writer = NULL;
	struct segment *segment = NULL;
	struct event_set set = {0};
	struct view_segment *shared;
	struct segment_info info;
	int64_t duration;

	assert_int_equal(segment_writer_new(fs_real(), w->dir, number, &options, &writer), 0);
	for (uint32_t t = 0; t < mark.traces; t++) {
		event_set_clear(&set);
		assert_true(runs_events(&h->runs, mark, t, &set));
		trace_bounds(set.refs, set.n, &pieces[t].start_ns, &duration);
		pieces[t].trace = t;
	}
	qsort(pieces, mark.traces, sizeof(*pieces), by_start);
	for (uint32_t i = 0; i < mark.traces; i++) {
		event_set_clear(&set);
		assert_true(runs_events(&h->runs, mark, pieces[i].trace, &set));
		assert_int_equal(segment_writer_add(writer, set.refs, set.n), 0);
	}
	assert_int_equal(segment_writer_finish(writer, &seal, &info), 0);
	assert_int_equal(segment_open(fs_real(), w->dir, number, &segment, NULL), 0);
	row.rows = info.rows;
	shared = view_segment_new(&row, segment);
	view_add_segment(w->view, shared);
	view_segment_unref(shared);
	event_set_done(&set);
	free(pieces);
}

static bool in_heads_before(struct head **heads, size_t n, struct trace_id id)
{
	for (size_t i = 0; i < n; i++)
		if (runs_find(&heads[i]->runs, id) != RUNS_NONE)
			return true;
	return false;
}

static void world_open(struct world *w, uint64_t seed, uint32_t traces, uint32_t rows)
{
	struct head *parts[SEGMENTS + 2];
	struct rng rng = {seed};

	*w = (struct world){
		.dir = "/tmp/causet-find-XXXXXX", .view = view_new(SEGMENTS), .traces = traces};
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(memory_store_open((size_t)1 << 30, &w->memory), 0);
	for (size_t i = 0; i < SEGMENTS + 2; i++) {
		struct trace_id *split = calloc(traces + 1, sizeof(*split));
		struct runs_mark mark;
		size_t split_n = 0;

		parts[i] = head_new();
		for (uint64_t k = 1 + rng_below(&rng, 3); k > 0; k--) {
			struct batch *b =
				random_rows(&rng, traces, 1 + (uint32_t)rng_below(&rng, rows));

			remember(w, b);
			assert_int_equal(head_add(parts[i], b, NULL, i * 100 + k, (int64_t)T0), 0);
		}
		mark = runs_mark(&parts[i]->runs);
		for (uint32_t t = 0; t < mark.traces; t++) {
			struct trace_id id = runs_trace_id(&parts[i]->runs, t);

			if (in_heads_before(parts, i, id))
				split[split_n++] = id;
		}
		if (i < SEGMENTS)
			write_segment(w, parts[i], i + 1, split, split_n);
		else
			view_add_head(w->view, parts[i]);
		free(split);
	}
	for (size_t i = 0; i < SEGMENTS + 2; i++)
		head_unref(parts[i]);
	snapshot_init(&w->snapshot, w->view);
}

static void world_close(struct world *w)
{
	char path[128], name[SEGMENT_NAME_MAX];

	snapshot_done(&w->snapshot);
	store_close(w->memory);
	for (uint64_t i = 1; i <= SEGMENTS; i++) {
		segment_name(i, name);
		snprintf(path, sizeof(path), "%s/%s", w->dir, name);
		unlink(path);
	}
	rmdir(w->dir);
}

/* --- the same answers --- */

static void compare(struct world *w, struct store_query q)
{
	for (int page = 0;; page++) {
		struct trace_list a = {0}, b = {0};
		bool more;

		assert_int_equal(store_find(w->memory, &q, &a), 0);
		assert_int_equal(snapshot_find(&w->snapshot, &q, &b), 0);
		assert_int_equal(a.n, b.n);
		assert_int_equal(a.more, b.more);
		for (size_t i = 0; i < a.n; i++) {
			assert_true(trace_id_eq(a.rows[i].id, b.rows[i].id));
			assert_true(a.rows[i].start_ns == b.rows[i].start_ns);
			assert_true(a.rows[i].duration_ns == b.rows[i].duration_ns);
			assert_int_equal(a.rows[i].spans, b.rows[i].spans);
		}
		more = a.more;
		if (more) {
			q.after = true;
			q.after_start_ns = a.rows[a.n - 1].start_ns;
			q.after_duration_ns = a.rows[a.n - 1].duration_ns;
			q.after_id = a.rows[a.n - 1].id;
		}
		trace_list_done(&a);
		trace_list_done(&b);
		if (!more)
			return;
	}
}

/* Who asks for keys alone gets those of the whole answer. */
static void compare_keys(struct world *w, struct store_query q)
{
	struct trace_list a = {0}, b = {0};

	assert_int_equal(snapshot_find(&w->snapshot, &q, &a), 0);
	q.keys = true;
	assert_int_equal(snapshot_find(&w->snapshot, &q, &b), 0);
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.more, b.more);
	for (size_t i = 0; i < a.n; i++) {
		assert_true(trace_id_eq(a.rows[i].id, b.rows[i].id));
		assert_true(a.rows[i].start_ns == b.rows[i].start_ns);
		assert_true(a.rows[i].duration_ns == b.rows[i].duration_ns);
	}
	trace_list_done(&a);
	trace_list_done(&b);
}

/* A name that is there, mostly. */
static struct slice some_name(struct world *w, struct rng *rng)
{
	struct event_set set = {0};
	struct trace_id id = {{1}};
	struct slice name = SLICE("nothing");

	store_be64(id.b + 8, 1 + rng_below(rng, w->traces));
	if (rng_below(rng, 9) && store_trace(w->memory, id, &set) == 0) {
		struct event_ref ref = set.refs[rng_below(rng, set.n)];

		name = batch_text(ref.batch, event_get(ref)->name); /* the store keeps it */
	}
	event_set_done(&set);
	return name;
}

/* A question made up of random parts. */
static void ask(struct world *w, struct rng *rng)
{
	static const char *const keys[] = {"colour",  "n",    "x",       "flag",
					   "request", "key7", "no.such", "service.name"};
	static const char *const values[] = {"red",
					     "7",
					     "-1",
					     "1.5",
					     "true",
					     "false",
					     "",
					     "0.5",
					     "2.3333333333333335",
					     "2.33333333333333",
					     "front",
					     "no"};
	struct store_tag tags[2];
	struct store_query q = {.limit = 1 + rng_below(rng, 12), .tags = tags};

	if (rng_below(rng, 2))
		q.order = STORE_SLOWEST;
	if (rng_below(rng, 4) == 0)
		q.service = slice_cstr(services[rng_below(rng, 3)]);
	q.unnamed = rng_below(rng, 9) == 0;
	if (rng_below(rng, 4) == 0)
		q.operation = some_name(w, rng);
	if (rng_below(rng, 8) == 0)
		q.owner = rng_below(rng, 2) ? SLICE("shop") : SLICE("nobody");
	for (uint64_t n = rng_below(rng, 3); n > 0; n--)
		tags[q.tag_n++] = (struct store_tag){slice_cstr(keys[rng_below(rng, 8)]),
						     slice_cstr(values[rng_below(rng, 12)])};
	q.errors = rng_below(rng, 5) == 0;
	if (rng_below(rng, 4) == 0)
		q.min_duration_ns = (int64_t)rng_below(rng, 4000);
	if (rng_below(rng, 6) == 0)
		q.max_duration_ns = 1 + (int64_t)rng_below(rng, 4000);
	if (rng_below(rng, 4) == 0)
		q.span_min_ns = (int64_t)rng_below(rng, 2000);
	if (rng_below(rng, 6) == 0)
		q.span_max_ns = 1 + (int64_t)rng_below(rng, 2000);
	if (rng_below(rng, 4) == 0)
		q.from_ns = (int64_t)(T0 + rng_below(rng, w->traces * 1000));
	if (rng_below(rng, 4) == 0)
		q.to_ns = (int64_t)(T0 + rng_below(rng, w->traces * 1000));
	compare(w, q);
	compare_keys(w, q);
}

static void random_questions_get_the_same_answers(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 9; seed++) {
		/* Nearly all traces lie in many places, some do, few do. */
		static const uint32_t traces[] = {4, 60, 4000};
		struct rng rng = {seed * 1000};
		struct world w;

		world_open(&w, seed, traces[seed % 3], seed % 2 ? 300 : 60);
		for (int i = 0; i < QUESTIONS; i++)
			ask(&w, &rng);
		world_close(&w);
	}
}

/* --- scans --- */

struct visited {
	uint64_t rows[64]; /* by trace */
	bool open[64];
};

/* What a scan shows when one segment alone is wanted. */
struct chosen {
	struct visited visited;
	struct segment *segment;
};

static int visit_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
		       bool more)
{
	struct visited *v = context;
	uint64_t trace = load_be64(id.b + 8);

	for (size_t i = 0; i < n; i++)
		assert_true(trace_id_eq(event_get(refs[i])->trace_id, id));
	if (!v->open[trace])
		assert_int_equal(v->rows[trace], 0);
	v->rows[trace] += n;
	v->open[trace] = more;
	return 0;
}

static int visit_group(void *context, struct segment_group *g, const uint32_t *pieces, uint32_t n)
{
	struct visited *v = context;
	const struct group_piece *all;
	uint32_t all_n;

	assert_int_equal(group_pieces(g, &all, &all_n), 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t trace = load_be64(all[pieces[i]].id.b + 8);

		assert_int_equal(v->rows[trace], 0);
		v->rows[trace] += all[pieces[i]].rows;
	}
	return 0;
}

static void a_scan_in_parts_shows_every_trace_once_and_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 21; seed <= 26; seed++) {
		struct event_set all = {0};
		struct visited truth = {0};
		struct world w;

		world_open(&w, seed, seed % 2 ? 60 : 5, 200);
		assert_int_equal(store_all(w.memory, &all), 0);
		for (size_t i = 0; i < all.n; i++)
			truth.rows[load_be64(event_get(all.refs[i])->trace_id.b + 8)]++;
		event_set_done(&all);
		for (uint32_t parts = 1; parts <= 4; parts += 3)
			for (int columns = 0; columns < 2; columns++) {
				struct visited v = {0};

				for (uint32_t part = 0; part < parts; part++) {
					const struct scan scan = {
						.part = part,
						.parts = parts,
						.group = columns ? visit_group : NULL,
						.trace = visit_trace,
						.context = &v,
					};

					assert_int_equal(snapshot_scan(&w.snapshot, &scan), 0);
				}
				assert_memory_equal(v.rows, truth.rows, sizeof(v.rows));
			}
		world_close(&w);
	}
}

static bool in_segment(void *context, struct segment *segment, uint32_t group)
{
	return segment == ((const struct chosen *)context)->segment;
}

static int chosen_trace(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
			bool more)
{
	return visit_trace(&((struct chosen *)context)->visited, id, refs, n, more);
}

static int chosen_group(void *context, struct segment_group *g, const uint32_t *pieces, uint32_t n)
{
	return visit_group(&((struct chosen *)context)->visited, g, pieces, n);
}

/* A trace in several places comes as a whole when one of them is wanted, and not otherwise. */
static void groups_that_are_not_wanted_rule_traces_out(void **state)
{
	size_t ruled_out = 0, joint = 0;

	(void)state;
	for (uint64_t seed = 21; seed <= 26; seed++) {
		struct event_set all = {0};
		struct visited truth = {0};
		struct world w;
		const struct view *view;

		world_open(&w, seed, 60, 40);
		view = w.snapshot.view;
		assert_int_equal(store_all(w.memory, &all), 0);
		for (size_t i = 0; i < all.n; i++)
			truth.rows[load_be64(event_get(all.refs[i])->trace_id.b + 8)]++;
		for (size_t i = 0; i < view->segment_n; i++) {
			struct chosen c = {.segment = view->segments[i]->segment};
			const struct scan scan = {.group = chosen_group,
						  .trace = chosen_trace,
						  .wanted = in_segment,
						  .context = &c};

			assert_int_equal(snapshot_scan(&w.snapshot, &scan), 0);
			for (size_t k = 0; k < all.n; k++) {
				struct trace_id id = event_get(all.refs[k])->trace_id;
				uint64_t trace = load_be64(id.b + 8);
				struct event_set set = {0};
				int r = segment_trace(c.segment, id, &set);
				bool there = r == 0 && set.n > 0;

				event_set_done(&set);
				there |= snapshot_in_heads(&w.snapshot, id);
				if (there)
					assert_int_equal(c.visited.rows[trace], truth.rows[trace]);
				joint += there && view_is_split(w.snapshot.view, id) > 0;
				ruled_out += c.visited.rows[trace] == 0;
			}
		}
		event_set_done(&all);
		world_close(&w);
	}
	assert_true(ruled_out > 0);
	assert_true(joint > 0);
}

static void same_services(struct world *w)
{
	struct service_list a = {0}, b = {0};

	assert_int_equal(store_services(w->memory, &a), 0);
	assert_int_equal(snapshot_services(&w->snapshot, &b), 0);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		assert_true(slice_eq(a.rows[i].name, b.rows[i].name));
		assert_int_equal(a.rows[i].spans, b.rows[i].spans);
		assert_int_equal(a.rows[i].errors, b.rows[i].errors);
		assert_int_equal(a.rows[i].operation_n, b.rows[i].operation_n);
		for (size_t k = 0; k < a.rows[i].operation_n; k++)
			assert_true(slice_eq(a.rows[i].operations[k], b.rows[i].operations[k]));
		assert_memory_equal(a.rows[i].kinds, b.rows[i].kinds,
				    a.rows[i].operation_n * sizeof(*a.rows[i].kinds));
	}
	service_list_done(&a);
	service_list_done(&b);
}

static void operations_add_up_to_the_same(void **state)
{
	struct operation_list a = {0}, b = {0};
	struct world w;

	(void)state;
	world_open(&w, 31, 60, 300);
	assert_int_equal(store_operations(w.memory, &a), 0);
	assert_int_equal(snapshot_operations(&w.snapshot, &b), 0);
	assert_int_equal(a.n, b.n);
	assert_true(a.n >= 100);
	for (size_t i = 0; i < a.n; i++) {
		assert_true(slice_eq(a.rows[i].service, b.rows[i].service));
		assert_true(slice_eq(a.rows[i].name, b.rows[i].name));
		assert_int_equal(a.rows[i].spans, b.rows[i].spans);
		assert_int_equal(a.rows[i].errors, b.rows[i].errors);
		assert_int_equal(a.rows[i].p50_ns, b.rows[i].p50_ns);
		assert_int_equal(a.rows[i].p99_ns, b.rows[i].p99_ns);
		assert_int_equal(a.rows[i].max_ns, b.rows[i].max_ns);
	}
	operation_list_done(&a);
	operation_list_done(&b);
	same_services(&w);
	world_close(&w);
}

/* What a walk has shown, whatever the order. */
struct shown {
	uint64_t sum, spans, with_parent, texts;
};

/* Some values of them are in shapes, in columns, of another type, or empty. */
static const struct slice shown_keys[] = {{"colour", 6}, {"request", 7}, {"n", 1}, {"nobody", 6}};

static uint64_t text_hash(struct slice text, uint64_t seed)
{
	return hash_bytes(text.p ? text.p : "", text.n, seed);
}

static int note_span(void *context, const struct span_seen *s)
{
	struct shown *v = context;
	uint64_t hash = hash_bytes(s->trace_id.b, sizeof(s->trace_id.b), 1);

	hash = text_hash(s->name, text_hash(s->service, hash));
	hash = hash_u64(s->id, hash_u64(s->time_ns, hash_u64(s->duration_ns, hash)));
	hash = hash_u64((uint64_t)(uint32_t)s->kind << 32 | (uint32_t)s->status, hash);
	hash = text_hash(s->parent_service, hash_u64(s->has_parent, hash_u64(s->ended, hash)));
	for (size_t i = 0; i < ARRAY_SIZE(shown_keys); i++) {
		hash = text_hash(s->texts[i], hash_u64(s->texts[i].p != NULL, hash));
		v->texts += s->texts[i].p != NULL;
	}
	v->sum += hash;
	v->spans++;
	v->with_parent += s->has_parent;
	return 0;
}

static void a_walk_shows_every_span_with_its_parent(void **state)
{
	(void)state;
	for (uint64_t seed = 41; seed <= 46; seed++) {
		struct world w;

		world_open(&w, seed, seed % 2 ? 60 : 5, 200);
		for (int window = 0; window < 2; window++) {
			struct shown a = {0}, b = {0};
			struct store_walk walk = {
				.from_ns = window ? (int64_t)T0 + 20 * 1000 : 0,
				.to_ns = window ? (int64_t)T0 + 50 * 1000 : 0,
				.keys = shown_keys,
				.key_n = ARRAY_SIZE(shown_keys),
				.span = note_span,
				.context = &a,
			};

			assert_int_equal(store_spans(w.memory, &walk), 0);
			walk.context = &b;
			assert_int_equal(snapshot_spans(&w.snapshot, &walk), 0);
			assert_int_equal(a.spans, b.spans);
			assert_int_equal(a.with_parent, b.with_parent);
			assert_int_equal(a.sum, b.sum);
			if (!window)
				assert_true(a.with_parent > 0 && a.with_parent < a.spans &&
					    a.texts > a.spans / 4);
		}
		world_close(&w);
	}
}

/* --- stopping --- */

struct stopping {
	_Atomic bool cancel;
	uint64_t seen;
};

static int stop_at_first_span(void *context, const struct span_seen *span)
{
	struct stopping *s = context;

	s->seen++;
	atomic_store(&s->cancel, true);
	return 0;
}

static int stop_at_first_point(void *context, struct trace_id id, int64_t start_ns)
{
	return stop_at_first_span(context, NULL);
}

/* Each question of the table, with a client that has gone and with a time that has passed; without
 * either they are answered. */
static int ask_kind(const struct world *w, int kind)
{
	struct store_query by_tag = {.tags = &(struct store_tag){SLICE("request"), SLICE("none")},
				     .tag_n = 1};
	struct store_query slowest = {.order = STORE_SLOWEST, .limit = 5};
	struct stopping unused = {.cancel = false};
	const struct store_walk walk = {.span = stop_at_first_span, .context = &unused};
	const struct point_find point = {.tag = {SLICE("colour"), SLICE("red")},
					 .trace = stop_at_first_point,
					 .context = &unused};
	struct operation_list operations;
	struct trace_list list;
	int r;

	switch (kind) {
	case 0:
	case 1:
		r = snapshot_find(&w->snapshot, kind ? &slowest : &by_tag, &list);
		if (r == 0)
			trace_list_done(&list);
		return r;
	case 2:
		return snapshot_spans(&w->snapshot, &walk);
	case 3:
		r = snapshot_operations(&w->snapshot, &operations);
		if (r == 0)
			operation_list_done(&operations);
		return r;
	default:
		return snapshot_point_find(&w->snapshot, &point);
	}
}

static void a_question_nobody_waits_for_is_not_answered(void **state)
{
	_Atomic bool gone = true;
	struct leash leash;
	struct world w;

	world_open(&w, 3, 60, 200);
	for (int kind = 0; kind < 5; kind++) {
		assert_int_equal(ask_kind(&w, kind), 0);
		leash_begin(&leash, NULL, &gone, 0);
		assert_int_equal(ask_kind(&w, kind), -ECANCELED);
		leash_end(&leash);
		leash_begin(&leash, NULL, NULL, clock_mono_ns() - 1);
		assert_int_equal(ask_kind(&w, kind), -ETIMEDOUT);
		leash_end(&leash);
	}
	world_close(&w);
}

static void a_walk_stops_in_the_middle(void **state)
{
	struct stopping s = {.cancel = false};
	struct shown all = {0};
	struct store_walk walk = {.keys = shown_keys,
				  .key_n = ARRAY_SIZE(shown_keys),
				  .span = note_span,
				  .context = &all};
	struct leash leash;
	struct world w;

	world_open(&w, 5, 60, 200);
	assert_int_equal(snapshot_spans(&w.snapshot, &walk), 0);
	walk = (struct store_walk){.span = stop_at_first_span, .context = &s};
	leash_begin(&leash, NULL, &s.cancel, 0);
	assert_int_equal(snapshot_spans(&w.snapshot, &walk), -ECANCELED);
	leash_end(&leash);
	assert_in_range(s.seen, 1, all.spans / 2);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_questions_get_the_same_answers),
		cmocka_unit_test(a_scan_in_parts_shows_every_trace_once_and_whole),
		cmocka_unit_test(groups_that_are_not_wanted_rule_traces_out),
		cmocka_unit_test(operations_add_up_to_the_same),
		cmocka_unit_test(a_walk_shows_every_span_with_its_parent),
		cmocka_unit_test(a_question_nobody_waits_for_is_not_answered),
		cmocka_unit_test(a_walk_stops_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
