/* cli/cmd_token.c - `causet token`: the tokens that clients show to a server.
 *
 * Works on the catalogue in the server's folder, whether or not the server runs: a running one
 * takes notice within a second. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/token.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "wire/json_writer.h"

struct token_values {
	const char *name, *roles, *expires;
};

enum verb { VERB_ADD, VERB_LIST, VERB_REVOKE };

static const char *const words[] = {"add", "list", "revoke", NULL};

static const struct option token_options[] = {
	{.name = "name",
	 .type = OPTION_STRING,
	 .value = "NAME",
	 .doc = "add: whose token it is; what it writes belongs to that name",
	 .once = true,
	 .offset = offsetof(struct token_values, name)},
	{.name = "roles",
	 .type = OPTION_STRING,
	 .value = "LIST",
	 .doc = "add: what it may do: ingest, read, query, admin, separated by commas, or all",
	 .once = true,
	 .offset = offsetof(struct token_values, roles)},
	{.name = "expires",
	 .type = OPTION_STRING,
	 .value = "WHEN",
	 .doc = "add: until when it is good: 30d, 12h, or a date such as 2030-01-31; without, for ever",
	 .once = true,
	 .offset = offsetof(struct token_values, expires)},
	{0},
};

static void put_roles(struct json_writer *w, unsigned roles)
{
	char text[ROLES_TEXT_BYTES];
	struct slice rest;

	roles_format(roles, text);
	rest = slice_cstr(text);
	json_begin_array(w);
	while (rest.n)
		json_put_string(w, slice_cut(&rest, ','));
	json_end_array(w);
}

static void put_moment(struct json_writer *w, const char *name, int64_t ns)
{
	char text[QUANTITY_TEXT_BYTES];

	json_put_name(w, name);
	if (ns == 0)
		json_put_null(w);
	else
		json_put_cstr(w, moment_format(ns, text));
}

/* A length of time from now, or a moment. */
static int parse_expiry(const char *text, int64_t *ret_ns)
{
	int64_t now = clock_wall_ns(), length;
	int r = duration_parse(slice_cstr(text), &length);

	if (r == 0)
		return __builtin_add_overflow(now, length, ret_ns) ? -ERANGE : 0;
	return moment_parse(slice_cstr(text), now, ret_ns);
}

static int print_added(struct cli *cli, const struct token_spec *spec, int64_t id, const char *text)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	char roles[ROLES_TEXT_BYTES];

	if (cli->json) {
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		json_put_name(&w, "id");
		json_put_i64(&w, id);
		json_put_name(&w, "name");
		json_put_cstr(&w, spec->owner);
		json_put_name(&w, "roles");
		put_roles(&w, spec->roles);
		put_moment(&w, "expires", spec->expires_ns);
		json_put_name(&w, "token");
		json_put_cstr(&w, text);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else {
		/* Nothing else on standard output: TOKEN=$(causet token add …) */
		buffer_printf(&out, "%s\n", text);
		roles_format(spec->roles, roles);
		cli_note(cli, "token %lld of %s may: %s; it is shown only this once", (long long)id,
			 spec->owner, roles);
	}
	return cli_print(cli, &out);
}

static int add(struct cli *cli, const struct token_values *v, int argc, char **argv)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct token_spec spec = {.owner = v->name ? v->name : argc > 0 ? argv[0] : NULL};
	char text[TOKEN_TEXT_CHARS + 1];
	struct error e = {0};
	int64_t id;
	int r;

	if (argc > (v->name ? 0 : 1))
		return cli_usage(cli, "add makes one token, found '%s' too", argv[argc - 1]);
	if (!spec.owner || !v->roles)
		return cli_usage(cli, "add needs --name and --roles");
	if (roles_parse(slice_cstr(v->roles), &spec.roles, &e) < 0 ||
	    owner_check(spec.owner, &e) < 0)
		return cli_usage(cli, "%s", e.text);
	if (v->expires && parse_expiry(v->expires, &spec.expires_ns) < 0)
		return cli_usage(cli, "--expires takes a length such as 30d or a date, not '%s'",
				 v->expires);
	spec.by = cli_actor(cli);

	r = cli_catalog_open(cli, true, &cat);
	if (r != EXIT_OK)
		return r;
	r = token_add(cat, &spec, text, &id, &e);
	if (r < 0)
		return r == -EINVAL ? cli_usage(cli, "%s", e.text)
				    : cli_fail(cli, EXIT_FAILED, "%s", e.text);
	return print_added(cli, &spec, id, text);
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

