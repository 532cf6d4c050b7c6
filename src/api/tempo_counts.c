/* api/tempo_counts.c - how many spans each service has in the traces that a search looks at. */
#include "api/tempo_counts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define ROWS_MOST 131072 /* the services of a trace with more rows are not counted */

int tempo_counts_add(struct tempo_counts *c, struct trace_id id, const struct event_ref *refs,
		     size_t n)
{
	const struct event_set set = {.refs = (struct event_ref *)(uintptr_t)refs, .n = n};
	struct jaeger_summary made = {0};
	char hex[TRACE_ID_HEX + 1];
	int r = n > ROWS_MOST ? 0
			      : jaeger_summary_make(&(struct trace_summary){.id = id}, &set,
						    &c->arena, &made);

	if (r == 0 && !vec_reserve(&c->rows, &c->capacity, c->n + 1, sizeof(*c->rows)))
		r = -ENOMEM;
	if (r < 0)
		return r;
	trace_id_format(id, hex);
	c->rows[c->n] = (struct tempo_count){.services = made.services, .n = made.service_n};
	memcpy(c->rows[c->n++].id, hex, TRACE_ID_HEX);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return memcmp(((const struct tempo_count *)a)->id, ((const struct tempo_count *)b)->id,
		      TRACE_ID_HEX);
}

static int by_hit(const void *hit, const void *row)
{
	return memcmp(((const struct tempo_hit *)hit)->id.p, ((const struct tempo_count *)row)->id,
		      TRACE_ID_HEX);
}

static int give(const struct tempo_count *count, struct tempo_hit *hit)
{
	hit->services = arena_zalloc(&hit->arena, count->n + 1, sizeof(*hit->services));
	if (!hit->services)
		return -ENOMEM;
	for (size_t i = 0; i < count->n; i++) {
		hit->services[i] = count->services[i];
		hit->services[i].name = arena_dup(&hit->arena, count->services[i].name);
		if (!hit->services[i].name.p)
			return -ENOMEM;
	}
	hit->service_n = count->n;
	return 0;
}

int tempo_counts_give(struct tempo_counts *c, struct tempo_hits *hits)
{
	int r = 0;

	if (c->n > 1)
		qsort(c->rows, c->n, sizeof(*c->rows), by_id);
	for (size_t i = 0; r == 0 && c->n > 0 && i < hits->n; i++) {
		struct tempo_hit *hit = hits->rows[i];
		const struct tempo_count *count = NULL;

		if (!hit->services && hit->id.n == TRACE_ID_HEX)
			count = bsearch(hit, c->rows, c->n, sizeof(*c->rows), by_hit);
		if (count)
			r = give(count, hit);
	}
	c->n = 0;
	arena_done(&c->arena);
	c->arena = (struct arena){0};
	return r;
}

int tempo_counts_hit(struct tempo_hit *hit, struct trace_id id, const struct event_ref *refs,
		     size_t n)
{
	struct tempo_counts one = {0};
	int r = tempo_counts_add(&one, id, refs, n);

	if (r == 0)
		r = give(&one.rows[0], hit);
	tempo_counts_done(&one);
	return r;
}

void tempo_counts_done(struct tempo_counts *c)
{
	arena_done(&c->arena);
	free(c->rows);
	*c = (struct tempo_counts){0};
}
