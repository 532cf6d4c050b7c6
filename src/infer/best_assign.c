/* infer/best_assign.c - the sparse assignment problem by successive shortest paths.
 *
 * Costs are negated gains.  Prices keep every reduced cost `-gain - row_price - column_price` at 0
 * or more, so that a shortest path can be found by Dijkstra's algorithm with a heap over columns.
 * A row's alternative to all columns is to stay alone: an arc of cost 0 to a column of its own,
 * never stored.  A path ends at a free column or at a row that goes alone. */
#include "infer/best_assign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct path {
	uint32_t heap_n, settled_n;
	double length;  /* of the best way to end found so far */
	uint32_t end;   /* the free column it ends at, or ASSIGN_NONE */
	uint32_t loner; /* else the row that goes alone */
};

static int grow(void *array, size_t n, size_t size)
{
	void *bigger = realloc(*(void **)array, n * size);

	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	return 0;
}

static int scratch_reserve(struct assign_scratch *s, uint32_t rows, uint32_t columns)
{
	if (rows > s->row_capacity) {
		if (grow(&s->row_price, rows, sizeof(double)) < 0)
			return -ENOMEM;
		s->row_capacity = rows;
	}
	if (columns > s->column_capacity) {
		size_t n = columns;

		s->column_capacity = 0;
		if (grow(&s->column_price, n, sizeof(double)) < 0 ||
		    grow(&s->distance, n, sizeof(double)) < 0 ||
		    grow(&s->owner, n, sizeof(uint32_t)) < 0 ||
		    grow(&s->through, n, sizeof(uint32_t)) < 0 ||
		    grow(&s->heap, n, sizeof(uint32_t)) < 0 ||
		    grow(&s->place, n, sizeof(uint32_t)) < 0 ||
		    grow(&s->settled, n, sizeof(uint32_t)) < 0 ||
		    grow(&s->mark, n, sizeof(uint32_t)) < 0)
			return -ENOMEM;
		s->column_capacity = columns;
	}
	return 0;
}

void assign_scratch_done(struct assign_scratch *s)
{
	free(s->row_price);
	free(s->column_price);
	free(s->distance);
	free(s->owner);
	free(s->through);
	free(s->heap);
	free(s->place);
	free(s->settled);
	free(s->mark);
	*s = (struct assign_scratch){0};
}

static void sift_up(struct assign_scratch *s, uint32_t i)
{
	uint32_t c = s->heap[i];

	while (i > 0 && s->distance[s->heap[(i - 1) / 2]] > s->distance[c]) {
		s->heap[i] = s->heap[(i - 1) / 2];
		s->place[s->heap[i]] = i;
		i = (i - 1) / 2;
	}
	s->heap[i] = c;
	s->place[c] = i;
}

static uint32_t pop(struct assign_scratch *s, struct path *p)
{
	uint32_t top = s->heap[0], c = s->heap[--p->heap_n], i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k >= p->heap_n)
			break;
		if (k + 1 < p->heap_n && s->distance[s->heap[k + 1]] < s->distance[s->heap[k]])
			k++;
		if (s->distance[s->heap[k]] >= s->distance[c])
			break;
		s->heap[i] = s->heap[k];
		s->place[s->heap[i]] = i;
		i = k;
	}
	if (p->heap_n) {
		s->heap[i] = c;
		s->place[c] = i;
	}
	return top;
}

/* mark: 2 × stamp for a column in the heap, 2 × stamp + 1 for a settled one. */
static void relax(const struct assign *a, struct assign_scratch *s, struct path *p, uint32_t row,
		  double base)
{
	for (uint32_t k = a->first[row]; k < a->first[row + 1]; k++) {
		uint32_t c = a->column[k];
		double step = -a->gain[k] - s->row_price[row] - s->column_price[c];
		double d = base + (step > 0 ? step : 0);

		if (s->mark[c] == 2 * s->stamp + 1 || d >= p->length)
			continue;
		if (s->mark[c] != 2 * s->stamp) {
			s->mark[c] = 2 * s->stamp;
			s->heap[p->heap_n++] = c;
			s->place[c] = p->heap_n - 1;
		} else if (d >= s->distance[c]) {
			continue;
		}
		s->distance[c] = d;
		s->through[c] = row;
		sift_up(s, s->place[c]);
	}
}

static void find_path(const struct assign *a, struct assign_scratch *s, uint32_t from,
		      struct path *p)
{
	double base = 0;
	uint32_t row = from;

	*p = (struct path){.length = -s->row_price[from], .end = ASSIGN_NONE, .loner = from};
	for (;;) {
		uint32_t c;

		relax(a, s, p, row, base);
		if (p->heap_n == 0 || s->distance[s->heap[0]] >= p->length)
			return;
		c = pop(s, p);
		s->mark[c] = 2 * s->stamp + 1;
		s->settled[p->settled_n++] = c;
		base = s->distance[c];
		row = s->owner[c];
		if (row == ASSIGN_NONE) {
			p->end = c;
			p->length = base;
			return;
		}
		if (base - s->row_price[row] < p->length) {
			p->length = base - s->row_price[row];
			p->loner = row;
		}
	}
}

/* Turns the arcs of the path around, from its end back to the row it began at. */
static void augment(struct assign *a, struct assign_scratch *s, uint32_t from, const struct path *p)
{
	uint32_t c = p->end;

	if (c == ASSIGN_NONE) {
		c = a->taken[p->loner];
		a->taken[p->loner] = ASSIGN_NONE;
		if (p->loner == from)
			return;
	}
	for (;;) {
		uint32_t row = s->through[c], before = a->taken[row];

		a->taken[row] = c;
		s->owner[c] = row;
		if (row == from)
			return;
		c = before;
	}
}

static void add_row(struct assign *a, struct assign_scratch *s, uint32_t row)
{
	struct path p;
	double least = 0;

	for (uint32_t k = a->first[row]; k < a->first[row + 1]; k++)
		least = MIN(least, -a->gain[k] - s->column_price[a->column[k]]);
	s->row_price[row] = least;
	s->stamp++;
	find_path(a, s, row, &p);
	s->row_price[row] += p.length;
	for (uint32_t i = 0; i < p.settled_n; i++) {
		uint32_t c = s->settled[i];

		if (c == p.end)
			continue;
		s->column_price[c] -= p.length - s->distance[c];
		s->row_price[s->owner[c]] += p.length - s->distance[c];
	}
	augment(a, s, row, &p);
}

int assign_solve(struct assign *a, struct assign_scratch *s)
{
	if (scratch_reserve(s, a->row_n, a->column_n) < 0)
		return -ENOMEM;
	s->stamp = 0;
	for (uint32_t c = 0; c < a->column_n; c++) {
		s->column_price[c] = 0;
		s->owner[c] = ASSIGN_NONE;
		s->mark[c] = 0;
	}
	for (uint32_t r = 0; r < a->row_n; r++)
		a->taken[r] = ASSIGN_NONE;
	for (uint32_t r = 0; r < a->row_n; r++)
		add_row(a, s, r);
	return 0;
}
