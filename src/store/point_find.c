/* store/point_find.c - which traces have a point with some attribute.
 *
 * As for spans: the question is put once to each shape of points; where the shape does not settle
 * it, the group's column of the key's values is looked through. */
#include "store/point_find.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "store/attr_text.h"
#include "store/match_value.h"
#include "store/store_int.h"

enum verdict { NO, YES, ASK };

struct finding {
	const struct point_find *find;
	/* Of the segment at hand. */
	const struct segment_tables *tables;
	uint32_t key, code; /* string codes */
	struct match_value value;
	uint8_t *verdicts; /* by shape */
	size_t capacity;
	bool any;
	uint32_t *found; /* values, and their rows behind them */
	size_t found_capacity;
};

static bool fixed_is(const struct finding *f, const struct shape_entry *e)
{
	if (e->type == VALUE_STRING)
		return e->value == f->code;
	return match_value_bits(&f->value, e->type, e->value);
}

static enum verdict shape_judge(const struct finding *f, const struct shape *shape)
{
	const struct shape_entry *e = tables_shapes(f->tables)->entries + shape->entry_first;
	enum verdict verdict = NO;

	if (shape->level != LEVEL_POINT)
		return NO;
	if (f->find->tag.key.n == 0 && shape->name != NAME_VARIES)
		return shape->name == f->code ? YES : NO;
	for (uint32_t i = 0; i < shape->entry_n; i++) {
		if (f->find->tag.key.n == 0 ? e[i].key != FIELD_NAME
					    : e[i].class != ENTRY_LOOSE && e[i].key != f->key)
			continue;
		if (e[i].class == ENTRY_FIXED && fixed_is(f, &e[i]))
			return YES;
		if (e[i].class != ENTRY_FIXED)
			verdict = ASK;
	}
	return verdict;
}

static int shapes_judge(struct finding *f)
{
	const struct shapes *shapes = tables_shapes(f->tables);

	if (!vec_reserve(&f->verdicts, &f->capacity, shapes->n + 1, sizeof(*f->verdicts)))
		return -ENOMEM;
	f->any = false;
	for (uint32_t i = 0; i < shapes->n; i++) {
		f->verdicts[i] = (uint8_t)shape_judge(f, &shapes->rows[i]);
		f->any |= f->verdicts[i] != NO;
	}
	return 0;
}

static int row_tell(struct finding *f, const struct group_piece *pieces, uint32_t n, uint32_t row)
{
	uint32_t low = 0, high = n;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (pieces[middle].first <= row)
			low = middle;
		else
			high = middle;
	}
	return n > 0 ? f->find->trace(f->find->context, pieces[low].id, pieces[low].start_ns) : 0;
}

/* Rows whose value of one type stands in a column, and is the one that is looked for. */
static int column_look(struct finding *f, struct segment_group *g, uint32_t key,
		       enum value_type type, uint32_t *ret_n)
{
	const struct group_column *column;
	const uint32_t *values;
	uint32_t n = 0;
	int r;

	*ret_n = 0;
	if (type == VALUE_STRING) {
		r = group_find_text(g, LEVEL_POINT, key, f->find->tag.value, f->code, &values, &n);
		if (r == 0 &&
		    !vec_reserve(&f->found, &f->found_capacity, 2 * n + 1, sizeof(*f->found)))
			r = -ENOMEM;
		if (r == 0)
			memcpy(f->found, values, n * sizeof(*values));
	} else {
		r = group_column_values(g, LEVEL_POINT, key, type, &column);
		if (r == 0 && !vec_reserve(&f->found, &f->found_capacity, 2 * column->n + 1,
					   sizeof(*f->found)))
			r = -ENOMEM;
		if (r == 0)
			n = match_value_find(&f->value, column, f->found);
	}
	if (r == 0 && n > 0)
		r = group_value_rows(g, LEVEL_POINT, key, type, f->found, n, f->found + n);
	if (r == 0)
		*ret_n = n;
	return r == -ENOENT ? 0 : r;
}

static int columns_look(struct finding *f, struct segment_group *g,
			const struct group_piece *pieces, uint32_t piece_n)
{
	static const enum value_type types[] = {VALUE_STRING, VALUE_BOOL, VALUE_INT, VALUE_DOUBLE};
	bool named = f->find->tag.key.n == 0;
	uint32_t key = named ? (uint32_t)FIELD_NAME : f->key, n;
	int r = 0;

	for (size_t t = 0; r == 0 && t < (named ? 1 : ARRAY_SIZE(types)); t++) {
		if (types[t] != VALUE_STRING && !match_value_may_be(&f->value, types[t]))
			continue;
		r = column_look(f, g, key, types[t], &n);
		for (uint32_t i = 0; r == 0 && i < n; i++)
			r = row_tell(f, pieces, piece_n, f->found[n + i]);
	}
	return r;
}

