/* cli/reader.h - the requests in a file of traces, one after the other, in bounded memory. */
#ifndef CAUSET_CLI_READER_H
#define CAUSET_CLI_READER_H

#include "base/buffer.h"
#include "cli/source.h"
#include "model/batch.h"
#include "wire/codecs.h"
#include "wire/split.h"

struct reader {
	struct source *source;
	const struct codec *codec;
	struct split split;
	struct buffer window; /* from `at` on it holds what has not been given out */
	size_t at;
	bool at_end;
	uint64_t requests;
};

/* Opens a file ("-" is standard input) and recognises its format unless `codec` says it.
 * -ENOTSUP when it cannot be recognised. */
int reader_open(struct reader *r, const char *path, const struct codec *codec, struct error *error);
void reader_done(struct reader *r);

/* The next request's bytes, borrowed until the next call.  1, 0 at the end, or a negative errno;
 * the error names the file. */
int reader_next(struct reader *r, struct slice *ret_request, struct error *error);

/* The same, decoded and sealed; the caller unrefs it.  Adds to the tally. */
int reader_next_batch(struct reader *r, struct batch **ret_batch, struct decode_tally *tally,
		      struct error *error);

#endif
