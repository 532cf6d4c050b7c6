/* segment/key_lists.c - the lists of attributes that LOOSE rows have, each once. */
#include "segment/key_lists.h"

#include <stdlib.h>

#include "base/vec.h"
#include "core/wide.h"

struct wanted {
	const uint32_t *words;
	uint32_t n;
	uint8_t level;
};

void key_lists_init(struct key_lists *l)
{
	*l = (struct key_lists){0};
	map_init(&l->by_words);
}

void key_lists_done(struct key_lists *l)
{
	free(l->rows);
	free(l->words);
	free(l->columns);
	map_done(&l->by_words);
	*l = (struct key_lists){0};
}

static bool list_is(const void *context, uint32_t value, const void *key)
{
	const struct key_lists *l = context;
	const struct key_list *row = &l->rows[value];
	const struct wanted *w = key;

	return row->n == w->n && row->level == w->level &&
	       memcmp(l->words + row->first, w->words, w->n * sizeof(*w->words)) == 0;
}

static uint64_t hash_of(const struct key_lists *l, uint8_t level, const uint32_t *words, uint32_t n)
{
	return wide_hash_bytes((const char *)words, n * sizeof(*words), l->by_words.seed ^ level);
}

uint32_t key_lists_find(struct key_lists *l, uint8_t level, const uint32_t *words, uint32_t n)
{
	const struct wanted wanted = {words, n, level};

	return map_get(&l->by_words, hash_of(l, level, words, n), list_is, l, &wanted);
}

uint32_t key_lists_add(struct key_lists *l, uint8_t level, const uint32_t *words,
		       const uint32_t *columns, uint32_t n)
{
	if (!vec_reserve(&l->rows, &l->capacity, l->n + 1, sizeof(*l->rows)) ||
	    !vec_reserve(&l->words, &l->word_capacity, l->word_n + n, sizeof(*l->words)) ||
	    !vec_reserve(&l->columns, &l->column_capacity, l->word_n + n, sizeof(*l->columns)) ||
	    !map_put(&l->by_words, hash_of(l, level, words, n), (uint32_t)l->n))
		return MAP_NONE;
	memcpy(l->words + l->word_n, words, n * sizeof(*words));
	memcpy(l->columns + l->word_n, columns, n * sizeof(*columns));
	l->rows[l->n] = (struct key_list){.first = l->word_n, .n = n, .level = level};
	l->word_n += n;
	return (uint32_t)l->n++;
}
