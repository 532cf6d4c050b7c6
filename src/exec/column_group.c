/* exec/column_group.c - slots of the rows of one group. */
#include "exec/column_group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "exec/attr_value.h"
#include "exec/probability.h"
#include "exec/row_field.h"

int column_group_open(struct column_group *g, const struct column_shapes *shapes,
		      struct segment_group *group, uint64_t serial)
{
	g->shapes = shapes;
	g->group = group;
	g->serial = serial;
	g->row_n = group_zone(group)->rows;
	g->times = g->durations = g->ids = g->parents = NULL;
	g->pieces = NULL;
	g->firsts = NULL;
	g->piece_n = 0;
	g->piece_at = 0;
	g->weights = NULL;
	g->few_n = 0;
	g->few_leaf = COLUMN_SLOTS_MOST;
	g->one_row = UINT32_MAX;
	g->indices = NULL;
	g->codes = group_zone(group)->shapes;
	for (uint32_t i = 0; i < g->query->leaf_n; i++)
		g->leaves[i].loaded = g->leaves[i].placed = false;
	return g->row_n > SEGMENT_GROUP_ROWS ? -EBADMSG : 0;
}

int column_group_indices(struct column_group *g)
{
	return g->indices ? 0 : group_shape_indices(g->group, &g->indices);
}

void column_group_done(struct column_group *g)
{
	for (uint32_t i = 0; i < COLUMN_SLOTS_MOST; i++)
		free(g->leaves[i].at);
	free(g->weight_room);
	arena_done(&g->shape_arena);
	event_set_done(&g->one);
}

/* Everything about the few rows. */
static int need_few(struct column_group *g)
{
	struct group_few few;
	int r = group_few_rows(g->group, g->few, g->few_n, &few);

	if (r < 0)
		return r;
	g->times = few.times;
	g->durations = few.durations;
	g->ids = few.id1;
	g->parents = few.id2;
	g->pieces = few.pieces;
	return 0;
}

int column_group_times(struct column_group *g)
{
	if (g->times)
		return 0;
	return g->few_n ? need_few(g) : group_times(g->group, &g->times);
}

int column_group_durations(struct column_group *g)
{
	if (g->durations)
		return 0;
	return g->few_n ? need_few(g) : group_durations(g->group, &g->durations);
}

int column_group_ids(struct column_group *g)
{
	if (g->ids)
		return 0;
	return g->few_n ? need_few(g) : group_ids(g->group, &g->ids);
}

static int need_parents(struct column_group *g)
{
	if (g->parents)
		return 0;
	return g->few_n ? need_few(g) : group_parents(g->group, &g->parents);
}

static int need_pieces(struct column_group *g)
{
	uint32_t n;

	if (g->pieces)
		return 0;
	return g->few_n ? need_few(g) : group_pieces(g->group, &g->pieces, &n);
}

static int need_firsts(struct column_group *g)
{
	return g->firsts ? 0 : group_piece_firsts(g->group, &g->firsts, &g->piece_n);
}

int column_group_piece(struct column_group *g, uint32_t row, uint32_t *ret_piece)
{
	int r = need_firsts(g);

	if (r < 0)
		return r;
	if (g->piece_at >= g->piece_n || row < g->firsts[g->piece_at])
		g->piece_at = 0;
	while (g->piece_at + 1 < g->piece_n && row >= g->firsts[g->piece_at + 1])
		g->piece_at++;
	*ret_piece = g->piece_at;
	return 0;
}

static int row_trace(struct column_group *g, uint32_t row, struct trace_id *ret_id)
{
	uint32_t piece = 0;
	int r = column_group_piece(g, row, &piece);

	if (r == 0)
		r = need_pieces(g);
	if (r == 0)
		*ret_id = g->pieces[piece].id;
	return r;
}

/* --- columns of one key --- */

