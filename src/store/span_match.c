/* store/span_match.c - what a search asks of a span, put to the resources and shapes of a segment.
 */
#include "store/span_match_int.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/attr_text.h"
#include "store/summary.h"

#define MANY_SHAPES 1024 /* of a group */

struct match *match_free(struct match *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; m->tags && i < m->tag_n; i++)
		free(m->tags[i].on_resource);
	if (m->tables)
		segment_unpin(m->segment);
	free(m->tags);
	free(m->resource_ok);
	free(m->verdicts);
	free(m->answers);
	free(m->skeletons);
	free(m);
	return NULL;
}

/* --- asking resources and shapes --- */

static bool resource_matches(const struct match *m, uint32_t resource)
{
	const struct store_query *q = m->query;

	if (!query_takes_service(q, tables_service(m->tables, resource)))
		return false;
	return !q->owner.n ||
	       slice_eq(tables_text(m->tables, tables_owner(m->tables, resource)), q->owner);
}

static int ask_resources(struct match *m)
{
	const struct batch *b = tables_batch(m->tables);

	m->resource_ok = calloc(b->resource_n + 1, 1);
	if (!m->resource_ok)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->resource_n; i++)
		m->resource_ok[i] = resource_matches(m, i);
	for (size_t k = 0; k < m->query->tag_n; k++) {
		struct tag *t = &m->tags[k];

		t->on_resource = calloc(b->resource_n + 1, 1);
		if (!t->on_resource)
			return -ENOMEM;
		for (uint32_t i = 0; i < b->resource_n; i++) {
			const struct attr *a =
				batch_attr_find(b, b->resources[i].attrs, m->query->tags[k].key);

			t->on_resource[i] = a && attr_has(b, a, t->value.text);
		}
	}
	return 0;
}

static bool entry_equals(const struct tag *t, const struct shape_entry *e)
{
	if (e->type == VALUE_STRING)
		return t->text != ABSENT && e->value == t->text;
	return match_value_bits(&t->value, e->type, e->value);
}

/* One tag put to one shape.  False: no row of it can have the value. */
static bool ask_tag(const struct match *m, const struct shape *s, size_t number, struct verdict *v)
{
	const struct shape_entry *entries = tables_shapes(m->tables)->entries + s->entry_first,
				 *last = NULL;
	const struct tag *t = &m->tags[number];
	size_t places = 0;

	if (t->on_resource[s->resource])
		return true;
	if (t->types == 0)
		return false;
	for (uint32_t i = 0; i < s->entry_n; i++)
		if (entries[i].class != ENTRY_LOOSE && entries[i].key == t->key) {
			last = &entries[i];
			places++;
		}
	if (places > 1 || (places > 0 && s->loose_n > 0)) {
		v->unsure = true; /* which one is the last is for the row to say */
		return true;
	}
	if (last && last->type == VALUE_ARRAY) {
		v->unsure = true; /* its elements are for the row to say */
		return true;
	}
	if (last && last->class == ENTRY_FIXED)
		return entry_equals(t, last);
	if (last && !(t->types >> last->type & 1))
		return false;
	if (last) {
		v->in_columns |= 1ULL << number;
		return true;
	}
	if (s->loose_n == 0)
		return false;
	if (s->loose_n > 1)
		v->loose |= 1ULL << number;
	v->in_columns |= 1ULL << number;
	return true;
}

static struct verdict ask_shape(const struct match *m, const struct shape *s)
{
	struct verdict v = {0};

	if (m->query->operation.n && s->name == NAME_VARIES)
		v.in_columns |= 1ULL << m->query->tag_n;
	else if (m->query->operation.n && s->name != m->name)
		return v;
	for (size_t i = 0; i < m->query->tag_n; i++)
		if (!ask_tag(m, s, i, &v))
			return (struct verdict){0};
	v.possible = true;
	return v;
}

/* Puts the question to a shape, when a group that has it first comes up. */
static enum answer ask(struct match *m, uint32_t number)
{
	struct verdict v = ask_shape(m, &tables_shapes(m->tables)->rows[number]);

