/* tests/unit/t.h - what every cmocka test needs. */
#ifndef CAUSET_TESTS_UNIT_T_H
#define CAUSET_TESTS_UNIT_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "core/slice.h"

#define assert_slice_equal(a, b)                                                                   \
	do {                                                                                       \
		struct slice left_ = (a), right_ = (b);                                            \
		assert_int_equal(left_.n, right_.n);                                               \
		if (left_.n)                                                                       \
			assert_memory_equal(left_.p, right_.p, left_.n);                           \
	} while (0)

#define assert_text(s, literal) assert_slice_equal(s, slice_cstr(literal))

#endif
