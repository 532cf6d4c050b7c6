/* cli/query_text.c - the text of a query from the command line. */
#include "cli/query_text.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/source.h"
#include "lang/ast.h"

#define READ_BYTES 65536

static int read_all(struct cli *cli, const char *path, struct query_text *ret_text)
{
	_cleanup_(source_closep)
	struct source *source = NULL;
	_cleanup_(buffer_done)
	struct buffer all = {0};
	struct error error = {0};
	ssize_t n = source_open(path, &source, &error);

	while (n >= 0) {
		char *room = buffer_reserve(&all, READ_BYTES);

		n = room ? source_read(source, room, READ_BYTES, &error)
			 : error_set(&error, -ENOMEM, "out of memory");
		if (n <= 0)
			break;
		all.n += (size_t)n;
		if (all.n > LANG_MAX_TEXT)
			n = error_set(&error, -EFBIG, "%s is longer than %d bytes",
				      source_name(source), LANG_MAX_TEXT);
	}
	if (n < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", error.text);
	ret_text->text = arena_dup(&cli->arena, buffer_get(&all));
	ret_text->name = strcmp(path, "-") == 0 ? "standard input" : path;
	return ret_text->text.p ? 0 : cli_fail(cli, EXIT_FAILED, "out of memory");
}

/* No query is the name of a file that is there; and what ends like one is meant as one. */
static bool is_file(const char *argument)
{
	struct stat st;

	return (stat(argument, &st) == 0 && !S_ISDIR(st.st_mode)) ||
	       (slice_ends(slice_cstr(argument), SLICE(".cq")) && !strpbrk(argument, " {\n"));
}

int query_text_read(struct cli *cli, const char *argument, bool file, struct query_text *ret_text)
{
	if (file || strcmp(argument, "-") == 0 || is_file(argument))
		return read_all(cli, argument, ret_text);
	*ret_text = (struct query_text){slice_cstr(argument), ""};
	return 0;
}
