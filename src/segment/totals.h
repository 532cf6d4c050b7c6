/* segment/totals.h - how many spans a segment has of each kind, and how their durations are spread.
 *
 * Questions about all spans of a time ("count and p99 by service and operation") are answered from
 * these tables, a few kilobytes a segment, as they would be from the rows: durations are counted by
 * the places (segment/duration_place.h) in which queries count them, with the shortest, the longest
 * and the sum beside them.
 *
 * A row of the table is of one (resource, name, type, kind, status).  Where that would not stay
 * small, resources of a service are taken together, then kinds, then states (enum totals_apart);
 * and if it is still not, there is no table.  Only SPAN and BEGIN rows are counted, and every row
 * of the segment is, whatever other segments have of the same trace. */
#ifndef CAUSET_SEGMENT_TOTALS_H
#define CAUSET_SEGMENT_TOTALS_H

#include <errno.h>

#include "model/batch.h"
#include "segment/column.h"
#include "segment/duration_place.h"

#define TOTALS_MOST      8192       /* rows of a table */
#define TOTALS_KEYS_MOST 65536      /* looked at to make it */
#define TOTALS_BINS_MOST (1u << 20) /* of a table: places from a row's first to its last */

/* What rows keep apart beside name and type. */
enum totals_apart {
	APART_RESOURCE = 1, /* otherwise by service */
	APART_KIND = 2,
	APART_STATUS = 4,
	APART_ALL = 7
};

struct totals_key {
	uint32_t source;      /* a resource's number, or the string code of a service; 0: none */
	uint32_t name;        /* string code */
	int32_t kind, status; /* 0 where they are not kept apart */
	uint32_t type;        /* EVENT_SPAN or EVENT_BEGIN */
};

/* --- counting: one thread --- */

struct total {
	uint64_t spans, errors, zeros;
	uint64_t timed; /* have a duration */
	int64_t shortest, longest;
	unsigned __int128 sum;
	struct totals_key key;
	uint32_t kinds;                  /* that there are: bits as of kind_bit() */
	uint16_t chunks[PLACES_OCTAVES]; /* index + 1 of PLACES_PER counts; 0: none */
};

struct totals {
	const struct batch *tables; /* borrowed: the segment's resources */
	unsigned apart;             /* enum totals_apart */
	bool given_up;              /* there are too many: nothing is counted any more */
	struct total *rows;
	size_t n, capacity;
	/* Counts of a byte, so that what is counted into stays near.  What one has no room for is
	 * in `wide`, and the byte begins again at 1. */
	uint8_t (*chunks)[PLACES_PER];
	size_t chunk_n, chunk_capacity;
	uint32_t (*wide)[PLACES_PER];
	size_t wide_n, wide_capacity;
	uint16_t *wide_of; /* of each chunk: index + 1; 0: none */
	size_t wide_of_capacity;
	size_t chunk_soft; /* with so many, what can be taken together is */
	size_t places;     /* with something in them, of all rows */
	/* Spans as they come: with nothing taken together.  Numbers stay what they are. */
	struct totals_known {
		struct totals_key key;
		uint32_t row;
	} * known;
	size_t known_n, known_capacity;
	uint32_t *slots; /* number + 1, by hash of the key */
	size_t slot_n;   /* a power of two, or 0 */
	/* Once some are taken together: row + 1, by hash of its key. */
	uint32_t *row_slots;
};

/* `tables` has the resources that keys name by number, and is looked at when they are too many. */
void totals_init(struct totals *t, const struct batch *tables);
void totals_done(struct totals *t);

/* The number of spans like that, of resource key->source.  UINT32_MAX without memory, or when it is
 * given up. */
uint32_t totals_number(struct totals *t, const struct totals_key *key);
/* Fetches what it looks at first, for a call soon after. */
void totals_fetch_number(const struct totals *t, const struct totals_key *key);

/* Makes room for a duration in an octave of a row, where there is none yet. */
int totals_room(struct totals *t, struct total *row, uint32_t octave);

/* Counts `more` spans at a place of a chunk (index + 1).  -ENOMEM. */
int totals_more(struct totals *t, uint16_t chunk, uint32_t place, uint32_t more);

/* How many there are. */
static inline uint32_t totals_count(const struct totals *t, uint16_t chunk, uint32_t place)
{
	uint16_t wide = t->wide_of[chunk - 1];

	return t->chunks[chunk - 1][place] + (wide ? t->wide[wide - 1][place] : 0);
}

