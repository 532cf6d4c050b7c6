/* OTLP in protobuf: any bytes are refused or come back, and it makes no difference whether
 * something stands behind them: far from the end of the input, spans and attributes are read in
 * another way. */
#include "fuzz_codec.h"
#include "wire/otlp_proto.h"
#include "wire/protobuf.h"

static void fuzz_far_from_the_end(const char *name, const uint8_t *data, size_t size)
{
	static const char behind[256];
	const struct codec *c = codec_find(slice_cstr(name));
	struct pb_reader r = pb_open(slice_of(data, size));
	struct pb_field f;
	_cleanup_(buffer_done)
	struct buffer longer = {0};
	_cleanup_(batch_unrefp)
	struct batch *near = NULL, *far = NULL;
	struct batch_difference why;

	while (pb_next(&r, &f))
		;
	if (r.bad)
		return;
	buffer_append(&longer, data, size);
	pb_put_bytes(&longer, 15, slice_of(behind, sizeof(behind)));
	FUZZ_CHECK(!longer.failed);
	near = fuzz_decode(c, slice_of(data, size));
	far = fuzz_decode(c, buffer_get(&longer));
	FUZZ_CHECK(!near == !far);
	if (near && !batch_equal(near, far, &why)) {
		fprintf(stderr, "%s: %s\n", name, why.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct decode_tally tally = {0};

	fuzz_codec("otlp", data, size);
	fuzz_codec("otlp-logs", data, size);
	fuzz_far_from_the_end("otlp", data, size);
	fuzz_far_from_the_end("otlp-logs", data, size);
	otlp_proto_refuse_metrics(slice_of(data, size), &tally, NULL);
	return 0;
}
