/* cli/cmd_alerts.c - `causet alerts`: standing rules, and what they have found. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/token.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "cli/query_text.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "feature/alert_list.h"

#define PATH "/api/v1/alerts"

struct alerts_values {
	const char *data;
	const char *query, *dialect, *value, *when, *threshold, *over, *for_, *every, *delay,
		*repeat, *webhook;
	struct option_list labels, annotations;
	bool send;
};

enum verb { VERB_LIST, VERB_DEFINE, VERB_DROP, VERB_EXPORT, VERB_IMPORT, VERB_TEST };

static const char *const words[] = {"list", "define", "drop", "export", "import", "test", NULL};

#define TEXT(option, place, form, says)                                                            \
	{                                                                                          \
		.name = (option), .type = OPTION_STRING, .value = (form), .doc = (says),           \
		.offset = offsetof(struct alerts_values, place)                                    \
	}

static const struct option alerts_options[] = {
	TEXT("data", data, "DIR",
	     "work on this server's folder instead of asking the server; it may be running"),
	TEXT("query", query, "TEXT", "define, test: what is asked"),
	TEXT("dialect", dialect, "NAME", "define, test: causetql or traceql"),
	TEXT("value", value, "COLUMN",
	     "define, test: the column whose number counts [the last that is a number]"),
	TEXT("when", when, "RELATION", "define, test: > >= < <= == or != [>]"),
	TEXT("threshold", threshold, "NUMBER",
	     "define, test: what the number is compared with; may be a duration"),
	TEXT("over", over, "TIME", "define, test: the window that is asked about [5m]"),
	TEXT("for", for_, "TIME", "define: how long it has to hold before it fires [0s]"),
	TEXT("every", every, "TIME", "define: between evaluations [1m]"),
	TEXT("delay", delay, "TIME", "define: how long spans of a window are waited for [10s]"),
	TEXT("repeat", repeat, "TIME", "define: what fires is told again; 0s: never [4h]"),
	TEXT("webhook", webhook, "URL", "define, test: who is told"),
	{.name = "labels",
	 .type = OPTION_LIST,
	 .value = "NAME=VALUE,…",
	 .doc = "define, test: labels of every alert",
	 .offset = offsetof(struct alerts_values, labels)},
	{.name = "annotations",
	 .type = OPTION_LIST,
	 .value = "NAME=VALUE,…",
	 .doc = "define, test: what else is told",
	 .offset = offsetof(struct alerts_values, annotations)},
	{.name = "send",
	 .type = OPTION_BOOL,
	 .fallback = "off",
	 .doc = "test: tell the webhook, too",
	 .offset = offsetof(struct alerts_values, send)},
	{0},
};

/* --- either place --- */

/* The rules there are, as the server lists them: {"rules":[…]}. */
static int rules_fetch(struct cli *cli, const struct alerts_values *v, const char *name,
		       struct buffer *out)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct json_writer w = json_write(out);
	struct http_answer answer;
	struct buffer query = {0};
	struct remote remote;
	struct error e = {0};
	int code, r;

	if (v->data) {
		cli->data = v->data;
		code = cli_catalog_open(cli, false, &cat);
		if (code)
			return code;
		r = alert_list_write(cat, slice_cstr(name), true, &w, &e);
		return r == -ENOENT ? cli_fail(cli, EXIT_NOTHING, "%s", e.text)
		       : r < 0      ? cli_fail(cli, EXIT_FAILED, "%s", e.text)
				    : EXIT_OK;
	}
	code = remote_open(cli, &remote);
	if (code)
		return code;
	if (*name)
		query_add(&query, "name", slice_cstr(name));
	code = remote_get(&remote, cli->server, PATH, &query, NULL, NULL, &answer);
	remote_done(&remote);
	buffer_done(&query);
	if (code)
		return code;
	buffer_slice(out, buffer_get(&answer.body));
	http_answer_done(&answer);
	return EXIT_OK;
}

/* --- list and export --- */

struct listing {
	struct cli *cli;
	struct buffer out;
	struct table table;
	bool export, hidden;
	size_t n;
};

static void cell_text(struct listing *l, struct slice item, const char *name)
{
	struct slice text = {0};

	item_text(item, name, &l->cli->arena, &text);
	table_cell(&l->table, text);
}

