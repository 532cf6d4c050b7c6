/* exec/light_tree.c - the tree of a light trace: from ids and parents of a piece's rows. */
#include <errno.h>

#include "base/vec.h"
#include "exec/light_int.h"
#include "sampling/threshold.h"

#define FEW         16   /* so many spans have a smaller table */
#define FEW_SLOTS   64   /* a power of two, some times FEW */
#define TABLE_SLOTS 1024 /* a power of two, some times LIGHT_SPANS_MOST */

static int gather(struct light_trace *l, const struct group_piece *piece, struct light_spans *s)
{
	s->n = 0;
	l->points = false;
	for (uint32_t row = piece->first; row < piece->first + piece->rows; row++) {
		enum prune_plain plain = (enum prune_plain)l->prune->shapes[l->codes[row]].plain;

		if (plain == PLAIN_POINT) {
			l->points = true;
			continue;
		}
		if (plain != PLAIN_SPAN || s->n == LIGHT_SPANS_MOST || l->ids[row] == 0)
			return -EAGAIN;
		s->row[s->n] = row;
		s->id[s->n++] = l->ids[row];
	}
	return 0;
}

static uint32_t slot_of(uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ULL) >> 54);
}

/* Everybody's parent; a span whose parent never came is a root.  -EAGAIN: an id came twice. */
static int find_parents(const struct light_trace *l, struct light_spans *s)
{
	uint32_t slots = s->n <= FEW ? FEW_SLOTS : TABLE_SLOTS, mask = slots - 1;
	uint16_t table[TABLE_SLOTS];

	memset(table, 0xff, slots * sizeof(*table));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t at = slot_of(s->id[i]) & mask;

		for (; table[at] != LIGHT_NONE; at = (at + 1) & mask)
			if (s->id[table[at]] == s->id[i])
				return -EAGAIN;
		table[at] = (uint16_t)i;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t up = l->parents[s->row[i]];

		s->parent[i] = LIGHT_NONE;
		for (uint32_t at = slot_of(up) & mask; up && table[at] != LIGHT_NONE;
		     at = (at + 1) & mask)
			if (s->id[table[at]] == up) {
				s->parent[i] = table[at];
				break;
			}
	}
	return 0;
}

/* Every list of children, and that of roots, in the order asked for. */
static void list_children(struct light_spans *s, const uint16_t *order)
{
	s->roots = LIGHT_NONE;
	for (uint32_t i = 0; i < s->n; i++)
		s->first[i] = LIGHT_NONE;
	for (uint32_t i = s->n; i-- > 0;) {
		uint16_t span = order ? order[i] : (uint16_t)i;
		uint16_t up = s->parent[span];
		uint16_t *list = up == LIGHT_NONE ? &s->roots : &s->first[up];

		s->next[span] = *list;
		*list = span;
	}
}

int light_tree(struct light_trace *l, struct light_spans *s, const uint16_t *order)
{
	struct trace_block *blocks;
	uint32_t n = 0;

	if (!vec_reserve(&l->trace.blocks, &l->block_capacity, s->n + 1,
			 sizeof(*l->trace.blocks)) ||
	    !vec_reserve(&l->rows, &l->row_capacity, s->n + 1, sizeof(*l->rows)))
		return -ENOMEM;
	blocks = l->trace.blocks;
	l->trace.roots = 0;
	list_children(s, order);
	for (uint16_t at = s->roots; at != LIGHT_NONE;) {
		uint16_t up = s->parent[at];

		blocks[n] = (struct trace_block){.parent = TRACE_NONE, .last = n};
		if (up != LIGHT_NONE) {
			blocks[n].parent = s->block[up];
			blocks[n].depth = blocks[s->block[up]].depth + 1;
			blocks[s->block[up]].child_n++;
		} else {
			l->trace.roots++;
		}
		l->rows[n] = s->row[at];
		s->block[at] = (uint16_t)n++;
		if (s->first[at] != LIGHT_NONE) {
			at = s->first[at];
			continue;
		}
		while (at != LIGHT_NONE && s->next[at] == LIGHT_NONE)
			at = s->parent[at];
		if (at != LIGHT_NONE)
			at = s->next[at];
	}
	if (n != s->n)
		return -EAGAIN;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t up = blocks[i].parent;

		if (up != TRACE_NONE && blocks[i].last > blocks[up].last)
			blocks[up].last = blocks[i].last;
	}
	l->trace.block_n = n;
	return 0;
}

int light_set(struct light_trace *l, struct trace_at *at, const struct group_piece *piece)
{
	struct light_spans spans;
	int r;

	l->piece = (uint32_t)(piece - l->pieces);
	l->times = l->durations = NULL;
	r = l->failed = group_piece_links(l->group, l->piece, &l->ids, &l->parents);
	if (r == 0)
		r = gather(l, piece, &spans);
	if (r == 0 && spans.n == 0)
		r = -EAGAIN;
	if (r == 0)
		r = find_parents(l, &spans);
	if (r == 0)
		r = l->modelled ? light_model(l, &spans) : light_tree(l, &spans, NULL);
	if (r < 0)
		return r;
	trace_at_clear(at);
	l->self_known = false;
	at->light = l;
	at->trace = &l->trace;
	at->id = piece->id;
	at->refs = NULL;
	at->ref_n = 0;
	at->sample = (struct sample){.weight = 1, .trace = trace_number(piece->id)};
	if (at->run->threshold) {
		at->sample.weight = threshold_weight(at->run->threshold);
		atomic_store_explicit(&at->run->estimated, true, memory_order_relaxed);
	}
	return 0;
}
