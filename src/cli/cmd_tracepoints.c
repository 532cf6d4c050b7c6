/* cli/cmd_tracepoints.c - `causet tracepoints`: named sets of events that queries are asked of. */
#include <errno.h>

#include "api/query_json.h"
#include "api/tracepoint_text.h"
#include "api/tracepoints.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/token.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "cli/query_text.h"
#include "cli/remote.h"
#include "cli/table.h"

#define PATH "/api/tracepoints"

struct tracepoints_values {
	const char *data;
};

enum verb { VERB_LIST, VERB_DEFINE, VERB_DROP, VERB_EXPORT, VERB_IMPORT };

static const char *const words[] = {"list", "define", "drop", "export", "import", NULL};

static const struct option tracepoints_options[] = {
	{.name = "data",
	 .type = OPTION_STRING,
	 .value = "DIR",
	 .doc = "work on this server's folder instead of asking the server; it may be running",
	 .offset = offsetof(struct tracepoints_values, data)},
	{0},
};

/* --- either place --- */

static int folder_open_catalog(struct cli *cli, const char *data, bool make,
			       struct catalog **ret_catalog)
{
	cli->data = data;
	return cli_catalog_open(cli, make, ret_catalog);
}

/* --- list and export --- */

struct listing {
	struct cli *cli;
	struct buffer out;
	struct table table;
	bool export;
	size_t n;
};

/* On one line. */
static struct slice flat(struct arena *arena, struct slice text)
{
	char *copy = (char *)(uintptr_t)arena_dup(arena, text).p;

	for (size_t i = 0; copy && i < text.n; i++)
		if (copy[i] == '\n' || copy[i] == '\t' || copy[i] == '\r')
			copy[i] = ' ';
	return slice_of(copy, copy ? text.n : 0);
}

static void list_row(struct listing *l, const struct tracepoint_row *row)
{
	char moment[QUANTITY_TEXT_BYTES];

	l->n++;
	if (l->export) {
		buffer_text(&l->out, row->text);
		buffer_text(&l->out, ";\n");
	} else if (l->cli->json) {
		struct json_writer w = json_write(&l->out);

		tracepoint_write(&w, row);
		buffer_byte(&l->out, '\n');
	} else {
		table_cell_text(&l->table, row->name);
		table_cell_text(&l->table, row->owner);
		moment_format(row->updated_ns, moment);
		memcpy(moment + 19, "Z", 2);
		table_cell_text(&l->table, moment);
		table_cell(&l->table, flat(&l->cli->arena, slice_cstr(row->text)));
	}
}

static int list_stored(void *context, const struct tracepoint_row *row)
{
	list_row(context, row);
	return 0;
}

static int list_item(void *context, struct slice item)
{
	struct listing *l = context;
	struct arena *arena = &l->cli->arena;
	struct slice name = {0}, text = {0}, owner = {0};
	uint64_t updated = 0;

	if (!item_text(item, "name", arena, &name) || !item_text(item, "text", arena, &text) ||
	    !item_text(item, "owner", arena, &owner))
		return -EBADMSG;
	item_u64(item, "updatedUnixNano", &updated);
	list_row(l, &(struct tracepoint_row){name.p, text.p, owner.p, (int64_t)updated});
	return 0;
}

static int list_from(struct cli *cli, const struct tracepoints_values *v, struct listing *l)
{
	struct http_answer answer;
	struct remote remote;
	int code;

	if (v->data) {
		_cleanup_(catalog_closep)
		struct catalog *cat = NULL;
		struct error e = {0};

		code = folder_open_catalog(cli, v->data, false, &cat);
		if (code == EXIT_OK && tracepoint_list(cat, list_stored, l, &e) < 0)
			code = cli_fail(cli, EXIT_FAILED, "%s", e.text);
		return code;
	}
	code = remote_open(cli, &remote);
	if (code)
		return code;
	code = remote_get(&remote, cli->server, PATH, NULL, NULL, NULL, &answer);
	remote_done(&remote);
	if (code)
		return code;
	if (items_each(buffer_get(&answer.body), "tracepoints", list_item, l) < 0)
		code = cli_fail(cli, EXIT_FAILED, "%s does not answer as causet does", cli->server);
	http_answer_done(&answer);
	return code;
}

static int list(struct cli *cli, const struct tracepoints_values *v, bool export)
{
	static const struct table_column columns[] = {{"NAME", false, false},
						      {"OWNER", false, true},
						      {"UPDATED", false, false},
						      {"DEFINITION", false, true}};
	struct listing l = {.cli = cli,
			    .export = export,
			    .table = table_of(columns, ARRAY_SIZE(columns), &cli->arena)};
	int code = list_from(cli, v, &l);

	if (code == EXIT_OK && l.n == 0) {
		cli_note(cli, "there are no tracepoints");
		code = EXIT_NOTHING;
	}
	if (code == EXIT_OK && !export && !cli->json)
		table_write(&l.table, cli->terminal ? cli->columns : 0, &l.out);
	if (code == EXIT_OK)
		code = cli_print(cli, &l.out);
	table_done(&l.table);
	buffer_done(&l.out);
	return code;
}

/* --- define and import --- */

static void show_wrong(struct cli *cli, struct diags *diags, const struct query_text *text)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	diags_sort(diags);
	diags_show(diags, text->text, text->name, &out);
	fputs(buffer_cstr(&out), stderr);
}

