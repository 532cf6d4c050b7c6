/* base/quantity.h - sizes, durations and moments as people write them. */
#ifndef CAUSET_BASE_QUANTITY_H
#define CAUSET_BASE_QUANTITY_H

#include "core/slice.h"

#define QUANTITY_TEXT_BYTES 40 /* any of the texts below and a NUL */

/* "64MiB", "1.5G", "4096", "10 KB": bytes.  K, M, G, T with or without B or iB are powers of 1024
 * (KB and MB, too: nobody who sets a limit means 1000).  -EINVAL, -ERANGE. */
int size_parse(struct slice text, int64_t *ret_bytes);

/* Go's durations: "1h30m", "1.5s", "250ms", "10us", "10µs", "7ns", with a sign; "0"; and "2d", "1w"
 * for days and weeks.  A bare number other than 0 is refused: its unit would be a guess.  -EINVAL,
 * -ERANGE. */
int duration_parse(struct slice text, int64_t *ret_ns);

/* A moment: RFC 3339 ("2026-01-02T03:04:05.678Z", "…+02:00", a blank for the T, or only a date); a
 * number since 1970 in seconds, milliseconds, microseconds or nanoseconds, told apart by its
 * magnitude (so any date from 1973 on is read right whatever the unit); "now"; or a duration
 * relative to now: "-1h", "+5m".  -EINVAL, -ERANGE. */
int moment_parse(struct slice text, int64_t now_ns, int64_t *ret_ns);

/* A share of a whole, 0 … 1: "0.25", "25%", "1/4".  -EINVAL, -ERANGE. */
int share_parse(struct slice text, double *ret_share);

/* "1.2 MiB", "17 B" */
const char *size_format(uint64_t bytes, char out[QUANTITY_TEXT_BYTES]);

/* Three digits that matter: "831ns", "1.20ms", "3.4s", "2m05s", "3h07m"; negative with a "-". */
const char *duration_format(int64_t ns, char out[QUANTITY_TEXT_BYTES]);

/* "2026-01-02T03:04:05.678901234Z" */
const char *moment_format(int64_t ns, char out[QUANTITY_TEXT_BYTES]);

#endif
