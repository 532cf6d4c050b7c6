/* store/match_rows.c - which rows of a group fit: by their shapes, and by columns where values
 * decide.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/span_match_int.h"

#define FEW_NAMES 16 /* rows whose names are looked up one by one */

/* --- room --- */

struct match_room *match_room_new(void)
{
	return calloc(1, sizeof(struct match_room));
}

struct match_room *match_room_free(struct match_room *room)
{
	if (!room)
		return NULL;
	for (size_t i = 0; i < room->tag_n; i++) {
		free(room->has[i]);
	}
	free(room->within);
	free(room->sure);
	free(room->unsure);
	free(room->found);
	free(room->rows);
	free(room);
	return NULL;
}

uint64_t *match_room_within(struct match_room *room, uint32_t n)
{
	size_t words = (n + 63) / 64;

	if (!vec_reserve(&room->within, &room->within_capacity, words, sizeof(*room->within)))
		return NULL;
	memset(room->within, 0, words * sizeof(*room->within));
	return room->within;
}

static int reserve(struct match_room *room, size_t tag_n, size_t words)
{
	uint64_t **sets[MATCH_MAX_TAGS + 1 + 2];
	size_t n = 0;

	if (words <= room->words && tag_n <= room->tag_n)
		return 0;
	words = MAX(words, room->words);
	tag_n = MAX(tag_n, room->tag_n);
	sets[n++] = &room->sure;
	sets[n++] = &room->unsure;
	for (size_t i = 0; i < tag_n; i++)
		sets[n++] = &room->has[i];
	room->tag_n = tag_n;
	room->words = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t *grown = realloc(*sets[i], words * sizeof(**sets[i]));

		if (!grown)
			return -ENOMEM;
		*sets[i] = grown;
	}
	room->words = words;
	return 0;
}

static bool bit(const uint64_t *words, uint32_t row)
{
	return words[row / 64] >> row % 64 & 1;
}

static int mark_values(const struct tag *t, enum value_type type, struct segment_group *g,
		       const uint32_t *values, uint32_t n, struct match_room *room, uint64_t *has)
{
	int r;

	if (n == 0)
		return 0;
	if (!vec_reserve(&room->rows, &room->row_capacity, n, sizeof(*room->rows)))
		return -ENOMEM;
	r = group_value_rows(g, LEVEL_BLOCK, t->key, type, values, n, room->rows);
	for (uint32_t i = 0; i < n && r == 0; i++)
		set_bit(has, room->rows[i]);
	return r;
}

/* Rows with a list may have the value in it; they are asked themselves. */
static int mark_lists(const struct tag *t, size_t number, struct segment_group *g,
		      struct match_room *room)
{
	const struct group_column *c;
	int r = group_column(g, LEVEL_BLOCK, t->key, VALUE_ARRAY, &c);

	room->lists &= ~(1ULL << number);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	room->lists |= 1ULL << number;
	for (uint32_t i = 0; i < c->n; i++)
		set_bit(room->has[number], c->rows[i]);
	return 0;
}

/* The rows with the value, from the group's columns of its key. */
static int look_for_value(const struct tag *t, size_t number, struct segment_group *g, size_t words,
			  struct match_room *room)
{
	static const enum value_type numbers[] = {VALUE_BOOL, VALUE_INT, VALUE_DOUBLE};
	uint64_t *has = room->has[number];
	const uint32_t *values;
	uint32_t n;
	int r;

	memset(has, 0, words * sizeof(*has));
	r = group_find_text(g, LEVEL_BLOCK, t->key, t->value.text, t->value.code, &values, &n);
	if (r == 0)
		r = mark_values(t, VALUE_STRING, g, values, n, room, has);
	else if (r == -ENOENT)
		r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++) {
		const struct group_column *c;

		if (!match_value_may_be(&t->value, numbers[i]))
			continue;
		r = group_column_values(g, LEVEL_BLOCK, t->key, numbers[i], &c);
		if (r == -ENOENT) {
			r = 0;
			continue;
		}
		if (r == 0 &&
		    !vec_reserve(&room->found, &room->found_capacity, c->n, sizeof(*room->found)))
			r = -ENOMEM;
		if (r < 0)
			return r;
		n = match_value_find(&t->value, c, room->found);
		r = mark_values(t, numbers[i], g, room->found, n, room, has);
	}
	return r < 0 ? r : mark_lists(t, number, g, room);
}

/* Clears *sure where a key of the row is there twice and only the last counts, and where its value
 * may be a list. */
static int columns_agree(const struct match *m, const struct match_room *room,
			 const struct verdict *v, struct segment_group *g, uint32_t row, bool *sure)
{
	for (uint64_t left = v->in_columns; left; left &= left - 1) {
		int i = __builtin_ctzll(left);
		uint32_t n = 0;
		int r = 0;

		if (!bit(room->has[i], row))
			return 0;
		if (v->loose >> i & 1)
			r = group_row_loose(g, row, m->tags[i].key, &n);
		if (r < 0)
			return r;
		*sure &= n <= 1 && !(room->lists >> i & 1);
	}
	return 1;
}

static int judge_row(const struct match *m, const struct match_room *room, struct segment_group *g,
		     uint32_t row, uint32_t shape, struct match_rows *rows)
{
	uint8_t answer = m->answers[shape];
	const struct verdict *v = &m->verdicts[shape];
	bool sure;
	int r = 1;

	if (answer == ANSWER_NO)
		return 0;
	sure = answer == ANSWER_YES || !v->unsure;
	if (answer == ANSWER_COLUMNS)
		r = columns_agree(m, room, v, g, row, &sure);
	if (r <= 0)
		return r;
	set_bit(sure ? room->sure : room->unsure, row);
	rows->any = true;
	rows->any_unsure |= !sure;
	return 0;
}

