/* base/suggest.c - "did you mean …": the known name nearest to what somebody typed. */
#include "base/suggest.h"

#include "base/cleanup.h"

/* Edit distance with swaps of neighbours (optimal string alignment), three rows at a time. */
static size_t edit_distance(struct slice a, struct slice b)
{
	size_t rows[3][SUGGEST_MAX_CHARS + 1];
	size_t *before = rows[0], *above = rows[1], *here = rows[2];

	for (size_t j = 0; j <= b.n; j++)
		above[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *spare = before;

		here[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t change = above[j - 1] + (a.p[i - 1] != b.p[j - 1]);
			size_t insert = MIN(above[j], here[j - 1]) + 1;

			here[j] = MIN(change, insert);
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				here[j] = MIN(here[j], before[j - 2] + 1);
		}
		before = above;
		above = here;
		here = spare;
	}
	return above[b.n];
}

void suggestion_offer(struct suggestion *s, const char *name)
{
	struct slice known = slice_cstr(name);
	size_t distance, allowed = 1 + s->typed.n / 3;

	if (known.n > SUGGEST_MAX_CHARS || s->typed.n > SUGGEST_MAX_CHARS || s->typed.n == 0)
		return;
	distance = edit_distance(s->typed, known);
	if (s->typed.n >= 3 && slice_starts(known, s->typed))
		distance = 1;
	if (distance > allowed || distance >= s->distance || distance >= known.n)
		return;
	s->best = name;
	s->distance = distance;
}
