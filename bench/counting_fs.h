/* bench/counting_fs.h - the file system, counting what is read through it. */
#ifndef CAUSET_BENCH_COUNTING_FS_H
#define CAUSET_BENCH_COUNTING_FS_H

#include <stdatomic.h>

#include "base/fs.h"

#define COUNTING_FILES 4096

struct counting_fs {
	struct fs fs;
	_Atomic uint64_t reads, bytes;
	_Atomic uint32_t of_file[COUNTING_FILES]; /* reads, by descriptor */
};

/* Everything but reading goes straight through. */
void counting_fs_init(struct counting_fs *c);

/* Counts anew, by file. */
void counting_fs_begin(struct counting_fs *c);

/* Since then, of the file that was read most often.  Where to read in a file may be known only when
 * something else of it has been read; what is read in different ones does not depend on each other.
 */
uint32_t counting_fs_deepest(const struct counting_fs *c);

#endif