	if (!v.possible)
		return ANSWER_NO;
	m->verdicts[number] = v;
	return v.in_columns ? ANSWER_COLUMNS : v.unsure ? ANSWER_UNSURE : ANSWER_YES;
}

/* Can a row have the tag's value, whatever values such shapes have? */
static bool tag_may(const struct match *m, const struct shape *s, const struct tag *t)
{
	const struct shape_entry *entries = tables_shapes(m->tables)->entries + s->entry_first;

	if (t->on_resource[s->resource])
		return true;
	if (t->types == 0)
		return false;
	if (s->loose_n > 0)
		return true;
	for (uint32_t i = 0; i < s->entry_n; i++)
		if (entries[i].key == t->key && t->types >> entries[i].type & 1 &&
		    !(entries[i].class == ENTRY_FIXED && entries[i].type == VALUE_STRING &&
		      t->text == ABSENT))
			return true;
	return false;
}

static bool skeleton_may(const struct match *m, const struct shape *s)
{
	bool may = shape_is_block(s) && m->resource_ok[s->resource];

	for (size_t i = 0; may && i < m->query->tag_n; i++)
		may = tag_may(m, s, &m->tags[i]);
	return may;
}

/* A shape that may fit, unless asking it says otherwise. */
static void few_add(struct match *m, uint32_t shape)
{
	m->answers[shape] = (uint8_t)ask(m, shape);
	if (m->answers[shape] == ANSWER_NO)
		return;
	m->few = m->few_n < FEW_SHAPES;
	if (m->few)
		m->few_shapes[m->few_n++] = shape;
}

/* Skeletons are few: a value that none of them can have is in no group. */
static int ask_skeletons(struct match *m)
{
	const struct shapes *shapes = tables_shapes(m->tables);
	bool any = false;

	if (!m->possible || m->query->tag_n == 0)
		return 0;
	m->few = true;
	m->skeletons = calloc((size_t)tables_skeletons(m->tables) + 1, 1);
	if (!m->skeletons)
		return -ENOMEM;
	for (uint32_t i = 0; i < shapes->n; i++) {
		uint8_t *answer = &m->skeletons[tables_skeleton(m->tables, i)];

		if (*answer == SKELETON_UNASKED)
			*answer =
				skeleton_may(m, &shapes->rows[i]) ? SKELETON_PERHAPS : SKELETON_NO;
		if (*answer == SKELETON_NO)
			m->answers[i] = ANSWER_NO;
		any |= *answer == SKELETON_PERHAPS;
		if (*answer == SKELETON_PERHAPS && m->few)
			few_add(m, i);
	}
	m->possible = any && !(m->few && m->few_n == 0);
	return 0;
}

/* What no shape need be asked for. */
static bool is_possible(const struct match *m)
{
	size_t resource_n = tables_batch(m->tables)->resource_n;
	bool any = false;

	for (size_t i = 0; i < resource_n; i++)
		any |= m->resource_ok[i];
	for (size_t k = 0; k < m->query->tag_n && any; k++) {
		const struct tag *t = &m->tags[k];

		any = t->types != 0 || memchr(t->on_resource, 1, resource_n) != NULL;
	}
	return any;
}

/* Which types of values can equal the tag's, on rows that have its key. */
static uint32_t types_for(const struct segment_tables *tables, const struct tag *t)
{
	uint32_t spelled, types, fit = 1u << VALUE_ARRAY;

	if (t->key == ABSENT)
		return 0;
	types = tables_types(tables, LEVEL_BLOCK, t->key, &spelled);
	if (t->text != ABSENT || spelled >> VALUE_STRING & 1)
		fit |= 1u << VALUE_STRING;
	for (enum value_type i = VALUE_BOOL; i <= VALUE_DOUBLE; i++)
		fit |= (uint32_t)match_value_may_be(&t->value, i) << i;
	return types & fit;
}

