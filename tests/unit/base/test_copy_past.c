#include "t.h"

#include "base/copy_past.h"

#define ROOM 9000

/* Every alignment of both sides against each other, around the length from which it goes past the
 * caches, and where lines begin and end. */
static void it_copies_what_memcpy_does_and_nothing_else(void **state)
{
	static const size_t lengths[] = {0,    1,    63,   64,   65,   2047, 2048,
					 2049, 2111, 2112, 2175, 4096, 8191};
	static char from[ROOM], to[ROOM], expected[ROOM];

	for (size_t i = 0; i < ROOM; i++)
		from[i] = (char)(i * 131 >> 3);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++)
		for (size_t shift = 0; shift < 80; shift++) {
			size_t n = lengths[k], at = 64 + shift, source = shift * 7 % 67;

			memset(to, 0x5a, ROOM);
			memset(expected, 0x5a, ROOM);
			memcpy(expected + at, from + source, n);
			copy_past(to + at, from + source, n);
			assert_memory_equal(to, expected, ROOM);
		}
}

static void nothing_may_come_from_nowhere(void **state)
{
	copy_past(NULL, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_copies_what_memcpy_does_and_nothing_else),
		cmocka_unit_test(nothing_may_come_from_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
