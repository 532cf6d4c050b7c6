/* Any bytes as a spec: refused with a sentence, or read; a modest one is also run. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "infer/generate.h"

#define RUN_MESSAGES 2000 /* enough of one trace */

static int count(void *context, const struct message *messages, size_t n)
{
	size_t *left = context;

	if (n > *left)
		return -E2BIG;
	*left -= n;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error = {0};
	struct generate_tally tally;
	size_t left = RUN_MESSAGES;
	int64_t instances = 0;
	struct spec spec;
	int r = spec_parse(&spec, slice_of(data, size), &error);

	if (r < 0) {
		if (!error.text[0])
			abort();
		return 0;
	}
	for (const struct spec_tracelet *t = spec.tracelets; t; t = t->next)
		instances += t->instances;
	/* One invocation may be enormous by itself; small specs show the same code. */
	if (size < 400 && instances < 1000 && !memchr(data, '*', size)) {
		spec.duration_ns = spec.duration_ns < 5000000000 ? spec.duration_ns : 5000000000;
		r = generate(&spec, &(struct generate_sink){.messages = {count, &left}}, &tally);
		if (r < 0 && r != -E2BIG)
			abort();
	}
	spec_done(&spec);
	return 0;
}
