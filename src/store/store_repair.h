/* store/store_repair.h - makes a damaged store whole again, as far as it can be.
 *
 * Nothing is thrown away: damaged files end up in set-aside/.  What of them can be read is kept, in
 * new files; a manifest that is lost is made again from the segments; the unfinished end of the
 * log is cut off and the rest of it written to a segment. */
#ifndef CAUSET_STORE_STORE_REPAIR_H
#define CAUSET_STORE_STORE_REPAIR_H

#include "store/store_check.h"

/* Who opens a store besides its server keeps what it remembers of requests at least so long. */
#define STORE_TOOLS_DEDUP_NS ((int64_t)3600 * 1000000000)

struct store_repaired {
	uint64_t set_aside;              /* files */
	uint64_t rebuilt;                /* segments written anew from what could be read */
	uint64_t lost_segments;          /* nothing of them could be read */
	uint64_t lost_rows, lost_blocks; /* of segments; what a log has lost nobody can count */
	bool manifest;                   /* made again */
};

/* Findings say what was wrong, what was done about it and what is lost.  0, also when there was
 * nothing to do.  -ENOENT: no store; -EPROTONOSUPPORT: written by a newer program and left alone;
 * other errno when it could not be done; the error says so, and a second attempt goes on. */
int store_repair(struct fs *fs, const char *dir, store_finding_fn *report, void *context,
		 struct store_repaired *ret_repaired, struct error *error);

#endif
