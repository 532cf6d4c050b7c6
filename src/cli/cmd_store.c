/* cli/cmd_store.c - `causet store`: the store of a server's folder, at rest. */
#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/cli_catalog.h"
#include "cli/cli_store.h"
#include "cli/commands.h"
#include "cli/formats.h"
#include "server/folder.h"
#include "store/store_repair.h"

static const char *const words[] = {"check",  "stat",   "compact", "repair",
				    "export", "backup", "restore", NULL};

static int (*const verbs[])(struct cli *, const struct store_values *, int, char **) = {
	store_check_run,  store_stat_run,   store_compact_run, store_repair_run,
	store_export_run, store_backup_run, store_restore_run};

enum { VERB_STAT = 1, VERB_EXPORT = 4, VERB_BACKUP, VERB_RESTORE };

static const struct option store_options[] = {
	{.name = "format",
	 .letter = 'f',
	 .type = OPTION_STRING,
	 .value = "NAME",
	 .doc = "export: " FORMATS_DOC " [by the output's name, else otlp-json]",
	 .once = true,
	 .offset = offsetof(struct store_values, format)},
	{.name = "output",
	 .letter = 'o',
	 .type = OPTION_STRING,
	 .value = "FILE",
	 .doc = "export: write here instead of to standard output",
	 .once = true,
	 .offset = offsetof(struct store_values, output)},
	{.name = "columns",
	 .type = OPTION_BOOL,
	 .doc = "stat: also what each column and table of the segments takes",
	 .once = true,
	 .offset = offsetof(struct store_values, columns)},
	{0},
};

int store_folder_open(struct cli *cli, const char *data, bool *busy,
		      struct store_folder *ret_folder)
{
	struct store_folder f = {.data = data, .lock = -1};
	struct error e = {0};
	struct stat st;

	f.store = arena_printf(&cli->arena, "%s/" FOLDER_STORE, data);
	if (!f.store)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (stat(f.store, &st) < 0 || !S_ISDIR(st.st_mode))
		return cli_fail(cli, EXIT_NOTHING, "there is no store in %s", data);
	f.lock = folder_lock(data, &e);
	if (f.lock == -EBUSY && busy)
		*busy = true;
	else if (f.lock < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	*ret_folder = f;
	return EXIT_OK;
}

void store_folder_close(struct store_folder *folder)
{
	if (folder->lock >= 0)
		close(folder->lock);
	folder->lock = -1;
}

static void engine_said(void *context, const char *text)
{
	cli_fail(context, EXIT_PARTIAL, "%s", text);
}

int store_folder_engine(struct cli *cli, const struct store_folder *folder,
			struct store **ret_store)
{
	const struct engine_options options = {
		.dir = folder->store,
		.manual = true,
		.dedup_ns = STORE_TOOLS_DEDUP_NS,
		.report = engine_said,
		.context = cli,
	};
	struct error e = {0};

	if (engine_open(&options, ret_store, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	return EXIT_OK;
}

const char *store_size(struct cli *cli, uint64_t bytes)
{
	char text[QUANTITY_TEXT_BYTES];
	const char *kept = arena_printf(&cli->arena, "%s", size_format(bytes, text));

	return kept ? kept : "";
}

const char *store_moment(struct cli *cli, int64_t ns)
{
	char text[QUANTITY_TEXT_BYTES];
	const char *kept;

	if (ns == 0)
		return "-";
	kept = arena_printf(&cli->arena, "%s", moment_format(ns, text));
	return kept ? kept : "";
}

static int store_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct store_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);
	int most;

	if (verb < 0)
		return EXIT_USAGE;
	argc--;
	argv++;
	if (verb != VERB_EXPORT && (v->format || v->output))
		return cli_usage(cli, "--format and --output are for export");
	if (verb != VERB_STAT && v->columns)
		return cli_usage(cli, "--columns is for stat");
	most = verb == VERB_BACKUP || verb == VERB_RESTORE ? 2 : 1;
	if (argc > most)
		return cli_usage(cli, "%s takes %s, found '%s' too", words[verb],
				 most == 2 ? "two folders" : "one folder", argv[most]);
	if (most == 2 && argc < 2)
		return cli_usage(cli, verb == VERB_BACKUP
					      ? "say which folder to make a backup of, and where to"
					      : "say which backup to restore, and where to");
	return verbs[verb](cli, v, argc, argv);
}

const struct command command_store = {
	.name = "store",
	.arguments = "check|stat|compact|repair|export [DIR] | backup DIR TO | restore BACKUP DIR",
	.summary = "check, repair, copy and export what a server keeps",
	.details =
		"DIR is a server's folder (--data where it is not given). No server may be running on it, but for "
		"backup.\n\n"
		"check reads everything and verifies every checksum and invariant; findings are one line each and name "
		"file and block; the exit code is 1 if something is damaged. What a crash leaves behind, and the next start "
		"tidies up, is said and is no damage.\n\n"
		"stat says how much there is. compact merges segments into as few as possible, and applies the folder's rules for thinning. export writes all traces, "
		"streamed, in any format that causet-export(1) knows.\n\n"
		"repair moves damaged files to set-aside/ and keeps what can be read of them, makes a lost manifest again, "
		"cuts off the unfinished end of the log, and says exactly what is lost; the exit code is 4 if anything is.\n\n"
		"backup makes a consistent copy in the folder TO, which must not exist or be empty: a folder like DIR, that a "
		"server can be started on. Segments are linked where that is possible and take no room. If a server is running on "
		"DIR it is asked to make the copy (--server, and a token with the role admin where tokens are asked for). restore "
		"checks a backup and copies it into a folder that does not exist or is empty.",
	.examples = "causet store check /var/lib/causet\n"
		    "causet store backup /var/lib/causet /backups/monday\n"
		    "causet store restore /backups/monday /var/lib/causet\n"
		    "causet store export --format events /var/lib/causet >everything.events\n",
	.options = store_options,
	.values_size = sizeof(struct store_values),
	.flags = COMMAND_OUTPUT | COMMAND_DATA | COMMAND_CONNECT,
	.words = words,
	.run = store_run,
};
