/* store/span_match.c - what a search asks of a span, answered for the rows of a segment. */
#include "store/span_match.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/attr_text.h"
#include "store/match_value.h"
#include "store/summary.h"

#define MANY_SHAPES 1024       /* of a group */
#define ABSENT      UINT32_MAX /* a string code: not in this segment */

/* How one tag of the query stands in this segment. */
#define FEW_SHAPES 64 /* looked for in the lists of groups */

struct tag {
	uint32_t key; /* string code, or ABSENT: on no row */
	struct match_value value;
	uint32_t text;        /* string code of the value, or ABSENT */
	uint8_t *on_resource; /* [resource]: it has this value there */
};

/* What became of the question to a shape, in short. */
enum answer {
	ANSWER_UNASKED,
	ANSWER_NO,
	ANSWER_YES,
	ANSWER_UNSURE,  /* a key may stand several times in such a row */
	ANSWER_COLUMNS, /* values of the row decide; the verdict says which */
};

/* The same for all shapes that differ in nothing but values. */
enum skeleton_answer { SKELETON_UNASKED, SKELETON_NO, SKELETON_PERHAPS };

/* What became of the question to a shape. */
struct verdict {
	bool possible;
	bool unsure;         /* a key may stand several times in such a row */
	uint64_t in_columns; /* tags that the row's own value must answer */
	uint64_t loose;      /* tags whose key may be LOOSE, and so there twice */
};

struct match {
	const struct store_query *query;
	struct segment *segment;
	const struct segment_tables *tables;
	struct tag *tags; /* the query's, and the name as one more if that is asked for */
	size_t tag_n;
	uint32_t name;            /* string code, or ABSENT */
	uint8_t *resource_ok;     /* [resource]: service and owner are right */
	uint8_t *skeletons;       /* [skeleton]: enum skeleton_answer; NULL without tags */
	uint8_t *answers;         /* [shape]: enum answer */
	struct verdict *verdicts; /* [shape], where the answer is neither UNASKED nor NO */
	bool possible;
	/* Where few shapes can fit, these: ascending.  Groups are asked for them. */
	bool few;
	uint32_t few_shapes[FEW_SHAPES], few_n;
	bool all_asked;
	struct match_asked all; /* of all shapes, then */
};

/* Rows of the group at hand, as bits. */
struct match_room {
	size_t words, tag_n;
	uint64_t *sure, *unsure;
	/* By tag: rows with the value, and, where they are asked for, with the key. */
	uint64_t *has[MATCH_MAX_TAGS + 1];
	uint64_t lists; /* tags of which some rows of `has` have a list, which may have it */
	uint32_t *found, *rows; /* values, and the rows of values */
	size_t found_capacity, row_capacity;
};

struct match_room *match_room_new(void)
{
	return calloc(1, sizeof(struct match_room));
}

struct match_room *match_room_free(struct match_room *room)
{
	if (!room)
		return NULL;
	for (size_t i = 0; i < room->tag_n; i++) {
		free(room->has[i]);
	}
	free(room->sure);
	free(room->unsure);
	free(room->found);
	free(room->rows);
	free(room);
	return NULL;
}

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
	for (uint32_t i = 0; t->key != ABSENT && i < s->entry_n; i++)
		if (entries[i].class != ENTRY_LOOSE && entries[i].key == t->key) {
			last = &entries[i];
			places++;
		}
	if (places + (s->loose_n > 0 && t->key != ABSENT) * 2 > 1 && places > 0) {
		v->unsure = true; /* which one is the last is for the row to say */
		return true;
	}
	if (last && last->type == VALUE_ARRAY) {
		v->unsure = true; /* its elements are for the row to say */
		return true;
	}
	if (last && last->class == ENTRY_FIXED)
		return entry_equals(t, last);
	if (last) {
		v->in_columns |= 1ULL << number;
		return true;
	}
	if (s->loose_n == 0 || t->key == ABSENT)
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
	if (t->key == ABSENT)
		return false;
	if (s->loose_n > 0)
		return true;
	for (uint32_t i = 0; i < s->entry_n; i++)
		if (entries[i].key == t->key &&
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

		any = t->key != ABSENT || memchr(t->on_resource, 1, resource_n) != NULL;
	}
	return any;
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

