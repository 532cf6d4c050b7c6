/* Any bytes as a capture file: messages come out or they do not; nothing breaks, all memory comes
 * back. */
#include <assert.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "fuzz.h"

static int put(void *context, const struct message *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert(m[i].op == MESSAGE_CALL || m[i].op == MESSAGE_RET);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct names nodes, operations;
	struct packet_reader reader;
	struct capture *c = malloc(sizeof(*c));
	struct error error;

	if (!c || packet_reader_open_bytes(&reader, slice_of(data, n), &error) < 0) {
		free(c);
		return 0;
	}
	names_init(&nodes);
	names_init(&operations);
	assert(capture_init(c, &nodes, &operations, (struct message_sink){put, NULL},
			    &(struct capture_options){.truth_header = "X-Request-Id",
						      .max_memory = 1 << 20,
						      .max_flows = 16}) == 0);
	capture_file(c, &reader, &error);
	assert(capture_finish(c) == 0);
	assert(c->shared.stats.returns <= c->shared.stats.calls);
	flows_done(&c->flows);
	assert(c->shared.memory == 0);
	capture_done(c);
	packet_reader_done(&reader);
	names_done(&nodes);
	names_done(&operations);
	free(c);
	return 0;
}
