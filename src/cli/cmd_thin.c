/* cli/cmd_thin.c - `causet thin`: what stays of old traces. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/thin_rule.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "sampling/threshold.h"
#include "wire/json_writer.h"

#define DAY_NS (86400 * NS_PER_S)

struct thin_values {
	int64_t after_ns;
	const char *keep, *slow;
	int64_t rare;
	bool errors;
	struct option_list attributes;
};

enum verb { VERB_ADD, VERB_LIST, VERB_REMOVE };

static const char *const words[] = {"add", "list", "remove", NULL};

static const struct option thin_options[] = {
	{.name = "after",
	 .type = OPTION_DURATION,
	 .min = 0,
	 .max = INT64_MAX,
	 .value = "AGE",
	 .doc = "add: from this age on, counted from when a trace's last part arrived: 7d",
	 .once = true,
	 .offset = offsetof(struct thin_values, after_ns)},
	{.name = "keep",
	 .type = OPTION_STRING,
	 .value = "SHARE",
	 .doc = "add: share of all traces sent that stays of those nothing below speaks for: 10%, 1/10; 0 is none",
	 .once = true,
	 .offset = offsetof(struct thin_values, keep)},
	{.name = "errors",
	 .type = OPTION_BOOL,
	 .fallback = "on",
	 .doc = "add: every trace with a failed span stays",
	 .once = true,
	 .offset = offsetof(struct thin_values, errors)},
	{.name = "slow",
	 .type = OPTION_STRING,
	 .fallback = "99%",
	 .value = "QUANTILE",
	 .doc = "add: traces at or above this quantile of their operation stay; off: not looked at",
	 .once = true,
	 .offset = offsetof(struct thin_values, slow)},
	{.name = "rare",
	 .type = OPTION_INT,
	 .fallback = "10",
	 .min = 0,
	 .max = INT32_MAX,
	 .value = "N",
	 .doc = "add: traces of a shape (who calls whom) seen at most so often stay; 0: not looked at",
	 .once = true,
	 .offset = offsetof(struct thin_values, rare)},
	{.name = "attributes",
	 .type = OPTION_LIST,
	 .value = "KEY[=VALUE],…",
	 .doc = "add: traces with one of these on a span or its resource stay; * and ? stand for others",
	 .once = true,
	 .offset = offsetof(struct thin_values, attributes)},
	{0},
};

static void put_rule(const struct thin_rule_row *r, struct buffer *out)
{
	struct json_writer w = json_write(out);
	struct slice rest = slice_cstr(r->attributes);
	char moment[QUANTITY_TEXT_BYTES];

	json_begin_object(&w);
	json_put_name(&w, "id");
	json_put_i64(&w, r->id);
	json_put_name(&w, "after_seconds");
	json_put_double(&w, (double)r->after_ns / 1e9);
	json_put_name(&w, "keep");
	json_put_double(&w, threshold_probability(r->threshold));
	json_put_name(&w, "errors");
	json_put_bool(&w, r->errors);
	json_put_name(&w, "slow");
	json_put_double(&w, r->slow);
	json_put_name(&w, "rare");
	json_put_i64(&w, r->rare);
	json_put_name(&w, "attributes");
	json_begin_array(&w);
	while (rest.n > 0)
		json_put_string(&w, slice_cut(&rest, '\n'));
	json_end_array(&w);
	if (r->created_ns) {
		json_put_name(&w, "created");
		json_put_cstr(&w, moment_format(r->created_ns, moment));
	}
	json_end_object(&w);
	buffer_byte(out, '\n');
}

/* "  2  after 7d: errors, slow from 99% on, shapes seen up to 10 times, tier=gold; 10% of the rest"
 */
static void print_rule(const struct thin_rule_row *r, struct buffer *out)
{
	struct slice rest = slice_cstr(r->attributes);
	char age[QUANTITY_TEXT_BYTES];
	const char *between = " ";

	if (r->after_ns % DAY_NS == 0)
		snprintf(age, sizeof(age), "%lldd", (long long)(r->after_ns / DAY_NS));
	else
		duration_format(r->after_ns, age);
	buffer_printf(out, "%4" PRId64 "  after %s:", r->id, age);
	if (r->errors) {
		buffer_printf(out, "%serrors", between);
		between = ", ";
	}
	if (r->slow > 0) {
		buffer_printf(out, "%sslow from %.6g%% on", between, r->slow * 100);
		between = ", ";
	}
	if (r->rare > 0) {
		buffer_printf(out, "%sshapes seen up to %" PRId64 " times", between, r->rare);
		between = ", ";
	}
	while (rest.n > 0) {
		struct slice attribute = slice_cut(&rest, '\n');

		buffer_printf(out, "%s%.*s", between, SLICE_ARG(attribute));
		between = ", ";
	}
	buffer_printf(out, "%s%.6g%% of the rest\n", between[0] == ',' ? "; " : " ",
		      threshold_probability(r->threshold) * 100);
}

