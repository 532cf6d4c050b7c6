/* segment/loose_memo.h - LOOSE rows of a skeleton with the same name have the same shape.
 *
 * Of a row whose attributes are LOOSE a shape says no more than its skeleton and, if it is FIXED,
 * the name: two numbers, by which the shape is found without values being written down, hashed and
 * looked up.  One thread. */
#ifndef CAUSET_SEGMENT_LOOSE_MEMO_H
#define CAUSET_SEGMENT_LOOSE_MEMO_H

#include "segment/shape_memo.h"

#define LOOSE_MEMO_BITS 15

struct loose_slot {
	uint32_t skeleton; /* + 1; 0: free */
	uint32_t name;     /* the segment's code */
	uint32_t shape;
};

/* Where the shape of a row of this skeleton would be, which is fetched; NULL: it is not remembered,
 * because the row has more, or the skeleton's names do not stand in shapes. */
static inline struct loose_slot *loose_memo_look(struct group_writer *g,
						 const struct group_row *row)
{
	const struct skeleton *k = &g->shapes.skeletons[row->skeleton];
	struct loose_slot *slot;
	uint64_t key;

	if (k->fixed_n != 1 || !k->loose_n || row->e->extra ||
	    g->shapes.fields[k->field_first].step != STEP_FIXED_TEXT)
		return NULL;
	key = dictionary_string(&g->dictionary, &g->dictionary.remaps[row->remap], row->e->name) |
	      (uint64_t)row->skeleton << 32;
	slot = &g->loose_memo[(key ^ g->shapes.seed) * 0x9e3779b97f4a7c15ULL >>
			      (64 - LOOSE_MEMO_BITS)];
	__builtin_prefetch(slot);
	return slot;
}

/* The row's shape, which is fetched; UINT32_MAX: it is not known. */
static inline uint32_t loose_memo_take(const struct group_writer *g, const struct group_row *row,
				       const struct loose_slot *slot)
{
	const uint32_t *strings = g->dictionary.remaps[row->remap].strings;

	if (!slot || slot->skeleton != row->skeleton + 1 || slot->name != strings[row->e->name])
		return UINT32_MAX;
	__builtin_prefetch(&g->shapes.shapes[slot->shape], 1);
	return slot->shape;
}

static inline void loose_memo_learn(const struct group_writer *g, const struct group_row *row,
				    struct loose_slot *slot, uint32_t shape)
{
	const uint32_t *strings = g->dictionary.remaps[row->remap].strings;

	if (slot)
		*slot = (struct loose_slot){row->skeleton + 1, strings[row->e->name], shape};
}

#endif
