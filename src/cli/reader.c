/* cli/reader.c - the requests in a file of traces, one after the other. */
#include "cli/reader.h"

#include <errno.h>

#include "base/cleanup.h"

#define READ_BYTES  ((size_t)512 << 10)
#define SNIFF_BYTES ((size_t)64 << 10)

/* Reads more behind the window; what has been given out is dropped when that is cheap. */
static int more(struct reader *r, struct error *error)
{
	char *room;
	ssize_t n;

	if (r->at > 0 && r->at >= r->window.n / 2) {
		memmove(r->window.p, r->window.p + r->at, r->window.n - r->at);
		r->window.n -= r->at;
		r->at = 0;
	}
	room = buffer_reserve(&r->window, READ_BYTES);
	if (!room)
		return error_set(error, -ENOMEM, "%s: out of memory", source_name(r->source));
	n = source_read(r->source, room, READ_BYTES, error);
	if (n < 0)
		return (int)n;
	r->window.n += (size_t)n;
	r->at_end = n == 0;
	return 0;
}

static struct slice rest(const struct reader *r)
{
	return slice_of(r->window.p ? r->window.p + r->at : "", r->window.n - r->at);
}

int reader_open(struct reader *r, const char *path, const struct codec *codec, struct error *error)
{
	int code;

	*r = (struct reader){.codec = codec};
	code = source_open(path, &r->source, error);
	while (code == 0 && !r->at_end && r->window.n < SNIFF_BYTES)
		code = more(r, error);
	if (code == 0 && !r->codec)
		r->codec = codec_sniff(rest(r), slice_cstr(strcmp(path, "-") == 0 ? "" : path));
	if (code == 0 && !r->codec && slice_trim(rest(r)).n > 0)
		code = error_set(error, -ENOTSUP,
				 "%s: the format is not recognised; say which with --format",
				 source_name(r->source));
	if (code < 0) {
		reader_done(r);
		return code;
	}
	if (r->codec)
		r->split.frame = r->codec->frame;
	return 0;
}

void reader_done(struct reader *r)
{
	r->source = source_close(r->source);
	buffer_done(&r->window);
}

int reader_next(struct reader *r, struct slice *ret_request, struct error *error)
{
	if (!r->codec)
		return 0; /* an empty file */
	for (;;) {
		struct error why = {0};
		ssize_t n = split_next(&r->split, rest(r), r->at_end, &why);

		if (n < 0)
			return error_set(error, (int)n, "%s, request %llu: %s",
					 source_name(r->source),
					 (unsigned long long)r->requests + 1, why.text);
		if (n > 0) {
			*ret_request = slice_first(rest(r), (size_t)n);
			r->at += (size_t)n;
			r->requests++;
			return 1;
		}
		if (r->at_end)
			return 0;
		n = more(r, error);
		if (n < 0)
			return (int)n;
	}
}

int reader_next_batch(struct reader *r, struct batch **ret_batch, struct decode_tally *tally,
		      struct error *error)
{
	_cleanup_(batch_unrefp)
	struct batch *batch = NULL;
	struct error why = {0};
	struct slice request;
	int code = reader_next(r, &request, error);

	if (code <= 0)
		return code;
	batch = batch_new(request.n);
	if (!batch)
		return error_set(error, -ENOMEM, "out of memory");
	code = r->codec->decode(request, batch, tally, &why);
	if (code == 0)
		code = batch_seal(batch);
	if (code < 0 && why.text[0] && why.offset != ERROR_NO_OFFSET)
		return error_set(error, code, "%s, request %llu, byte %zu: %s",
				 source_name(r->source), (unsigned long long)r->requests,
				 why.offset, why.text);
	if (code < 0)
		return error_set(error, code, "%s, request %llu: %s", source_name(r->source),
				 (unsigned long long)r->requests,
				 why.text[0] ? why.text : strerror(-code));
	*ret_batch = TAKE_PTR(batch);
	return 1;
}