/* Options to a rule; the attributes' text goes to `attributes`. */
static int rule_of(struct cli *cli, const struct thin_values *v, struct buffer *attributes,
		   struct thin_rule_row *ret_rule)
{
	struct thin_rule_row rule = {.after_ns = v->after_ns, .errors = v->errors, .rare = v->rare};
	struct error e = {0};
	double share;

	if (v->after_ns == 0 || !v->keep)
		return cli_usage(cli, "add needs --after and --keep");
	if (share_parse(slice_cstr(v->keep), &share) < 0 ||
	    threshold_from_probability(share, &rule.threshold) < 0)
		return cli_usage(cli, "--keep '%s' is not a share from 0 to 1: 0.1, 10%%, 1/10",
				 v->keep);
	if (strcmp(v->slow, "off") != 0 &&
	    (share_parse(slice_cstr(v->slow), &rule.slow) < 0 || rule.slow == 0))
		return cli_usage(cli, "--slow '%s' is not a quantile such as 99%%, nor off",
				 v->slow);
	for (size_t i = 0; v->attributes.items && v->attributes.items[i]; i++) {
		if (i > 0)
			buffer_byte(attributes, '\n');
		buffer_text(attributes, v->attributes.items[i]);
	}
	rule.attributes = buffer_cstr(attributes);
	if (thin_rule_check(&rule, &e) < 0)
		return cli_usage(cli, "%s", e.text);
	*ret_rule = rule;
	return EXIT_OK;
}

static int add(struct cli *cli, const struct thin_values *v, int argc, char **argv)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	_cleanup_(buffer_done)
	struct buffer out = {0};
	_cleanup_(buffer_done)
	struct buffer attributes = {0};
	struct thin_rule_row rule;
	struct error e = {0};
	int r;

	if (argc > 0)
		return cli_usage(cli, "add takes options only, found '%s'", argv[0]);
	r = rule_of(cli, v, &attributes, &rule);
	if (r != EXIT_OK)
		return r;
	r = cli_catalog_open(cli, true, &cat);
	if (r != EXIT_OK)
		return r;
	if (thin_rule_add(cat, &rule, cli_actor(cli), &rule.id, &e) < 0)
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

static int list_one(void *context, const struct thin_rule_row *rule)
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
	if (thin_rule_list(cat, list_one, &l, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	if (l.n == 0) {
		cli_note(cli, "there are no rules: nothing is thinned");
		return EXIT_NOTHING;
	}
	return cli_print(cli, &l.out);
}

static int thin_run(struct cli *cli, const void *values, int argc, char **argv)
{
	const struct thin_values *v = values;
	int verb = cli_verb(cli, words, argc, argv);

	if (verb < 0)
		return EXIT_USAGE;
	if (verb != VERB_ADD && (v->after_ns || v->keep || v->attributes.items))
		return cli_usage(cli, "only add takes these options");
	switch (verb) {
	case VERB_ADD:
		return add(cli, v, argc - 1, argv + 1);
	case VERB_LIST:
		return list(cli, argc - 1, argv + 1);
	default:
		return cli_remove_rules(cli, argc - 1, argv + 1, thin_rule_remove);
	}
}

const struct command command_thin = {
	.name = "thin",
	.arguments = "add --after AGE --keep SHARE | list | remove ID…",
	.summary = "say what stays of old traces",
	.details =
		"Traces that are old enough are thinned when their segments are compacted: those that failed, were "
		"slow for their operation, have a rare shape or a chosen attribute stay, and a share of the rest, "
		"chosen by a hash of the trace id. Each one that stays records its probability, so totals can still be "
		"estimated. Without a rule nothing is thinned. A running server takes notice within a second.\n\n"
		"Of several rules the one for the highest age that a trace has reached decides. The share counts from "
		"what was sent (see causet-keep), so thinning twice is thinning once.",
	.examples = "causet thin add --after 7d --keep 10%\n"
		    "causet thin add --after 30d --keep 1/100 --attributes 'customer.tier=gold'\n"
		    "causet thin list\n"
		    "causet thin remove 1\n",
	.options = thin_options,
	.values_size = sizeof(struct thin_values),
	.flags = COMMAND_OUTPUT | COMMAND_DATA,
	.words = words,
	.run = thin_run,
};
