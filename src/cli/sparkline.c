/* cli/sparkline.c - a row of numbers as a row of little bars. */
#include "cli/sparkline.h"

#include <math.h>

#include "base/cleanup.h"

static const char *const bars[8] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/* The greatest of values[from … to); NaN where there is none. */
static double greatest(const double *values, size_t from, size_t to)
{
	double most = NAN;

	for (size_t i = from; i < to; i++)
		if (isfinite(values[i]) && !(values[i] <= most))
			most = values[i];
	return most;
}

void sparkline_put(struct buffer *out, const double *values, size_t n, size_t columns)
{
	double low = 0, high = greatest(values, 0, n);
	size_t bars_n = MIN(n, columns);

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			low = MIN(low, values[i]);
	for (size_t i = 0; i < bars_n; i++) {
		double v = greatest(values, i * n / bars_n, (i + 1) * n / bars_n);
		/* Halves, as the whole may be too wide for a double. */
		double share = high > low ? (v / 2 - low / 2) / (high / 2 - low / 2) : 0;
		size_t level = isnan(v) ? 0 : (size_t)(share * 8);

		if (isnan(v))
			buffer_byte(out, ' ');
		else
			buffer_text(out, bars[MIN(level, ARRAY_SIZE(bars) - 1)]);
	}
}
