/* cli/source.h - the bytes of a file or of standard input, decompressed on the way. */
#ifndef CAUSET_CLI_SOURCE_H
#define CAUSET_CLI_SOURCE_H

#include <sys/types.h>

#include "base/error.h"
#include "core/slice.h"

struct source;

/* "-" is standard input.  gzip and zstd are recognised by their first bytes. */
int source_open(const char *path, struct source **ret_source, struct error *error);
struct source *source_close(struct source *s);

static inline void source_closep(struct source **s)
{
	source_close(*s);
}

/* The next bytes: how many, 0 at the end, or a negative errno (-EBADMSG: damaged or cut off). */
ssize_t source_read(struct source *s, char *out, size_t room, struct error *error);

/* Bytes of the file itself read so far, and in all (0 when that is not known). */
uint64_t source_position(const struct source *s);
uint64_t source_size(const struct source *s);

/* For messages: the path, or "standard input". */
const char *source_name(const struct source *s);

#endif
