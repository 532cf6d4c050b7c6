/* infer/best_blocks.c - block moves by exact assignment. */
#include "infer/best_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SETTLED 0.002 /* of the calls may still move when a search ends */

static int grow(void *array, size_t n, size_t size)
{
	void *bigger = realloc(*(void **)array, n * size);

	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	return 0;
}

static int reserve(struct blocks_scratch *b, size_t rows, size_t arcs, size_t parents, size_t e)
{
	if (rows + 1 > b->row_capacity) {
		b->row_capacity = 0;
		if (grow(&b->assign.first, rows + 2, sizeof(uint32_t)) < 0 ||
		    grow(&b->assign.taken, rows + 1, sizeof(uint32_t)) < 0 ||
		    grow(&b->carry, (rows + 1) * e, sizeof(uint32_t)) < 0)
			return -ENOMEM;
		b->row_capacity = rows + 1;
	}
	if (arcs + 1 > b->arc_capacity) {
		b->arc_capacity = 0;
		if (grow(&b->assign.column, arcs + 1, sizeof(uint32_t)) < 0 ||
		    grow(&b->assign.gain, arcs + 1, sizeof(double)) < 0)
			return -ENOMEM;
		b->arc_capacity = arcs + 1;
	}
	if (parents + 1 > b->parent_capacity) {
		b->parent_capacity = 0;
		if (grow(&b->base, parents + 1, sizeof(double)) < 0 ||
		    grow(&b->before, parents + 1, sizeof(uint32_t)) < 0)
			return -ENOMEM;
		b->parent_capacity = parents + 1;
	}
	return 0;
}

void blocks_scratch_done(struct blocks_scratch *b)
{
	free(b->assign.first);
	free(b->assign.taken);
	free(b->assign.column);
	free(b->assign.gain);
	free(b->base);
	free(b->carry);
	free(b->before);
	assign_scratch_done(&b->inner);
	*b = (struct blocks_scratch){0};
}

/* What a parent keeps when its block is lifted off: a parent without a call to root has no block.
 */
static void lift(const struct single *s, uint32_t p, unsigned root, uint32_t block, uint32_t *out)
{
	unsigned n = s->model->slot_n;
	const uint32_t *child = s->child + (size_t)p * n;
	bool has = child[root] != VIEW_NONE;

	for (unsigned e = 0; e < n; e++)
		out[e] = has && block >> e & 1 ? VIEW_NONE : child[e];
}

/* What moves with a child of root, its hull in time, and the number of calls. */
static unsigned carry_of(const struct single *s, uint32_t c, unsigned root, uint32_t block,
			 uint32_t *carry, int64_t *ret_start, int64_t *ret_end)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n, size = 0;
	uint32_t owner = v->owner[c];

	*ret_start = v->child_start[c];
	*ret_end = v->child_end[c];
	for (unsigned e = 0; e < n; e++) {
		carry[e] = VIEW_NONE;
		if (e == root)
			carry[e] = c;
		else if (owner != VIEW_NONE && block >> e & 1)
			carry[e] = s->child[(size_t)owner * n + e];
		if (carry[e] == VIEW_NONE)
			continue;
		size++;
		*ret_start = MIN(*ret_start, v->child_start[carry[e]]);
		*ret_end = MAX(*ret_end, v->child_end[carry[e]]);
	}
	return size;
}

static void add_arcs(const struct single *s, uint32_t c, unsigned root, uint32_t block,
		     struct blocks_scratch *b, uint32_t row, uint32_t *arc)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n;
	uint32_t *carry = b->carry + (size_t)row * n;
	int64_t start, end;
	unsigned size = carry_of(s, c, root, block, carry, &start, &end);

	for (uint32_t k = v->candidate_first[c]; k < v->candidate_first[c + 1]; k++) {
		uint32_t p = v->candidate[k], with[SINGLE_ENDPOINTS_MAX];
		double gain = SINGLE_ORPHAN * size;

		/* The candidates of c contain c; the rest of the block may reach further. */
		if (size > 1 && (v->parent_start[p] > start || v->parent_end[p] < end))
			continue;
		lift(s, p, root, block, with);
		for (unsigned x = 0; x < n; x++) {
			if (carry[x] == VIEW_NONE)
				continue;
			if (with[x] != VIEW_NONE)
				gain -= SINGLE_ORPHAN; /* it would be pushed out */
			with[x] = carry[x];
		}
		gain += single_score(s, p, with) - b->base[p];
		if (gain > 0) {
			b->assign.column[*arc] = p;
			b->assign.gain[(*arc)++] = gain;
		}
	}
}