/* "2026-01-02 03:04" is enough for people. */
static const char *short_moment(int64_t ns, char out[QUANTITY_TEXT_BYTES])
{
	if (ns == 0)
		return "never";
	moment_format(ns, out);
	out[10] = ' ';
	out[16] = '\0';
	return out;
}

static int list_one(void *context, const struct token_info *t)
{
	struct listing *l = context;
	char roles[ROLES_TEXT_BYTES], created[QUANTITY_TEXT_BYTES], expires[QUANTITY_TEXT_BYTES],
		used[QUANTITY_TEXT_BYTES];

	l->n++;
	if (l->json) {
		struct json_writer w = json_write(&l->out);

		json_begin_object(&w);
		json_put_name(&w, "id");
		json_put_i64(&w, t->id);
		json_put_name(&w, "name");
		json_put_cstr(&w, t->owner);
		json_put_name(&w, "roles");
		put_roles(&w, t->roles);
		put_moment(&w, "created", t->created_ns);
		put_moment(&w, "expires", t->expires_ns);
		put_moment(&w, "used", t->used_ns);
		json_end_object(&w);
		buffer_byte(&l->out, '\n');
		return 0;
	}
	roles_format(t->roles, roles);
	if (l->n == 1)
		buffer_printf(&l->out, "%4s  %-20s  %-24s  %-16s  %-16s  %s\n", "ID", "NAME",
			      "ROLES", "CREATED (UTC)", "EXPIRES", "LAST USED");
	buffer_printf(&l->out, "%4lld  %-20s  %-24s  %-16s  %-16s  %s\n", (long long)t->id,
		      t->owner, roles, short_moment(t->created_ns, created),
		      short_moment(t->expires_ns, expires), short_moment(t->used_ns, used));
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
	if (token_list(cat, list_one, &l, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (l.n == 0) {
		cli_note(cli, "there are no tokens");
		return EXIT_NOTHING;
	}
	return cli_print(cli, &l.out);
}

static int print_revoked(struct cli *cli, const char *name, int n)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (cli->json) {
		struct json_writer w = json_write(&out);

		json_begin_object(&w);
		json_put_name(&w, "token");
		json_put_cstr(&w, name);
		json_put_name(&w, "revoked");
		json_put_i64(&w, n);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else if (!cli->quiet) {
		buffer_printf(&out, "revoked %d token%s: %s\n", n, n == 1 ? "" : "s", name);
	}
	return cli_print(cli, &out);
}

static int revoke_all(struct cli *cli, int argc, char **argv)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct error e = {0};
	int r, done = 0, missing = 0;

	if (argc == 0)
		return cli_usage(cli, "revoke needs names or numbers");
	r = cli_catalog_open(cli, false, &cat);
	if (r != EXIT_OK)
		return r;
	for (int i = 0; i < argc; i++) {
		r = token_revoke(cat, argv[i], cli_actor(cli), &e);
		if (r == -ENOENT) {
			cli_fail(cli, EXIT_NOTHING, "%s", e.text);
			missing++;
		} else if (r < 0) {
			return cli_fail(cli, EXIT_FAILED, "%s", e.text);
		} else if (print_revoked(cli, argv[i], r) != EXIT_OK) {
			return EXIT_FAILED;
		} else {
			done++;
		}
	}
	return missing == 0 ? EXIT_OK : done > 0 ? EXIT_PARTIAL : EXIT_NOTHING;
}

static int token_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct token_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);

	if (verb < 0)
		return EXIT_USAGE;
	if (verb != VERB_ADD && (v->name || v->roles || v->expires))
		return cli_usage(cli, "--name, --roles and --expires are for add");
	switch (verb) {
	case VERB_ADD:
		return add(cli, v, argc - 1, argv + 1);
	case VERB_LIST:
		return list(cli, argc - 1, argv + 1);
	default:
		return revoke_all(cli, argc - 1, argv + 1);
	}
}

const struct command command_token = {
	.name = "token",
	.arguments = "add --name NAME --roles LIST | list | revoke NAME|ID…",
	.summary = "add, list and revoke the tokens that clients show",
	.details =
		"A token says who sends or asks, and what that name may do. add prints it once, alone on "
		"standard output; only its hash is kept. revoke ends one token by its number or all "
		"tokens of a name. A running server takes notice within a second.\n\n"
		"Roles: ingest sends spans and events, read looks at traces, services and metrics, query "
		"runs queries, admin changes the catalogue and may do all of these.",
	.examples = "causet token add --name checkout --roles ingest --expires 90d\n"
		    "causet token list --json\n"
		    "causet token revoke checkout\n",
	.options = token_options,
	.values_size = sizeof(struct token_values),
	.flags = COMMAND_OUTPUT | COMMAND_DATA,
	.words = words,
	.run = token_run,
};
