/* http/h1_parse.h - the head of an HTTP/1 request: bytes in, slices out.  Pure: no allocation, no
 * I/O; everything points into the input.
 *
 * Strict where two readers of the same bytes could disagree (request smuggling): lines end in CRLF
 * (a bare LF or CR is refused), no folded headers, no blank before the colon, one Host, one
 * Content-Length of digits only, never Content-Length together with Transfer-Encoding, and no
 * transfer coding but "chunked". */
#ifndef CAUSET_HTTP_H1_PARSE_H
#define CAUSET_HTTP_H1_PARSE_H

#include "http/request.h"

/* Where the search for the end of the head stopped, so that a head which comes byte by byte is not
 * scanned from its start each time.  Cleared by the caller before a new head. */
struct h1_scan {
	size_t line; /* start of the line that has no end yet */
	size_t seen; /* no LF before here, from `line` on */
};

struct h1_head {
	struct slice method;
	struct slice target;    /* "/path?query" or "*" */
	struct slice authority; /* of an absolute-form target, or of Host */
	int version;            /* 10 or 11 */
	size_t count;           /* headers filled in */
	int64_t content_length; /* -1: none */
	bool chunked;
	bool keep_alive;
	bool expect_continue;
};

struct h1_error {
	int status;       /* to answer with */
	const char *text; /* a sentence without a full stop */
};

/* Parses one head at the start of `in` (empty lines before it are skipped).  Returns the bytes it
 * takes including the empty line, 0 when more are needed, or -1 with *error filled.  At most
 * max_bytes are looked at; `headers` has room for max_count. */
int64_t h1_parse(struct slice in, struct h1_scan *scan, size_t max_bytes,
		 struct http_header *headers, size_t max_count, struct h1_head *ret_head,
		 struct h1_error *error);

/* Is c allowed in a method, a header's name? */
bool h1_is_token_char(unsigned char c);

#endif
