/* model/trace_units.c - execution units: those that were sent, and those spans imply.
 *
 * A native unit is known by its process and id.  Spans carry none: those of one process with the
 * same parent and the same thread.id (or none) form one, whose order is read off the clock
 * (model/causality.h).  Numbered by their first block in pre-order, so those without blocks last.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/trace_int.h"

struct unit_key {
	uint64_t id;              /* the unit's, or what thread.id says */
	uint32_t process, parent; /* parent block, for units made from spans */
	bool from_clock;
};

struct roll {
	struct trace *t;
	struct map by_key;
	struct unit_key *keys;
	struct trace_unit *units;
	size_t n, key_capacity, unit_capacity;
};

static void roll_done(struct roll *r)
{
	map_done(&r->by_key);
	free(r->keys);
	free(r->units);
}

static bool same_key(const void *context, uint32_t value, const void *key)
{
	const struct unit_key *a = &((const struct roll *)context)->keys[value], *b = key;

	return a->id == b->id && a->process == b->process && a->parent == b->parent &&
	       a->from_clock == b->from_clock;
}

static uint64_t key_hash(const struct roll *r, const struct unit_key *key)
{
	uint64_t where = (uint64_t)key->process << 32 | key->parent;

	return hash_u64(key->id, hash_u64(where ^ (uint64_t)key->from_clock << 63, r->by_key.seed));
}

static uint32_t find(const struct roll *r, const struct unit_key *key)
{
	return map_get(&r->by_key, key_hash(r, key), same_key, r, key);
}

static int get(struct roll *r, struct unit_key key, uint32_t *ret_unit)
{
	uint32_t at = find(r, &key);

	if (at == MAP_NONE) {
		if (!vec_reserve(&r->keys, &r->key_capacity, r->n + 1, sizeof(*r->keys)) ||
		    !vec_reserve(&r->units, &r->unit_capacity, r->n + 1, sizeof(*r->units)) ||
		    !map_put(&r->by_key, key_hash(r, &key), (uint32_t)r->n))
			return -ENOMEM;
		at = (uint32_t)r->n++;
		r->keys[at] = key;
		r->units[at] = (struct trace_unit){
			.id = key.from_clock ? 0 : key.id,
			.parent = TRACE_NONE,
			.process = key.process,
			.row = TRACE_NONE,
			.from_clock = key.from_clock,
		};
	}
	*ret_unit = at;
	return 0;
}

static int unit_of_block(const struct build *build, struct roll *r, uint32_t block)
{
	struct trace_block *x = &r->t->blocks[block];
	struct unit_key key = {.process = x->process};

	if (x->bits & BLOCK_NATIVE && trace_row_place(r->t, x->row).unit != 0) {
		key.id = trace_row_place(r->t, x->row).unit;
		key.parent = TRACE_NONE;
	} else {
		key.from_clock = true;
		key.parent = x->parent;
		if (x->inferred == TRACE_NONE)
			key.id = build->info[x->row].thread;
		if (x->parent == TRACE_NONE && x->parent_id != 0) /* orphans: of the same parent? */
			key.id = hash_u64(key.id, x->parent_id);
	}
	return get(r, key, &x->unit);
}

/* Where a point or counter happened: where its row says, else where its block runs. */
static int unit_of_row(struct roll *r, uint32_t row, uint32_t process, uint32_t block,
		       uint32_t *ret_unit)
{
	uint64_t id = trace_row_place(r->t, row).unit;

	if (id != 0)
		return get(r, (struct unit_key){id, process, TRACE_NONE, false}, ret_unit);
	*ret_unit = block == TRACE_NONE ? TRACE_NONE : r->t->blocks[block].unit;
	return 0;
}

static int from_unit_rows(struct build *b, struct roll *r)
{
	int error = 0;

	for (uint32_t row = 0; error == 0 && row < b->t->row_n; row++) {
		uint32_t unit;

		if (b->info[row].type != EVENT_UNIT)
			continue;
		error = get(
			r,
			(struct unit_key){b->info[row].id, b->info[row].process, TRACE_NONE, false},
			&unit);
		if (error < 0)
			break;
		if (r->units[unit].row != TRACE_NONE) /* said again, differently */
			r->units[unit].repairs |= REPAIR_CONFLICT;
		else
			r->units[unit].row = row;
		r->units[unit].repairs |= b->info[row].repairs;
	}
	for (uint32_t i = 0; error == 0 && i < r->n; i++) {
		struct unit_key key = {.process = r->units[i].process, .parent = TRACE_NONE};

		if (r->units[i].row == TRACE_NONE)
			continue;
		key.id = trace_row(b->t, r->units[i].row)->id2;
		if (key.id == 0)
			continue;
		r->units[i].parent = find(r, &key);
		if (r->units[i].parent == i) { /* its own parent */
			r->units[i].parent = TRACE_NONE;
			r->units[i].repairs |= REPAIR_CYCLE;
		} else if (r->units[i].parent == TRACE_NONE) {
			r->units[i].repairs |= REPAIR_ORPHAN;
		}
	}
	return error;
}

_Static_assert(MAP_NONE == TRACE_NONE, "a unit not found is no unit");

int build_units(struct build *b)
{
	struct trace *t = b->t;
	_cleanup_(roll_done)
	struct roll r = {.t = t};
	int error = 0;

	map_init(&r.by_key);
	for (uint32_t i = 0; error == 0 && i < t->block_n; i++) {
		error = unit_of_block(b, &r, i);
		if (error == 0)
			r.units[t->blocks[i].unit].blocks++;
	}
	for (size_t i = 0; error == 0 && i < t->point_n; i++) {
		struct trace_point *p = &t->points[i];

		error = unit_of_row(&r, p->row, b->info[p->row].process, p->block, &p->unit);
	}
	for (size_t i = 0; error == 0 && i < t->counter_n; i++) {
		struct trace_counter *c = &t->counters[i];

		error = unit_of_row(&r, c->row, b->info[c->row].process, c->block, &c->unit);
	}
	if (error == 0)
		error = from_unit_rows(b, &r);
	if (error < 0)
		return error;
	t->units = arena_alloc(&t->arena, r.n * sizeof(*t->units));
	if (!t->units)
		return -ENOMEM;
	if (r.n)
		memcpy(t->units, r.units, r.n * sizeof(*t->units));
	t->unit_n = r.n;
	return 0;
}
