/* cli/cli_catalog.c - what the commands that change a server's catalogue share. */
#include "cli/cli_catalog.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/remote.h"
#include "server/folder.h"

int cli_catalog_open(struct cli *cli, bool make, struct catalog **ret_catalog)
{
	struct error e = {0};
	const char *file = arena_printf(&cli->arena, "%s/" CATALOG_FILE, cli->data);

	if (!file)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (make) {
		if (folder_make(cli->data, &e) < 0)
			return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	} else if (access(file, F_OK) < 0 && errno == ENOENT) {
		return cli_fail(cli, EXIT_NOTHING,
				"there is no catalogue in %s yet (--data names a server's folder)",
				cli->data);
	}
	if (catalog_open(cli->data, ret_catalog, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	return EXIT_OK;
}

const char *cli_actor(struct cli *cli)
{
	const struct passwd *who = getpwuid(getuid());
	const char *text = who ? arena_printf(&cli->arena, "%s@command-line", who->pw_name)
			       : arena_printf(&cli->arena, "%u@command-line", (unsigned)getuid());

	return text ? text : "command-line";
}

int cli_verb(struct cli *cli, const char *const *words, int argc, char **argv)
{
	struct suggestion near;

	if (argc == 0) {
		cli_usage(cli, "say what to do: %s", cli->command->arguments);
		return -1;
	}
	near = suggestion_for(slice_cstr(argv[0]));
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], argv[0]) == 0)
			return i;
		suggestion_offer(&near, words[i]);
	}
	if (near.best)
		cli_usage(cli, "cannot '%s'; did you mean %s?", argv[0], near.best);
	else
		cli_usage(cli, "cannot '%s'", argv[0]);
	return -1;
}

int cli_remove_rules(struct cli *cli, int argc, char **argv, cli_rule_remove *remove_one)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct error e = {0};
	int r, done = 0, missing = 0;
	uint64_t id;

	if (argc == 0)
		return cli_usage(cli, "remove needs the numbers that list shows");
	for (int i = 0; i < argc; i++)
		if (slice_parse_u64(slice_cstr(argv[i]), &id) < 0 || id > INT64_MAX)
			return cli_usage(cli, "'%s' is not a rule's number", argv[i]);
	r = cli_catalog_open(cli, false, &cat);
	if (r != EXIT_OK)
		return r;
	for (int i = 0; i < argc; i++) {
		slice_parse_u64(slice_cstr(argv[i]), &id);
		r = remove_one(cat, (int64_t)id, cli_actor(cli), &e);
		if (r < 0 && r != -ENOENT)
			return cli_fail(cli, EXIT_FAILED, "%s", e.text);
		if (r < 0)
			cli_fail(cli, EXIT_NOTHING, "%s", e.text);
		missing += r < 0;
		done += r == 0;
	}
	return missing == 0 ? EXIT_OK : done > 0 ? EXIT_PARTIAL : EXIT_NOTHING;
}

static int drop_stored(struct cli *cli, struct catalog *cat, const char *name,
		       cli_named_drop *drop_one)
{
	struct error e = {0};
	int r = drop_one(cat, name, cli_actor(cli), &e);

	return r < 0 ? cli_fail(cli, r == -ENOENT ? EXIT_NOTHING : EXIT_FAILED, "%s", e.text)
		     : EXIT_OK;
}

int cli_drop_named(struct cli *cli, const char *data, const char *path, int argc, char **argv,
		   cli_named_drop *drop_one)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct remote remote = {0};
	int done = 0, code;

	cli->data = data;
	code = data ? cli_catalog_open(cli, false, &cat) : remote_open(cli, &remote);
	if (code)
		return code;
	for (int i = 0; i < argc && code == EXIT_OK; i++) {
		code = data ? drop_stored(cli, cat, argv[i], drop_one)
			    : remote_delete(&remote, path, argv[i]);
		done += code == EXIT_OK;
	}
	if (!data)
		remote_done(&remote);
	return code && done ? EXIT_PARTIAL : code;
}
