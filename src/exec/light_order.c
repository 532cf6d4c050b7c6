/* exec/light_order.c - happened-before between the begins of a light trace's spans.
 *
 * The rules are model/causality.h's, of which a tree of spans needs few.  Beside being an ancestor
 * there is one way from the begin of a to that of b:
 *
 *      common parent (or none: two roots)
 *      ├─ x ──────────────┤            x and y in one unit, and x was over before y began,
 *      │   └─ … a ┤                    by their process's clock;
 *      │                    ├─ y …     from a it goes up to the end of x, by ends that lie in
 *      │                    │  └─ b    their parents, or by a later span of the same unit
 *
 * More than one step among siblings is no further than one: a unit's clock only goes forwards. */
#include <errno.h>
#include <stdlib.h>

#include "core/hash.h"
#include "exec/light_int.h"
#include "model/process_identity.h"

/* --- processes of a segment --- */

struct named {
	struct slice identity;
	uint32_t resource;
};

static int by_identity(const void *a, const void *b)
{
	return slice_cmp(((const struct named *)a)->identity, ((const struct named *)b)->identity);
}

int light_processes(struct light_trace *l)
{
	const struct batch *b = tables_batch(l->tables);
	size_t n = b->resource_n;
	struct arena arena = {0};
	struct buffer text = {0};
	struct named *named;
	uint32_t number = 0;
	int r = 0;

	if (l->process_segment == l->segment)
		return 0;
	l->process_segment = NULL;
	free(l->processes);
	l->processes = malloc((n + 1) * sizeof(*l->processes));
	named = malloc((n + 1) * sizeof(*named));
	if (!l->processes || !named)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		process_identity(b, i, &text);
		named[i] = (struct named){arena_dup(&arena, buffer_get(&text)), i};
		if (text.failed || !named[i].identity.p)
			r = -ENOMEM;
	}
	if (r == 0 && n)
		qsort(named, n, sizeof(*named), by_identity);
	for (size_t i = 0; r == 0 && i < n; i++) {
		number += i > 0 && by_identity(&named[i - 1], &named[i]) != 0;
		l->processes[named[i].resource] = number;
	}
	if (r == 0)
		l->process_segment = l->segment;
	buffer_done(&text);
	arena_done(&arena);
	free(named);
	return r;
}

/* --- one span --- */

static const struct shape *shape_at(const struct light_trace *l, uint32_t block)
{
	return &tables_shapes(l->tables)->rows[l->codes[l->rows[block]]];
}

static uint64_t began(const struct light_trace *l, uint32_t block)
{
	return l->times[l->rows[block]];
}

static uint64_t ended(const struct light_trace *l, uint32_t block)
{
	return began(l, block) + l->durations[l->rows[block]];
}

/* It began, ended, and not before it began. */
bool light_row_timed(const struct light_trace *l, uint32_t row)
{
	uint64_t from = l->times[row], to = from + l->durations[row];

	return from != 0 && to >= from && to <= (uint64_t)INT64_MAX &&
	       tables_shapes(l->tables)->rows[l->codes[row]].has_end;
}

static bool is_timed(const struct light_trace *l, uint32_t block)
{
	return light_row_timed(l, l->rows[block]);
}

int light_thread(struct trace_at *at, uint32_t block, uint64_t *ret_thread)
{
	struct light_trace *l = at->light;
	uint64_t parent_id = l->parents[l->rows[block]];
	struct value v;
	int r = light_attr(l, l->rows[block], SLICE("thread.id"), &at->arena, &v);

	if (r < 0)
		return r;
	*ret_thread = 0;
	if (v.type == V_INT)
		*ret_thread = (uint64_t)v.i;
	else if (v.type == V_STRING)
		*ret_thread = hash_bytes(value_slice(v).p, value_slice(v).n, 1);
	if (l->trace.blocks[block].parent == TRACE_NONE && parent_id != 0) /* orphans */
		*ret_thread = hash_u64(*ret_thread, parent_id);
	return 0;
}

