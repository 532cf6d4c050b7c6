/* segment/loose_memo.h - LOOSE rows of a skeleton with the same name have the same shape.
 *
 * Of a row whose attributes are LOOSE a shape says no more than its skeleton and, if it is FIXED,
 * the name: two numbers at most, by which the shape is found without values being written down,
 * hashed and looked up.  One thread. */
#ifndef CAUSET_SEGMENT_LOOSE_MEMO_H
#define CAUSET_SEGMENT_LOOSE_MEMO_H

#include "segment/shape_memo.h"

#define LOOSE_MEMO_BITS 15

struct loose_slot {
	uint32_t skeleton; /* + 1; 0: free */
	uint32_t name;     /* the segment's code */
	uint32_t shape;
};

/* What stands for the name where it is a value and not in the shape: all rows of the skeleton have
 * the same one then. */
#define LOOSE_MEMO_ANY UINT32_MAX

static inline bool loose_names_vary(const struct group_writer *g, const struct skeleton *k)
{
	return g->shapes.fields[k->field_first].step == STEP_VAR_TEXT;
}

/* Where the shape of a row of this skeleton would be, which is fetched; NULL: it is not remembered,
 * because the row has more. */
static inline struct loose_slot *loose_memo_look(struct group_writer *g,
						 const struct group_row *row)
{
	const struct skeleton *k = &g->shapes.skeletons[row->skeleton];
	bool vary = loose_names_vary(g, k);
	struct loose_slot *slot;
	uint64_t key;

	if (k->fixed_n != !vary || !k->loose_n || row->e->extra ||
	    (!vary && g->shapes.fields[k->field_first].step != STEP_FIXED_TEXT))
		return NULL;
	key = vary ? LOOSE_MEMO_ANY
		   : dictionary_string(&g->dictionary, &g->dictionary.remaps[row->remap],
				       row->e->name);
	slot = &g->loose_memo[((key | (uint64_t)row->skeleton << 32) ^ g->shapes.seed) *
				      0x9e3779b97f4a7c15ULL >>
			      (64 - LOOSE_MEMO_BITS)];
	__builtin_prefetch(slot);
	return slot;
}

/* The row's shape, which is fetched; UINT32_MAX: it is not known. */
static inline uint32_t loose_memo_take(const struct group_writer *g, const struct group_row *row,
				       const struct loose_slot *slot)
{
	const uint32_t *strings = g->dictionary.remaps[row->remap].strings;

	if (!slot || slot->skeleton != row->skeleton + 1 ||
	    (slot->name != strings[row->e->name] && slot->name != LOOSE_MEMO_ANY))
		return UINT32_MAX;
	__builtin_prefetch(&g->shapes.shapes[slot->shape], 1);
	return slot->shape;
}

static inline void loose_memo_learn(const struct group_writer *g, const struct group_row *row,
				    struct loose_slot *slot, uint32_t shape)
{
	const uint32_t *strings = g->dictionary.remaps[row->remap].strings;
	bool vary = loose_names_vary(g, &g->shapes.skeletons[row->skeleton]);

	if (slot)
		*slot = (struct loose_slot){row->skeleton + 1,
					    vary ? LOOSE_MEMO_ANY : strings[row->e->name], shape};
}

#endif
