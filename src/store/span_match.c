/* store/span_match.c - what a search asks of a span, answered for the rows of a segment. */
#include "store/span_match.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/attr_text.h"
#include "store/match_value.h"

#define ABSENT UINT32_MAX /* a string code: not in this segment */

/* How one tag of the query stands in this segment. */
struct tag {
	uint32_t key; /* string code, or ABSENT: on no row */
	struct match_value value;
	uint32_t text;           /* string code of the value, or ABSENT */
	uint8_t *on_resource;    /* [resource]: it has this value there */
	uint64_t *has, *present; /* rows of the group at hand: with the value; with the key */
	bool twice;              /* a row of the group at hand has the key more than once */
};

/* What became of the question to a shape. */
struct verdict {
	bool possible;
	bool unsure;         /* a key may stand several times in such a row */
	uint64_t in_columns; /* tags that the row's own value must answer */
	/* Tags that the row's own value answers if it has one, and its resource has answered with
	 * yes if not. */
	uint64_t in_columns_or_resource;
};

struct match {
	const struct store_query *query;
	struct segment *segment;
	const struct segment_tables *tables;
	struct tag *tags; /* the query's, and the name as one more if that is asked for */
	size_t tag_n;
	uint32_t name;            /* string code, or ABSENT */
	uint8_t *resource_ok;     /* [resource]: service and owner are right */
	struct verdict *verdicts; /* [shape] */
	bool possible;
	uint64_t *sure, *unsure; /* rows of the group at hand */
	size_t words;
};

bool query_asks_spans(const struct store_query *q)
{
	return q->service.n || q->operation.n || q->owner.n || q->tag_n > 0;
}

struct match *match_free(struct match *m)
{
	if (!m)
		return NULL;
	for (size_t i = 0; m->tags && i < m->tag_n; i++) {
		free(m->tags[i].on_resource);
		free(m->tags[i].has);
		free(m->tags[i].present);
	}
	if (m->tables)
		segment_unpin(m->segment);
	free(m->tags);
	free(m->resource_ok);
	free(m->verdicts);
	free(m->sure);
	free(m->unsure);
	free(m);
	return NULL;
}

/* --- asking resources and shapes --- */

static bool resource_matches(const struct match *m, uint32_t resource)
{
	const struct store_query *q = m->query;

	if (q->service.n && !slice_eq(tables_service(m->tables, resource), q->service))
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

			t->on_resource[i] = a && attr_is(b, a, t->value.text);
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

	for (uint32_t i = 0; t->key != ABSENT && i < s->entry_n; i++)
		if (entries[i].class != ENTRY_LOOSE && entries[i].key == t->key) {
			last = &entries[i];
			places++;
		}
	if (places + (s->loose_n > 0 && t->key != ABSENT) * 2 > 1 && places > 0) {
		v->unsure = true; /* which one is the last is for the row to say */
		return true;
	}
	if (last && last->class == ENTRY_FIXED)
		return entry_equals(t, last);
	if (last) {
		v->in_columns |= 1ULL << number;
		return true;
	}
	if (s->loose_n == 0 || t->key == ABSENT)
		return t->on_resource[s->resource];
	if (s->loose_n > 1)
		v->unsure =
			true; /* the same key may be loose twice; has and present decide first */
	if (t->on_resource[s->resource])
		v->in_columns_or_resource |= 1ULL << number;
	else
		v->in_columns |= 1ULL << number;
	return true;
}

static struct verdict ask_shape(const struct match *m, const struct shape *s)
{
	struct verdict v = {0};

