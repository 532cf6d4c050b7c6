/* cli/gather.c - all rows of some files, or of a server's answer, in memory. */
#include "cli/gather.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "wire/split.h"

void gathered_done(struct gathered *g)
{
	for (size_t i = 0; i < g->batch_n; i++)
		batch_unref(g->batches[i]);
	free(g->batches);
	free(g->refs);
	*g = (struct gathered){0};
}

/* Takes the reference. */
static int add_batch(struct gathered *g, struct batch *b)
{
	if (!vec_reserve(&g->batches, &g->batch_capacity, g->batch_n + 1, sizeof(*g->batches)) ||
	    !vec_reserve(&g->refs, &g->capacity, g->n + b->event_n, sizeof(*g->refs))) {
		batch_unref(b);
		return -ENOMEM;
	}
	g->batches[g->batch_n++] = b;
	for (size_t i = 0; i < b->event_n; i++)
		g->refs[g->n++] = (struct event_ref){b, (uint32_t)i};
	return 0;
}

static void add_tally(struct gathered *g, const struct decode_tally *tally)
{
	if (tally->rejected && !g->rejected)
		memcpy(g->reason, tally->reason, sizeof(g->reason));
	g->rejected += tally->rejected;
}

static int gather_file(struct cli *cli, const char *path, const struct codec *codec,
		       struct gathered *g)
{
	struct decode_tally tally = {0};
	struct error error = {0};
	struct batch *batch;
	struct reader reader;
	int r = reader_open(&reader, path, codec, &error);

	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	while ((r = reader_next_batch(&reader, &batch, &tally, &error)) > 0)
		if (add_batch(g, batch) < 0) {
			r = error_set(&error, -ENOMEM, "%s: out of memory", path);
			break;
		}
	reader_done(&reader);
	add_tally(g, &tally);
	return r < 0 ? cli_fail(cli, EXIT_FAILED, "%s", error.text) : EXIT_OK;
}

int gather_files(struct cli *cli, const char *const *paths, const struct codec *codec,
		 struct gathered *ret)
{
	int code = EXIT_OK;

	*ret = (struct gathered){0};
	for (; code == EXIT_OK && *paths; paths++)
		code = gather_file(cli, *paths, codec, ret);
	return code;
}

/* An answer that is cut and decoded as it comes. */
struct stream {
	const struct codec *codec;
	struct split split;
	struct buffer window;
	size_t at;
	struct gathered *into;
	struct decode_tally tally;
	struct progress progress;
	uint64_t bytes;
};

static int stream_decode(struct stream *s, struct slice request)
{
	struct batch *batch = batch_new(request.n);
	struct error error = {0};
	int r;

	if (!batch)
		return -ENOMEM;
	r = s->codec->decode(request, batch, &s->tally, &error);
	if (r == 0)
		r = batch_seal(batch);
	if (r < 0) {
		batch_unref(batch);
		return r;
	}
	return add_batch(s->into, batch);
}

static int stream_cut(struct stream *s, bool at_end)
{
	for (;;) {
		struct slice left =
			slice_of(s->window.p ? s->window.p + s->at : "", s->window.n - s->at);
		struct error error = {0};
		ssize_t n = split_next(&s->split, left, at_end, &error);
		int r;

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		r = stream_decode(s, slice_first(left, (size_t)n));
		if (r < 0)
			return r;
		s->at += (size_t)n;
	}
}

static int stream_write(void *context, struct slice piece)
{
	struct stream *s = context;

	if (s->at > 0 && s->at >= s->window.n / 2) {
		memmove(s->window.p, s->window.p + s->at, s->window.n - s->at);
		s->window.n -= s->at;
		s->at = 0;
	}
	buffer_slice(&s->window, piece);
	s->bytes += piece.n;
	progress_update(&s->progress, s->bytes, 0);
	return s->window.failed ? -ENOMEM : stream_cut(s, false);
}

int gather_trace(struct cli *cli, const char *id, struct gathered *ret)
{
	_cleanup_(buffer_done)
	struct buffer path = {0};
	_cleanup_(buffer_done)
	struct buffer query = {0};
	struct stream s = {.codec = codec_find(SLICE("events")),
			   .into = ret,
			   .progress = progress_start(cli, "trace")};
	struct http_answer answer;
	struct remote remote;
	int code = remote_open(cli, &remote);

	*ret = (struct gathered){0};
	if (code)
		return code;
	s.split.frame = s.codec->frame;
	buffer_printf(&path, "/api/v1/traces/%s", id);
	query_add(&query, "format", slice_cstr(s.codec->name));
	code = remote_get(&remote, cli->server, buffer_cstr(&path), &query, stream_write, &s,
			  &answer);
	if (code == EXIT_OK) {
		http_answer_done(&answer);
		if (stream_cut(&s, true) < 0)
			code = cli_fail(cli, EXIT_FAILED, "%s: the answer is damaged", cli->server);
	}
	progress_end(&s.progress);
	add_tally(ret, &s.tally);
	remote_done(&remote);
	buffer_done(&s.window);
	return code;
}