static int load_type(struct column_group *g, struct leaf_column *c, uint32_t key,
		     enum value_type type)
{
	const struct group_column *column;
	int r = group_column(g->group, LEVEL_BLOCK, key, type, &column);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (c->n == LEAF_TYPES || column->n >= (1u << LEAF_SHIFT))
		return -EBADMSG;
	c->columns[c->n++] = column;
	return 0;
}

int column_group_columns(struct column_group *g, uint32_t leaf, struct leaf_column **ret_column)
{
	struct leaf_column *c = &g->leaves[leaf];
	uint32_t key = g->shapes->key[leaf];
	int r = 0;

	*ret_column = c;
	if (c->loaded)
		return 0;
	c->n = 0;
	for (size_t i = 0; r == 0 && key != NO_KEY && i < LEAF_TYPES_ALL; i++)
		r = load_type(g, c, key, leaf_types[i]);
	c->loaded = r == 0;
	return r;
}

int column_group_leaf(struct column_group *g, uint32_t leaf, struct leaf_column **ret_column)
{
	struct leaf_column *c;
	int r = column_group_columns(g, leaf, ret_column);

	c = *ret_column;
	if (r < 0 || c->placed)
		return r;
	if (!c->at)
		c->at = malloc(SEGMENT_GROUP_ROWS * sizeof(*c->at));
	if (!c->at)
		return -ENOMEM;
	memset(c->at, 0xff, g->row_n * sizeof(*c->at));
	for (uint32_t k = 0; k < c->n; k++)
		for (uint32_t i = 0; i < c->columns[k]->n; i++) {
			uint32_t *at = &c->at[c->columns[k]->rows[i]];

			*at = *at == LEAF_NOWHERE ? k << LEAF_SHIFT | i : LEAF_TWICE;
		}
	c->placed = true;
	return 0;
}

/* The row as a whole, for what is rare. */
static int slow(struct column_group *g, uint32_t row, uint32_t leaf, struct value *ret_value)
{
	int r = 0;

	if (g->one_row != row) {
		event_set_done(&g->one);
		g->one_row = UINT32_MAX;
		r = group_rows(g->group, row, 1, &g->one);
		if (r == 0)
			r = g->one.n == 1 ? 0 : -EBADMSG;
		if (r == 0)
			g->one_row = row;
	}
	if (r == 0 && !value_dup(g->arena,
				 row_field(g->one.refs[0], g->query->leaves[leaf],
					   g->query->tracepoint, g->arena),
				 ret_value))
		r = -ENOMEM;
	return r;
}

/* Does the row's shape have a value for the key, too? */
static bool has_fixed(const struct column_group *g, uint32_t row, uint32_t leaf)
{
	const struct shapes *shapes = tables_shapes(g->shapes->tables);
	const struct shape *shape = &shapes->rows[column_group_shape(g, row)];

	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++)
		if (shapes->entries[i].key == g->shapes->key[leaf] &&
		    shapes->entries[i].class == ENTRY_FIXED)
			return true;
	return false;
}

/* How often the row has a key. */
static int count_key(struct column_group *g, uint32_t row, uint32_t key, uint32_t *ret_n)
{
	const struct shapes *shapes = tables_shapes(g->shapes->tables);
	const struct shape *shape = &shapes->rows[column_group_shape(g, row)];
	int r = 0;

	*ret_n = 0;
	if (shape->loose_n > 0)
		r = group_row_loose(g->group, row, key, ret_n);
	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++)
		*ret_n += shapes->entries[i].key == key && shapes->entries[i].class != ENTRY_LOOSE;
	return r;
}

/* One of few rows: its column is not decoded for it. */
static int from_few(struct column_group *g, uint32_t row, uint32_t leaf, struct value *ret_value)
{
	struct slice name;
	uint32_t n;
	int r;

	if (leaf == g->few_leaf) {
		r = count_key(g, row, g->shapes->key[leaf], &n);
		if (r < 0 || n == 1) {
			*ret_value = value_text(g->few_text);
			return r;
		}
	}
	if (g->shapes->key[leaf] != FIELD_NAME)
		return slow(g, row, leaf, ret_value);
	r = group_row_name(g->group, row, &name);
	if (r == 0)
		*ret_value = value_text(name);
	return r;
}