/* A row of the table for each alert, behind its rule's. */
static int list_alert(void *context, struct slice item)
{
	struct listing *l = context;
	struct slice labels = {0}, value = {0};

	item_text(item, "labels", &l->cli->arena, &labels);
	item_text(item, "value", &l->cli->arena, &value);
	table_cell_text(&l->table, "");
	cell_text(l, item, "state");
	table_cell(&l->table, value);
	table_cell_text(&l->table, "");
	table_cell(&l->table, labels);
	return 0;
}

static void list_row(struct listing *l, struct slice item)
{
	struct slice error = {0}, query = {0}, rule = {0};
	uint64_t undelivered = 0;

	item_u64(item, "undelivered", &undelivered);
	item_text(item, "rule", &l->cli->arena, &rule);
	item_text(rule, "query", &l->cli->arena, &query);
	if (!item_text(item, "error", &l->cli->arena, &error) && undelivered)
		item_text(item, "deliveryError", &l->cli->arena, &error);
	cell_text(l, item, "name");
	cell_text(l, item, "state");
	table_cell_text(&l->table, "");
	cell_text(l, item, "health");
	table_cell(&l->table, error.n ? error : query);
	items_each(item, "alerts", list_alert, l);
}

static int list_item(void *context, struct slice item)
{
	struct listing *l = context;
	struct slice rule = {0}, webhook = {0};

	l->n++;
	if (l->export) {
		item_text(item, "rule", &l->cli->arena, &rule);
		item_text(rule, "webhook", &l->cli->arena, &webhook);
		l->hidden |= slice_ends(webhook, SLICE("/…"));
		buffer_slice(&l->out, rule);
		buffer_byte(&l->out, '\n');
	} else if (l->cli->json) {
		buffer_slice(&l->out, item);
		buffer_byte(&l->out, '\n');
	} else {
		list_row(l, item);
	}
	return 0;
}

static int list(struct cli *cli, const struct alerts_values *v, bool export)
{
	static const struct table_column columns[] = {{"RULE", false, false},
						      {"STATE", false, false},
						      {"VALUE", true, false},
						      {"HEALTH", false, false},
						      {"QUERY, LABELS OR ERROR", false, true}};
	struct listing l = {.cli = cli,
			    .export = export,
			    .table = table_of(columns, ARRAY_SIZE(columns), &cli->arena)};
	struct buffer body = {0};
	int code = rules_fetch(cli, v, "", &body);

	if (code == EXIT_OK && items_each(buffer_get(&body), "rules", list_item, &l) < 0)
		code = cli_fail(cli, EXIT_FAILED, "%s does not answer as causet does", cli->server);
	if (code == EXIT_OK && l.n == 0) {
		cli_note(cli, "there are no rules");
		code = EXIT_NOTHING;
	}
	if (code == EXIT_OK && l.hidden)
		code = cli_fail(cli, EXIT_FAILED,
				"webhooks are shown to admins only; give a token with that role");
	if (code == EXIT_OK && !export && !cli->json)
		table_write(&l.table, cli->terminal ? cli->columns : 0, &l.out);
	if (code == EXIT_OK)
		code = cli_print(cli, &l.out);
	table_done(&l.table);
	buffer_done(&l.out);
	buffer_done(&body);
	return code;
}

/* --- define, import --- */

static int put_pairs(struct cli *cli, struct json_writer *w, const char *name,
		     const struct option_list *list)
{
	json_put_key(w, slice_cstr(name));
	json_begin_object(w);
	for (size_t i = 0; i < list->n; i++) {
		const char *equals = strchr(list->items[i], '=');

		if (!equals)
			return cli_usage(cli, "--%s takes NAME=VALUE, found '%s'", name,
					 list->items[i]);
		json_put_key(w, slice_of(list->items[i], (size_t)(equals - list->items[i])));
		json_put_cstr(w, equals + 1);
	}
	json_end_object(w);
	return EXIT_OK;
}

/* The rule that the options say. */
static int rule_of(struct cli *cli, const struct alerts_values *v, const char *name,
		   struct buffer *out)
{
	const struct {
		const char *name, *value;
	} texts[] = {{"name", name},        {"query", v->query},    {"dialect", v->dialect},
		     {"value", v->value},   {"when", v->when},      {"over", v->over},
		     {"for", v->for_},      {"every", v->every},    {"delay", v->delay},
		     {"repeat", v->repeat}, {"webhook", v->webhook}};
	struct json_writer w = json_write(out);
	char *end;
	double number;
	int code;

