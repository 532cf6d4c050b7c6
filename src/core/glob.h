/* core/glob.h - names matched by pattern: `*` any run of bytes, `?` any one byte, the rest itself.
 *
 * One small pattern form for service names, operations, owners and attribute keys alike.  There are
 * no character classes and no escape: a name that holds a star is matched by `?`. */
#ifndef CAUSET_CORE_GLOB_H
#define CAUSET_CORE_GLOB_H

#include "core/slice.h"

/* Does all of `text` match?  Time is at most pattern × text; nothing is allocated. */
bool glob_match(struct slice pattern, struct slice text);

#define GLOB_MAX_EXTEND_CHARS 256

/* Could `text` followed by something more match?  Answers true for a pattern longer than
 * GLOB_MAX_EXTEND_CHARS, without looking. */
bool glob_may_extend(struct slice pattern, struct slice text);

#endif