/* The rows of a set, or all of them where it is NULL. */
static int judge_rows(const struct match *m, const struct match_room *room, struct segment_group *g,
		      const uint64_t *set, struct match_rows *rows)
{
	const struct group_zone *zone = group_zone(g);
	const uint32_t *indices = NULL;
	int r = set ? 0 : group_shape_indices(g, &indices);

	for (uint32_t word = 0; word < rows->words && r == 0; word++) {
		uint64_t left = set ? set[word] : UINT64_MAX;

		for (; left && r == 0; left &= left - 1) {
			uint32_t row = word * 64 + (uint32_t)__builtin_ctzll(left), shape;

			if (row >= zone->rows)
				break;
			if (indices)
				shape = zone->shapes[indices[row]];
			else
				r = group_row_shape(g, row, &shape);
			if (r == 0)
				r = judge_row(m, room, g, row, shape, rows);
		}
	}
	return r;
}

/* Looks for the values of the tags. */
static int look_at_columns(const struct match *m, struct match_room *room, struct segment_group *g,
			   uint64_t tags, size_t words)
{
	int r = 0;

	for (; tags && r == 0; tags &= tags - 1) {
		size_t i = (size_t)__builtin_ctzll(tags);

		r = look_for_value(&m->tags[i], i, g, words, room);
	}
	return r;
}

/* Leaves those rows of a set whose shapes allow a hit: 1 if there are any; 0, negative errno. */
static int keep_possible(const struct match *m, struct segment_group *g, uint64_t *set,
			 size_t words)
{
	uint64_t some = 0;
	int r = 0;

	for (size_t k = 0; k < words && r == 0; k++) {
		for (uint64_t left = set[k]; left && r == 0; left &= left - 1) {
			uint32_t row = (uint32_t)k * 64 + (uint32_t)__builtin_ctzll(left), shape;

			r = group_row_shape(g, row, &shape);
			if (r == 0 && m->answers[shape] == ANSWER_NO)
				set[k] &= ~(1ULL << row % 64);
		}
		some |= set[k];
	}
	return r < 0 ? r : some != 0;
}

/* Rows of a set that have the name, where that stands in none of their shapes: into `has`. */
static int mark_named(const struct tag *t, struct segment_group *g, const uint64_t *set,
		      uint64_t *has, size_t words)
{
	int r = 0;

	for (size_t k = 0; k < words && r == 0; k++) {
		has[k] = 0;
		for (uint64_t left = set[k]; left && r == 0; left &= left - 1) {
			uint32_t row = (uint32_t)k * 64 + (uint32_t)__builtin_ctzll(left);
			struct slice name;

			r = group_row_name(g, row, &name);
			if (r == 0 && slice_eq(name, t->value.text))
				set_bit(has, row);
		}
	}
	return r;
}

static size_t count_bits(const uint64_t *set, size_t words)
{
	size_t n = 0;

	for (size_t k = 0; k < words; k++)
		n += (size_t)__builtin_popcountll(set[k]);
	return n;
}

/* Rows that have what every hit must have, and whose shapes allow one: 1 if there are any, then
 * they are the bits of `has` of the first tag.  0, negative errno. */
static int look_for_candidates(const struct match *m, struct match_room *room,
			       struct segment_group *g, const struct match_asked *a,
			       const uint64_t *within, size_t words)
{
	uint64_t *set = room->has[__builtin_ctzll(a->all)];

	for (uint64_t left = a->all; left; left &= left - 1) {
		size_t i = (size_t)__builtin_ctzll(left);
		uint64_t *has = room->has[i], some = 0;
		int r;

		/* The name comes last, when few rows may be left. */
		if (has != set && m->tags[i].key == FIELD_NAME &&
		    count_bits(set, words) <= FEW_NAMES) {
			room->lists &= ~(1ULL << i);
			r = mark_named(&m->tags[i], g, set, has, words);
		} else {
			r = look_for_value(&m->tags[i], i, g, words, room);
		}
		for (size_t k = 0; k < words && r == 0; k++)
			some |= set[k] &= has == set && within ? within[k] : has[k];
		if (r == 0 && some && has == set) {
			r = keep_possible(m, g, set, words);
			some = r > 0;
		}
		if (r < 0 || !some)
			return r;
	}
	return 1;
}

int match_group(const struct match *m, struct match_room *room, struct segment_group *g,
		const struct match_asked *asked, const uint64_t *within,
		struct match_rows *ret_rows)
{
	const struct group_zone *zone = group_zone(g);
	size_t words = (zone->rows + 63) / 64;
	struct match_rows rows = {.words = words};
	const struct match_asked a = *asked;
	const uint64_t *durations = NULL;
	bool few;
	int r = reserve(room, m->tag_n, words);

	if (r < 0)
		return r;
	memset(room->sure, 0, words * sizeof(*room->sure));
	memset(room->unsure, 0, words * sizeof(*room->unsure));
	rows.sure = room->sure;
	rows.unsure = room->unsure;
	/* Where every row must have a value, those that have it are few, and the others need not be
	 * asked anything more. */
	few = a.any && a.all && !a.settled;
	r = few ? look_for_candidates(m, room, g, &a, within, words)
		: match_lasting_first(m, room, g, &within, &durations);
	if (r == 0)
		*ret_rows = rows;
	if (r <= 0)
		return r;
	r = look_at_columns(m, room, g, few ? a.any & ~a.all : a.any, words);
	if (r == 0)
		r = judge_rows(m, room, g, few ? room->has[__builtin_ctzll(a.all)] : within, &rows);
	if (r == 0)
		r = match_lasting(m, room, g, durations, &rows);
	if (r == 0)
		*ret_rows = rows;
	return r;
}