static int from_column(struct column_group *g, uint32_t row, uint32_t leaf, struct value absent,
		       struct value *ret_value)
{
	struct leaf_column *c;
	const struct group_column *column;
	uint32_t at, i;
	int r;

	if (g->few_n && !g->leaves[leaf].placed)
		return from_few(g, row, leaf, ret_value);
	r = column_group_leaf(g, leaf, &c);
	if (r < 0)
		return r;
	at = c->at[row];
	/* The last one counts; which that is only the row itself knows. */
	if (at == LEAF_TWICE || (g->shapes->empty[leaf] && at != LEAF_NOWHERE) ||
	    ((at != LEAF_NOWHERE || g->shapes->empty[leaf]) && !value_is_nil(absent) &&
	     has_fixed(g, row, leaf)))
		return slow(g, row, leaf, ret_value);
	if (at == LEAF_NOWHERE) {
		*ret_value = absent;
		return 0;
	}
	column = c->columns[at >> LEAF_SHIFT];
	i = at & ((1u << LEAF_SHIFT) - 1);
	*ret_value = column->values ? bits_value(column->type, column->values[i])
				    : text_value(column->type, column_text(column, i), g->arena);
	return 0;
}

/* --- slots --- */

static int timed(struct column_group *g, uint32_t row, enum leaf_place place,
		 struct value *ret_value)
{
	int r = column_group_times(g);
	int64_t duration;

	if (r == 0 && place != LEAF_TIME)
		r = column_group_durations(g);
	if (r < 0)
		return r;
	if (place == LEAF_TIME) {
		*ret_value = time_value(g->times[row]);
	} else if (place == LEAF_END) {
		*ret_value = column_group_ended(g, row)
				     ? time_value(g->times[row] + g->durations[row])
				     : value_nil();
	} else {
		duration = row_duration(g, row);
		*ret_value = duration < 0 ? value_nil() : value_of(V_DURATION, duration);
	}
	return 0;
}

static int identified(struct column_group *g, uint32_t row, enum leaf_place place,
		      struct value *ret_value)
{
	struct trace_id id;
	int r = 0;

	if (place == LEAF_PARENT_ID) {
		r = need_parents(g);
		if (r == 0)
			*ret_value = span_id_value(g->parents[row], g->arena);
		return r;
	}
	if (place != LEAF_TRACE_ID)
		r = column_group_ids(g);
	if (r == 0 && place != LEAF_SPAN_ID)
		r = row_trace(g, row, &id);
	if (r < 0)
		return r;
	*ret_value = place == LEAF_TRACE_ID  ? trace_id_value(id, g->arena)
		     : place == LEAF_SPAN_ID ? span_id_value(g->ids[row], g->arena)
					     : element_value(id, g->ids[row], g->arena);
	return 0;
}

int column_group_slots(struct column_group *g, uint32_t row, struct value *slots)
{
	const struct column_shapes *s = g->shapes;
	uint32_t unnest_n = g->query->unnest_n;
	const struct value *known = g->known, *absent = g->absent;
	int r = 0;

	arena_clear(&g->shape_arena);
	column_shapes_slots(s, column_group_shape(g, row), &g->shape_arena, g->known, g->absent);
	for (uint32_t i = 0; r == 0 && i < g->query->leaf_n; i++) {
		struct value *slot = &slots[unnest_n + i];

		if (known[i].type != V_UNKNOWN) {
			*slot = known[i];
			continue;
		}
		switch (s->place[i]) {
		case LEAF_TIME:
		case LEAF_END:
		case LEAF_DURATION:
			r = timed(g, row, s->place[i], slot);
			break;
		case LEAF_COLUMN:
			r = from_column(g, row, i, absent[i], slot);
			break;
		default:
			r = identified(g, row, s->place[i], slot);
			break;
		}
	}
	return r;
}

