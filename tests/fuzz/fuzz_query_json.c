/* Any bytes as the body of POST /api/query, and as what comes back: refused with a sentence, or
 * read within the limits; a cell that was read is written and reads as the same again. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "api/query_json.h"
#include "api/query_request.h"

static void cell(struct slice text, enum plan_type column)
{
	struct json_reader r = json_open(text);
	struct arena arena = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct value first, again;

	if (query_json_read_value(&r, column, &arena, &first) && json_finish(&r, NULL) == 0) {
		query_json_value(&w, column, first);
		r = json_open(buffer_get(&out));
		if (!query_json_read_value(&r, column, &arena, &again) ||
		    json_finish(&r, NULL) < 0 || value_order(first, again) != 0)
			abort();
	}
	buffer_done(&out);
	arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request req = {.body = slice_of(data, size)};
	struct query_column *columns = NULL;
	struct query_request q;
	struct query_stats stats;
	struct error error = {0};
	struct arena arena = {0};
	struct json_reader r;
	struct diags diags;
	size_t n = 0;
	int code = query_request_parse(&req, 1700000000000000000, &q, &error);

	if (code < 0 && (code != -EINVAL || !error.text[0]))
		abort();
	if (code == 0 && (q.text.n > LANG_MAX_TEXT || q.id.n > QUERY_ID_CHARS || q.limit == 0))
		abort();
	arena_done(&req.arena);
	for (int column = 0; column < PLAN_TYPES; column++)
		cell(req.body, (enum plan_type)column);
	r = json_open(req.body);
	query_json_read_columns(&r, &arena, &columns, &n);
	r = json_open(req.body);
	query_json_read_stats(&r, &stats);
	diags_init(&diags, &arena);
	r = json_open(req.body);
	query_json_read_diags(&r, &diags);
	arena_done(&arena);
	return 0;
}
