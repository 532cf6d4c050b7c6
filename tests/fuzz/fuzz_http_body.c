/* tests/fuzz/fuzz_http_body.c - any bytes as a chunked body, a gRPC frame and compressed content.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "http/chunked.h"
#include "http/coding.h"
#include "http/grpc_frame.h"

#define LIMIT 100000

/* The same bytes give the same data whether they come at once or one by one. */
static enum chunked_result dechunk(struct slice in, size_t step, struct buffer *out)
{
	struct chunked c = {0};
	enum chunked_result r = CHUNKED_MORE;
	const char *why;

	while (in.n && r == CHUNKED_MORE) {
		struct slice piece = slice_first(in, step), data;

		in = slice_from(in, piece.n);
		while ((r = chunked_next(&c, &piece, &data, &why)) == CHUNKED_DATA)
			buffer_slice(out, data);
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = slice_of(data, size);
	struct buffer whole = {0}, bits = {0}, out = {0};
	struct coder *coder = coder_new();
	struct grpc_frame frame;
	int64_t ns;

	if (dechunk(in, SIZE_MAX, &whole) != dechunk(in, 1, &bits) || whole.n != bits.n ||
	    (whole.n && memcmp(whole.p, bits.p, whole.n) != 0) || whole.n > size)
		abort();
	for (int coding = CODING_IDENTITY; coder && coding <= CODING_ZSTD; coding++) {
		buffer_clear(&out);
		if (coder_decode(coder, (enum coding)coding, in, LIMIT, &out) == 0 && out.n > LIMIT)
			abort();
	}
	grpc_frame_head(in, &frame);
	grpc_timeout_parse(in, &ns);
	coder_free(coder);
	buffer_done(&whole);
	buffer_done(&bits);
	buffer_done(&out);
	return 0;
}
