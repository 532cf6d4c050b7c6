/* tests/fuzz/fuzz_http_head.c - any bytes as an HTTP/1 head: in range, and the same answer whether
 * they come at once or byte by byte. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "http/h1_parse.h"

#define MAX_BYTES 4096
#define MAX_COUNT 16

static void inside(struct slice s, struct slice in)
{
	if (s.n && (s.p < in.p || s.p + s.n > in.p + in.n))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct http_header headers[MAX_COUNT];
	struct h1_scan scan = {0}, step = {0};
	struct h1_head head = {0}, again = {0};
	struct h1_error error = {0};
	int64_t r = h1_parse(in, &scan, MAX_BYTES, headers, MAX_COUNT, &head, &error), bit = 0;

	if (r > (int64_t)size || r < -1 || (r < 0 && (error.status < 400 || !error.text)))
		abort();
	if (r > 0) {
		inside(head.method, in);
		inside(head.target, in);
		inside(head.authority, in);
		for (size_t i = 0; i < head.count; i++) {
			inside(headers[i].name, in);
			inside(headers[i].value, in);
			if (memchr(headers[i].value.p ? headers[i].value.p : "", '\n',
				   headers[i].value.n))
				abort();
		}
		if (head.chunked && head.content_length >= 0)
			abort();
	}
	for (size_t n = 0; n <= size && bit == 0; n++)
		bit = h1_parse(slice_first(in, n), &step, MAX_BYTES, headers, MAX_COUNT, &again,
			       &error);
	if (bit != r)
		abort();
	return 0;
}
