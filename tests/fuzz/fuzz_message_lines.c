/* Any bytes as a mailbox, and as a log whose first line is the pattern: read or passed over. */
#include "fuzz.h"

#include <stdlib.h>

#include "infer/lines.h"
#include "infer/log_read.h"
#include "infer/mbox_read.h"
#include "infer/message_list.h"

static int to_mbox(void *context, struct slice line, bool cut)
{
	return mbox_reader_line(context, line);
}

static int to_log(void *context, struct slice line, bool cut)
{
	int r = log_reader_line(context, line);

	return r < 0 ? r : 0;
}

static void read_all(lines_take *take, void *context, struct slice text)
{
	struct lines lines = {.take = take, .context = context};

	if (lines_feed(&lines, slice_first(text, text.n / 2)) < 0 ||
	    lines_feed(&lines, slice_from(text, text.n / 2)) < 0 || lines_finish(&lines) < 0)
		abort();
	lines_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of(data, size), rest = text, pattern = slice_cut(&rest, '\n');
	struct message_list list = {0};
	struct names nodes, operations;
	struct error error = {0};
	struct mbox_reader *mbox = malloc(sizeof(*mbox));
	struct log_reader log;

	if (!mbox)
		abort();
	names_init(&nodes);
	names_init(&operations);
	mbox_sniff(text);
	mbox_reader_init(mbox, &nodes, message_list_sink(&list));
	read_all(to_mbox, mbox, text);
	if (mbox_reader_finish(mbox) < 0)
		abort();
	if (log_reader_init(&log, pattern, &error) == 0) {
		log.nodes = &nodes;
		log.operations = &operations;
		log.sink = message_list_sink(&list);
		read_all(to_log, &log, rest);
	} else if (!error.text[0]) {
		abort();
	}
	message_list_done(&list);
	names_done(&nodes);
	names_done(&operations);
	free(mbox);
	return 0;
}
