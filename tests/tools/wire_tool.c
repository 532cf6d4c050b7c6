/* tests/tools/wire_tool.c - from one format to another by way of the model, for tests in other
 * languages.
 *
 * usage: wire_tool FROM TO <requests >answers
 *
 * A request is its length (4 bytes, little endian) and that many bytes in the format FROM; the
 * answer has the same form, in the format TO.  A request that cannot be decoded is answered with
 * the length 0xffffffff and a line on stderr; rejected rows are reported on stderr, too.  What
 * decodes must pass batch_check(). */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "wire/codecs.h"

#define REQUEST_MAX (256u << 20)
#define REFUSED     UINT32_MAX

/* 1: decoded; 0: refused. */
static int convert(const struct codec *from, const struct codec *to, struct slice bytes,
		   struct buffer *out)
{
	_cleanup_(batch_unrefp)
	struct batch *b = batch_new(bytes.n);
	_cleanup_(freep)
	struct event_ref *refs = NULL;
	struct decode_tally tally = {0};
	struct error error = {0};
	int r;

	if (!b)
		abort();
	r = from->decode(bytes, b, &tally, &error);
	if (r < 0) {
		fprintf(stderr, "refused: %s\n", error.text);
		return 0;
	}
	if (batch_seal(b) < 0 || !batch_check(b))
		abort();
	if (tally.rejected)
		fprintf(stderr, "rejected %llu: %s\n", (unsigned long long)tally.rejected,
			tally.reason);
	refs = calloc(b->event_n + 1, sizeof(*refs));
	if (!refs)
		abort();
	for (size_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, (uint32_t)i};
	to->encode(refs, b->event_n, out);
	if (out->failed)
		abort();
	return 1;
}

int main(int argc, char **argv)
{
	const struct codec *from = argc == 3 ? codec_find(slice_cstr(argv[1])) : NULL;
	const struct codec *to = argc == 3 ? codec_find(slice_cstr(argv[2])) : NULL;
	uint32_t n;

	if (!from || !to) {
		fprintf(stderr, "usage: %s FROM TO\n", argv[0]);
		return 2;
	}
	while (fread(&n, sizeof(n), 1, stdin) == 1) {
		_cleanup_(buffer_done)
		struct buffer out = {0};
		_cleanup_(freep)
		char *bytes = n <= REQUEST_MAX ? malloc(n ? n : 1) : NULL;

		if (!bytes || fread(bytes, 1, n, stdin) != n) {
			fprintf(stderr, "a request of %u bytes is cut off or too long\n", n);
			return 2;
		}
		n = convert(from, to, slice_of(bytes, n), &out) ? (uint32_t)out.n : REFUSED;
		if (fwrite(&n, sizeof(n), 1, stdout) != 1 ||
		    (out.n && fwrite(out.p, out.n, 1, stdout) != 1))
			return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
