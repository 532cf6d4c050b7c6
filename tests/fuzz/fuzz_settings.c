/* Any bytes as a settings file: refused with a sentence, or read; and what was read, printed, reads
 * again as the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "server/config.h"

static int read_into(struct config *config, struct option_set *set, struct arena *arena,
		     struct slice text)
{
	struct option_set *sets[] = {set};
	struct error error = {0};
	int r;

	if (option_set_init(set, config_options, config, arena) < 0)
		abort();
	r = option_parse_file(sets, 1, NULL, 0, "file", text, &error);
	if (r < 0 && !error.text[0])
		abort();
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config first = {0}, again = {0};
	struct option_set first_set, again_set;
	struct arena arena = {0};
	struct buffer text = {0};

	if (read_into(&first, &first_set, &arena, slice_of(data, size)) == 0) {
		/* A quote inside a value has no written form; --print-config is for people there.
		 */
		bool quoted = memchr(data ? (const void *)data : "", '"', size) != NULL;

		option_print(&first_set, &text);
		if (read_into(&again, &again_set, &arena, buffer_get(&text)) < 0 && !quoted)
			abort();
		if (!quoted &&
		    (first.max_body != again.max_body || first.auth != again.auth ||
		     first.drain_ns != again.drain_ns || first.hosts.n != again.hosts.n ||
		     first.http_port != again.http_port))
			abort();
	}
	buffer_done(&text);
	arena_done(&arena);
	return 0;
}
