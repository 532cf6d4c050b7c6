/* segment/segment_writer_int.h - a segment being written. */
#ifndef CAUSET_SEGMENT_SEGMENT_WRITER_INT_H
#define CAUSET_SEGMENT_SEGMENT_WRITER_INT_H

#include "base/fs.h"
#include "segment/group_writer.h"
#include "segment/trace_index.h"

struct segment_writer {
	struct fs *fs;
	char *path, *path_tmp;
	int fd;
	uint64_t at; /* bytes written */
	struct group_writer group;
	struct trace_id last; /* the piece added last, if any */
	bool any;
	struct radix_item *items; /* one for each piece: its hash, its group, another hash */
	size_t item_n, item_capacity;
	struct trace_id *split; /* sorted, each once */
	size_t split_n;
	struct event_ref *unique;
	size_t unique_capacity;
	uint64_t *ids;
	size_t id_capacity;
	struct segment_footer footer;
	uint32_t values; /* of each table, at most */
	int failed;
};

/* Appends all sections to `out`, whose first byte will stand at s->at, and enters them into the
 * footer. */
int segment_tables_put(struct segment_writer *s, struct buffer *out);

#endif
