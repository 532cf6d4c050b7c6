/* tests/unit/exec/column_t.h - what tests of the column path share: stores of random rows, and
 * plans made by hand. */
#ifndef CAUSET_TESTS_UNIT_EXEC_COLUMN_T_H
#define CAUSET_TESTS_UNIT_EXEC_COLUMN_T_H

#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "lang/plan_build.h"
#include "store/engine.h"
#include "store/view.h"

#define T0     1700000000000000000ULL
#define SECOND 1000000000LL

/* Nothing is sampled or sent twice, and each trace lies in one place. */
static bool simple;
static uint64_t simple_base; /* of the numbers of traces */
/* Names are few and times are there, so that totals of segments keep everything apart. */
static bool few_names;

/* --- rows --- */

static inline void add_attrs(struct batch *b, struct rng *rng)
{
	static const char *const colours[] = {"red", "green", "blue", "", "true"};
	char text[40];

	for (uint64_t n = rng_below(rng, 6); n > 0; n--)
		switch (rng_below(rng, 11)) {
		case 0:
			batch_attr_string(b, SLICE("colour"),
					  slice_cstr(colours[rng_below(rng, 5)]));
			break;
		case 1: /* one key, many types */
			batch_attr_int(b, SLICE("colour"), (int64_t)rng_below(rng, 3));
			break;
		case 2:
			snprintf(text, sizeof(text), "id-%u", (unsigned)rng_below(rng, 100000));
			batch_attr_string(b, SLICE("request"), slice_cstr(text));
			break;
		case 3:
			batch_attr_int(b, SLICE("n"), (int64_t)rng_below(rng, 10) - 3);
			break;
		case 4:
			batch_attr_double(b, SLICE("x"), (double)rng_below(rng, 80) / 4);
			break;
		case 5:
			batch_attr_bool(b, SLICE("flag"), rng_below(rng, 2));
			break;
		case 6: { /* a list */
			uint32_t count = (uint32_t)rng_below(rng, 4),
				 first = batch_nested(b, count);
			struct attr list =
				batch_list(b, VALUE_ARRAY, (struct value_range){first, count});

			for (uint32_t i = 0; i < count; i++)
				b->nested[first + i] = (struct attr){
					.type = VALUE_STRING,
					.string = batch_string(
						b, slice_cstr(colours[rng_below(rng, 3)]))};
			list.key = batch_string(b, SLICE("tags"));
			batch_attr(b, list);
			break;
		}
		case 7: /* a key without a value, which may come before or after one with */
			batch_attr(b, (struct attr){.key = batch_string(b, SLICE("colour")),
						    .type = VALUE_EMPTY});
			break;
		case 8: /* bytes that are some text, too */
			batch_attr(b, (struct attr){
					      .key = batch_string(b, SLICE("colour")),
					      .type = VALUE_BYTES,
					      .string = batch_string(
						      b, slice_cstr(colours[rng_below(rng, 3)]))});
			break;
		default: /* keys that differ from row to row */
			snprintf(text, sizeof(text), "key%u", (unsigned)rng_below(rng, 60));
			batch_attr_string(b, slice_cstr(text),
					  slice_cstr(colours[rng_below(rng, 3)]));
		}
}

