/* cli/store_export_cmd.c - `causet store export`: everything, one trace after the other. */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/cli_store.h"
#include "cli/formats.h"
#include "cli/progress.h"
#include "cli/sink.h"

struct exporting {
	struct sink sink;
	const struct codec *codec;
	struct progress progress;
	uint64_t rows, total;
};

/* A trace too large for one page comes in several; each is written as if it were whole. */
static int trace_export(void *context, struct trace_id id, const struct event_ref *refs, size_t n,
			bool more)
{
	struct exporting *x = context;

	x->rows += n;
	progress_update(&x->progress, x->rows, x->total);
	return sink_rows(&x->sink, x->codec, refs, n);
}

int store_export_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	struct exporting x = {.sink = sink_of(v->output)};
	struct store *s;
	int r, code = format_find(cli, v->format, &x.codec);

	if (code)
		return code;
	if (!x.codec)
		x.codec = sink_format(v->output);
	code = store_folder_open(cli, argc > 0 ? argv[0] : cli->data, NULL, &folder);
	if (code == EXIT_OK)
		code = store_folder_engine(cli, &folder, &s);
	if (code)
		return code;
	x.total = store_stats(s).events;
	x.progress = progress_start(cli, "rows");
	r = engine_each_trace(s, trace_export, &x);
	progress_end(&x.progress);
	store_close(s);
	if (r == -EPIPE)
		code = EXIT_FAILED; /* whoever reads has seen enough */
	else if (r == -EBADMSG)
		code = cli_fail(cli, EXIT_PARTIAL,
				"a segment is damaged; 'causet store repair %s' keeps the rest",
				folder.data);
	else if (r < 0)
		code = cli_fail(cli, EXIT_FAILED, "cannot export: %s", strerror(-r));
	return sink_close(cli, &x.sink, code);
}