/* --- looking at the rows of a group --- */

static int reserve(struct match_room *room, size_t tag_n, size_t words)
{
	uint64_t **sets[MATCH_MAX_TAGS + 1 + 2];
	size_t n = 0;

	if (words <= room->words && tag_n <= room->tag_n)
		return 0;
	words = MAX(words, room->words);
	tag_n = MAX(tag_n, room->tag_n);
	sets[n++] = &room->sure;
	sets[n++] = &room->unsure;
	for (size_t i = 0; i < tag_n; i++)
		sets[n++] = &room->has[i];
	room->tag_n = tag_n;
	room->words = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t *grown = realloc(*sets[i], words * sizeof(**sets[i]));

		if (!grown)
			return -ENOMEM;
		*sets[i] = grown;
	}
	room->words = words;
	return 0;
}

static bool bit(const uint64_t *words, uint32_t row)
{
	return words[row / 64] >> row % 64 & 1;
}

static void set_bit(uint64_t *words, uint32_t row)
{
	words[row / 64] |= 1ULL << row % 64;
}

static int mark_values(const struct tag *t, enum value_type type, struct segment_group *g,
		       const uint32_t *values, uint32_t n, struct match_room *room, uint64_t *has)
{
	int r;

	if (n == 0)
		return 0;
	if (!vec_reserve(&room->rows, &room->row_capacity, n, sizeof(*room->rows)))
		return -ENOMEM;
	r = group_value_rows(g, LEVEL_BLOCK, t->key, type, values, n, room->rows);
	for (uint32_t i = 0; i < n && r == 0; i++)
		set_bit(has, room->rows[i]);
	return r;
}

/* Rows with a list may have the value in it; they are asked themselves. */
static int mark_lists(const struct tag *t, size_t number, struct segment_group *g,
		      struct match_room *room)
{
	const struct group_column *c;
	int r = group_column(g, LEVEL_BLOCK, t->key, VALUE_ARRAY, &c);

	room->lists &= ~(1ULL << number);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	room->lists |= 1ULL << number;
	for (uint32_t i = 0; i < c->n; i++)
		set_bit(room->has[number], c->rows[i]);
	return 0;
}

/* The rows with the value, from the group's columns of its key. */
static int look_for_value(const struct tag *t, size_t number, struct segment_group *g, size_t words,
			  struct match_room *room)
{
	static const enum value_type numbers[] = {VALUE_BOOL, VALUE_INT, VALUE_DOUBLE};
	uint64_t *has = room->has[number];
	const uint32_t *values;
	uint32_t n;
	int r;

	memset(has, 0, words * sizeof(*has));
	r = group_find_text(g, LEVEL_BLOCK, t->key, t->value.text, t->value.code, &values, &n);
	if (r == 0)
		r = mark_values(t, VALUE_STRING, g, values, n, room, has);
	else if (r == -ENOENT)
		r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++) {
		const struct group_column *c;

		if (!match_value_may_be(&t->value, numbers[i]))
			continue;
		r = group_column_values(g, LEVEL_BLOCK, t->key, numbers[i], &c);
		if (r == -ENOENT) {
			r = 0;
			continue;
		}
		if (r == 0 &&
		    !vec_reserve(&room->found, &room->found_capacity, c->n, sizeof(*room->found)))
			r = -ENOMEM;
		if (r < 0)
			return r;
		n = match_value_find(&t->value, c, room->found);
		r = mark_values(t, numbers[i], g, room->found, n, room, has);
	}
	return r < 0 ? r : mark_lists(t, number, g, room);
}

/* Clears *sure where a key of the row is there twice and only the last counts, and where its value
 * may be a list. */