/* Are two siblings, or two roots, of one unit?  1, 0, negative errno. */
static int one_unit(struct trace_at *at, uint32_t x, uint32_t y)
{
	const struct light_trace *l = at->light;
	uint64_t a, b;
	int r;

	if (l->processes[shape_at(l, x)->resource] != l->processes[shape_at(l, y)->resource])
		return 0;
	r = light_thread(at, x, &a);
	if (r == 0)
		r = light_thread(at, y, &b);
	return r < 0 ? r : a == b;
}

uint16_t light_row_bits(const struct light_trace *l, uint32_t row, uint32_t parent_row)
{
	const struct shape *shapes = tables_shapes(l->tables)->rows;
	const struct shape *child = &shapes[l->codes[row]], *parent = &shapes[l->codes[parent_row]];
	bool same = l->processes[child->resource] == l->processes[parent->resource];
	bool remote = !same || ((child->kind == KIND_SERVER || child->kind == KIND_CONSUMER) &&
				(parent->kind == KIND_CLIENT || parent->kind == KIND_PRODUCER));
	uint16_t bits = remote ? BLOCK_REMOTE_PARENT : 0;

	if (remote && (child->kind == KIND_CONSUMER || parent->kind == KIND_PRODUCER))
		return bits | BLOCK_MESSAGE;
	if (!same || l->times[row] <= l->times[parent_row] + l->durations[parent_row])
		bits |= BLOCK_IN_PARENT;
	if (remote && l->durations[row] <= l->durations[parent_row])
		bits |= BLOCK_ENDS_IN_PARENT;
	return bits;
}

static uint16_t bits_of(const struct light_trace *l, uint32_t block)
{
	return light_row_bits(l, l->rows[block], l->rows[l->trace.blocks[block].parent]);
}

/* Does a span that comes after another one in its unit begin, or end, inside their parent? */
static int by_sibling(struct trace_at *at, uint32_t block)
{
	const struct light_trace *l = at->light;
	uint32_t up = l->trace.blocks[block].parent, next;
	int r = 0;

	for (next = up + 1; r == 0 && next <= l->trace.blocks[up].last;
	     next = l->trace.blocks[next].last + 1) {
		if (next == block)
			continue;
		if (!is_timed(l, next))
			return -EAGAIN;
		if (ended(l, block) < began(l, next) &&
		    bits_of(l, next) & (BLOCK_IN_PARENT | BLOCK_ENDS_IN_PARENT))
			r = one_unit(at, block, next);
	}
	return r;
}

/* From the begin of a block, or from its end, to the end of its parent? */
static int to_parent(struct trace_at *at, uint32_t block, bool from_begin)
{
	const struct light_trace *l = at->light;
	uint16_t wanted = BLOCK_ENDS_IN_PARENT | (from_begin ? BLOCK_IN_PARENT : 0);

	if (!is_timed(l, block) || !is_timed(l, l->trace.blocks[block].parent))
		return -EAGAIN;
	return bits_of(l, block) & wanted ? 1 : by_sibling(at, block);
}

int light_before(struct trace_at *at, uint32_t a, uint32_t b, bool *ret_clock)
{
	struct light_trace *l = at->light;
	const struct trace_block *blocks = l->trace.blocks;
	uint32_t x = a, y = b;
	int r;

	*ret_clock = false;
	if (a == b || trace_is_ancestor(&l->trace, b, a))
		return 0;
	if (trace_is_ancestor(&l->trace, a, b))
		return 1;
	while (blocks[x].parent != blocks[y].parent) {
		if (blocks[x].depth >= blocks[y].depth)
			x = blocks[x].parent;
		else
			y = blocks[y].parent;
	}
	if (!light_times(l) || !is_timed(l, x) || !is_timed(l, y))
		return -EAGAIN;
	if (ended(l, x) >= began(l, y))
		return 0;
	r = light_processes(l);
	if (r == 0)
		r = one_unit(at, x, y);
	for (uint32_t at_block = a; r > 0 && at_block != x; at_block = blocks[at_block].parent)
		r = to_parent(at, at_block, at_block == a);
	*ret_clock = r > 0;
	return r;
}
