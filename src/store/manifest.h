/* store/manifest.h - which files are the store.  Format: docs/format/manifest.md. */
#ifndef CAUSET_STORE_MANIFEST_H
#define CAUSET_STORE_MANIFEST_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/fs.h"

#define MANIFEST_NAME     "MANIFEST"
#define MANIFEST_VERSION  1
#define MANIFEST_SEGMENTS (1 << 20) /* at most */
#define MANIFEST_CURSORS  1024
#define CURSOR_NAME_MAX   64 /* bytes, without a NUL */

struct manifest_segment {
	uint64_t number;
	uint64_t seq_first, seq_last;
	int64_t received_min_ns, received_max_ns;
	uint64_t rows, blocks, pieces, bytes;
	bool feed;        /* has a side file */
	uint64_t thinned; /* by which rule (store/thinning.h); 0: it was not */
};

struct manifest_cursor {
	char name[CURSOR_NAME_MAX + 1];
	uint64_t seq;
};

struct manifest {
	uint64_t next, flushed;
	struct manifest_segment *segments; /* in order of arrival */
	size_t segment_n, segment_capacity;
	struct manifest_cursor *cursors; /* sorted by name */
	size_t cursor_n, cursor_capacity;
};

/* Frees; usable again. */
void manifest_done(struct manifest *m);

/* A copy.  -ENOMEM. */
int manifest_dup(const struct manifest *m, struct manifest *ret_manifest);

/* Is it a cursor's name? */
bool cursor_name_is_good(struct slice name);

/* Moves or makes a cursor.  -EINVAL for a bad name, -E2BIG for too many, -ENOMEM. */
int manifest_set_cursor(struct manifest *m, struct slice name, uint64_t seq);
/* -ENOENT. */
int manifest_drop_cursor(struct manifest *m, struct slice name);
const struct manifest_cursor *manifest_find_cursor(const struct manifest *m, struct slice name);

struct store_cursor;
/* Moves, makes and (STORE_CURSOR_GONE) drops cursors as an append says.  The check tells before
 * whether it will be accepted: -EINVAL for a bad name, -E2BIG for too many; then only -ENOMEM is
 * left. */
int manifest_check_cursors(const struct manifest *m, const struct store_cursor *cursors, size_t n);
int manifest_apply_cursors(struct manifest *m, const struct store_cursor *cursors, size_t n);

/* Text from a manifest, appended; and back.  -EBADMSG with the line, -EPROTONOSUPPORT for a version
 * from the future, -ENOMEM. */
void manifest_encode(const struct manifest *m, struct buffer *out);
int manifest_decode(struct slice text, struct manifest *ret_manifest, struct error *error);

/* Reads DIR/MANIFEST.  -ENOENT when there is none. */
int manifest_load(struct fs *fs, const char *dir, struct manifest *ret_manifest,
		  struct error *error);

/* Replaces it in one step, durably.  After an error either may be there: the caller must not act on
 * the new one, and must not remove what the old one names. */
int manifest_save(struct fs *fs, const char *dir, const struct manifest *m);

#endif
