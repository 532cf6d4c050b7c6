/* Any bytes as the query of a search: refused with a sentence that names something, or read within
 * the limits; and as a duration, a size, a moment. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "api/params.h"
#include "base/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request req = {.query = slice_of(data, size)};
	char text[QUANTITY_TEXT_BYTES];
	struct error error = {0};
	struct params params;
	int64_t value, again;
	int r = params_parse(&req, 1700000000000000000, &params, &error);

	if (r < 0 && (r != -EINVAL || !error.text[0]))
		abort();
	if (r == 0 && (params.query.limit > PARAMS_MAX_LIMIT ||
		       params.query.tag_n > PARAMS_MAX_TAGS || params.query.min_duration_ns < 0))
		abort();
	arena_done(&req.arena);
	if (size_parse(req.query, &value) == 0)
		size_format((uint64_t)value, text);
	if (duration_parse(req.query, &value) == 0)
		duration_format(value, text);
	/* What we write of a moment reads as the same moment. */
	if (moment_parse(req.query, 0, &value) == 0 && value >= 0 &&
	    (moment_parse(slice_cstr(moment_format(value, text)), 0, &again) < 0 || again != value))
		abort();
	return 0;
}
