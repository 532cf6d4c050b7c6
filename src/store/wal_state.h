/* store/wal_state.h - a log that is open: what its writer and those who call it share.
 *
 *   wal.c         opens and closes; whatever anybody may call
 *   wal_writer.c  the one thread that writes
 *   wal_retire.c  removes files that are no longer needed
 */
#ifndef CAUSET_STORE_WAL_STATE_H
#define CAUSET_STORE_WAL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/wal_gather.h"
#include "store/wal_int.h"
#include "store/wal_out.h"

#define WAL_GROUP_MOST 256 /* records in one write */
#define WAL_NEVER_NS   INT64_MAX

struct wal {
	struct wal_options options; /* constant, as is seed */
	char *dir;
	uint64_t seed;
	pthread_t thread;

	/* The writer's alone. */
	struct wal_out out;
	struct arena arena; /* of one group */
	struct wal_item *items;
	int64_t sync_due_ns, retry_ns, pause_ns;
	int64_t paced_ns;         /* nothing is written before */
	struct wal_gather gather; /* read by others with the lock */

	pthread_mutex_t lock; /* guards all below but the atomics */
	pthread_cond_t wake, finished;
	bool started, waiting, closing;
	bool finish; /* wal_retire() wants the file ended, if nothing came meanwhile */
	struct store_append *first, **last;
	size_t queued_n, queued_bytes; /* until they are settled */
	uint64_t retired;
	struct wal_folder folder; /* ended files, and hashes of gone ones */
	bool active;
	struct wal_file file; /* being written */
	struct wal_stats stats;

	_Atomic int error; /* negative errno, or 0 */
	_Atomic uint64_t last_seq;
};

/* The writer's thread; its argument is the log.  Ends, with everything written, when `closing` is
 * set. */
void *wal_write_on(void *wal);

#endif