/* Fetch what totals_add_at() will look at, the one a while before the other, and that a while
 * before it; `place` is the duration's, 0 if it has none.  Inline in any case: gcc thinks that a
 * function which only fetches does nothing, and leaves out calls of it. */
static inline __attribute__((always_inline)) void totals_fetch_row(const struct totals *t,
								   uint32_t number, uint16_t place)
{
	const struct total *row = &t->rows[t->known[number].row];

	__builtin_prefetch(row, 1);
	__builtin_prefetch(&row->chunks[(place - (place != 0)) / PLACES_PER]);
}

static inline __attribute__((always_inline)) void totals_fetch_place(const struct totals *t,
								     uint32_t number,
								     uint16_t place)
{
	const struct total *row = &t->rows[t->known[number].row];
	uint32_t at = place - 1U;
	uint16_t chunk = place ? row->chunks[at / PLACES_PER] : 0;

	if (chunk)
		__builtin_prefetch(&t->chunks[chunk - 1][at % PLACES_PER], 1);
}

/* Counts a span; duration -1: it has none.  `place` is duration_place() of it.  -ENOMEM. */
static inline int totals_add_at(struct totals *t, uint32_t number, bool error, int64_t duration_ns,
				uint16_t place)
{
	struct total *row = &t->rows[t->known[number].row];

	if (place > 0) {
		uint32_t at = place - 1U, octave = at / PLACES_PER;
		uint8_t *count;

		/* Making room may rearrange everything. */
		while (__builtin_expect(!row->chunks[octave], 0)) {
			int r = totals_room(t, row, octave);

			if (r < 0 || t->given_up)
				return r;
			row = &t->rows[t->known[number].row];
		}
		count = &t->chunks[row->chunks[octave] - 1][at % PLACES_PER];
		t->places += *count == 0;
		if (__builtin_expect(*count < UINT8_MAX, 1))
			++*count;
		else if (totals_more(t, row->chunks[octave], at % PLACES_PER, 1) < 0)
			return -ENOMEM;
	}
	row->spans++;
	row->errors += error;
	if (duration_ns < 0)
		return 0;
	row->zeros += duration_ns == 0;
	row->timed++;
	row->shortest = duration_ns < row->shortest ? duration_ns : row->shortest;
	row->longest = duration_ns > row->longest ? duration_ns : row->longest;
	row->sum += (uint64_t)duration_ns;
	return 0;
}

static inline int totals_add(struct totals *t, uint32_t number, bool error, int64_t duration_ns)
{
	return totals_add_at(t, number, error, duration_ns, duration_place(duration_ns));
}

/* Keeps less apart, of what was counted and what will be; gives up if nothing is left to take
 * together.  -ENOMEM. */
int totals_coarsen(struct totals *t);

/* Appends the table, unless it would take more than `most` bytes.  -ENOMEM. */
int totals_encode(struct totals *t, struct column_codec *codec, size_t most, struct buffer *out);

/* --- reading --- */

struct total_row {
	struct totals_key key;
	uint32_t kinds;
	uint64_t spans, errors, timed;
	int64_t shortest, longest; /* 0 if no span is timed */
	unsigned __int128 sum;     /* what so many durations between them can come to */
	uint32_t place, place_n;   /* counts[i] spans have a duration at place + i */
	const uint32_t *counts;    /* NULL where they were not read */
};

struct totals_table {
	unsigned apart; /* enum totals_apart */
	uint32_t n;
	struct total_row *rows;
	uint32_t *counts;
	size_t bytes; /* that it takes in memory */
};

/* What tables of a segment may refer to, and how many spans they count in all. */
struct totals_limits {
	uint32_t strings, resources;
	uint64_t spans;
};

/* Without `counts` rows have none, and are not compared with them.  -EBADMSG, -ENOMEM. */
int totals_decode(struct slice bytes, const struct totals_limits *limits, bool counts,
		  struct totals_table **ret_table);
/* Accepts NULL, returns NULL. */
struct totals_table *totals_free(struct totals_table *t);

static inline void totals_freep(struct totals_table **t)
{
	totals_free(*t);
}

/* The table of a segment that is pinned, good until it is not.  It stays with the segment's other
 * tables for the next question.  -ENOENT when there is none, -EBADMSG, -ENOMEM. */
struct segment;
int segment_totals(struct segment *s, const struct totals_table **ret_table);

/* The same without counts, which are nearly all of it, for totals_free(): nothing stays. */
int segment_totals_bare(struct segment *s, struct totals_table **ret_table);

#endif
