/* api/tempo_series.h - series as Tempo answers them: labels, and a number at each step.
 *
 * A number of the language may be several series of Tempo's: one for each quantile (label `p`), one
 * for each bucket of a histogram (label `__bucket`).  Durations are seconds. */
#ifndef CAUSET_API_TEMPO_SERIES_H
#define CAUSET_API_TEMPO_SERIES_H

#include "api/tempo_message.h"
#include "base/arena.h"
#include "base/error.h"
#include "exec/value.h"

#define TEMPO_SERIES_MOST 10000
#define TEMPO_LABELS_MOST 64
#define TEMPO_FILLED_MOST ((size_t)1 << 22) /* series times steps, where none is a number, too */

struct tempo_label {
	struct slice key; /* borrowed: outlives the series */
	struct value value;
};

struct tempo_sample {
	int64_t time_ns;
	double value;
};

/* A span that the series counts. */
struct tempo_exemplar {
	struct slice trace; /* its id, in the arena */
	int64_t time_ns;
	double value;
};

struct tempo_one {
	struct tempo_label *labels; /* in the arena */
	size_t label_n;
	struct tempo_sample *samples;
	size_t n, room;
	struct tempo_exemplar *exemplars;
	size_t exemplar_n, exemplar_room;
};

struct tempo_series {
	struct arena *arena;
	struct tempo_one *rows; /* sorted by the values of their labels */
	size_t n, room;
};

void tempo_series_done(struct tempo_series *s);

/* Adds a sample to the series of these labels.  -E2BIG: TEMPO_SERIES_MOST; -ENOMEM. */
int tempo_series_add(struct tempo_series *s, const struct tempo_label *labels, size_t label_n,
		     int64_t time_ns, double value);

/* Adds 0 to each series at each of n steps where it has no sample; the last of them begins no later
 * than INT64_MAX.  -ENOSPC: TEMPO_FILLED_MOST, with the reason, and nothing is added; -ENOMEM. */
int tempo_series_fill(struct tempo_series *s, int64_t from_ns, int64_t step_ns, uint32_t step_n,
		      struct error *error);

/* Adds an exemplar to one of them.  -ENOMEM. */
int tempo_series_exemplar(struct tempo_series *s, struct tempo_one *one,
			  const struct tempo_exemplar *exemplar);

/* As TimeSeries, of samples in [from, to) (0, 0: all), without series that have none there; or, for
 * one number each, as InstantSeries: under "series". */
struct tempo_series_part {
	bool instant;
	int64_t from_ns, to_ns;
};
void tempo_series_put(const struct tempo_series *s, struct tempo_message *m,
		      const struct tempo_series_part *part);

#endif
