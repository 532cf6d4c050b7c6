/* base/pattern.h - regular expressions as people write them in queries.
 *
 * What RE2 and Go have in common with POSIX extended expressions, and of the rest what is used:
 * \d \D \w \W \s \S \b, (?: … ), a leading (?i), lazy quantifiers (which match the same texts).
 * Matching takes time proportional to pattern × text; there are no back references.
 *
 * One thread: compile one for each (matching takes a lock otherwise). */
#ifndef CAUSET_BASE_PATTERN_H
#define CAUSET_BASE_PATTERN_H

#include "base/error.h"
#include "core/slice.h"

#define PATTERN_MAX_BYTES 1024

struct pattern;

/* Must match the whole text with `whole`, else some part of it.  -EINVAL with the reason (the error
 * is at a byte of the pattern where that is known), -ENOMEM. */
int pattern_new(struct slice text, bool whole, struct pattern **ret_pattern, struct error *error);

/* NULL-safe; returns NULL. */
struct pattern *pattern_free(struct pattern *p);

/* A text with a NUL in it is matched up to there. */
bool pattern_matches(const struct pattern *p, struct slice text);

#endif
