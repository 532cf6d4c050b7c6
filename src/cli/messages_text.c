/* cli/messages_text.c - messages out of logs and mailboxes: the readers of lines. */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/messages_int.h"
#include "infer/lines.h"
#include "infer/log_read.h"
#include "infer/mbox_read.h"

#define READ_BYTES ((size_t)256 << 10)

/* Every line of the file to `take`. */
static int lines_read(struct messages_input *in, lines_take *take, void *context,
		      struct error *error)
{
	_cleanup_(freep)
	char *room = malloc(READ_BYTES);
	_cleanup_(lines_done)
	struct lines lines = {.take = take, .context = context};
	struct slice piece;
	ssize_t n = 0;
	int e = room ? 0 : -ENOMEM;

	while (e == 0 && (n = messages_more(in, room, READ_BYTES, &piece, error)) > 0)
		e = lines_feed(&lines, piece);
	if (n < 0)
		return (int)n;
	if (e == 0)
		e = lines_finish(&lines);
	return e < 0 ? error_set(error, e, "line %llu: %s", (unsigned long long)lines.n,
				 strerror(-e))
		     : 0;
}

static int log_line(void *context, struct slice line, bool cut)
{
	int r = log_reader_line(context, line);

	return r < 0 ? r : 0;
}

/* The last part of a path without its ending: what a log is of. */
static struct slice stem_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct slice name = slice_cstr(slash ? slash + 1 : path), rest = name;

	return slice_cut(&rest, '.').n ? slice_cut(&name, '.') : slice_cstr(path);
}

int messages_log(struct messages_input *in, struct error *error)
{
	_cleanup_(freep)
	struct log_reader *r = malloc(sizeof(*r));
	int e;

	if (!r)
		return error_set(error, -ENOMEM, "out of memory");
	e = log_reader_init(r, slice_cstr(in->options->log_pattern), error);
	if (e < 0)
		return e;
	r->nodes = in->nodes;
	r->operations = in->operations;
	r->sink = in->sink;
	r->file = in->file;
	r->receiver = stem_of(source_name(in->source));
	e = lines_read(in, log_line, r, error);
	in->bad += r->unmatched;
	if (e == 0 && r->unmatched > 0)
		cli_note(in->cli, "%s: %llu of %llu lines do not match the pattern",
			 source_name(in->source), (unsigned long long)r->unmatched,
			 (unsigned long long)r->lines);
	return e;
}

static int mbox_line(void *context, struct slice line, bool cut)
{
	return mbox_reader_line(context, line);
}

int messages_mbox(struct messages_input *in, struct error *error)
{
	_cleanup_(freep)
	struct mbox_reader *r = malloc(sizeof(*r));
	int e;

	if (!r)
		return error_set(error, -ENOMEM, "out of memory");
	mbox_reader_init(r, in->nodes, in->sink);
	r->file = in->file;
	e = lines_read(in, mbox_line, r, error);
	if (e == 0)
		e = mbox_reader_finish(r);
	if (e == 0)
		cli_note(in->cli, "%s: %llu Received headers, %llu of them of no use",
			 source_name(in->source), (unsigned long long)r->headers,
			 (unsigned long long)r->unusable);
	return e;
}