static inline void add_row(struct batch *b, struct rng *rng, uint32_t traces, uint32_t resource)
{
	static const char *const names[] = {"get", "put", "GET /", "list things"};
	static const char *const states[] = {"ot=th:8", "ot=th:c", "x=y", "ot=th:0"};
	uint64_t trace = 1 + rng_below(rng, traces) + simple_base;
	struct attr_range attrs = {(uint32_t)b->attr_n, 0};
	uint32_t name, index;
	char text[32];
	struct event *e;

	snprintf(text, sizeof(text), "item %u", (unsigned)rng_below(rng, 5000));
	name = batch_string(b, few_names || rng_below(rng, 3) ? slice_cstr(names[rng_below(rng, 4)])
							      : slice_cstr(text));
	add_attrs(b, rng);
	attrs.count = (uint32_t)b->attr_n - attrs.first;
	e = batch_event(b);
	index = (uint32_t)b->event_n - 1;
	/* Random enough to have passed its samplers now and then. */
	store_be64(e->trace_id.b + 8, trace * 0x9e3779b97f4a7c15ULL | 0xff);
	e->trace_id.b[0] = 1;
	e->type = rng_below(rng, 8) == 0 ? EVENT_POINT : EVENT_SPAN;
	e->id1 = 1 + rng_next(rng) % 1000000;
	e->id2 = rng_below(rng, 3) ? 1 + rng_next(rng) % 1000 : 0;
	e->time_ns = rng_below(rng, 50) == 0 && !few_names
			     ? 0
			     : T0 + trace * SECOND + rng_below(rng, 500000);
	e->end_ns = rng_below(rng, 20) == 0 ? 0 : e->time_ns + rng_below(rng, 3000) - 100;
	e->status = rng_below(rng, 12) == 0 ? STATUS_ERROR : STATUS_UNSET;
	e->kind = (int32_t)rng_below(rng, 6);
	e->name = name;
	e->resource = resource;
	e->attrs = attrs;
	if (trace % 3 == 0 && !simple) {
		batch_extra(b, index)->trace_state = batch_string(b, slice_cstr(states[trace % 4]));
	} else if (rng_below(rng, 20) == 0) {
		batch_extra(b, index)->status_message = batch_string(b, SLICE("broken"));
	}
}

