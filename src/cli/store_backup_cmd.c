/* cli/store_backup_cmd.c - `causet store backup` and `restore`. */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "api/backup.h"
#include "base/cleanup.h"
#include "catalog/catalog.h"
#include "cli/cli_store.h"
#include "cli/remote.h"
#include "server/folder.h"
#include "store/store_backup.h"
#include "wire/json_writer.h"

#define WALK_FILES 16

/* Makes the target and the store's folder in it.  What is there must be empty. */
static int target_make(struct cli *cli, const char *to, const char **ret_store)
{
	struct fs_names names = {0};
	struct error e = {0};
	size_t n = 0;

	if (fs_list(fs_real(), to, &names) == 0)
		n = names.n;
	fs_names_done(&names);
	if (n > 0)
		return cli_fail(cli, EXIT_FAILED, "%s is not empty; choose another folder", to);
	*ret_store = arena_printf(&cli->arena, "%s/" FOLDER_STORE, to);
	if (!*ret_store)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (folder_make(*ret_store, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "cannot make %s: %s", *ret_store,
				strerror(-e.code));
	return EXIT_OK;
}

static int catalog_take(struct cli *cli, const char *from, const char *to,
			struct store_copied *copied)
{
	const char *file = arena_printf(&cli->arena, "%s/" CATALOG_FILE, from);
	const char *target = arena_printf(&cli->arena, "%s/" CATALOG_FILE, to);
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct error e = {0};

	if (!file || !target)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (access(file, F_OK) < 0)
		return EXIT_OK; /* no server has run here yet */
	if (catalog_open(from, &cat, &e) < 0 || catalog_backup(cat, target, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	copied->files++;
	return EXIT_OK;
}

/* A copy of a folder nobody works on. */
static int copy_at_rest(struct cli *cli, const char *from, const char *to, bool links,
			struct store_copied *copied)
{
	const char *source = arena_printf(&cli->arena, "%s/" FOLDER_STORE, from), *store;
	struct error e = {0};
	int code =
		source ? target_make(cli, to, &store) : cli_fail(cli, EXIT_FAILED, "out of memory");

	if (code)
		return code;
	if (store_backup(fs_real(), source, store, links, copied, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	code = catalog_take(cli, from, to, copied);
	if (code == EXIT_OK && fs_sync_dir(fs_real(), to) < 0)
		code = cli_fail(cli, EXIT_FAILED, "cannot write %s", to);
	return code;
}

static int print_copied(struct cli *cli, const char *what, const char *to,
			const struct store_copied *c)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (cli->json) {
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		json_put_name(&w, what);
		json_put_cstr(&w, to);
		json_put_name(&w, "files");
		json_put_u64(&w, c->files);
		json_put_name(&w, "linked");
		json_put_u64(&w, c->linked);
		json_put_name(&w, "bytes");
		json_put_u64(&w, c->bytes);
		json_put_name(&w, "segments");
		json_put_u64(&w, c->segments);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else if (!cli->quiet) {
		buffer_printf(&out, "%s: %" PRIu64 " files, %s", to, c->files,
			      store_size(cli, c->bytes));
		if (c->linked)
			buffer_printf(&out, ", %" PRIu64 " of them linked", c->linked);
		buffer_byte(&out, '\n');
	}
	return cli_print(cli, &out);
}

/* --- through a running server --- */

/* The server's answer to POST /api/v1/backup: the name of the copy in its folder. */
static int server_ask(struct cli *cli, const char **ret_name, struct store_copied *copied)
{
	size_t base_n = strlen(cli->server);
	struct http_call call = {.method = "POST", .body = SLICE("{}")};
	struct http_answer answer;
	struct remote remote;
	struct slice name;
	int code;

	while (base_n > 0 && cli->server[base_n - 1] == '/')
		base_n--;
	call.url = arena_printf(&cli->arena, "%.*s/api/v1/backup", (int)base_n, cli->server);
	code = call.url ? remote_open(cli, &remote) : cli_fail(cli, EXIT_FAILED, "out of memory");
	if (code)
		return code;
	code = remote_call(&remote, &call, "Content-Type: application/json", &answer);
	if (code == EXIT_OK) {
		struct slice body = buffer_get(&answer.body);

		if (answer.status != 200)
			code = remote_refused(&remote, call.url, &answer);
		else if (!item_text(body, "name", &cli->arena, &name) || name.n == 0 ||
			 memchr(name.p, '/', name.n) || name.p[0] == '.' ||
			 !item_u64(body, "files", &copied->files) ||
			 !item_u64(body, "linked", &copied->linked) ||
			 !item_u64(body, "bytes", &copied->bytes) ||
			 !item_u64(body, "segments", &copied->segments))
			code = cli_fail(cli, EXIT_FAILED, "%s gives no name of a backup", call.url);
		else if (!(*ret_name = arena_printf(&cli->arena, "%.*s", SLICE_ARG(name))))
			code = cli_fail(cli, EXIT_FAILED, "out of memory");
		http_answer_done(&answer);
	}
	remote_done(&remote);
	return code;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

/* The server has left the copy in its own folder; it goes where it was wanted. */
static int take_away(struct cli *cli, const char *made, const char *to, struct store_copied *copied)
{
	struct store_copied again = {0};
	const char *store;
	int code = target_make(cli, to, &store); /* says so if it is not empty */

	if (code)
		return code;
	if (rmdir(store) == 0 && rename(made, to) == 0)
		return EXIT_OK;
	/* Another file system. */
	code = copy_at_rest(cli, made, to, true, &again);
	if (code == EXIT_OK) {
		nftw(made, remove_one, WALK_FILES, FTW_DEPTH | FTW_PHYS);
		*copied = again;
	}
	return code;
}

static int through_server(struct cli *cli, const char *data, const char *to,
			  struct store_copied *copied)
{
	const char *name, *made;
	struct stat st;
	int code = server_ask(cli, &name, copied);

	if (code)
		return code;
	made = arena_printf(&cli->arena, "%s/" BACKUP_FOLDER "/%s", data, name);
	if (!made)
		return cli_fail(cli, EXIT_FAILED, "out of memory");
	if (stat(made, &st) < 0)
		return cli_fail(
			cli, EXIT_FAILED,
			"the server at %s does not work on %s: it has made a backup of its own "
			"folder, " BACKUP_FOLDER "/%s; --server says which one to ask",
			cli->server, data, name);
	return take_away(cli, made, to, copied);
}

int store_backup_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	struct store_copied copied = {0};
	const char *to = argv[1];
	bool busy = false;
	int code = store_folder_open(cli, argv[0], &busy, &folder);

	if (code)
		return code;
	if (busy)
		code = through_server(cli, folder.data, to, &copied);
	else
		code = copy_at_rest(cli, folder.data, to, true, &copied);
	return code ? code : print_copied(cli, "backup", to, &copied);
}

/* --- restore --- */

static void finding_say(void *context, const struct store_finding *finding)
{
	if (!finding->harmless)
		cli_fail(context, EXIT_FAILED, "%s: %s", finding->file, finding->text);
}

static int sound(struct cli *cli, const char *data)
{
	const char *store = arena_printf(&cli->arena, "%s/" FOLDER_STORE, data);
	struct store_totals totals;
	struct error e = {0};
	int r = store ? store_check(fs_real(), store, finding_say, cli, &totals, &e) : -ENOMEM;

	if (r < 0)
		return cli_fail(cli, r == -ENOENT ? EXIT_NOTHING : EXIT_FAILED,
				"%s is not a sound backup%s%s", data, e.text[0] ? ": " : "",
				e.text);
	return EXIT_OK;
}

/* Copies, not links: what happens to the one must not happen to the other. */
int store_restore_run(struct cli *cli, const struct store_values *v, int argc, char **argv)
{
	_cleanup_(store_folder_close)
	struct store_folder folder = {.lock = -1};
	struct store_copied copied = {0};
	int code = store_folder_open(cli, argv[0], NULL, &folder);

	if (code == EXIT_OK)
		code = sound(cli, argv[0]);
	if (code == EXIT_OK)
		code = copy_at_rest(cli, argv[0], argv[1], false, &copied);
	if (code == EXIT_OK)
		code = sound(cli, argv[1]);
	return code ? code : print_copied(cli, "restored", argv[1], &copied);
}
