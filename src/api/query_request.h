/* api/query_request.h - what POST /api/query is asked: the JSON of its body, read.
 *
 * The form is docs/format/query.md. */
#ifndef CAUSET_API_QUERY_REQUEST_H
#define CAUSET_API_QUERY_REQUEST_H

#include "base/error.h"
#include "exec/query.h"
#include "http/request.h"
#include "lang/ast.h"
#include "lang/plan.h"

#define QUERY_ID_CHARS     64
#define QUERY_LIMIT        1000 /* rows of a page when nobody says */
#define QUERY_LIMIT_MOST   100000
#define QUERY_CURSOR_CHARS 100
#define QUERY_FILES_MOST   16

struct query_request {
	struct slice text; /* texts lie in the request's arena */
	enum lang_dialect dialect;
	bool explain, live;
	bool stream; /* lines as they come, not a page */
	bool limited;
	uint64_t limit; /* rows of a page; of a stream all rows, if limited */
	struct slice cursor;
	struct slice id;         /* as the client calls it; empty: we choose */
	struct plan_range range; /* 0: no bound */
	int64_t step_ns;         /* 0: not said, as below */
	int64_t time_ns;
	size_t memory_bytes;
	const struct query_file *files; /* for csv("…") */
	size_t file_n;
	/* Asked by a tool that many people share, and that asks many things at once: only the limit
	 * of all queries counts, not the owner's. */
	bool for_many;
};

/* -EINVAL with a sentence that names the field and what would be right; unknown names are refused,
 * too, with the nearest known one.  -ENOMEM. */
int query_request_parse(struct http_request *req, int64_t now_ns, struct query_request *ret_request,
			struct error *error);

#endif
