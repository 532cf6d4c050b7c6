/* segment/key_lists.h - the lists of attributes that LOOSE rows have, each once.
 *
 * Rows whose sets of keys are too many for skeletons still mostly have one of a few hundred lists
 * of keys: combined with services, kinds and results these are many.  A row then says which list it
 * has, and the list which columns its values stand in.  Writer's side; one thread. */
#ifndef CAUSET_SEGMENT_KEY_LISTS_H
#define CAUSET_SEGMENT_KEY_LISTS_H

#include "base/map.h"
#include "segment/segment_int.h"

#define KEY_LIST_GUESSES 1024 /* a power of two */

struct key_list {
	size_t first; /* words and columns */
	uint32_t n;
	uint8_t level;         /* enum row_level */
	uint32_t group, local; /* last seen in group - 1, as number `local` */
};

struct key_lists {
	struct key_list *rows;
	size_t n, capacity;
	uint32_t *words, *columns; /* of all lists, one behind the other */
	size_t word_n, word_capacity, column_capacity;
	struct map by_words;
	uint32_t guesses[KEY_LIST_GUESSES]; /* list + 1, by first and last key */
};

void key_lists_init(struct key_lists *l);
void key_lists_done(struct key_lists *l);

/* The list with these words, n > 0 of them, or MAP_NONE. */
uint32_t key_lists_find(struct key_lists *l, uint8_t level, const uint32_t *words, uint32_t n);
/* Adds it.  MAP_NONE when out of memory. */
uint32_t key_lists_add(struct key_lists *l, uint8_t level, const uint32_t *words,
		       const uint32_t *columns, uint32_t n);

/* Where a list that begins and ends with these words was last noted. */
static inline uint32_t *key_list_guess(struct key_lists *l, uint32_t n, uint32_t first,
				       uint32_t last)
{
	uint64_t hash = (first * 0x9e3779b97f4a7c15ULL ^ last) * 0xe7037ed1a0b428dbULL + n;

	return &l->guesses[hash >> 40 & (KEY_LIST_GUESSES - 1)];
}

static inline const uint32_t *key_list_columns(const struct key_lists *l, uint32_t list)
{
	return l->columns + l->rows[list].first;
}

#endif
