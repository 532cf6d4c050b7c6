/* store/match_lasting.c - which of the rows that fit take as long as is asked. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/span_match_int.h"

static bool asks_times(const struct store_query *q)
{
	return q->span_min_ns || q->span_max_ns;
}

/* The column has ends minus times, modulo 2^64.  From 2262 on a span that ends long before it
 * begins looks there as if it were short, and only the row knows. */
static bool times_may_wrap(const struct group_zone *zone)
{
	return zone->start_max_ns >= INT64_MAX - zone->duration_max_ns;
}

static void leave_to_rows(struct match_room *room, struct match_rows *rows)
{
	for (size_t word = 0; word < rows->words; word++) {
		room->unsure[word] |= room->sure[word];
		room->sure[word] = 0;
	}
	rows->any_unsure = rows->any;
}

/* Leaves those of the rows that take as long as is asked. */
static void keep_lasting(const struct store_query *q, const uint64_t *durations,
			 struct match_room *room, struct match_rows *rows)
{
	uint64_t low = (uint64_t)q->span_min_ns,
		 high = q->span_max_ns ? (uint64_t)q->span_max_ns : INT64_MAX;
	uint64_t any = 0, any_unsure = 0;

	for (size_t word = 0; word < rows->words; word++) {
		for (uint64_t left = room->sure[word] | room->unsure[word]; left;
		     left &= left - 1) {
			uint64_t mask = left & -left,
				 ns = durations[word * 64 + (size_t)__builtin_ctzll(left)];

			/* Beyond 292 years, or ended before it began: the row knows. */
			if (ns > INT64_MAX)
				room->unsure[word] |= mask;
			if (ns > INT64_MAX || ns < low || ns > high)
				room->sure[word] &= ~mask;
			if (ns <= INT64_MAX && (ns < low || ns > high))
				room->unsure[word] &= ~mask;
		}
		any |= room->sure[word] | room->unsure[word];
		any_unsure |= room->unsure[word];
	}
	rows->any = any != 0;
	rows->any_unsure = any_unsure != 0;
}

/* One word of bits: which of its rows may take as long. */
static uint64_t lasting_word(const uint64_t *durations, uint32_t n, uint64_t low, uint64_t high)
{
	uint64_t word = 0;

	for (uint32_t i = 0; i < n; i++)
		word |= (uint64_t)((durations[i] - low <= high - low) | (durations[i] >> 63)) << i;
	return word;
}

int match_lasting_first(const struct match *m, struct match_room *room, struct segment_group *g,
			const uint64_t **within, const uint64_t **ret_durations)
{
	const struct store_query *q = m->query;
	uint64_t low = (uint64_t)q->span_min_ns,
		 high = q->span_max_ns ? (uint64_t)q->span_max_ns : INT64_MAX;
	uint32_t rows = group_zone(g)->rows;
	uint64_t *to = room->within, some = 0;
	int r;

	if (!asks_times(q) || times_may_wrap(group_zone(g)) || low > high)
		return 1;
	r = group_durations(g, ret_durations);
	if (r < 0)
		return r;
	if (!*within) {
		to = match_room_within(room, rows);
		if (!to)
			return -ENOMEM;
		memset(to, 0xff, (rows + 63) / 64 * sizeof(*to));
	}
	for (uint32_t at = 0; at < rows; at += 64)
		some |= to[at / 64] &=
			lasting_word(*ret_durations + at, MIN(rows - at, 64u), low, high);
	*within = to;
	return some != 0;
}

int match_lasting(const struct match *m, struct match_room *room, struct segment_group *g,
		  const uint64_t *durations, struct match_rows *rows)
{
	uint32_t few[GROUP_FEW_ROWS], n = 0;
	struct group_few fields;
	int r;

	if (!rows->any || !asks_times(m->query))
		return 0;
	if (times_may_wrap(group_zone(g))) {
		leave_to_rows(room, rows);
		return 0;
	}
	if (durations) {
		keep_lasting(m->query, durations, room, rows);
		return 0;
	}
	for (size_t word = 0; word < rows->words && n <= GROUP_FEW_ROWS; word++)
		for (uint64_t left = room->sure[word] | room->unsure[word]; left;
		     left &= left - 1) {
			if (n < GROUP_FEW_ROWS)
				few[n] = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left);
			n++;
		}
	if (n <= GROUP_FEW_ROWS) {
		r = group_few_rows(g, few, n, &fields);
		durations = r == 0 ? fields.durations : NULL;
	} else {
		r = group_durations(g, &durations);
	}
	if (r == 0)
		keep_lasting(m->query, durations, room, rows);
	return r;
}