	if (s->type != EVENT_SPAN && s->type != EVENT_BEGIN)
		return v;
	if (!m->resource_ok[s->resource])
		return v;
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

static int ask_shapes(struct match *m)
{
	const struct shapes *shapes = tables_shapes(m->tables);

	m->verdicts = calloc(shapes->n + 1, sizeof(*m->verdicts));
	if (!m->verdicts)
		return -ENOMEM;
	for (uint32_t i = 0; i < shapes->n; i++) {
		m->verdicts[i] = ask_shape(m, &shapes->rows[i]);
		m->possible |= m->verdicts[i].possible;
	}
	return 0;
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
	return r == 0 ? ask_shapes(m) : r;
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

bool match_possible_in(const struct match *m, const struct group_zone *zone)
{
	for (uint32_t i = 0; m->possible && i < zone->shape_n; i++)
		if (m->verdicts[zone->shapes[i]].possible)
			return true;
	return false;
}

/* --- looking at the rows of a group --- */

static int reserve_words(struct match *m, size_t words)
{
	if (words <= m->words)
		return 0;
	for (size_t i = 0; i < m->tag_n + 1; i++) {
		uint64_t **pair[2] = {&m->sure, &m->unsure};

		if (i < m->tag_n) {
			pair[0] = &m->tags[i].has;
			pair[1] = &m->tags[i].present;
		}
		for (size_t k = 0; k < 2; k++) {
			uint64_t *grown = realloc(*pair[k], words * sizeof(**pair[k]));

			if (!grown)
				return -ENOMEM;
			*pair[k] = grown;
		}
	}
	m->words = words;
	return 0;
}

/* Marks the rows of a column's values; true if one was marked before. */
static bool mark_rows(const struct group_column *c, uint64_t *words)
{
	uint64_t again = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t *word = &words[c->rows[i] / 64], mark = 1ULL << c->rows[i] % 64;

		again |= *word & mark;
		*word |= mark;
	}
	return again != 0;
}

/* Fills `has` and `present` of a tag from the group's columns of its key. */
static int look_at_columns(struct tag *t, struct segment_group *g, size_t words)
{
	t->twice = false;
	memset(t->has, 0, words * sizeof(*t->has));
	memset(t->present, 0, words * sizeof(*t->present));
	for (int type = VALUE_EMPTY; type <= VALUE_RAW_PAIR; type++) {
		const struct group_column *c;
		int r = group_column(g, LEVEL_BLOCK, t->key, (enum value_type)type, &c);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		match_value_column(&t->value, c, t->has);
		t->twice |= mark_rows(c, t->present);
	}
	return 0;
}

static int look_where_needed(struct match *m, struct segment_group *g, size_t words)
{
	const struct group_zone *zone = group_zone(g);
	uint64_t needed = 0;

	for (uint32_t i = 0; i < zone->shape_n; i++) {
		const struct verdict *v = &m->verdicts[zone->shapes[i]];

		if (v->possible)
			needed |= v->in_columns | v->in_columns_or_resource;
	}
	for (size_t i = 0; i < m->tag_n; i++) {
		if (needed >> i & 1) {
			int r = look_at_columns(&m->tags[i], g, words);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool bit(const uint64_t *words, uint32_t row)
{
	return words[row / 64] >> row % 64 & 1;
}

/* Clears *sure where a key of the row is there twice and only the last counts. */
static bool columns_agree(const struct match *m, const struct verdict *v, uint32_t row, bool *sure)
{
	for (uint64_t left = v->in_columns | v->in_columns_or_resource; left; left &= left - 1) {
		int i = __builtin_ctzll(left);

		if (bit(m->tags[i].has, row)) {
			*sure &= !m->tags[i].twice;
			continue;
		}
		if (v->in_columns >> i & 1 || bit(m->tags[i].present, row))
			return false;
	}
	return true;
}

int match_group(struct match *m, struct segment_group *g, struct match_rows *ret_rows)
{
	uint32_t n = group_zone(g)->rows;
	size_t words = (n + 63) / 64;
	struct match_rows rows = {.words = words};
	const uint32_t *codes;
	int r = reserve_words(m, words);

	if (r == 0)
		r = look_where_needed(m, g, words);
	if (r == 0)
		r = group_shapes(g, &codes);
	if (r < 0)
		return r;
	memset(m->sure, 0, words * sizeof(*m->sure));
	memset(m->unsure, 0, words * sizeof(*m->unsure));
	for (uint32_t i = 0; i < n; i++) {
		const struct verdict *v = &m->verdicts[codes[i]];

		bool sure = !v->unsure;

		if (!v->possible || !columns_agree(m, v, i, &sure))
			continue;
		(sure ? m->sure : m->unsure)[i / 64] |= 1ULL << i % 64;
		rows.any = true;
		rows.any_unsure |= !sure;
	}
	rows.sure = m->sure;
	rows.unsure = m->unsure;
	*ret_rows = rows;
	return 0;
}
