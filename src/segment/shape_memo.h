/* segment/shape_memo.h - rows that look like one before have its shape.
 *
 * What a row looks like at a glance says which skeleton it probably has; those of its values in
 * which shapes of that skeleton differ say which shape.  Then the row is compared with both: that
 * costs a third of writing its words and values down, hashing them and looking them up, which is
 * left to rows that were not guessed right (group_shapes.c). */
#ifndef CAUSET_SEGMENT_SHAPE_MEMO_H
#define CAUSET_SEGMENT_SHAPE_MEMO_H

#include "segment/group_writer.h"

/* The code of a row's name, to guess by: while totals are counted every span's is in the dictionary
 * anyway; but names that do not stand in shapes are not put there to guess. */
static inline uint32_t guess_name(struct group_writer *g, struct remap *r, const struct event *e)
{
	bool counted = (e->type == EVENT_SPAN || e->type == EVENT_BEGIN) && !g->totals.given_up;

	return counted ? dictionary_string(&g->dictionary, r, e->name)
		       : dictionary_known(&g->dictionary, r, e->name);
}

/* Where a skeleton like the row's was last noted; NULL: it is not guessed. */
static inline uint32_t *guess_slot(struct group_writer *g, const struct group_row *row)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;
	uint32_t n = e->attrs.count;
	uint64_t hash;

	if (e->extra)
		return NULL;
	hash = (uint64_t)dictionary_resource(&g->dictionary, r, e->resource) << 32 ^
	       (uint64_t)row->form << 48 ^ (uint64_t)(uint32_t)e->status << 20 ^
	       guess_name(g, r, e);
	hash = (hash ^ g->shapes.seed) * 0x9e3779b97f4a7c15ULL;
	if (n > 0)
		hash ^= dictionary_string(&g->dictionary, r,
					  r->batch->attrs[e->attrs.first + n - 1].key);
	hash ^= (uint64_t)(n ^ (uint32_t)e->kind << 8 ^ e->flags << 12 ^
			   dictionary_scope(&g->dictionary, r, e->scope) << 22)
		<< 32;
	hash *= 0xe7037ed1a0b428dbULL;
	return &g->guesses[hash >> (64 - GUESS_BITS)];
}

/* Has the row these words for its attributes?  None of them is of the empty key: keys that the
 * segment does not know yet look like it.  Two at a time; in vectors it takes twice as many
 * instructions. */
static inline bool has_keys(const uint32_t *strings, const struct attr *a, uint32_t n,
			    const uint32_t *words)
{
	const uint32_t *end = words + (n & ~1U);
	uint32_t differ =
		n & 1 ? words[n - 1] ^ field_word(strings[a[n - 1].key], a[n - 1].type) : 0;

	for (; words < end; words += 2, a += 2) {
		differ |= words[0] ^ field_word(strings[a[0].key], a[0].type);
		__asm__("" : "+r"(differ));
		differ |= words[1] ^ field_word(strings[a[1].key], a[1].type);
		__asm__("" : "+r"(differ));
	}
	return differ == 0;
}

/* Has the row what the skeleton says but for its fields?  What the segment does not know yet is
 * none of it. */
static inline bool has_head(const struct group_writer *g, const struct group_row *row,
			    const struct skeleton *k)
{
	const struct remap *r = &g->dictionary.remaps[row->remap];
	const uint32_t *words = skeleton_words(&g->shapes, k);
	const struct event *e = row->e;
	uint32_t differ;

	differ = words[WORD_TYPE] ^ (e->type | (uint32_t)e->format << 8 | (uint32_t)e->bits << 16);
	differ |= words[WORD_KIND] ^ (uint32_t)e->kind;
	differ |= words[WORD_STATUS] ^ (uint32_t)e->status;
	differ |= words[WORD_FLAGS] ^ e->flags;
	differ |= words[WORD_RESOURCE] ^ (r->resources[e->resource] - 1);
	differ |= words[WORD_SCOPE] ^ (r->scopes[e->scope] - 1);
	differ |= words[WORD_FORM] ^ row->form;
	return differ == 0;
}

/* Has the row this skeleton? */
static inline bool has_skeleton(struct group_writer *g, const struct group_row *row,
				const struct skeleton *k)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;
	uint32_t n = e->attrs.count;

	if (k->field_n != n + 1 || k->rare || k->loose_n)
		return false;
	return has_head(g, row, k) && has_keys(r->strings, r->batch->attrs + e->attrs.first, n,
					       skeleton_words(&g->shapes, k) + WORD_FIELDS + 1);
}

bool shape_memo_init(struct shape_memo *m);
void shape_memo_done(struct shape_memo *m);

/* A row whose shape may be known. */
struct memo_guess {
	uint32_t skeleton;
	const struct memo_slot *slot; /* or NULL: it is not */
};

/* In two steps, for some rows one after the other, so that they wait for memory together. */
void shape_memo_look(struct group_writer *g, const struct group_row *row, struct memo_guess *ret);
void shape_memo_fetch(const struct group_writer *g, struct memo_guess *guess);

/* The row's shape, if it is that of the guess: values that do not stand in it are in their columns
 * then.  UINT32_MAX: it is not, and nothing was done.  -ENOMEM in *ret_error. */
uint32_t shape_memo_take(struct group_writer *g, const struct group_row *row,
			 const struct memo_guess *guess, int *ret_error);

/* The row has this shape, of its skeleton.  Without memory it is forgotten. */
void shape_memo_learn(struct group_writer *g, const struct group_row *row, uint32_t shape);

#endif