/* --- weights --- */

/* The text of a trace state that stands in the row's shape, or an empty one. */
static struct slice fixed_state(const struct column_group *g, const struct shape *shape)
{
	const struct shapes *shapes = tables_shapes(g->shapes->tables);

	for (uint32_t i = shape->entry_first; i < shape->entry_first + shape->entry_n; i++) {
		const struct shape_entry *e = &shapes->entries[i];

		if (e->key == FIELD_TRACE_STATE && e->class == ENTRY_FIXED)
			return tables_text(g->shapes->tables, (uint32_t)e->value);
	}
	return slice_of(NULL, 0);
}

static void weigh_piece(struct column_group *g, uint32_t piece, uint64_t threshold,
			const struct group_column *states, uint32_t *next)
{
	const struct shapes *shapes = tables_shapes(g->shapes->tables);
	struct trace_id id = g->pieces[piece].id;
	struct probability p;

	probability_init(&p, threshold);
	for (uint32_t row = g->firsts[piece]; row < g->firsts[piece + 1]; row++) {
		const struct shape *shape = &shapes->rows[column_group_shape(g, row)];
		uint64_t kept = tables_threshold(g->shapes->tables, shape->resource);
		struct slice state = slice_of(NULL, 0);

		if (shape->level != LEVEL_LINK)
			state = fixed_state(g, shape);
		while (states && *next < states->n && states->rows[*next] < row)
			++*next;
		if (states && *next < states->n && states->rows[*next] == row)
			state = column_text(states, *next);
		if (state.n || kept)
			probability_add(&p, state, kept, id);
	}
	g->weight_room[piece] = probability_weight(&p);
}

static bool any_weighted(const struct column_group *g)
{
	const struct group_zone *zone = group_zone(g->group);
	const struct shapes *shapes = tables_shapes(g->shapes->tables);

	for (uint32_t i = 0; i < zone->shape_n; i++) {
		const struct shape *shape = &shapes->rows[zone->shapes[i]];

		if (tables_threshold(g->shapes->tables, shape->resource) != 0)
			return true;
		for (uint32_t k = shape->entry_first; k < shape->entry_first + shape->entry_n; k++)
			if (shapes->entries[k].key == FIELD_TRACE_STATE)
				return true;
	}
	return false;
}

int column_group_weigh(struct column_group *g, uint64_t threshold)
{
	const struct group_column *states = NULL;
	uint32_t next = 0;
	int r;

	if (threshold == 0 && (!g->shapes->weighted || !any_weighted(g)))
		return 0;
	r = need_firsts(g);
	if (r == 0)
		r = need_pieces(g);
	if (r < 0)
		return r;
	r = group_column(g->group, LEVEL_BLOCK, FIELD_TRACE_STATE, VALUE_STRING, &states);
	if (r < 0 && r != -ENOENT)
		return r;
	if (!vec_reserve(&g->weight_room, &g->weight_capacity, g->piece_n + 1, sizeof(double)))
		return -ENOMEM;
	for (uint32_t i = 0; i < g->piece_n; i++)
		weigh_piece(g, i, threshold, r == 0 ? states : NULL, &next);
	g->weights = g->weight_room;
	return 0;
}

int column_group_sample(struct column_group *g, uint32_t row, bool timed_too,
			struct sample *ret_sample)
{
	struct sample s = {.weight = 1, .trace = 1};
	uint32_t piece;
	int r = 0;

	if (g->weights) {
		r = column_group_piece(g, row, &piece);
		if (r == 0) {
			s.weight = g->weights[piece];
			s.trace = g->serial * SEGMENT_GROUP_ROWS + piece + 1;
		}
	}
	if (r == 0 && timed_too) {
		r = column_group_times(g);
		if (r == 0)
			r = column_group_ids(g);
		if (r == 0) {
			s.time_ns = g->times[row];
			s.id = g->ids[row];
		}
	}
	if (r == 0)
		*ret_sample = s;
	return r;
}