static inline struct batch *random_rows(struct rng *rng, uint32_t traces, uint32_t rows)
{
	static const char *const services[] = {"front", "back", "db"};
	struct batch *b = batch_new(0);
	uint32_t resources = 1 + (uint32_t)rng_below(rng, 3);

	b->owner = batch_string(b, SLICE("local"));
	b->sender = batch_string(b, SLICE("10.0.0.1"));
	b->received_ns = (int64_t)T0;
	b->kept_threshold = simple || rng_below(rng, 4) ? 0 : 0x80000000000000;
	batch_scope(b);
	for (uint32_t i = 0; i < resources; i++) {
		struct attr_range attrs = {(uint32_t)b->attr_n, 0};
		uint32_t at;

		if (rng_below(rng, 4))
			batch_attr_string(b, SLICE("service.name"),
					  slice_cstr(services[rng_below(rng, 3)]));
		if (rng_below(rng, 2))
			batch_attr_string(b, SLICE("host.name"), SLICE("here"));
		if (rng_below(rng, 2))
			batch_attr_string(b, SLICE("colour"), SLICE("red"));
		attrs.count = (uint32_t)b->attr_n - attrs.first;
		at = batch_resource(b);
		b->resources[at].attrs = attrs;
	}
	for (uint32_t i = 0; i < rows; i++)
		add_row(b, rng, traces, (uint32_t)rng_below(rng, resources));
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* --- a store --- */

struct world {
	char dir[64];
	struct store *store;
	struct snapshot snapshot;
};

static inline void appended(struct store_append *append, int result)
{
	(void)append;
	assert_int_equal(result, 0);
}

static inline void append(struct world *w, struct batch *b)
{
	struct store_append a = {.batch = b, .done = appended};

	store_append(w->store, &a);
	assert_int_equal(store_commit(w->store, NULL, 0), 0); /* and so it is there */
}

static inline void report(void *context, const char *text)
{
	(void)context;
	print_message("%s\n", text);
}

static inline void world_open(struct world *w, uint64_t seed, uint32_t traces, uint32_t rows)
{
	struct engine_options options = {.dir = w->dir, .manual = true, .report = report};
	struct rng rng = {seed};
	struct error error = {0};

	*w = (struct world){.dir = "/tmp/causet-column-XXXXXX"};
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(engine_open(&options, &w->store, &error), 0);
	for (uint64_t i = 0; i < 5; i++) {
		struct batch *b = random_rows(&rng, traces, rows);

		simple_base += simple ? traces : 0;
		if (!simple && rng_below(&rng, 2)) /* the same rows again, from another batch */
			append(w, batch_ref(b));
		append(w, b);
		if (i < 4 || simple)
			assert_int_equal(engine_flush(w->store), 0);
		if (i == 2 && seed % 2)
			assert_int_equal(engine_compact(w->store, true), 0);
	}
	assert_int_equal(store_snapshot(w->store, &w->snapshot), 0);
}

static inline void world_close(struct world *w)
{
	char command[100];

	snapshot_done(&w->snapshot);
	store_close(w->store);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
}

/* --- plans by hand --- */

static struct plan_build build;

static inline const struct plan_expr *attr(enum plan_scope scope, const char *key)
{
	return build_attr(&build, scope, OF_SELF, slice_cstr(key));
}

static inline const struct plan_expr *field(enum plan_field f)
{
	return build_field(&build, f, OF_SELF, PLAN_ANY);
}

static inline const struct plan_expr *text(const char *s)
{
	return build_const(&build, (struct plan_value){.type = PLAN_STRING, .s = slice_cstr(s)});
}

static inline const struct plan_expr *number(int64_t i)
{
	return build_const(&build, (struct plan_value){.type = PLAN_INT, .i = i});
}

static inline const struct plan_expr *op(enum plan_operator o, const struct plan_expr *a,
					 const struct plan_expr *b)
{
	return build_op(&build, o, PLAN_ANY, a, b);
}

static inline const struct plan_expr *column(uint32_t i)
{
	return build_column(&build, i, PLAN_ANY);
}

#define MOST 10

struct list {
	const struct plan_expr *e[MOST];
	uint32_t n;
};

#define LIST(...)                                                                                  \
	((struct list){{__VA_ARGS__},                                                              \
		       sizeof((const struct plan_expr *[]){__VA_ARGS__}) / sizeof(void *)})

static inline const struct plan_expr *const *kept(struct list l)
{
	const struct plan_expr **copy = build_alloc(&build, l.n + 1, sizeof(*copy));

	memcpy(copy, l.e, l.n * sizeof(*copy));
	return copy;
}

static inline const struct plan_column *columns(uint32_t n)
{
	return build_alloc(&build, n + 1, sizeof(struct plan_column));
}

static inline const struct plan_node *source(const struct plan_expr *predicate, struct list fields)
{
	struct plan_node *n = build_node(&build, PLAN_SOURCE, NULL, 0);

	n->source.kind = FROM_SPANS;
	n->source.name = SLICE("spans");
	n->source.predicate = predicate;
	n->source.fields = kept(fields);
	n->column_n = fields.n;
	n->columns = columns(fields.n);
	return n;
}

static inline const struct plan_node *project(const struct plan_node *in, struct list exprs)
{
	return build_project(&build, in, kept(exprs), columns(exprs.n), exprs.n);
}

static inline const struct plan_node *unnest(const struct plan_node *in, uint32_t slot)
{
	struct plan_node *n = build_over(&build, PLAN_UNNEST, in);
	uint32_t *slots = build_alloc(&build, 1, sizeof(*slots));

	*slots = slot;
	n->unnest.slots = slots;
	n->unnest.slot_n = 1;
	return n;
}

struct measure {
	enum plan_aggregate_kind kind;
	const struct plan_expr *arg;
	double parameter;
};

static inline const struct plan_node *group(const struct plan_node *in, struct list keys,
					    const struct measure *measures, uint32_t n)
{
	struct plan_node *g = build_node(&build, PLAN_GROUP, &in, 1);
	struct plan_aggregate *a = build_alloc(&build, n + 1, sizeof(*a));

	for (uint32_t i = 0; i < n; i++)
		a[i] = (struct plan_aggregate){.kind = measures[i].kind,
					       .arg = measures[i].arg,
					       .parameters = {measures[i].parameter},
					       .parameter_n = 1};
	g->group.keys = kept(keys);
	g->group.key_n = keys.n;
	g->group.aggregates = a;
	g->group.aggregate_n = n;
	g->column_n = keys.n + n;
	g->columns = columns(g->column_n);
	return g;
}

static inline const struct plan_node *sorted(const struct plan_node *in, const struct plan_expr *by,
					     bool descending, uint64_t limit)
{
	struct plan_node *n = build_over(&build, PLAN_SORT, in);
	struct plan_order *order = build_alloc(&build, 1, sizeof(*order));

	*order = (struct plan_order){by, descending};
	n->sort.orders = order;
	n->sort.n = 1;
	n->sort.limit = limit;
	return n;
}

#endif
