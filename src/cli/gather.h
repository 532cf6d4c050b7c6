/* cli/gather.h - all rows of some files, or of a server's answer, in memory. */
#ifndef CAUSET_CLI_GATHER_H
#define CAUSET_CLI_GATHER_H

#include "cli/remote.h"
#include "model/batch.h"
#include "wire/codecs.h"

struct gathered {
	struct event_ref *refs;
	size_t n, capacity;
	struct batch **batches; /* one reference each */
	size_t batch_n, batch_capacity;
	uint64_t rejected;
	char reason[160];
};

/* Reads files (NULL-terminated paths).  `codec` NULL: each is recognised.  EXIT_OK or an exit code
 * after having said why. */
int gather_files(struct cli *cli, const char *const *paths, const struct codec *codec,
		 struct gathered *ret);

/* One trace from the server, as native events, decoded while it comes. */
int gather_trace(struct cli *cli, const char *id, struct gathered *ret);

void gathered_done(struct gathered *g);

#endif
