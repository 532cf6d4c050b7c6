/* cli/ask_files.c - the files a query names, to be sent to the server with it: it opens none. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include "cli/ask_int.h"
#include "lang/lexer.h"

#define FILES_BYTES_MOST ((size_t)16 << 20) /* of all: a query is one request */

static bool is_there(const struct ask_files *files, struct slice name)
{
	for (size_t i = 0; i < files->n; i++)
		if (slice_eq(files->items[i].name, name))
			return true;
	return false;
}

static int load(struct ask *ask, struct slice name, struct ask_files *files)
{
	char *path = arena_printf(&ask->cli->arena, "%.*s", SLICE_ARG(name)), *bytes;
	size_t n, left = FILES_BYTES_MOST;
	int r;

	for (size_t i = 0; i < files->n; i++)
		left -= files->items[i].bytes.n;
	if (!path ||
	    !vec_reserve(&files->items, &files->capacity, files->n + 1, sizeof(*files->items)))
		return cli_fail(ask->cli, EXIT_FAILED, "out of memory");
	r = fs_load(fs_real(), path, left, &bytes, &n);
	if (r == -EFBIG)
		return cli_fail(ask->cli, EXIT_FAILED,
				"%s: files of more than %zu MiB are not sent with a query; "
				"ask a folder (--data)",
				path, FILES_BYTES_MOST >> 20);
	if (r < 0)
		return cli_fail(ask->cli, EXIT_FAILED, "%s: %s", path, strerror(-r));
	files->items[files->n++] =
		(struct query_file){slice_of(path, strlen(path)), slice_of(bytes, n)};
	return EXIT_OK;
}

int ask_files_read(struct ask *ask, struct ask_files *files)
{
	struct tokens t = {0};
	struct diags diags; /* what is wrong with the text the server says, too */
	int code = EXIT_OK;

	diags_init(&diags, &ask->cli->arena);
	if (tokens_read(&t, ask->text.text, &diags) < 0)
		code = cli_fail(ask->cli, EXIT_FAILED, "out of memory");
	/* csv ( "name" */
	for (size_t i = 0; code == EXIT_OK && i + 2 < t.n; i++) {
		const struct token *at = &t.items[i];
		struct slice name;

		if (at[0].kind != TOKEN_IDENT || at[1].kind != TOKEN_LPAREN ||
		    at[2].kind != TOKEN_STRING ||
		    !slice_eq_nocase(token_text(&t, at), SLICE("csv")))
			continue;
		name = token_string(&t, &at[2], &ask->cli->arena, &diags);
		if (!is_there(files, name))
			code = load(ask, name, files);
	}
	tokens_done(&t);
	return code;
}

void ask_files_done(struct ask_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free((char *)(uintptr_t)files->items[i].bytes.p);
	free(files->items);
	*files = (struct ask_files){0};
}
