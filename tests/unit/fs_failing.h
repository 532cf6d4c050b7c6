/* tests/unit/fs_failing.h - a file system of which some calls fail.
 *
 * Calls that change something are counted, from 1; those numbered fail_at … fail_at + fail_n - 1
 * fail with `error`.  A write that fails may have written half before.  Goes on top of any other
 * table: a call that fails does not reach it (but for the half). */
#ifndef CAUSET_TESTS_UNIT_FS_FAILING_H
#define CAUSET_TESTS_UNIT_FS_FAILING_H

#include <stdatomic.h>

#include "base/fs.h"

struct fs_failing {
	struct fs fs;
	struct fs *inner;
	_Atomic uint64_t calls;
	_Atomic uint64_t fail_at; /* 0: none */
	_Atomic uint64_t fail_n;
	_Atomic int error; /* negative errno */
	bool half;         /* half of a failing write is written; the rest fails */
	bool reads;        /* reads are counted, and fail, too */
	_Atomic uint64_t failed;
};

void fs_failing_init(struct fs_failing *f, struct fs *inner);

#endif
