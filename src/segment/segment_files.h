/* segment/segment_files.h - names of a segment's files. */
#ifndef CAUSET_SEGMENT_SEGMENT_FILES_H
#define CAUSET_SEGMENT_SEGMENT_FILES_H

#include <string.h>

#include "core/ids.h"

/* The number in "seg-%016x" with this ending (".cst", ".feed", ".cst.tmp"), or false. */
static inline bool segment_file_number(const char *name, const char *ending, uint64_t *ret_number)
{
	struct slice s = slice_cstr(name);
	uint8_t bytes[8];

	if (s.n != 20 + strlen(ending) || !slice_starts(s, SLICE("seg-")) ||
	    !slice_ends(s, slice_cstr(ending)) ||
	    hex_decode(slice_of(name + 4, 16), bytes, sizeof(bytes)) < 0)
		return false;
	*ret_number = load_be64(bytes);
	return true;
}

#endif
