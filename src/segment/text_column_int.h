/* segment/text_column_int.h - what the writer and the reader of columns of text share. */
#ifndef CAUSET_SEGMENT_TEXT_COLUMN_INT_H
#define CAUSET_SEGMENT_TEXT_COLUMN_INT_H

#include "segment/text_column.h"

/* Kinds of templates: 0 is a plain text, 1 … TEMPLATE_MOST_UUIDS a text with so many holes. */
#define TEMPLATE_MOST_UUIDS  254
#define TEMPLATE_DECIMAL     255
#define TEMPLATE_HOLE        '\x01'
#define TEMPLATE_MOST_DIGITS 18

/* Where the next UUID in lower-case canonical form stands, or -1. */
ptrdiff_t uuid_find(struct slice s, size_t from, uint8_t out[UUID_BYTES]);

/* Is it a number as it is cut out: "0", or digits that do not begin with 0? */
bool text_decimal(struct slice s, int64_t *ret_number);

#endif
