/* cli/sink.c - where an export goes: a file, or standard output. */
#include "cli/sink.h"

#include <errno.h>
#include <fcntl.h>

#include "api/plain.h"
#include "base/cleanup.h"
#include "wire/pieces.h"

struct sink sink_of(const char *output)
{
	if (output && strcmp(output, "-") != 0)
		return (struct sink){.path = output, .fd = -1};
	return (struct sink){.fd = STDOUT_FILENO};
}

int sink_write(void *context, struct slice piece)
{
	struct sink *s = context;

	if (s->fd < 0 && piece.n > 0) {
		s->fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (s->fd < 0)
			return -errno;
	}
	while (piece.n > 0) {
		ssize_t n = write(s->fd, piece.p, piece.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s->bytes += (uint64_t)n;
		piece = slice_from(piece, (size_t)n);
	}
	return 0;
}

int sink_rows(struct sink *sink, const struct codec *codec, const struct event_ref *refs, size_t n)
{
	_cleanup_(buffer_done)
	struct buffer piece = {0};
	struct plain plain = {0};
	struct pieces pieces;
	int r = plain_rows(codec, refs, n, &plain);

	if (r < 0)
		return r;
	pieces = pieces_of(codec, plain.refs, plain.n);
	while (r == 0 && pieces_next(&pieces, &piece)) {
		r = piece.failed ? -ENOMEM : sink_write(sink, buffer_get(&piece));
		buffer_clear(&piece);
	}
	plain_done(&plain);
	return r;
}

int sink_close(struct cli *cli, struct sink *sink, int code)
{
	if (code == EXIT_OK && sink->bytes == 0) {
		cli_note(cli, "nothing to export");
		code = EXIT_NOTHING;
	}
	if (sink->path && sink->fd >= 0 && close(sink->fd) < 0 && code == EXIT_OK)
		code = cli_fail(cli, EXIT_FAILED, "cannot write %s: %s", sink->path,
				strerror(errno));
	return code;
}

const struct codec *sink_format(const char *output)
{
	const struct codec *found =
		output ? codec_sniff(slice_of("", 0), slice_cstr(output)) : NULL;

	return found ? found : codec_find(SLICE("otlp-json"));
}
