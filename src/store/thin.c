/* store/thin.c - what stays of old traces: all that is remarkable, and a share of the rest. */
#include "store/thin.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/glob.h"
#include "sampling/second.h"
#include "segment/trace_bounds.h"
#include "store/attr_text.h"
#include "store/summary.h"
#include "store/thin_shape.h"

/* An operation (service and name of the root) with the durations seen, later the cut per rule. */
struct operation {
	struct slice service, name;
	size_t first, n; /* in `durations`, once sorted */
};

/* Traces count for as many as they stand for, so that what is usual does not depend on whether
 * there was a thinning before. */
struct duration {
	int64_t ns;
	uint32_t operation;
	double weight; /* once sorted: with all shorter ones of its operation */
};

struct shape_count {
	uint64_t hash;
	double n;
};

/* What both rounds want to know of a trace. */
struct facts {
	struct slice service, name;
	int64_t duration_ns;
	uint64_t shape;
	int64_t arrived_ns;
	uint64_t passed; /* the largest threshold of its rows */
	struct trace_id id;
	uint32_t chosen; /* a bit for each rule that chooses it by an attribute */
	bool error;
};

/* The trace whose pages come in. */
struct pages_seen {
	struct facts facts; /* but for shape and duration; texts lie in the arena */
	struct trace_bounds bounds;
	bool rooted, root_first; /* there was a root, and one without a parent */
	uint64_t root_ns;
};

struct thin {
	const struct thin_rules *rules;
	int64_t now_ns;
	struct arena arena; /* operations' texts */
	struct operation *operations;
	size_t operation_n, operation_capacity;
	struct map by_operation;
	struct duration *durations;
	size_t duration_n, duration_capacity;
	struct shape_count *shapes;
	size_t shape_n, shape_capacity;
	struct map by_shape;
	struct thin_shape shape; /* scratch */
	struct pages_seen pages;
	struct thin_counts counts;
};

int thin_rules_check(const struct thin_rules *rules, struct error *error)
{
	if (rules->n > THIN_MAX_RULES)
		return error_set(error, -EINVAL, "more than %d rules for thinning", THIN_MAX_RULES);
	for (size_t i = 0; i < rules->n; i++) {
		const struct thin_rule *r = &rules->rows[i];

		if (r->after_ns < 0 || (i > 0 && r->after_ns <= r[-1].after_ns))
			return error_set(
				error, -EINVAL,
				"rules for thinning must differ in age, the younger first");
		if (r->threshold > THRESHOLD_NEVER)
			return error_set(error, -EINVAL, "a share must lie between 0 and 1");
		if (!(r->slow >= 0 && r->slow < 1))
			return error_set(error, -EINVAL,
					 "the slow tail begins at a quantile from 0 to below 1");
		if (r->attribute_n > THIN_MAX_ATTRIBUTES)
			return error_set(error, -EINVAL, "more than %d attributes in one rule",
					 THIN_MAX_ATTRIBUTES);
	}
	return 0;
}

int thin_new(const struct thin_rules *rules, int64_t now_ns, struct thin **ret_thin)
{
	struct thin *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->rules = rules;
	t->now_ns = now_ns;
	map_init(&t->by_operation);
	map_init(&t->by_shape);
	*ret_thin = t;
	return 0;
}

struct thin *thin_free(struct thin *t)
{
	if (!t)
		return NULL;
	arena_done(&t->arena);
	free(t->operations);
	free(t->durations);
	free(t->shapes);
	map_done(&t->by_operation);
	map_done(&t->by_shape);
	thin_shape_done(&t->shape);
	free(t);
	return NULL;
}

static bool range_has(const struct batch *b, struct attr_range range,
		      const struct thin_attribute *wanted)
{
	char room[ATTR_TEXT_MAX];

	for (uint32_t i = range.first; i < range.first + range.count; i++) {
		const struct attr *a = &b->attrs[i];

		if (glob_match(wanted->key, batch_text(b, a->key)) &&
		    (wanted->value.n == 0 || glob_match(wanted->value, attr_text(b, a, room))))
			return true;
	}
	return false;
}

static bool is_chosen(const struct event_ref *refs, size_t n, const struct thin_rule *rule)
{
	for (size_t i = 0; i < n; i++) {
		const struct batch *b = refs[i].batch;
		const struct event *e = event_get(refs[i]);

		for (size_t k = 0; k < rule->attribute_n; k++)
			if (range_has(b, e->attrs, &rule->attributes[k]) ||
			    range_has(b, b->resources[e->resource].attrs, &rule->attributes[k]))
				return true;
	}
	return false;
}

/* By which rules? */
static uint32_t chosen_of(const struct thin *t, const struct event_ref *refs, size_t n)
{
	uint32_t chosen = 0;

	for (size_t i = 0; i < t->rules->n; i++)
		chosen |= (uint32_t)is_chosen(refs, n, &t->rules->rows[i]) << i;
	return chosen;
}