static int group_look(struct finding *f, struct segment_group *g, bool ask)
{
	const struct group_piece *pieces;
	const uint32_t *codes;
	uint32_t n, rows = group_zone(g)->rows;
	int r = group_pieces(g, &pieces, &n);

	if (r == 0)
		r = group_shapes(g, &codes);
	for (uint32_t i = 0; r == 0 && i < rows; i++)
		if (f->verdicts[codes[i]] == YES)
			r = row_tell(f, pieces, n, i);
	return r == 0 && ask ? columns_look(f, g, pieces, n) : r;
}

static bool zone_is_wanted(const struct finding *f, const struct group_zone *zone, bool *ret_ask)
{
	const struct point_find *find = f->find;
	bool any = false;

	*ret_ask = false;
	/* A trace with other pieces may begin before this one of it, and one without a time counts
	 * as 0: only what begins too early is ruled out. */
	if (zone->start_max_ns > 0 && !zone->continues && zone->start_max_ns < find->from_ns)
		return false;
	for (uint32_t i = 0; i < zone->shape_n; i++) {
		any |= f->verdicts[zone->shapes[i]] != NO;
		*ret_ask |= f->verdicts[zone->shapes[i]] == ASK;
	}
	return any;
}

static int groups_look(struct finding *f, struct segment *segment)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < tables_groups(f->tables); i++) {
		bool ask;

		if (!zone_is_wanted(f, tables_zone(f->tables, i), &ask))
			continue;
		r = leash_check();
		if (r == 0)
			r = g ? group_reopen_few(g, i) : group_open_few(segment, i, &g);
		if (r == 0)
			r = group_look(f, g, ask);
	}
	return r;
}

static int segment_look(struct finding *f, struct segment *segment)
{
	const struct segment_info *info = segment_info(segment);
	const struct store_tag *tag = &f->find->tag;
	int r;

	/* No points at all. */
	if (info->rows == info->blocks)
		return 0;
	r = segment_pin(segment, &f->tables);
	if (r < 0)
		return r;
	f->key = tag->key.n ? tables_find(f->tables, tag->key) : 0;
	f->code = tables_find(f->tables, tag->value);
	match_value_init(&f->value, tag->value, f->code);
	if (f->key != UINT32_MAX)
		r = shapes_judge(f);
	if (r == 0 && f->key != UINT32_MAX && f->any)
		r = groups_look(f, segment);
	segment_unpin(segment);
	return r;
}

/* --- heads --- */

static bool event_has(const struct event_ref *ref, const struct store_tag *tag)
{
	const struct event *e = event_get(*ref);

	if (e->type == EVENT_SPAN || e->type == EVENT_BEGIN || e->type == EVENT_END)
		return false;
	if (tag->key.n == 0)
		return slice_eq(batch_text(ref->batch, e->name), tag->value);
	for (uint32_t i = 0; i < e->attrs.count; i++) {
		const struct attr *a = &ref->batch->attrs[e->attrs.first + i];

		if (slice_eq(batch_text(ref->batch, a->key), tag->key) &&
		    attr_is(ref->batch, a, tag->value))
			return true;
	}
	return false;
}

static int heads_look(const struct snapshot *s, const struct point_find *find)
{
	const struct view *v = s->view;
	int r = 0;

	for (size_t h = 0; r == 0 && h < v->head_n; h++)
		for (uint32_t b = 0; r == 0 && b < s->marks[h].batches; b++) {
			struct event_ref ref = {.batch = runs_batch(&v->heads[h]->runs, b)};

			r = leash_check();
			for (size_t i = 0; r == 0 && i < ref.batch->event_n; i++) {
				ref.index = (uint32_t)i;
				if (event_has(&ref, &find->tag))
					r = find->trace(find->context, event_get(ref)->trace_id,
							INT64_MAX);
			}
		}
	return r;
}

int snapshot_point_find(const struct snapshot *s, const struct point_find *find)
{
	struct finding f = {.find = find};
	int r = heads_look(s, find);

	/* The newest segments first. */
	for (size_t i = s->view->segment_n; r == 0 && i-- > 0;)
		r = segment_look(&f, s->view->segments[i]->segment);
	free(f.verdicts);
	free(f.found);
	return r;
}

int store_point_find(struct store *store, const struct point_find *find)
{
	struct snapshot s;
	int r = store_snapshot(store, &s);

	if (r < 0)
		return r;
	r = snapshot_point_find(&s, find);
	snapshot_done(&s);
	return r;
}
