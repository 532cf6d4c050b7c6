/* segment/trace_index.h - from a trace id to the group where its piece begins; also the filter.
 *
 * Ids are hashed; the top bits of the hash choose a bucket of about INDEX_PER_BUCKET entries, the
 * next INDEX_SLOT_BITS a slot of the bucket, and of what follows, to INDEX_REST_BITS in all, the
 * entry keeps a part, and then the number of the group.  Entries are in the order of their hashes.
 * A look-up gives candidates: whoever wants to be certain reads the group. */
#ifndef CAUSET_SEGMENT_TRACE_INDEX_H
#define CAUSET_SEGMENT_TRACE_INDEX_H

#include "base/radix.h"
#include "core/ids.h"
#include "segment/column.h"

#define INDEX_PER_BUCKET 32
#define INDEX_REST_BITS  13
#define INDEX_SLOT_BITS  5

/* Appends the index of n items, each the hash of a trace and its group (which are sorted on the
 * way).  -ENOMEM. */
int trace_index_encode(struct column_codec *codec, struct radix_item *items, size_t n,
		       uint32_t groups, struct buffer *out);

struct trace_index {
	uint32_t *first; /* of each bucket, and one behind */
	uint64_t *bits;  /* slots and entries, packed; one word more than needed */
	size_t n;
	unsigned bucket_bits, group_bits;
	unsigned slot_bits; /* 0 in files that have no slots */
};

/* -EBADMSG, -ENOMEM. */
int trace_index_decode(struct column_codec *codec, struct slice bytes, size_t n, uint32_t groups,
		       struct trace_index *ret_index);
void trace_index_done(struct trace_index *index);
size_t trace_index_bytes(const struct trace_index *index);

/* The next candidate at or behind *at (0 at first): its group, or UINT32_MAX.  Moves *at behind it.
 */
uint32_t trace_index_next(const struct trace_index *index, uint64_t hash, uint32_t *at);

#endif