static int facts_of(struct thin *t, const struct event_ref *refs, size_t n, struct facts *ret)
{
	struct facts f = {0};
	struct event_ref root = trace_root(refs, n);
	int64_t start;

	for (size_t i = 0; i < n; i++) {
		f.arrived_ns = MAX(f.arrived_ns, refs[i].batch->received_ns);
		f.passed = MAX(f.passed, refs[i].batch->kept_threshold);
		f.error = f.error || event_failed(event_get(refs[i]));
	}
	f.chosen = chosen_of(t, refs, n);
	if (n > 0)
		f.id = event_get(refs[0])->trace_id;
	if (root.batch) {
		f.service = batch_service(root.batch, event_get(root));
		f.name = batch_text(root.batch, event_get(root)->name);
	}
	trace_bounds(refs, n, &start, &f.duration_ns);
	*ret = f;
	return thin_shape_of(&t->shape, refs, n, &ret->shape);
}

/* --- a trace in pages --- */

void thin_pages_begin(struct thin *t)
{
	t->pages = (struct pages_seen){.bounds = trace_bounds_begin()};
}

int thin_pages_add(struct thin *t, const struct event_ref *refs, size_t n)
{
	struct pages_seen *p = &t->pages;
	struct event_ref root = trace_root(refs, n);

	for (size_t i = 0; i < n; i++) {
		trace_bounds_add(&p->bounds, event_get(refs[i]));
		p->facts.arrived_ns = MAX(p->facts.arrived_ns, refs[i].batch->received_ns);
		p->facts.passed = MAX(p->facts.passed, refs[i].batch->kept_threshold);
		p->facts.error = p->facts.error || event_failed(event_get(refs[i]));
	}
	p->facts.chosen |= chosen_of(t, refs, n);
	if (n > 0)
		p->facts.id = event_get(refs[0])->trace_id;
	/* As trace_root() chooses. */
	if (root.batch) {
		const struct event *e = event_get(root);
		bool first = e->id2 == 0;

		if (p->rooted &&
		    (first < p->root_first || (first == p->root_first && e->time_ns >= p->root_ns)))
			return 0;
		p->rooted = true;
		p->root_first = first;
		p->root_ns = e->time_ns;
		p->facts.service = arena_dup(&t->arena, batch_service(root.batch, e));
		p->facts.name = arena_dup(&t->arena, batch_text(root.batch, e->name));
		if (!p->facts.service.p || !p->facts.name.p)
			return -ENOMEM;
	}
	return 0;
}

/* Giants of one operation have one shape: what they have in common is their size. */
static struct facts pages_facts(const struct thin *t)
{
	struct facts f = t->pages.facts;
	int64_t start;

	trace_bounds_end(&t->pages.bounds, &start, &f.duration_ns);
	f.shape = hash_bytes(f.name.p, f.name.n, hash_bytes(f.service.p, f.service.n, 1));
	return f;
}

/* The rule a trace is old enough for, or NULL. */
static const struct thin_rule *rule_for(const struct thin *t, int64_t arrived_ns)
{
	const struct thin_rule *found = NULL;

	for (size_t i = 0; i < t->rules->n; i++)
		if (t->now_ns - arrived_ns >= t->rules->rows[i].after_ns)
			found = &t->rules->rows[i];
	return found;
}

/* --- learning what is usual --- */

static bool operation_is(const void *context, uint32_t value, const void *key)
{
	const struct operation *o = &((const struct thin *)context)->operations[value];
	const struct facts *f = key;

	return slice_eq(o->service, f->service) && slice_eq(o->name, f->name);
}

static uint64_t operation_hash(const struct thin *t, const struct facts *f)
{
	return hash_bytes(f->name.p, f->name.n,
			  hash_bytes(f->service.p, f->service.n, t->by_operation.seed));
}

static uint32_t operation_find(const struct thin *t, const struct facts *f)
{
	return map_get(&t->by_operation, operation_hash(t, f), operation_is, t, f);
}

static uint32_t operation_add(struct thin *t, const struct facts *f)
{
	uint32_t at = operation_find(t, f);
	struct operation o;

	if (at != MAP_NONE)
		return at;
	o = (struct operation){.service = arena_dup(&t->arena, f->service),
			       .name = arena_dup(&t->arena, f->name)};
	if (!o.service.p || !o.name.p ||
	    !vec_reserve(&t->operations, &t->operation_capacity, t->operation_n + 1, sizeof(o)) ||
	    !map_put(&t->by_operation, operation_hash(t, f), (uint32_t)t->operation_n))
		return MAP_NONE;
	t->operations[t->operation_n] = o;
	return (uint32_t)t->operation_n++;
}

static bool shape_is(const void *context, uint32_t value, const void *key)
{
	return ((const struct thin *)context)->shapes[value].hash == *(const uint64_t *)key;
}

static uint32_t shape_find(const struct thin *t, uint64_t hash)
{
	return map_get(&t->by_shape, hash, shape_is, t, &hash);
}

