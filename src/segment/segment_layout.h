/* segment/segment_layout.h - what each part of a segment takes: for people who wonder where the
 * bytes went. */
#ifndef CAUSET_SEGMENT_SEGMENT_LAYOUT_H
#define CAUSET_SEGMENT_SEGMENT_LAYOUT_H

#include "segment/segment.h"

/* `what` is one of a few fixed texts; `key` is the attribute's for "attribute", else empty.
 * `values` is 0 where nothing is counted. */
typedef void segment_layout_fn(void *context, const char *what, struct slice key, uint64_t values,
			       uint64_t bytes);

/* Tells every part of the file, group by group: the sums of one `what` and `key` are the caller's
 * to make.  All bytes together are the file's.  Reads tables and directories, not columns.  0 or a
 * negative errno. */
int segment_layout(struct segment *s, segment_layout_fn *each, void *context);

#endif
