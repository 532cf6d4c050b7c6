/* cli/ask_local.c - a query asked of a folder: read as it is, whether or not a server runs on it.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "catalog/catalog.h"
#include "cli/ask_int.h"
#include "cli/progress.h"
#include "exec/tracepoint_names.h"
#include "server/folder.h"
#include "store/engine.h"

/* What it takes, from the folder to the prepared query. */
struct local {
	struct ask *ask;
	struct store *store;
	struct catalog *catalog; /* NULL: the folder has none */
	struct tracepoint_names names;
	struct arena arena;
	struct diags diags;
	struct query *query;
	struct progress progress;
	int code; /* of the sink */
};

static void local_done(struct local *l)
{
	query_free(l->query);
	store_close(l->store);
	tracepoint_names_done(&l->names);
	catalog_close(l->catalog);
	arena_done(&l->arena);
}

static void store_said(void *context, const char *text)
{
	cli_fail(context, EXIT_PARTIAL, "%s", text);
}

/* The folder of a server, or a store itself. */
static int store_at(struct local *l)
{
	struct cli *cli = l->ask->cli;
	const char *data = l->ask->values->data;
	struct engine_options options = {.read_only = true, .report = store_said, .context = cli};
	struct error error = {0};
	struct stat st;

	options.dir = arena_printf(&l->arena, "%s/" FOLDER_STORE, data);
	if (!options.dir)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (stat(options.dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return cli_fail(cli, EXIT_NOTHING, "there is no store in %s", data);
	if (engine_open(&options, &l->store, &error) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	return 0;
}

static int catalog_at(struct local *l)
{
	struct cli *cli = l->ask->cli;
	const char *data = l->ask->values->data;
	const char *file = arena_printf(&l->arena, "%s/" CATALOG_FILE, data);
	struct error error = {0};

	if (!file)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (access(file, F_OK) == 0 && catalog_open_read_only(data, &l->catalog, &error) < 0) {
		l->catalog = NULL;
		cli_note(cli, "without its tracepoints: %s", error.text);
	}
	return 0;
}

static int prepare(struct local *l)
{
	struct ask *ask = l->ask;
	struct query_prepare p = {
		.text = ask->text.text,
		.dialect = (enum lang_dialect)ask->values->dialect,
		.check = {.names = &l->names.names,
			  .unknown_tracepoints = UNKNOWN_REFUSE,
			  .now_ns = ask->now_ns},
	};
	int r = query_prepare(&p, &l->diags, &l->query);

	ask_show_diags(ask, &l->diags);
	if (r == -EINVAL)
		return EXIT_FAILED;
	return r < 0 ? cli_fail(ask->cli, EXIT_FAILED, "%s", strerror(-r)) : 0;
}

static int open_all(struct local *l, bool with_store)
{
	int code;

	diags_init(&l->diags, &l->arena);
	code = with_store ? store_at(l) : 0;
	if (code == 0)
		code = catalog_at(l);
	tracepoint_names_init(&l->names, l->catalog);
	return code ? code : prepare(l);
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	struct local *l = context;

	l->code = l->ask->sink->begin(l->ask->sink->context, name, columns, n);
	return l->code ? -EPIPE : 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct local *l = context;

	progress_end(&l->progress);
	l->code = ask_give(l->ask, values, plus_minus, n);
	return l->code ? -EPIPE : 0;
}

static int on_progress(void *context, const struct query_stats *stats)
{
	struct local *l = context;

	progress_rows(&l->progress, stats->rows, stats->segments, stats->segments_total);
	return 0;
}

static int run(struct local *l, const struct snapshot *snapshot)
{
	struct ask *ask = l->ask;
	struct error error = {0};
	const struct query_run options = {
		.snapshot = snapshot,
		.now_ns = ask->now_ns,
		.range = ask->range,
		.step_ns = ask->values->step_ns,
		.time_ns = ask->cli->timeout_ns ? ask->cli->timeout_ns : INT64_MAX / 4,
		.memory_bytes = ask->memory_bytes,
		.rows_most = ask->limit,
		.files = true,
		.cancel = &ask->interrupt->hit,
		.gives_way = true, /* a server may be running here */
		.begin = on_begin,
		.row = on_row,
		.progress = on_progress,
		.context = l,
	};
	int r;

	l->progress = progress_start(ask->cli, "rows");
	r = query_run(l->query, &options, &ask->stats, &error);
	progress_end(&l->progress);
	if (l->code)
		return l->code;
	if (r == -ECANCELED)
		return EXIT_INTERRUPTED;
	if (r < 0)
		return cli_fail(ask->cli, r == -ETIMEDOUT ? EXIT_TIMED_OUT : EXIT_FAILED, "%s",
				error.text[0] ? error.text : strerror(-r));
	return EXIT_OK;
}

int ask_local_run(struct ask *ask)
{
	_cleanup_(local_done)
	struct local l = {.ask = ask};
	struct snapshot snapshot;
	int r, code = open_all(&l, true);

	if (code)
		return code;
	r = store_snapshot(l.store, &snapshot);
	if (r < 0)
		return cli_fail(ask->cli, EXIT_FAILED, "%s", strerror(-r));
	code = run(&l, &snapshot);
	snapshot_done(&snapshot);
	return code;
}

int ask_local_explain(struct ask *ask, bool live, struct buffer *out)
{
	_cleanup_(local_done)
	struct local l = {.ask = ask};
	int code = open_all(&l, false);

	if (code == 0 && query_explain(l.query, live, out) < 0)
		code = cli_fail(ask->cli, EXIT_FAILED, "out of memory");
	return code;
}