static int columns_agree(const struct match *m, const struct match_room *room,
			 const struct verdict *v, struct segment_group *g, uint32_t row, bool *sure)
{
	for (uint64_t left = v->in_columns; left; left &= left - 1) {
		int i = __builtin_ctzll(left);
		uint32_t n = 0;
		int r = 0;

		if (!bit(room->has[i], row))
			return 0;
		if (v->loose >> i & 1)
			r = group_row_loose(g, row, m->tags[i].key, &n);
		if (r < 0)
			return r;
		*sure &= n <= 1 && !(room->lists >> i & 1);
	}
	return 1;
}

static int judge_row(const struct match *m, const struct match_room *room, struct segment_group *g,
		     uint32_t row, uint32_t shape, struct match_rows *rows)
{
	uint8_t answer = m->answers[shape];
	const struct verdict *v = &m->verdicts[shape];
	bool sure;
	int r = 1;

	if (answer == ANSWER_NO)
		return 0;
	sure = answer == ANSWER_YES || !v->unsure;
	if (answer == ANSWER_COLUMNS)
		r = columns_agree(m, room, v, g, row, &sure);
	if (r <= 0)
		return r;
	set_bit(sure ? room->sure : room->unsure, row);
	rows->any = true;
	rows->any_unsure |= !sure;
	return 0;
}

/* The rows of a set, or all of them where it is NULL. */
static int judge_rows(const struct match *m, const struct match_room *room, struct segment_group *g,
		      const uint64_t *set, struct match_rows *rows)
{
	const struct group_zone *zone = group_zone(g);
	const uint32_t *indices = NULL;
	int r = set ? 0 : group_shape_indices(g, &indices);

	for (uint32_t word = 0; word < rows->words && r == 0; word++) {
		uint64_t left = set ? set[word] : UINT64_MAX;

		for (; left && r == 0; left &= left - 1) {
			uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(left), shape;

			if (row >= zone->rows)
				break;
			if (indices)
				shape = zone->shapes[indices[row]];
			else
				r = group_row_shape(g, row, &shape);
			if (r == 0)
				r = judge_row(m, room, g, row, shape, rows);
		}
	}
	return r;
}

/* Looks for the values of the tags. */
static int look_at_columns(const struct match *m, struct match_room *room, struct segment_group *g,
			   uint64_t tags, size_t words)
{
	int r = 0;

	for (; tags && r == 0; tags &= tags - 1) {
		size_t i = (size_t)__builtin_ctzll(tags);

		r = look_for_value(&m->tags[i], i, g, words, room);
	}
	return r;
}

/* Rows that have what every hit must have, and whose shapes allow one: 1 if there are any, then
 * they are the bits of `has` of the first tag.  0, negative errno. */
static int look_for_candidates(const struct match *m, struct match_room *room,
			       struct segment_group *g, const struct match_asked *a, size_t words)
{
	uint64_t *set = room->has[__builtin_ctzll(a->all)];
	uint64_t some = 0;
	int r = 0;

	for (uint64_t left = a->all; left; left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);

		r = look_for_value(&m->tags[i], i, g, words, room);
		if (r < 0)
			return r;
		some = 0;
		for (size_t k = 0; k < words; k++)
			some |= set[k] &= room->has[i][k];
		if (!some)
			return 0;
	}
	some = 0;
	for (size_t k = 0; k < words && r == 0; k++) {
		for (uint64_t left = set[k]; left && r == 0; left &= left - 1) {
			uint32_t row = (uint32_t)k * 64 + (uint32_t)__builtin_ctzll(left), shape;

			r = group_row_shape(g, row, &shape);
			if (r == 0 && m->answers[shape] == ANSWER_NO)
				set[k] &= ~(1ULL << row % 64);
		}
		some |= set[k];
	}
	return r < 0 ? r : some != 0;
}

/* --- how long rows take --- */

static bool asks_times(const struct store_query *q)
{
	return q->span_min_ns || q->span_max_ns;
}

/* The column has ends minus times, modulo 2^64.  From 2262 on a span that ends long before it
 * begins looks there as if it were short, and only the row knows. */
