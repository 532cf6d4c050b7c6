/* cli/text.h - text from outside on a terminal: safe, and as wide as it may be. */
#ifndef CAUSET_CLI_TEXT_H
#define CAUSET_CLI_TEXT_H

#include "base/buffer.h"

/* Columns that text takes.  Control characters count as the one that stands in for them. */
size_t text_width(struct slice text);

/* Appends text, at most `columns` wide; longer text ends in "…".  Control characters (which could
 * steer the terminal) and bytes that are not UTF-8 become U+FFFD.  Returns the columns used. */
size_t text_put(struct buffer *out, struct slice text, size_t columns);

/* The same, filled up with blanks behind it (or before it). */
void text_pad(struct buffer *out, struct slice text, size_t columns);
void text_pad_left(struct buffer *out, struct slice text, size_t columns);

void text_repeat(struct buffer *out, const char *piece, size_t n);

#endif
