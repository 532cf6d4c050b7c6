/* The protobuf reader never leaves its bytes, agrees with a reader that takes no shortcuts, and
 * what it reads can be written again; a file can be cut wherever the splitter says. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "wire/protobuf.h"
#include "wire/split.h"

/* One field, read byte by byte as the encoding guide says.  Returns its length, 0 when there is
 * none. */
static size_t reference_field(const uint8_t *p, size_t n, uint32_t *ret_tag)
{
	uint64_t numbers[2] = {0};
	size_t at = 0, extra = 0;

	for (unsigned i = 0; i < 2; i++) {
		unsigned bytes = 0;

		for (;;) {
			if (at == n || bytes == 10)
				return 0;
			if (bytes < 9)
				numbers[i] |= (uint64_t)(p[at] & 127) << 7 * bytes;
			else
				numbers[i] |= (uint64_t)(p[at] & 1) << 63;
			bytes++;
			if (p[at++] < 128)
				break;
		}
		if (i == 0 && (numbers[0] >> 32 || numbers[0] >> 3 == 0))
			return 0;
		if (i == 0 && (numbers[0] & 7) != PB_VARINT && (numbers[0] & 7) != PB_BYTES)
			break;
	}
	*ret_tag = (uint32_t)numbers[0];
	switch (numbers[0] & 7) {
	case PB_VARINT:
		return at;
	case PB_BYTES:
		extra = numbers[1] > n ? n + 1 : (size_t)numbers[1];
		break;
	case PB_FIXED64:
		extra = 8;
		break;
	case PB_FIXED32:
		extra = 4;
		break;
	default:
		return 0;
	}
	return extra <= n - at ? at + extra : 0;
}

static void put(struct buffer *out, const struct pb_field *f)
{
	switch (f->tag & 7) {
	case PB_VARINT:
		pb_put_varint(out, f->tag >> 3, f->value);
		break;
	case PB_FIXED64:
		pb_put_fixed64(out, f->tag >> 3, f->value);
		break;
	case PB_FIXED32:
		pb_put_fixed32(out, f->tag >> 3, (uint32_t)f->value);
		break;
	default: {
		size_t begun = pb_begin(out, f->tag >> 3);

		buffer_slice(out, f->bytes);
		pb_end(out, begun);
	}
	}
}

static void read_all(struct slice bytes, struct buffer *out)
{
	struct pb_reader r = pb_open(bytes);
	const uint8_t *p = (const uint8_t *)bytes.p;
	struct pb_field f;
	size_t at = 0;

	while (pb_next(&r, &f)) {
		uint32_t tag = 0;
		size_t n = reference_field(p + at, bytes.n - at, &tag);

		FUZZ_CHECK(n > 0 && tag == f.tag && pb_whole(&r, &f).n == n && r.at == p + at + n);
		at += n;
		put(out, &f);
	}
	if (r.bad) {
		uint32_t tag;

		FUZZ_CHECK(at < bytes.n && reference_field(p + at, bytes.n - at, &tag) == 0);
		FUZZ_CHECK(r.bad >= p + at && r.bad <= p + bytes.n);
	} else
		FUZZ_CHECK(at == bytes.n);
}

static void split_all(struct slice bytes, enum codec_frame frame)
{
	struct split s = {.frame = frame};
	size_t at = 0, have = 0;

	for (;;) {
		ssize_t n =
			split_next(&s, slice_of(bytes.p + at, have - at), have == bytes.n, NULL);

		if (n < 0 || (n == 0 && have == bytes.n))
			break;
		FUZZ_CHECK((size_t)n <= have - at);
		if (n == 0)
			have = MIN(bytes.n, have * 2 + 1);
		at += (size_t)n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(buffer_done)
	struct buffer once = {0}, twice = {0};

	read_all(slice_of(data, size), &once);
	read_all(buffer_get(&once), &twice);
	FUZZ_CHECK(slice_eq(buffer_get(&once), buffer_get(&twice)));
	split_all(slice_of(data, size), FRAME_FIELDS);
	split_all(slice_of(data, size), FRAME_VALUES);
	codec_sniff(slice_of(data, size), SLICE(""));
	return 0;
}