static void detach(struct single *s, unsigned root, uint32_t block)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n;

	for (uint32_t p = 0; p < v->parent_n; p++) {
		uint32_t *child = s->child + (size_t)p * n;

		if (child[root] == VIEW_NONE)
			continue;
		for (unsigned e = 0; e < n; e++)
			if (block >> e & 1 && child[e] != VIEW_NONE) {
				v->owner[child[e]] = VIEW_NONE;
				child[e] = VIEW_NONE;
			}
	}
}

static void attach(struct single *s, uint32_t p, const uint32_t *carry)
{
	unsigned n = s->model->slot_n;
	uint32_t *child = s->child + (size_t)p * n;

	for (unsigned e = 0; e < n; e++) {
		if (carry[e] == VIEW_NONE)
			continue;
		if (child[e] != VIEW_NONE)
			s->view->owner[child[e]] = VIEW_NONE;
		child[e] = carry[e];
		s->view->owner[carry[e]] = p;
	}
}

int blocks_move(struct single *s, unsigned root, uint32_t block, struct blocks_scratch *b)
{
	const struct view *v = s->view;
	unsigned n = s->model->slot_n;
	const uint32_t *members = s->member + s->member_first[root];
	uint32_t rows = s->member_first[root + 1] - s->member_first[root], arc = 0;
	size_t arcs = 0;
	int changed = 0;

	for (uint32_t r = 0; r < rows; r++)
		arcs += v->candidate_first[members[r] + 1] - v->candidate_first[members[r]];
	if (reserve(b, rows, arcs, v->parent_n, SINGLE_ENDPOINTS_MAX) < 0)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parent_n; p++) {
		uint32_t without[SINGLE_ENDPOINTS_MAX];

		lift(s, p, root, block, without);
		b->base[p] = single_score(s, p, without);
		b->before[p] = s->child[(size_t)p * n + root];
	}
	for (uint32_t r = 0; r < rows; r++) {
		b->assign.first[r] = arc;
		add_arcs(s, members[r], root, block, b, r, &arc);
	}
	b->assign.first[rows] = arc;
	b->assign.row_n = rows;
	b->assign.column_n = v->parent_n;
	if (assign_solve(&b->assign, &b->inner) < 0)
		return -ENOMEM;
	detach(s, root, block);
	for (uint32_t r = 0; r < rows; r++)
		if (b->assign.taken[r] != ASSIGN_NONE)
			attach(s, b->assign.taken[r], b->carry + (size_t)r * n);
	for (uint32_t p = 0; p < v->parent_n; p++)
		changed += b->before[p] != s->child[(size_t)p * n + root];
	return changed;
}

/* Steps from the parent's start to slot e, by triggers. */
static unsigned depth_of(const struct single_model *m, unsigned e)
{
	unsigned n = m->slot_n, depth = 0;
	int x = m->trigger[e];

	for (; x >= 0 && depth < n; depth++)
		x = m->trigger[(unsigned)x % n];
	return depth;
}

static int sweep_blocks(struct single *s, struct blocks_scratch *b)
{
	const struct single_model *m = s->model;
	unsigned n = m->slot_n;
	int changed = 0, r;

	for (unsigned e = 0; e < n; e++) {
		uint32_t block = single_subtree(m, e);

		if (block != 1U << e) {
			r = blocks_move(s, e, block, b);
			if (r < 0)
				return r;
			changed += r;
		}
		if (m->trigger[e] >= 0) {
			unsigned x = (unsigned)m->trigger[e] % n;
			uint32_t pair = 1U << e | 1U << x;

			r = pair == block ? 0 : blocks_move(s, x, pair, b);
			if (r < 0)
				return r;
			changed += r;
		}
	}
	return changed;
}

int blocks_search(struct single *s, unsigned sweeps, struct blocks_scratch *b)
{
	unsigned n = s->model->slot_n;

	for (unsigned i = 0; i < sweeps; i++) {
		int changed = 0, r;

		for (unsigned depth = 0; depth <= n; depth++)
			for (unsigned e = 0; e < n; e++) {
				if (depth_of(s->model, e) != depth)
					continue;
				r = blocks_move(s, e, 1U << e, b);
				if (r < 0)
					return r;
				changed += r;
			}
		r = sweep_blocks(s, b);
		if (r < 0)
			return r;
		if (changed + r <= SETTLED * s->view->child_n)
			break;
	}
	return 0;
}
