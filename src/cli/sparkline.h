/* cli/sparkline.h - a row of numbers as a row of little bars. */
#ifndef CAUSET_CLI_SPARKLINE_H
#define CAUSET_CLI_SPARKLINE_H

#include "base/buffer.h"

/* Appends at most `columns` bars, from 0 (or the least, if that is below) to the greatest number.
 * More numbers than bars: a bar shows the greatest of those it stands for, so that no peak is lost.
 * NaN is a gap. */
void sparkline_put(struct buffer *out, const double *values, size_t n, size_t columns);

#endif
