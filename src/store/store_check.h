/* store/store_check.h - is a store at rest sound?  Reads everything and changes nothing. */
#ifndef CAUSET_STORE_STORE_CHECK_H
#define CAUSET_STORE_STORE_CHECK_H

#include "base/error.h"
#include "base/fs.h"

struct store_finding {
	const char *file; /* its name in the folder */
	const char *text; /* one sentence that names the block */
	/* What a crash leaves behind and opening takes care of, or what only costs time: no
	 * damage, nothing is lost. */
	bool harmless;
};

typedef void store_finding_fn(void *context, const struct store_finding *finding);

/* What there is, as far as it could be read. */
struct store_totals {
	uint64_t segments, rows, blocks, pieces, split;
	uint64_t segment_bytes, feed_bytes;
	uint64_t log_files, log_bytes;            /* bytes of the files, allocated or not */
	uint64_t log_records, log_events;         /* not in segments yet */
	uint64_t set_aside;                       /* files in set-aside/ */
	int64_t received_min_ns, received_max_ns; /* of segments; 0: there is none */
	int64_t start_min_ns, start_max_ns;       /* of pieces that have a time */
	uint64_t findings, harmless;
};

/* Verifies every checksum and every invariant: manifest, segments, side files, log, and what they
 * say of each other.  0: sound.  -EBADMSG: it is not, and `report` was told why.  -ENOENT: there is
 * no store.  -EPROTONOSUPPORT: a newer program has written it; other errno when it could not be
 * read; the error says so. */
int store_check(struct fs *fs, const char *dir, store_finding_fn *report, void *context,
		struct store_totals *ret_totals, struct error *error);

/* The same totals, from what the files say of themselves: nothing is verified but the manifest. */
int store_measure(struct fs *fs, const char *dir, struct store_totals *ret_totals,
		  struct error *error);

/* Says which version a segment has that a newer program has written; -EPROTONOSUPPORT. */
int store_newer(struct fs *fs, const char *dir, const char *file, struct error *error);

#endif
