/* http/chunked.h - the chunked transfer coding of HTTP/1.1, incoming.  Pure and incremental.
 *
 * Strict: sizes are 1 to 15 hexadecimal digits, every line ends in CRLF, chunk extensions and
 * trailers are skipped within a limit. */
#ifndef CAUSET_HTTP_CHUNKED_H
#define CAUSET_HTTP_CHUNKED_H

#include "core/slice.h"

#define CHUNKED_MAX_LINE    1024 /* a size with its extensions */
#define CHUNKED_MAX_TRAILER 8192 /* all trailers together */

struct chunked { /* starts cleared */
	int state;
	unsigned digits;
	size_t line;
	size_t trailer;
	uint64_t left; /* of the current chunk */
};

enum chunked_result {
	CHUNKED_ERROR = -1, /* *ret_error says why */
	CHUNKED_END = 0,
	CHUNKED_DATA = 1, /* *ret_data is the next piece, inside the input */
	CHUNKED_MORE = 2, /* all input is used up */
};

/* Takes from the front of *in.  Call again with what is left after CHUNKED_DATA. */
enum chunked_result chunked_next(struct chunked *c, struct slice *in, struct slice *ret_data,
				 const char **ret_error);

#endif
