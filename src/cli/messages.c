/* cli/messages.c - messages out of files of any kind. */
#include "cli/messages_int.h"

#include <errno.h>

#include "base/cleanup.h"
#include "infer/abstract_read.h"
#include "infer/mbox_read.h"
#include "infer/rename.h"

#define READ_BYTES ((size_t)256 << 10)
#define HEAD_BYTES ((size_t)64 << 10)

ssize_t messages_more(struct messages_input *in, char *room, size_t n, struct slice *ret_piece,
		      struct error *error)
{
	ssize_t got;

	if (in->head.n > 0) {
		*ret_piece = in->head;
		in->head = slice_of(NULL, 0);
		return (ssize_t)ret_piece->n;
	}
	got = source_read(in->source, room, n, error);
	*ret_piece = slice_of(room, got > 0 ? (size_t)got : 0);
	return got;
}

static int abstract_file(struct messages_input *in, struct error *error)
{
	_cleanup_(freep)
	struct abstract_reader *r = malloc(sizeof(*r));
	_cleanup_(freep)
	char *room = malloc(READ_BYTES);
	struct slice piece;
	ssize_t n;
	int e = 0;

	if (!r || !room)
		return error_set(error, -ENOMEM, "out of memory");
	abstract_reader_init(r, in->nodes, in->operations, in->sink);
	r->tolerant = in->options->tolerant;
	r->file = in->file;
	while (e == 0 && (n = messages_more(in, room, READ_BYTES, &piece, error)) != 0)
		e = n < 0 ? (int)n : abstract_reader_feed(r, piece, error);
	if (e == 0)
		e = abstract_reader_finish(r, error);
	in->bad += r->bad;
	if (e == 0 && r->bad > 0)
		cli_note(in->cli, "%s: %llu lines were passed over; %s", source_name(in->source),
			 (unsigned long long)r->bad, r->first_bad.text);
	abstract_reader_done(r);
	return e;
}

static bool abstract_is(struct slice head, struct slice name)
{
	return abstract_sniff(head);
}

static bool mbox_is(struct slice head, struct slice name)
{
	return mbox_sniff(head);
}

static const struct messages_kind kinds[] = {
	{"abstract trace", abstract_is, true, abstract_file},
	{"packets", packets_is, true, packets_file},
	{"mailbox", mbox_is, false, messages_mbox},
	{"spans", messages_spans_sniff, false, messages_spans},
};

static const struct messages_kind *kind_of(const struct messages_input *in, const char *path)
{
	static const struct messages_kind log = {"log", NULL, false, messages_log};

	if (in->options->log_pattern)
		return &log;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].sniff(in->head, slice_cstr(path)))
			return &kinds[i];
	/* One line of text that may be tolerated must not hide the rest. */
	return in->options->tolerant ? &kinds[0] : NULL;
}

/* Opens a file and reads enough of it to know what it is. */
static int file_open(struct messages_input *in, const char *path, char *head, struct error *error)
{
	int e = source_open(path, &in->source, error);
	size_t have = 0;
	ssize_t n = 1;

	while (e == 0 && have < HEAD_BYTES && n > 0) {
		n = source_read(in->source, head + have, HEAD_BYTES - have, error);
		if (n < 0)
			e = (int)n;
		else
			have += (size_t)n;
		/* A line is enough, and standard input may be slow to give more. */
		if (memchr(head, '\n', have) && have >= 4096)
			break;
	}
	in->head = slice_of(head, have);
	return e;
}

static int file_read(struct messages_input *in, const char *path, struct message_sink direct,
		     struct message_list *list, struct error *error)
{
	_cleanup_(freep)
	char *head = malloc(HEAD_BYTES);
	const struct messages_kind *kind;
	struct error why = {0};
	int e;

	if (!head)
		return error_set(error, -ENOMEM, "out of memory");
	e = file_open(in, path, head, error);
	if (e < 0)
		return e;
	if (slice_trim(in->head).n == 0)
		return 0; /* an empty file holds no message */
	kind = kind_of(in, path);
	if (!kind)
		return error_set(
			error, -ENOTSUP,
			"%s: neither a trace of messages nor anything they can be found in",
			source_name(in->source));
	if (!kind->ordered)
		in->collects = true;
	in->sink = in->collects ? message_list_sink(list) : direct;
	e = kind->read(in, &why);
	if (e < 0 && strstr(why.text, source_name(in->source)))
		*error = why;
	else if (e < 0)
		error_set(error, e, "%s: %s", source_name(in->source), why.text);
	return e;
}

static int list_give(struct messages_input *in, struct message_list *list, struct message_sink sink,
		     int file_n)
{
	int e = in->packet_files == file_n ? packets_vantage(in, list, file_n) : 0;

	if (e == 0)
		e = message_list_sort(list);
	if (e == 0 && file_n > 1 && in->options->duplicates_ns > 0)
		e = message_list_unique(list, in->options->duplicates_ns, &in->duplicates);
	for (size_t i = 0; e == 0 && i < list->n; i += 4096)
		e = sink.put(sink.context, list->at + i, MIN(list->n - i, (size_t)4096));
	return e;
}

/* Renaming comes before messages are compared: two sources may have two names for one node. */
static int files_read(struct messages_input *in, struct message_sink sink, char *const *files,
		      int file_n, struct error *error)
{
	struct message_list list = {0};
	struct rename *rename = rename_new(in->nodes, sink), *collect;
	int e = 0;

	collect = rename_new(in->nodes, message_list_sink(&list));
	if (!rename || !collect)
		e = error_set(error, -ENOMEM, "out of memory");
	for (size_t i = 0; e == 0 && i < in->options->maps.n; i++) {
		e = rename_add(rename, slice_cstr(in->options->maps.items[i]), error);
		if (e == 0)
			e = rename_add(collect, slice_cstr(in->options->maps.items[i]), error);
	}
	in->collects = file_n > 1;
	if (e == 0 && in->options->live) {
		in->sink = in->options->maps.n ? rename_sink(rename) : sink;
		e = packets_live(in, error);
	}
	for (int i = 0; e == 0 && i < file_n; i++) {
		in->file = (uint16_t)i;
		e = file_read(in, files[i], in->options->maps.n ? rename_sink(rename) : sink, &list,
			      error);
		in->source = source_close(in->source);
	}
	if (e == 0 && in->collects) {
		struct message_list renamed = {0};

		if (in->options->maps.n) {
			collect->sink = message_list_sink(&renamed);
			e = rename_sink(collect).put(collect, list.at, list.n);
			message_list_done(&list);
			list = renamed;
		}
		if (e == 0)
			e = list_give(in, &list, sink, file_n);
		if (e < 0)
			error_set(error, e, "%s", strerror(-e));
	}
	message_list_done(&list);
	rename_free(rename);
	rename_free(collect);
	return e;
}

int messages_read(struct messages_input *in, struct message_sink sink, char *const *files,
		  int file_n)
{
	struct error error = {0};
	int e = files_read(in, sink, files, file_n, &error);

	if (e < 0 && in->code && *in->code)
		return *in->code;
	if (e < 0)
		return cli_fail(in->cli, EXIT_FAILED, "%s",
				error.text[0] ? error.text : strerror(-e));
	if (in->duplicates > 0)
		cli_note(in->cli, "%llu messages stood in two files and count once",
			 (unsigned long long)in->duplicates);
	return EXIT_OK;
}
