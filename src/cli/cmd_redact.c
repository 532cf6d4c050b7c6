/* cli/cmd_redact.c - `causet redact`: which attributes a server must not store as they came. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/redact_rule.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "wire/json_writer.h"

struct redact_values {
	const char *owner, *key, *value, *action, *level;
};

enum verb { VERB_ADD, VERB_LIST, VERB_REMOVE };

static const char *const words[] = {"add", "list", "remove", NULL};

static const struct option redact_options[] = {
	{.name = "key",
	 .type = OPTION_STRING,
	 .value = "GLOB",
	 .doc = "add: attributes whose key matches; nested ones by dotted path: 'user.*'",
	 .once = true,
	 .offset = offsetof(struct redact_values, key)},
	{.name = "value",
	 .type = OPTION_STRING,
	 .value = "REGEX",
	 .doc = "add: only values in which this POSIX extended regular expression is found",
	 .once = true,
	 .offset = offsetof(struct redact_values, value)},
	{.name = "action",
	 .type = OPTION_STRING,
	 .value = "drop|hash",
	 .doc = "add: leave the attribute out, or replace its value by a keyed hash",
	 .once = true,
	 .offset = offsetof(struct redact_values, action)},
	{.name = "owner",
	 .type = OPTION_STRING,
	 .value = "GLOB",
	 .doc = "add: only what these owners send [everybody]",
	 .once = true,
	 .offset = offsetof(struct redact_values, owner)},
	{.name = "level",
	 .type = OPTION_STRING,
	 .value = "LEVEL",
	 .doc = "add: only attributes of a resource, a scope, or a block (a span, its events and "
		"links, a log) [any]",
	 .once = true,
	 .offset = offsetof(struct redact_values, level)},
	{0},
};

static void put_rule(const struct redact_rule *r, struct buffer *out)
{
	struct json_writer w = json_write(out);
	char moment[QUANTITY_TEXT_BYTES];

	json_begin_object(&w);
	json_put_name(&w, "id");
	json_put_i64(&w, r->id);
	json_put_name(&w, "action");
	json_put_cstr(&w, redact_action_name(r->action));
	json_put_name(&w, "key");
	json_put_cstr(&w, r->key);
	json_put_name(&w, "value");
	if (r->value)
		json_put_cstr(&w, r->value);
	else
		json_put_null(&w);
	json_put_name(&w, "level");
	json_put_cstr(&w, redact_level_name(r->level));
	json_put_name(&w, "owner");
	json_put_cstr(&w, r->owner);
	if (r->created_ns) {
		json_put_name(&w, "created");
		json_put_cstr(&w, moment_format(r->created_ns, moment));
	}
	json_end_object(&w);
	buffer_byte(out, '\n');
}

/* "  2  hash  user.* where ^[0-9]+$, in block, of shop" */
static void print_rule(const struct redact_rule *r, struct buffer *out)
{
	buffer_printf(out, "%4" PRId64 "  %s  %s", r->id, redact_action_name(r->action), r->key);
	if (r->value)
		buffer_printf(out, " where %s", r->value);
	if (r->level != REDACT_ANY)
		buffer_printf(out, ", in %s", redact_level_name(r->level));
	if (strcmp(r->owner, "*") != 0)
		buffer_printf(out, ", of %s", r->owner);
	buffer_byte(out, '\n');
}

static int add(struct cli *cli, const struct redact_values *v, int argc, char **argv)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct redact_rule rule = {
		.owner = v->owner ? v->owner : "*", .key = v->key, .value = v->value};
	struct error e = {0};
	int r;

	if (argc > 0)
		return cli_usage(cli, "add takes options only, found '%s'", argv[0]);
	if (!v->key || !v->action)
		return cli_usage(cli, "add needs --key and --action");
	if (redact_action_parse(slice_cstr(v->action), &rule.action, &e) < 0 ||
	    (v->level && redact_level_parse(slice_cstr(v->level), &rule.level, &e) < 0) ||
	    redact_rule_check(&rule, &e) < 0)
		return cli_usage(cli, "%s", e.text);
	r = cli_catalog_open(cli, true, &cat);
	if (r != EXIT_OK)
		return r;
	if (redact_rule_add(cat, &rule, cli_actor(cli), &rule.id, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (cli->json)
		put_rule(&rule, &out);
	else if (!cli->quiet)
		print_rule(&rule, &out);
	return cli_print(cli, &out);
}

struct listing {
	struct buffer out;
	bool json;
	size_t n;
};

static void listing_done(struct listing *l)
{
	buffer_done(&l->out);
}

static int list_one(void *context, const struct redact_rule *rule)
{
	struct listing *l = context;

	l->n++;
	if (l->json)
		put_rule(rule, &l->out);
	else
		print_rule(rule, &l->out);
	return 0;
}

static int list(struct cli *cli, int argc, char **argv)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	_cleanup_(listing_done)
	struct listing l = {.json = cli->json};
	struct error e = {0};
	int r;

	if (argc > 0)
		return cli_usage(cli, "list takes no argument, found '%s'", argv[0]);
	r = cli_catalog_open(cli, false, &cat);
	if (r != EXIT_OK)
		return r;
	if (redact_rule_list(cat, list_one, &l, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (l.n == 0) {
		cli_note(cli, "there are no rules");
		return EXIT_NOTHING;
	}
	return cli_print(cli, &l.out);
}

static int redact_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct redact_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);

	if (verb < 0)
		return EXIT_USAGE;
	if (verb != VERB_ADD && (v->owner || v->key || v->value || v->action || v->level))
		return cli_usage(cli, "only add takes these options");
	switch (verb) {
	case VERB_ADD:
		return add(cli, v, argc - 1, argv + 1);
	case VERB_LIST:
		return list(cli, argc - 1, argv + 1);
	default:
		return cli_remove_rules(cli, argc - 1, argv + 1, redact_rule_remove);
	}
}

const struct command command_redact = {
	.name = "redact",
	.arguments = "add --key GLOB --action drop|hash | list | remove ID…",
	.summary = "say which attributes must not be stored as they came",
	.details =
		"Rules apply to what arrives from now on, before anything is stored; a running server takes "
		"notice within a second. They are tried in order and the first that matches decides. In a "
		"glob * stands for any run of characters and ? for one.\n\n"
		"drop leaves the attribute out. hash replaces its value by causet:hash: and 16 hex digits "
		"under a secret of the server's, so that equal values can still be found and counted.",
	.examples = "causet redact add --key '*password*' --action drop\n"
		    "causet redact add --key 'user.*' --action hash --owner shop\n"
		    "causet redact add --key '*' --value '[0-9]{16}' --action hash\n"
		    "causet redact remove 2\n",
	.options = redact_options,
	.values_size = sizeof(struct redact_values),
	.flags = COMMAND_OUTPUT | COMMAND_DATA,
	.words = words,
	.run = redact_run,
};
