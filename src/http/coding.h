/* http/coding.h - content codings: gzip, deflate and zstd, whole bodies, within a limit.
 *
 * A bomb stops at the limit: no more than `limit` bytes are produced, and memory grows with what
 * is produced, not with what the input claims. */
#ifndef CAUSET_HTTP_CODING_H
#define CAUSET_HTTP_CODING_H

#include "base/buffer.h"

enum coding {
	CODING_UNKNOWN = -1,
	CODING_IDENTITY,
	CODING_GZIP,
	CODING_DEFLATE, /* zlib's wrapping, or raw as some clients send it */
	CODING_ZSTD,
};

/* What a Content-Encoding or grpc-encoding header names; empty is identity. */
enum coding coding_parse(struct slice name);

/* Reusable state of the libraries, made when first needed.  One thread. */
struct coder;
struct coder *coder_new(void);
struct coder *coder_free(struct coder *c);

/* Appends the decoded form of `in` to `out`.  -EFBIG: longer than `limit`; -EBADMSG: damaged or
 * cut off; -ENOMEM.  After a failure the content of `out` is undefined. */
int coder_decode(struct coder *c, enum coding coding, struct slice in, size_t limit,
		 struct buffer *out);

/* Appends a gzip member with the content of `in` (level 1 … 12).  -ENOMEM. */
int coder_gzip(struct coder *c, struct slice in, int level, struct buffer *out);

#endif
