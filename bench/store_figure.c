/* bench/store_figure.c - the lines that benchmarks of the store print, and how many missed their
 * bar. */
#include "bench/store.h"

#include <stdbool.h>
#include <stdio.h>

static unsigned missed;

void store_figure(const char *what, double figure, const char *unit, double bar,
		  const char *recorded)
{
	bool met = bar <= 0 || figure <= bar;

	printf("  %-52s %10.3f %-8s", what, figure, unit);
	if (bar > 0)
		printf(" bar %8.3f  %-7s", bar, met ? "MET" : "NOT MET");
	if (*recorded)
		printf("  recorded: %s", recorded);
	printf("\n");
	fflush(stdout);
	missed += !met;
}

unsigned store_missed(void)
{
	return missed;
}
