/* exec/heavy.h - which values come up most, in bounded memory: Misra and Gries' counters.
 *
 * As long as there are at most `capacity` different values, counts are exact.  Beyond, each count
 * is too low by at most `error`, which is at most weight / (capacity / 2), and a value that comes
 * up more than that is never missed.  Merging adds counters and errors; which values survive does
 * not depend on the order of merging as long as none had to be thrown out. */
#ifndef CAUSET_EXEC_HEAVY_H
#define CAUSET_EXEC_HEAVY_H

#include "base/map.h"
#include "exec/value.h"

struct heavy_row {
	struct value value;
	double weight;
};

struct heavy {
	struct heavy_row *rows;
	uint32_t n, capacity;
	double error; /* taken off each count */
	struct map by_value;
};

/* At least 2 rows. */
void heavy_init(struct heavy *h, uint32_t capacity);
void heavy_done(struct heavy *h);

/* The value's text is copied into the arena when it is new.  False when out of memory. */
bool heavy_add(struct heavy *h, struct arena *arena, struct value v, double weight);
bool heavy_merge(struct heavy *to, struct arena *arena, const struct heavy *from);

/* Sorts rows: the heaviest first, equal ones by value.  Nothing may be added afterwards. */
void heavy_sort(struct heavy *h);

#endif
