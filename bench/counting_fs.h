/* bench/counting_fs.h - the file system, counting what is read through it. */
#ifndef CAUSET_BENCH_COUNTING_FS_H
#define CAUSET_BENCH_COUNTING_FS_H

#include <stdatomic.h>

#include "base/fs.h"

struct counting_fs {
	struct fs fs;
	_Atomic uint64_t reads, bytes;
};

/* Everything but reading goes straight through. */
void counting_fs_init(struct counting_fs *c);

#endif
