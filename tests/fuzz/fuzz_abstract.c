/* Any bytes as an abstract trace, in two pieces: refused with a line's number, or read; what was
 * read is paired, and written and read again it is the same. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "infer/abstract_read.h"
#include "infer/pairing.h"

struct kept {
	struct message *at;
	size_t n;
};

static int keep(void *context, const struct message *messages, size_t n)
{
	struct kept *k = context;

	k->at = realloc(k->at, (k->n + n) * sizeof(*k->at));
	if (!k->at)
		abort();
	memcpy(k->at + k->n, messages, n * sizeof(*messages));
	k->n += n;
	return 0;
}

static int read_all(struct slice a, struct slice b, struct names *nodes, struct names *operations,
		    bool tolerant, struct kept *k)
{
	struct abstract_reader r;
	struct error error = {0};
	int e;

	abstract_reader_init(&r, nodes, operations, (struct message_sink){keep, k});
	r.tolerant = tolerant;
	e = abstract_reader_feed(&r, a, &error);
	if (e == 0)
		e = abstract_reader_feed(&r, b, &error);
	if (e == 0)
		e = abstract_reader_finish(&r, &error);
	if (e < 0 && !error.text[0])
		abort();
	abstract_reader_done(&r);
	return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice all = slice_of(data, size);
	struct names nodes, operations;
	struct kept k = {0}, again = {0};
	struct buffer out = {0};
	struct calls calls = {0};
	struct pairing *p;

	names_init(&nodes);
	names_init(&operations);
	abstract_sniff(all);
	if (read_all(slice_first(all, size / 3), slice_from(all, size / 3), &nodes, &operations,
		     true, &k) < 0)
		abort();
	for (size_t i = 0; i < k.n; i++)
		abstract_write(&k.at[i], &nodes, &operations, &out);
	if (read_all(buffer_get(&out), SLICE(""), &nodes, &operations, false, &again) < 0 ||
	    again.n != k.n)
		abort();
	if (pairing_new(&calls, &p) < 0 || pairing_put(p, k.at, k.n) < 0 || pairing_finish(p) < 0)
		abort();
	if (calls.n > k.n)
		abort();
	for (size_t i = 1; i < calls.n; i++)
		if (calls.at[i].start_ns < calls.at[i - 1].start_ns)
			abort();
	pairing_free(p);
	calls_done(&calls);
	buffer_done(&out);
	names_done(&nodes);
	names_done(&operations);
	free(k.at);
	free(again.at);
	return 0;
}
