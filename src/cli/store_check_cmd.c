/* cli/store_check_cmd.c - `causet store check`, `stat`, `repair` and `compact`. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli_store.h"
#include "cli/progress.h"
#include "server/thin_follow.h"
#include "store/store_repair.h"
#include "wire/json_writer.h"

static const char *folder_of(const struct cli *cli, int argc, char **argv)
{
	return argc > 0 ? argv[0] : cli->data;
}

static void put_u64(struct json_writer *w, const char *name, uint64_t value)
{
	json_put_name(w, name);
	json_put_u64(w, value);
}

/* --- findings --- */

static void finding_print(void *context, const struct store_finding *finding)
{
	struct cli *cli = context;
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (cli->json) {
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		json_put_name(&w, "file");
		json_put_cstr(&w, finding->file);
		json_put_name(&w, "finding");
		json_put_cstr(&w, finding->text);
		json_put_name(&w, "harmless");
		json_put_bool(&w, finding->harmless);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else {
		if (finding->harmless && cli->quiet)
			return;
		buffer_printf(&out, "%s: %s%s\n", finding->file, finding->text,
			      finding->harmless ? " (no damage)" : "");
	}
	cli_print(cli, &out);
}

static void totals_json(const struct store_totals *t, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	put_u64(&w, "segments", t->segments);
	put_u64(&w, "rows", t->rows);
	put_u64(&w, "spans", t->blocks);
	put_u64(&w, "traces", t->pieces);
	put_u64(&w, "splitTraces", t->split);
	put_u64(&w, "segmentBytes", t->segment_bytes);
	put_u64(&w, "feedBytes", t->feed_bytes);
	put_u64(&w, "logFiles", t->log_files);
	put_u64(&w, "logBytes", t->log_bytes);
	put_u64(&w, "logBatches", t->log_records);
	put_u64(&w, "logRows", t->log_events);
	put_u64(&w, "setAside", t->set_aside);
	json_put_name(&w, "receivedMinUnixNano");
	json_put_i64_text(&w, t->received_min_ns);
	json_put_name(&w, "receivedMaxUnixNano");
	json_put_i64_text(&w, t->received_max_ns);
	json_put_name(&w, "startMinUnixNano");
	json_put_i64_text(&w, t->start_min_ns);
	json_put_name(&w, "startMaxUnixNano");
	json_put_i64_text(&w, t->start_max_ns);
	put_u64(&w, "findings", t->findings);
	json_end_object(&w);
	buffer_byte(out, '\n');
}

int store_check_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct store_totals totals = {0};
	struct error e = {0};
	int r, code = store_folder_open(cli, folder_of(cli, argc, argv), NULL, &folder);

	if (code)
		return code;
	r = store_check(fs_real(), folder.store, finding_print, cli, &totals, &e);
	if (r < 0 && r != -EBADMSG)
		return cli_fail(cli, r == -ENOENT ? EXIT_NOTHING : EXIT_FAILED, "%s", e.text);
	if (cli->json)
		totals_json(&totals, &out);
	else if (r == 0 && !cli->quiet)
		buffer_printf(&out,
			      "sound: %" PRIu64 " segments with %" PRIu64 " rows, %" PRIu64
			      " spans; %" PRIu64 " batches in the log\n",
			      totals.segments, totals.rows, totals.blocks, totals.log_records);
	if (cli_print(cli, &out) != EXIT_OK)
		return EXIT_FAILED;
	if (r == 0)
		return EXIT_OK;
	return cli_fail(cli, EXIT_FAILED,
			"%" PRIu64 " findings; 'causet store repair %s' sets aside what is damaged "
			"and keeps the rest",
			totals.findings, folder.data);
}

/* --- stat --- */

static void stat_print(struct cli *cli, const struct store_totals *t, struct buffer *out)
{
	buffer_printf(out, "segments   %" PRIu64 ", %s\n", t->segments,
		      store_size(cli, t->segment_bytes));
	buffer_printf(out, "rows       %" PRIu64 "\n", t->rows);
	buffer_printf(out, "spans      %" PRIu64, t->blocks);
	if (t->blocks)
		buffer_printf(out, ", %.1f bytes each",
			      (double)t->segment_bytes / (double)t->blocks);
	buffer_printf(out, "\ntraces     %" PRIu64 ", %" PRIu64 " in several segments\n", t->pieces,
		      t->split);
	buffer_printf(out, "started    %s … %s\n", store_moment(cli, t->start_min_ns),
		      store_moment(cli, t->start_max_ns));
	buffer_printf(out, "received   %s … %s\n", store_moment(cli, t->received_min_ns),
		      store_moment(cli, t->received_max_ns));
	buffer_printf(out,
		      "log        %" PRIu64 " files, %s; %" PRIu64 " batches with %" PRIu64
		      " rows not in segments yet\n",
		      t->log_files, store_size(cli, t->log_bytes), t->log_records, t->log_events);
	if (t->set_aside)
		buffer_printf(out, "set aside  %" PRIu64 " files\n", t->set_aside);
	if (t->findings)
		buffer_printf(out, "damaged    %" PRIu64 ": see causet store check\n", t->findings);
}