static bool shape_count(struct thin *t, uint64_t hash, double weight)
{
	uint32_t at = shape_find(t, hash);

	if (at != MAP_NONE) {
		t->shapes[at].n += weight;
		return true;
	}
	if (!vec_reserve(&t->shapes, &t->shape_capacity, t->shape_n + 1, sizeof(*t->shapes)) ||
	    !map_put(&t->by_shape, hash, (uint32_t)t->shape_n))
		return false;
	t->shapes[t->shape_n++] = (struct shape_count){hash, weight};
	return true;
}

static int observe(struct thin *t, const struct facts *f)
{
	double weight = threshold_weight(f->passed);
	uint32_t operation = operation_add(t, f);

	if (operation == MAP_NONE || !shape_count(t, f->shape, weight) ||
	    !vec_reserve(&t->durations, &t->duration_capacity, t->duration_n + 1,
			 sizeof(*t->durations)))
		return -ENOMEM;
	t->durations[t->duration_n++] = (struct duration){f->duration_ns, operation, weight};
	return 0;
}

int thin_observe(struct thin *t, const struct event_ref *refs, size_t n)
{
	struct facts f;
	int r = facts_of(t, refs, n, &f);

	return r < 0 ? r : observe(t, &f);
}

int thin_observe_pages(struct thin *t)
{
	struct facts f = pages_facts(t);

	return observe(t, &f);
}

static int by_operation_then_time(const void *a, const void *b)
{
	const struct duration *x = a, *y = b;

	if (x->operation != y->operation)
		return x->operation < y->operation ? -1 : 1;
	return x->ns < y->ns ? -1 : x->ns > y->ns;
}

void thin_observed(struct thin *t)
{
	if (t->duration_n > 1)
		qsort(t->durations, t->duration_n, sizeof(*t->durations), by_operation_then_time);
	for (size_t i = 0; i < t->duration_n; i++) {
		struct operation *o = &t->operations[t->durations[i].operation];

		if (o->n++ == 0)
			o->first = i;
		else
			t->durations[i].weight += t->durations[i - 1].weight;
	}
}

/* --- deciding --- */

/* At or above the quantile of its operation.  An operation nobody showed in the first round is
 * remarkable as it is. */
static bool is_slow(const struct thin *t, const struct facts *f, double quantile)
{
	uint32_t at = operation_find(t, f);
	const struct operation *o = at == MAP_NONE ? NULL : &t->operations[at];
	const struct duration *d;
	size_t low = 0, high;
	double rank;

	if (!o || o->n == 0)
		return true;
	d = t->durations + o->first;
	rank = d[o->n - 1].weight * quantile;
	/* The first that has more than that share up to it. */
	for (high = o->n - 1; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (d[middle].weight > rank)
			high = middle;
		else
			low = middle + 1;
	}
	return f->duration_ns >= d[low].ns;
}

static bool is_rare(const struct thin *t, const struct facts *f, uint64_t most)
{
	uint32_t at = shape_find(t, f->shape);

	return at == MAP_NONE || t->shapes[at].n <= (double)most;
}

/* The first reason to keep a trace whole, or NULL. */
static uint64_t *remarkable(struct thin *t, const struct thin_rule *rule, const struct facts *f)
{
	if (!rule)
		return &t->counts.young;
	if (rule->errors && f->error)
		return &t->counts.errors;
	if (rule->slow > 0 && is_slow(t, f, rule->slow))
		return &t->counts.slow;
	if (rule->rare > 0 && is_rare(t, f, rule->rare))
		return &t->counts.rare;
	if (f->chosen >> (rule - t->rules->rows) & 1)
		return &t->counts.chosen;
	return NULL;
}

static struct thin_decision decide(struct thin *t, const struct facts *f)
{
	struct thin_decision d = {THIN_KEEP, f->passed};
	const struct thin_rule *rule = rule_for(t, f->arrived_ns);
	uint64_t *reason = remarkable(t, rule, f);

	if (!reason) {
		d.threshold = threshold_compose(f->passed, rule->threshold);
		if (threshold_keeps(d.threshold, second_randomness(f->id)))
			reason = &t->counts.sampled;
		else
			reason = &t->counts.dropped;
		d.fate = reason == &t->counts.dropped ? THIN_DROP : THIN_KEEP;
	}
	(*reason)++;
	return d;
}

int thin_decide(struct thin *t, const struct event_ref *refs, size_t n,
		struct thin_decision *ret_decision)
{
	struct facts f;
	int r = facts_of(t, refs, n, &f);

	if (r == 0)
		*ret_decision = decide(t, &f);
	return r;
}

void thin_decide_pages(struct thin *t, struct thin_decision *ret_decision)
{
	struct facts f = pages_facts(t);

	*ret_decision = decide(t, &f);
}

struct thin_counts thin_counts(const struct thin *t)
{
	return t->counts;
}
