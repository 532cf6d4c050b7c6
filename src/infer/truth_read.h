/* infer/truth_read.h - the truth about a trace: which call caused which.
 *
 *   id parent_id trace          parent_id 0 (or -): a root
 *
 * One line a call; '#' starts a comment line.  Text comes in any pieces.  One thread. */
#ifndef CAUSET_INFER_TRUTH_READ_H
#define CAUSET_INFER_TRUTH_READ_H

#include "base/buffer.h"
#include "base/error.h"
#include "infer/infer.h"
#include "infer/names.h"

#define TRUTH_MAX_LINE 4096
#define TRUTH_UNKNOWN  UINT32_MAX

struct truth_row {
	uint64_t id, parent; /* MESSAGE_NO_ID: a root */
	uint32_t trace;
};

struct truth_reader {
	struct truth_row *rows;
	size_t row_n, row_capacity;
	struct names traces;
	struct buffer carry;
	uint64_t lines;
};

/* What is true of a list of calls, by their numbers. */
struct truth_of_calls {
	struct call_link *links; /* parent, decided; not decided where nothing is known */
	uint32_t *trace;         /* number of the trace, or TRUTH_UNKNOWN */
	size_t trace_n;
	uint64_t strangers; /* rows whose call is not there */
};

void truth_reader_init(struct truth_reader *r);
void truth_reader_done(struct truth_reader *r);

/* -EINVAL with "line N: …", -E2BIG, -ENOMEM. */
int truth_reader_feed(struct truth_reader *r, struct slice text, struct error *error);
int truth_reader_finish(struct truth_reader *r, struct error *error);

/* Finds the rows' calls by their ids; where several calls share one, in the order of start.
 * -ENOMEM. */
int truth_match(const struct truth_reader *r, const struct calls *calls,
		struct truth_of_calls *ret_truth);
void truth_of_calls_done(struct truth_of_calls *t);

#endif