	json_begin_object(&w);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].value) {
			json_put_key(&w, slice_cstr(texts[i].name));
			json_put_cstr(&w, texts[i].value);
		}
	if (v->threshold) {
		number = strtod(v->threshold, &end);
		json_put_name(&w, "threshold");
		if (*v->threshold && !*end)
			json_put_double(&w, number);
		else
			json_put_cstr(&w, v->threshold);
	}
	code = put_pairs(cli, &w, "labels", &v->labels);
	if (code == EXIT_OK)
		code = put_pairs(cli, &w, "annotations", &v->annotations);
	json_end_object(&w);
	return code;
}

static int define_stored(struct cli *cli, const char *data, struct slice json)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct alert_defined defined;
	struct buffer text = {0};
	struct error e = {0};
	struct diags diags;
	struct slice wrong;
	int r, code;

	cli->data = data;
	code = cli_catalog_open(cli, true, &cat);
	if (code)
		return code;
	diags_init(&diags, &cli->arena);
	r = alert_define_read(json, cat, &cli->arena, &diags, &wrong, &defined, &e);
	if (r == -EINVAL && diags.errors) {
		diags_show(&diags, wrong, "query", &text);
		fputs(buffer_cstr(&text), stderr);
		buffer_done(&text);
		return EXIT_FAILED;
	}
	if (r == 0)
		r = alert_rule_define(cat, defined.rows, defined.n, OWNER_LOCAL, cli_actor(cli),
				      &e);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text[0] ? e.text : strerror(-r));
	cli_note(cli, "defined %zu", defined.n);
	return EXIT_OK;
}

static int post(struct cli *cli, const char *path, struct slice json, struct buffer *ret_answer)
{
	struct http_call call = {
		.method = "POST", .url = remote_url(cli, path, NULL), .body = json};
	struct http_answer answer = {0};
	struct remote remote;
	int code = remote_open(cli, &remote);

	if (code)
		return code;
	code = call.url ? remote_call(&remote, &call, "Content-Type: application/json", &answer)
			: cli_fail(cli, EXIT_FAILED, "out of memory");
	if (code == EXIT_OK && answer.status >= 300)
		code = remote_refused(&remote, call.url, &answer);
	else if (code == EXIT_OK)
		buffer_slice(ret_answer, buffer_get(&answer.body));
	http_answer_done(&answer);
	remote_done(&remote);
	return code;
}

static int define_json(struct cli *cli, const struct alerts_values *v, struct slice json)
{
	_cleanup_(buffer_done)
	struct buffer answer = {0};
	int code;

	if (v->data)
		return define_stored(cli, v->data, json);
	code = post(cli, PATH, json, &answer);
	if (code == EXIT_OK)
		cli_note(cli, "defined");
	return code;
}

static int define(struct cli *cli, const struct alerts_values *v, const char *name)
{
	_cleanup_(buffer_done)
	struct buffer json = {0};
	int code = rule_of(cli, v, name, &json);

	return code ? code : define_json(cli, v, buffer_get(&json));
}

/* Lines of JSON, one rule each, as export writes them; or one object that holds them. */
static int import(struct cli *cli, const struct alerts_values *v, const char *file)
{
	_cleanup_(buffer_done)
	struct buffer json = {0};
	struct query_text text;
	struct slice rest;
	int code = query_text_read(cli, file, true, &text);
	bool first = true;

	if (code)
		return code;
	rest = slice_trim(text.text);
	if (!memchr(rest.p, '\n', rest.n))
		return define_json(cli, v, rest);
	buffer_text(&json, "{\"rules\":[");
	while (rest.n > 0) {
		const char *end = memchr(rest.p, '\n', rest.n);
		struct slice line = slice_of(rest.p, end ? (size_t)(end - rest.p) : rest.n);

		rest = slice_from(rest, MIN(line.n + 1, rest.n));
		line = slice_trim(line);
		if (line.n == 0)
			continue;
		if (!first)
			buffer_byte(&json, ',');
		first = false;
		buffer_slice(&json, line);
	}
	buffer_text(&json, "]}");
	return define_json(cli, v, buffer_get(&json));
}

/* --- test --- */

static int take_rule(void *context, struct slice item)
{
	struct listing *l = context;
	struct slice rule = {0};

	if (l->n++ == 0 && item_text(item, "rule", &l->cli->arena, &rule))
		buffer_slice(&l->out, rule);
	return 0;
}

static int show_alert(void *context, struct slice item)
{
	struct listing *l = context;

	l->n++;
	cell_text(l, item, "value");
	cell_text(l, item, "labels");
	return 0;
}

