/* api/span_rates.c - spans by service, operation and time. */
#include "api/span_rates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "core/hash.h"
#include "store/summary.h"

#define BINS_A_DOUBLING 4

/* A trace may have begun so much before a span of it that counts. */
#define SLACK_NS (600 * NS_PER_S)

void span_rates_init(struct span_rates *r)
{
	map_init(&r->by_name);
}

void span_rates_done(struct span_rates *r)
{
	map_done(&r->by_name);
	arena_done(&r->arena);
	free(r->rows);
	r->rows = NULL;
}

static bool row_is(const void *context, uint32_t value, const void *key)
{
	const struct rate_series *a = &((const struct span_rates *)context)->rows[value], *b = key;

	return slice_eq(a->service, b->service) && slice_eq(a->operation, b->operation);
}

static int row_of(struct span_rates *r, struct slice service, struct slice operation,
		  struct rate_series **ret_row)
{
	struct rate_series key = {.service = service, .operation = operation};
	uint64_t hash = hash_bytes(operation.p ? operation.p : "", operation.n,
				   hash_bytes(service.p, service.n, r->by_name.seed));
	uint32_t at = map_get(&r->by_name, hash, row_is, r, &key);

	if (at == MAP_NONE) {
		if (r->n == RATES_SERIES_MOST)
			return -E2BIG;
		key.service = arena_dup(&r->arena, service);
		key.operation = arena_dup(&r->arena, operation);
		key.cells = arena_zalloc(&r->arena, r->steps, sizeof(*key.cells));
		if (!key.service.p || !key.operation.p || !key.cells ||
		    !vec_reserve(&r->rows, &r->capacity, r->n + 1, sizeof(*r->rows)) ||
		    !map_put(&r->by_name, hash, (uint32_t)r->n))
			return -ENOMEM;
		at = (uint32_t)r->n++;
		r->rows[at] = key;
	}
	*ret_row = &r->rows[at];
	return 0;
}

static size_t bin_of(uint64_t duration_ns)
{
	double us = (double)duration_ns / (double)NS_PER_US;
	double bin = us > 1 ? ceil(log2(us) * BINS_A_DOUBLING) : 0;

	return bin < RATES_BINS ? (size_t)bin : RATES_BINS - 1;
}

static struct slice service_of(const struct span_rates *r, const struct span_seen *s)
{
	return s->service.n > 0 ? s->service : r->unnamed;
}

static bool is_asked(const struct span_rates *r, const struct span_seen *s)
{
	if (!s->ended || !(r->kinds & kind_bit(s->kind)))
		return false;
	for (size_t i = 0; i < r->service_n; i++)
		if (slice_eq(r->services[i], service_of(r, s)))
			return true;
	return false;
}

/* A span counts when it ends. */
static int count_span(void *context, const struct span_seen *s)
{
	struct span_rates *r = context;
	struct rate_series *row;
	struct rate_cell **cell;
	uint64_t end = s->time_ns + s->duration_ns;
	int error;

	if (end < (uint64_t)r->from_ns ||
	    (end - (uint64_t)r->from_ns) / (uint64_t)r->step_ns >= r->steps || !is_asked(r, s))
		return 0;
	error = row_of(r, service_of(r, s), r->by_operation ? s->name : slice_of(NULL, 0), &row);
	if (error < 0)
		return error;
	cell = &row->cells[(end - (uint64_t)r->from_ns) / (uint64_t)r->step_ns];
	if (!*cell) {
		if (r->cells++ == RATES_CELLS_MOST)
			return -E2BIG;
		*cell = arena_zalloc(&r->arena, 1, sizeof(**cell));
		if (!*cell)
			return -ENOMEM;
	}
	(*cell)->spans++;
	(*cell)->errors += s->status == STATUS_ERROR;
	(*cell)->bins[bin_of(s->duration_ns)]++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct rate_series *x = a, *y = b;
	int c = slice_cmp(x->service, y->service);

	return c ? c : slice_cmp(x->operation, y->operation);
}

int span_rates_read(struct span_rates *r, struct store *store)
{
	const struct store_walk walk = {
		.from_ns = r->from_ns > SLACK_NS ? r->from_ns - SLACK_NS : 0,
		.to_ns = r->from_ns + (int64_t)r->steps * r->step_ns,
		.span = count_span,
		.context = r,
	};
	int error = store_spans(store, &walk);

	if (error == 0 && r->n > 1)
		qsort(r->rows, r->n, sizeof(*r->rows), by_name);
	return error;
}

struct rate_cell span_rates_sum(const struct span_rates *r, const struct rate_series *row,
				size_t first, size_t n)
{
	struct rate_cell sum = {0};

	for (size_t i = first; i < first + n && i < r->steps; i++) {
		const struct rate_cell *cell = row->cells[i];

		if (!cell)
			continue;
		sum.spans += cell->spans;
		sum.errors += cell->errors;
		for (size_t k = 0; k < RATES_BINS; k++)
			sum.bins[k] += cell->bins[k];
	}
	return sum;
}

double rate_cell_quantile(const struct rate_cell *cell, double q)
{
	double rank = q * (double)cell->spans, below = 0;

	for (size_t k = 0; k < RATES_BINS; k++) {
		double high = exp2((double)k / BINS_A_DOUBLING) * 1e-6;
		double low = k ? exp2((double)(k - 1) / BINS_A_DOUBLING) * 1e-6 : 0;

		if (cell->bins[k] && below + cell->bins[k] >= rank)
			return low + (high - low) * (rank - below) / cell->bins[k];
		below += cell->bins[k];
	}
	return 0;
}