int store_stat_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct store_totals totals = {0};
	struct error e = {0};
	int code = store_folder_open(cli, folder_of(cli, argc, argv), NULL, &folder);

	if (code)
		return code;
	if (store_measure(fs_real(), folder.store, &totals, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (cli->json)
		totals_json(&totals, &out);
	else
		stat_print(cli, &totals, &out);
	if (v->columns) {
		if (!cli->json)
			buffer_byte(&out, '\n');
		code = store_columns_print(cli, folder.store, &out);
	}
	return code ? code : cli_print(cli, &out);
}

/* --- repair --- */

static void repaired_json(const struct store_repaired *d, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	put_u64(&w, "setAside", d->set_aside);
	put_u64(&w, "rebuiltSegments", d->rebuilt);
	put_u64(&w, "lostSegments", d->lost_segments);
	put_u64(&w, "lostRows", d->lost_rows);
	put_u64(&w, "lostSpans", d->lost_blocks);
	json_put_name(&w, "manifestMadeAgain");
	json_put_bool(&w, d->manifest);
	json_end_object(&w);
	buffer_byte(out, '\n');
}

struct repairing {
	struct cli *cli;
	uint64_t findings;
};

static void repair_said(void *context, const struct store_finding *finding)
{
	struct repairing *p = context;

	p->findings++;
	finding_print(p->cli, finding);
}

int store_repair_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct repairing p = {.cli = cli};
	struct store_repaired done = {0};
	struct store_totals totals;
	struct error e = {0};
	int r, code = store_folder_open(cli, folder_of(cli, argc, argv), NULL, &folder);

	if (code)
		return code;
	if (store_repair(fs_real(), folder.store, repair_said, &p, &done, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (cli->json)
		repaired_json(&done, &out);
	else if (!cli->quiet && p.findings == 0)
		buffer_text(&out, "nothing to repair\n");
	else if (!cli->quiet)
		buffer_printf(&out,
			      "repaired: %" PRIu64 " files set aside, %" PRIu64
			      " segments written anew; lost: %" PRIu64 " spans in segments\n",
			      done.set_aside, done.rebuilt, done.lost_blocks);
	if (cli_print(cli, &out) != EXIT_OK)
		return EXIT_FAILED;
	r = store_check(fs_real(), folder.store, finding_print, cli, &totals, &e);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "%s is still not sound%s%s", folder.data,
				e.text[0] ? ": " : "", e.text);
	return done.lost_rows || done.lost_segments || p.findings ? EXIT_PARTIAL : EXIT_OK;
}

/* --- compact --- */

/* The rules of the folder's own catalogue, as its server would follow them. */
static int rules_follow(struct cli *cli, const struct store_folder *folder, struct store *s)
{
	const char *path = arena_printf(&cli->arena, "%s/" CATALOG_FILE, folder->data);
	struct error e = {0};
	struct catalog *cat;
	uint64_t generation = 0;
	int r;

	if (!path || access(path, F_OK) < 0)
		return EXIT_OK; /* a store alone has no rules */
	r = catalog_open(folder->data, &cat, &e);
	if (r == 0) {
		r = thin_follow(cat, s, &generation, &e);
		catalog_close(cat);
	}
	return r < 0 ? cli_fail(cli, EXIT_FAILED, "%s", e.text) : EXIT_OK;
}

int store_compact_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct store_stats before, after;
	struct progress progress;
	struct store *s;
	int r, code = store_folder_open(cli, folder_of(cli, argc, argv), NULL, &folder);

	if (code == EXIT_OK)
		code = store_folder_engine(cli, &folder, &s);
	if (code)
		return code;
	code = rules_follow(cli, &folder, s);
	if (code) {
		store_close(s);
		return code;
	}
	r = engine_flush(s);
	before = store_stats(s);
	progress = progress_start(cli, "rows");
	for (int more = r == 0; more > 0;) {
		r = more = engine_compact_once(s, true);
		progress_update(&progress, store_stats(s).compacted_events, before.events);
	}
	progress_end(&progress);
	after = store_stats(s);
	store_close(s);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "cannot compact %s: %s", folder.data,
				strerror(-r));
	if (cli->json) {
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		put_u64(&w, "segmentsBefore", before.segments);
		put_u64(&w, "bytesBefore", before.segment_bytes);
		put_u64(&w, "segments", after.segments);
		put_u64(&w, "bytes", after.segment_bytes);
		put_u64(&w, "thinnedTraces", after.thinned[THINNED_DROPPED]);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else if (!cli->quiet) {
		if (after.thinned[THINNED_DROPPED] > 0)
			buffer_printf(&out,
				      "%" PRIu64 " traces left out by the rules for thinning\n",
				      after.thinned[THINNED_DROPPED]);
		buffer_printf(&out, "%" PRIu64 " segments, %s; before: %" PRIu64 ", %s\n",
			      after.segments, store_size(cli, after.segment_bytes), before.segments,
			      store_size(cli, before.segment_bytes));
	}
	return cli_print(cli, &out);
}