static int prepare(struct match *m)
{
	const struct store_query *q = m->query;
	int r = segment_pin(m->segment, &m->tables);

	if (r < 0)
		return r;
	m->tag_n = q->tag_n + (q->operation.n > 0);
	m->tags = calloc(m->tag_n + 1, sizeof(*m->tags));
	if (!m->tags)
		return -ENOMEM;
	for (size_t i = 0; i < q->tag_n; i++) {
		m->tags[i].key = tables_find(m->tables, q->tags[i].key);
		m->tags[i].text = tables_find(m->tables, q->tags[i].value);
		match_value_init(&m->tags[i].value, q->tags[i].value, m->tags[i].text);
		m->tags[i].types = types_for(m->tables, &m->tags[i]);
	}
	if (q->operation.n) {
		m->name = tables_find(m->tables, q->operation);
		m->tags[q->tag_n].key = FIELD_NAME;
		match_value_init(&m->tags[q->tag_n].value, q->operation, m->name);
	}
	r = ask_resources(m);
	if (r < 0)
		return r;
	m->verdicts = malloc(((size_t)tables_shapes(m->tables)->n + 1) * sizeof(*m->verdicts));
	m->answers = calloc(tables_shapes(m->tables)->n + 1, 1);
	m->possible = is_possible(m);
	return m->verdicts && m->answers ? ask_skeletons(m) : -ENOMEM;
}

int match_new(const struct store_query *query, struct segment *segment, struct match **ret_match)
{
	_cleanup_(match_freep)
	struct match *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	if (query->tag_n > MATCH_MAX_TAGS)
		return -E2BIG;
	m->query = query;
	m->segment = segment;
	r = prepare(m);
	if (r < 0)
		return r;
	*ret_match = TAKE_PTR(m);
	return 0;
}

bool match_possible(const struct match *m)
{
	return m->possible;
}

static bool brief_fits(const struct match *m, const struct shape_brief *b)
{
	return b->resource != UINT32_MAX && m->resource_ok[b->resource] &&
	       (!m->query->operation.n || b->name == m->name || b->name == NAME_VARIES);
}

/* Asks a shape that was not asked before, and adds what it asks of columns. */
static void ask_one(struct match *m, uint32_t shape, const struct shape_brief *briefs,
		    struct match_asked *a)
{
	const struct verdict *v = &m->verdicts[shape];

	if (m->answers[shape] == ANSWER_UNASKED)
		m->answers[shape] =
			brief_fits(m, &briefs[shape]) ? (uint8_t)ask(m, shape) : ANSWER_NO;
	if (m->answers[shape] == ANSWER_NO)
		return;
	if (m->answers[shape] != ANSWER_COLUMNS) {
		a->settled = true;
		return;
	}
	a->any |= v->in_columns;
	a->all &= v->in_columns;
}

/* Has the group the shape?  Shapes are asked for in their order: *from is moved on. */
static bool zone_has(const struct group_zone *zone, uint32_t shape, uint32_t *from)
{
	uint32_t low = *from, high = zone->shape_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (zone->shapes[middle] < shape)
			low = middle + 1;
		else
			high = middle;
	}
	*from = low;
	return low < zone->shape_n && zone->shapes[low] == shape;
}

bool match_ask(struct match *m, const struct group_zone *zone, struct match_asked *ret_asked)
{
	const struct shape_brief *briefs = tables_briefs(m->tables);
	uint32_t shape_n = tables_shapes(m->tables)->n;
	struct match_asked a = {.all = UINT64_MAX};
	uint32_t from = 0;

	if (!m->possible)
		return false;
	if (m->few) {
		for (uint32_t i = 0; i < m->few_n; i++)
			if (zone_has(zone, m->few_shapes[i], &from))
				ask_one(m, m->few_shapes[i], briefs, &a);
		*ret_asked = a;
		return a.settled || a.any;
	}
	/* A group of so many shapes has some that are possible if any is: not worth a look. */
	if (zone->shape_n > MANY_SHAPES) {
		for (uint32_t i = 0; i < shape_n && !m->all_asked; i++)
			ask_one(m, i, briefs, &a);
		m->all = m->all_asked ? m->all : a;
		m->all_asked = true;
		a = m->all;
	} else {
		for (uint32_t i = 0; i < zone->shape_n; i++)
			ask_one(m, zone->shapes[i], briefs, &a);
	}
	*ret_asked = a;
	return a.settled || a.any;
}