static bool times_may_wrap(const struct group_zone *zone)
{
	return zone->start_max_ns >= INT64_MAX - zone->duration_max_ns;
}

static void leave_to_rows(struct match_room *room, struct match_rows *rows)
{
	for (size_t word = 0; word < rows->words; word++) {
		room->unsure[word] |= room->sure[word];
		room->sure[word] = 0;
	}
	rows->any_unsure = rows->any;
}

/* Leaves those of the rows that take as long as is asked. */
static void keep_lasting(const struct store_query *q, const uint64_t *durations,
			 struct match_room *room, struct match_rows *rows)
{
	uint64_t low = (uint64_t)q->span_min_ns,
		 high = q->span_max_ns ? (uint64_t)q->span_max_ns : INT64_MAX;
	uint64_t any = 0, any_unsure = 0;

	for (size_t word = 0; word < rows->words; word++) {
		for (uint64_t left = room->sure[word] | room->unsure[word]; left;
		     left &= left - 1) {
			uint64_t mask = left & -left,
				 ns = durations[word * 64 + (size_t)__builtin_ctzll(left)];

			/* Beyond 292 years, or ended before it began: the row knows. */
			if (ns > INT64_MAX)
				room->unsure[word] |= mask;
			if (ns > INT64_MAX || ns < low || ns > high)
				room->sure[word] &= ~mask;
			if (ns <= INT64_MAX && (ns < low || ns > high))
				room->unsure[word] &= ~mask;
		}
		any |= room->sure[word] | room->unsure[word];
		any_unsure |= room->unsure[word];
	}
	rows->any = any != 0;
	rows->any_unsure = any_unsure != 0;
}

static int look_at_times(const struct match *m, struct match_room *room, struct segment_group *g,
			 struct match_rows *rows)
{
	uint32_t few[GROUP_FEW_ROWS], n = 0;
	struct group_few fields;
	const uint64_t *durations;
	int r;

	if (times_may_wrap(group_zone(g))) {
		leave_to_rows(room, rows);
		return 0;
	}
	for (size_t word = 0; word < rows->words && n <= GROUP_FEW_ROWS; word++)
		for (uint64_t left = room->sure[word] | room->unsure[word]; left;
		     left &= left - 1) {
			if (n < GROUP_FEW_ROWS)
				few[n] = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
			n++;
		}
	if (n <= GROUP_FEW_ROWS) {
		r = group_few_rows(g, few, n, &fields);
		durations = r == 0 ? fields.durations : NULL;
	} else {
		r = group_durations(g, &durations);
	}
	if (r == 0)
		keep_lasting(m->query, durations, room, rows);
	return r;
}

int match_group(const struct match *m, struct match_room *room, struct segment_group *g,
		const struct match_asked *asked, struct match_rows *ret_rows)
{
	const struct group_zone *zone = group_zone(g);
	size_t words = (zone->rows + 63) / 64;
	struct match_rows rows = {.words = words};
	const struct match_asked a = *asked;
	bool few;
	int r = reserve(room, m->tag_n, words);

	if (r < 0)
		return r;
	memset(room->sure, 0, words * sizeof(*room->sure));
	memset(room->unsure, 0, words * sizeof(*room->unsure));
	rows.sure = room->sure;
	rows.unsure = room->unsure;
	/* Where every row must have a value, those that have it are few, and the others need not be
	 * asked anything more. */
	few = a.any && a.all && !a.settled;
	if (few) {
		r = look_for_candidates(m, room, g, &a, words);
		if (r == 0)
			*ret_rows = rows;
		if (r <= 0)
			return r;
	}
	r = look_at_columns(m, room, g, few ? a.any & ~a.all : a.any, words);
	if (r == 0)
		r = judge_rows(m, room, g, few ? room->has[__builtin_ctzll(a.all)] : NULL, &rows);
	if (r == 0 && rows.any && asks_times(m->query))
		r = look_at_times(m, room, g, &rows);
	if (r == 0)
		*ret_rows = rows;
	return r;
}
