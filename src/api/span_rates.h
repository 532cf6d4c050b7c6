/* api/span_rates.h - spans by service, operation and time: counts, errors and durations in steps of
 * time, and sums over several of them. */
#ifndef CAUSET_API_SPAN_RATES_H
#define CAUSET_API_SPAN_RATES_H

#include "base/arena.h"
#include "base/map.h"
#include "store/store.h"

#define RATES_STEPS_MOST  5000   /* of one question */
#define RATES_SERIES_MOST 5000   /* operations */
#define RATES_CELLS_MOST  100000 /* steps of operations in which something happened */
#define RATES_BINS        128    /* four to a doubling, from 1 µs on */

/* What happened in one step. */
struct rate_cell {
	uint64_t spans, errors;
	uint32_t bins[RATES_BINS]; /* of durations */
};

struct rate_series {
	struct slice service, operation; /* operation empty: all of them */
	struct rate_cell **cells;        /* [steps], NULL: nothing */
};

/* One thread. */
struct span_rates {
	/* The question. */
	int64_t from_ns, step_ns;
	size_t steps;
	const struct slice *services;
	size_t service_n;
	struct slice unnamed; /* what a service without a name is called */
	uint32_t kinds;       /* bits, as service_summary.kinds */
	bool by_operation;
	/* The answer. */
	struct rate_series *rows;
	size_t n, capacity, cells;
	struct map by_name;
	struct arena arena;
};

/* The question is filled in before. */
void span_rates_init(struct span_rates *r);
void span_rates_done(struct span_rates *r);

/* Counts; rows are sorted by name afterwards.  -E2BIG past one of the limits; -ENOMEM. */
int span_rates_read(struct span_rates *r, struct store *store);

/* Adds up steps first … first + n - 1. */
struct rate_cell span_rates_sum(const struct span_rates *r, const struct rate_series *row,
				size_t first, size_t n);

/* The duration in seconds below which the share q lies; wrong by at most a tenth. */
double rate_cell_quantile(const struct rate_cell *cell, double q);

#endif
