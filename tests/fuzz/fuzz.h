/* tests/fuzz/fuzz.h - the one function of a fuzz target: any bytes in, 0 out, no other effect. */
#ifndef CAUSET_TESTS_FUZZ_FUZZ_H
#define CAUSET_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* `data` is exactly `size` bytes and goes away on return.  A broken property calls abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* assert() that release builds keep: a fuzz target without its properties tests nothing. */
#define FUZZ_CHECK(property)                                                                       \
	do {                                                                                       \
		if (!(property))                                                                   \
			abort();                                                                   \
	} while (0)

#endif
