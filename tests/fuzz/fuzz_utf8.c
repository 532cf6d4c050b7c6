/* The valid prefix is made of whole sequences, ends where none stands, and a decoder that knows
 * nothing of tricks agrees. */
#include "fuzz.h"

#include "core/utf8.h"

/* The table of RFC 3629 section 4, read literally. */
static size_t reference_sequence(const uint8_t *p, size_t n)
{
	static const struct {
		uint8_t first[2], second[2];
		size_t length;
	} rows[] = {
		{{0x00, 0x7f}, {0, 0}, 1},       {{0xc2, 0xdf}, {0x80, 0xbf}, 2},
		{{0xe0, 0xe0}, {0xa0, 0xbf}, 3}, {{0xe1, 0xec}, {0x80, 0xbf}, 3},
		{{0xed, 0xed}, {0x80, 0x9f}, 3}, {{0xee, 0xef}, {0x80, 0xbf}, 3},
		{{0xf0, 0xf0}, {0x90, 0xbf}, 4}, {{0xf1, 0xf3}, {0x80, 0xbf}, 4},
		{{0xf4, 0xf4}, {0x80, 0x8f}, 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (n < rows[i].length || p[0] < rows[i].first[0] || p[0] > rows[i].first[1])
			continue;
		if (rows[i].length > 1 && (p[1] < rows[i].second[0] || p[1] > rows[i].second[1]))
			continue;
		if (rows[i].length > 2 && (p[2] & 0xc0) != 0x80)
			continue;
		if (rows[i].length > 3 && (p[3] & 0xc0) != 0x80)
			continue;
		return rows[i].length;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t n = reference_sequence(data + at, size - at);

		FUZZ_CHECK(utf8_sequence(slice_of(data + at, size - at)) == n);
		if (n == 0)
			break;
		at += n;
	}
	FUZZ_CHECK(utf8_valid_prefix(slice_of(data, size)) == at);
	return 0;
}
