/* segment/segment_salvage.h - what can still be read of a damaged segment, as a new one. */
#ifndef CAUSET_SEGMENT_SEGMENT_SALVAGE_H
#define CAUSET_SEGMENT_SEGMENT_SALVAGE_H

#include "segment/segment.h"

/* Writes the groups of a segment that can be read to segment `to`.  `lost` is told of each that
 * cannot: its number, rows and traces.  0; -ENODATA when nothing is left, and no file; -ENOMEM and
 * what writing said. */
int segment_salvage(struct fs *fs, const char *dir, uint64_t from, uint64_t to,
		    void (*lost)(void *context, uint32_t group, uint32_t rows, uint32_t pieces),
		    void *context, struct segment_info *ret_info);

#endif