static int define_stored(struct cli *cli, const char *data, const struct query_text *text)
{
	const struct tracepoint_actor actor = {OWNER_LOCAL, true, cli_actor(cli)};
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct tracepoint_row *rows = NULL;
	struct error e = {0};
	struct diags diags;
	size_t n = 0;
	int r, code = folder_open_catalog(cli, data, true, &cat);

	if (code)
		return code;
	diags_init(&diags, &cli->arena);
	r = tracepoint_text_read(text->text, cat, &cli->arena, &diags, &rows, &n);
	show_wrong(cli, &diags, text);
	if (r == -EINVAL)
		return EXIT_FAILED;
	if (r == 0)
		r = tracepoint_define(cat, rows, n, &actor, &e);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text[0] ? e.text : strerror(-r));
	cli_note(cli, "defined %zu", n);
	return EXIT_OK;
}

/* The server's diagnostics with the lines of the text. */
static int define_refused(struct remote *remote, const char *url, const struct http_answer *answer,
			  const struct query_text *text)
{
	struct cli *cli = remote->cli;
	struct slice error, list;
	struct diags diags;

	diags_init(&diags, &cli->arena);
	if (item_text(buffer_get(&answer->body), "error", &cli->arena, &error) &&
	    item_text(error, "diagnostics", &cli->arena, &list)) {
		struct json_reader r = json_open(list);

		query_json_read_diags(&r, &diags);
	}
	if (diags.errors == 0)
		return remote_refused(remote, url, answer);
	show_wrong(cli, &diags, text);
	return EXIT_FAILED;
}

static int define_remote(struct cli *cli, const struct query_text *text)
{
	_cleanup_(buffer_done)
	struct buffer body = {0};
	struct json_writer w = json_write(&body);
	struct http_call call = {.method = "POST", .url = remote_url(cli, PATH, NULL)};
	struct http_answer answer = {0};
	struct remote remote;
	int code = remote_open(cli, &remote);

	if (code)
		return code;
	json_begin_object(&w);
	json_put_name(&w, "text");
	json_put_string(&w, text->text);
	json_end_object(&w);
	call.body = buffer_get(&body);
	code = call.url && !body.failed
		       ? remote_call(&remote, &call, "Content-Type: application/json", &answer)
		       : cli_fail(cli, EXIT_FAILED, "out of memory");
	if (code == EXIT_OK && answer.status >= 300)
		code = define_refused(&remote, call.url, &answer, text);
	else if (code == EXIT_OK)
		cli_note(cli, "defined");
	http_answer_done(&answer);
	remote_done(&remote);
	return code;
}

static int define(struct cli *cli, const struct tracepoints_values *v, const char *argument,
		  bool file)
{
	struct query_text text;
	int code = query_text_read(cli, argument, file, &text);

	if (code)
		return code;
	return v->data ? define_stored(cli, v->data, &text) : define_remote(cli, &text);
}

/* --- drop --- */

static int drop_one(struct catalog *cat, const char *name, const char *by, struct error *e)
{
	const struct tracepoint_actor actor = {OWNER_LOCAL, true, by};

	return tracepoint_drop(cat, name, &actor, e);
}

static int tracepoints_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct tracepoints_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);

	if (verb < 0)
		return EXIT_USAGE;
	argc--;
	argv++;
	if ((verb == VERB_LIST || verb == VERB_EXPORT) && argc > 0)
		return cli_usage(cli, "%s takes no argument, found '%s'", words[verb], argv[0]);
	if ((verb == VERB_DEFINE || verb == VERB_IMPORT) && argc != 1)
		return cli_usage(cli, verb == VERB_IMPORT
					      ? "import takes one file, or - for standard input"
					      : "define takes one text, file, or -");
	if (verb == VERB_DROP && argc == 0)
		return cli_usage(cli, "drop needs the names that list shows");
	switch (verb) {
	case VERB_LIST:
	case VERB_EXPORT:
		return list(cli, v, verb == VERB_EXPORT);
	case VERB_DROP:
		return cli_drop_named(cli, v->data, PATH, argc, argv, drop_one);
	default:
		return define(cli, v, argv[0], verb == VERB_IMPORT);
	}
}

const struct command command_tracepoints = {
	.name = "tracepoints",
	.arguments = "list | define TEXT|FILE|- | drop NAME… | export | import FILE|-",
	.summary = "keep names for sets of events, to be used in queries",
	.details =
		"A tracepoint over stored traces is a set of spans and points with a name, and the values it exports: "
		"Tracepoint DN.Read = { name = \"read\" && resource.service.name = \"datanode\" } Exports { delta = span.bytes }.\n\n"
		"Definitions are kept in the server's catalogue as they were written; a query sees those there are when it "
		"starts. Defining one again replaces it; all definitions of a text are kept, or none. Only its owner or an "
		"admin can replace or drop one. export writes them all, so that import can read them.",
	.examples =
		"causet tracepoints define 'Tracepoint Checkout = { name = \"POST /checkout\" }'\n"
		"causet tracepoints list\n"
		"causet tracepoints export >tracepoints.cq\n"
		"causet query 'From c In Checkout GroupBy c.host Select c.host, COUNT'\n",
	.options = tracepoints_options,
	.values_size = sizeof(struct tracepoints_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.words = words,
	.run = tracepoints_run,
};