static int show_test(struct cli *cli, struct buffer *answer)
{
	static const struct table_column columns[] = {{"VALUE", true, false},
						      {"LABELS", false, true}};
	struct listing l = {.cli = cli,
			    .table = table_of(columns, ARRAY_SIZE(columns), &cli->arena)};
	struct slice sent = {0};
	int code = EXIT_OK;

	if (cli->json)
		return cli_print(cli, answer);
	items_each(buffer_get(answer), "alerts", show_alert, &l);
	if (l.n > 0)
		table_write(&l.table, cli->terminal ? cli->columns : 0, &l.out);
	else
		cli_note(cli, "nothing would fire");
	code = cli_print(cli, &l.out);
	if (item_text(buffer_get(answer), "sent", &cli->arena, &sent))
		cli_note(cli, "the webhook: %.*s", SLICE_ARG(sent));
	table_done(&l.table);
	buffer_done(&l.out);
	return code;
}

/* Asks about a rule that is there, or about the one that the options say. */
static int test(struct cli *cli, const struct alerts_values *v, const char *name)
{
	_cleanup_(buffer_done)
	struct buffer answer = {0}, body = {0};
	struct listing l = {.cli = cli};
	int code = EXIT_OK;

	if (v->data)
		return cli_usage(cli, "test asks a server: a rule needs its store");
	if (v->query) {
		code = rule_of(cli, v, name, &l.out);
	} else {
		code = rules_fetch(cli, v, name, &body);
		if (code == EXIT_OK)
			items_each(buffer_get(&body), "rules", take_rule, &l);
	}
	if (code == EXIT_OK)
		code = post(cli, v->send ? PATH "/test?send=true" : PATH "/test",
			    buffer_get(&l.out), &answer);
	if (code == EXIT_OK)
		code = show_test(cli, &answer);
	buffer_done(&l.out);
	buffer_done(&body);
	return code;
}

static int alerts_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct alerts_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);

	if (verb < 0)
		return EXIT_USAGE;
	argc--;
	argv++;
	if ((verb == VERB_LIST || verb == VERB_EXPORT) && argc > 0)
		return cli_usage(cli, "%s takes no argument, found '%s'", words[verb], argv[0]);
	if ((verb == VERB_DEFINE || verb == VERB_TEST) && argc != 1)
		return cli_usage(cli, "%s takes the rule's name", words[verb]);
	if (verb == VERB_IMPORT && argc != 1)
		return cli_usage(cli, "import takes one file, or - for standard input");
	if (verb == VERB_DROP && argc == 0)
		return cli_usage(cli, "drop needs the names that list shows");
	switch (verb) {
	case VERB_LIST:
	case VERB_EXPORT:
		return list(cli, v, verb == VERB_EXPORT);
	case VERB_DROP:
		return cli_drop_named(cli, v->data, PATH, argc, argv, alert_rule_drop);
	case VERB_IMPORT:
		return import(cli, v, argv[0]);
	case VERB_TEST:
		return test(cli, v, argv[0]);
	default:
		return define(cli, v, argv[0]);
	}
}

const struct command command_alerts = {
	.name = "alerts",
	.arguments = "list | define NAME | drop NAME… | export | import FILE|- | test NAME",
	.summary = "keep standing rules, and tell webhooks when they hold",
	.details =
		"A rule is a query, a number to compare its answer with, and a webhook. Each interval the query is asked about the "
		"last window; every row whose number holds is an alert, with the other columns as its labels. A query that neither "
		"groups nor names a column is counted: the number of rows is the number.\n\n"
		"An alert that holds for as long as the rule says fires, and is resolved when it holds no more; the webhook is told of "
		"both, in the form of Alertmanager's, at least once and in order, and again until it answers with success. Only admins define and drop rules.\n\n"
		"export writes a line of JSON for each rule, so that import can read them. test asks now and prints what would fire; "
		"with --send it tells the webhook.",
	.examples =
		"causet alerts define slow --query 'From s In spans GroupBy s.service Select s.service, p99(s.duration)' --threshold 500ms --for 5m --webhook http://localhost:9000/hook\n"
		"causet alerts define errors --query '{ status = error }' --threshold 100 --over 10m --webhook http://localhost:9000/hook --labels severity=page\n"
		"causet alerts list\n"
		"causet alerts test slow --send\n"
		"causet alerts export >alerts.jsonl\n",
	.options = alerts_options,
	.values_size = sizeof(struct alerts_values),
	.flags = COMMAND_OUTPUT | COMMAND_CONNECT,
	.words = words,
	.run = alerts_run,
};
