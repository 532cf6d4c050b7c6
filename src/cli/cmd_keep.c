/* cli/cmd_keep.c - `causet keep`: the share of traces that a server keeps of those it is sent. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/keep.h"
#include "cli/cli_catalog.h"
#include "cli/commands.h"
#include "sampling/second.h"
#include "wire/json_writer.h"

enum verb { VERB_SHOW, VERB_SET };

static const char *const words[] = {"show", "set", NULL};

static int print_share(struct cli *cli, uint64_t threshold)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	double share = threshold_probability(threshold);

	if (cli->json) {
		struct json_writer w = json_write(&out);
		char digits[THRESHOLD_DIGITS + 1];

		threshold_format(threshold, digits);
		json_begin_object(&w);
		json_put_name(&w, "share");
		json_put_double(&w, share);
		json_put_name(&w, "threshold");
		json_put_cstr(&w, digits);
		json_end_object(&w);
		buffer_byte(&out, '\n');
	} else if (threshold == THRESHOLD_ALWAYS) {
		buffer_printf(&out, "every trace is kept\n");
	} else {
		buffer_printf(&out, "%.6g of all traces are kept; one stands for %.6g\n", share,
			      threshold_weight(threshold));
	}
	return cli_print(cli, &out);
}

static int show(struct cli *cli)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct error e = {0};
	uint64_t threshold;
	int r = cli_catalog_open(cli, false, &cat);

	if (r != EXIT_OK)
		return r;
	if (keep_get(cat, &threshold, &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	return print_share(cli, threshold);
}

static int set(struct cli *cli, const char *text)
{
	_cleanup_(catalog_closep)
	struct catalog *cat = NULL;
	struct error e = {0};
	uint64_t threshold;
	double share;
	int r;

	if (share_parse(slice_cstr(text), &share) < 0 || share == 0 ||
	    threshold_from_probability(share, &threshold) < 0)
		return cli_usage(cli,
				 "'%s' is not a share above 0 and up to 1, such as 0.25, 25%% or "
				 "1/4; to keep nothing, stop sending",
				 text);
	r = cli_catalog_open(cli, true, &cat);
	if (r != EXIT_OK)
		return r;
	if (keep_set(cat, threshold, share, cli_actor(cli), &e) < 0)
		return cli_fail(cli, EXIT_FAILED, "%s", e.text);
	return cli->quiet ? EXIT_OK : print_share(cli, threshold);
}

static int keep_run(struct cli *cli, const void *values, int argc, char **argv)
{
	int verb = cli_verb(cli, words, argc, argv);

	(void)values;
	if (verb < 0)
		return EXIT_USAGE;
	if (verb == VERB_SHOW && argc > 1)
		return cli_usage(cli, "show takes no argument, found '%s'", argv[1]);
	if (verb == VERB_SET && argc != 2)
		return cli_usage(cli, "set needs one share, such as 0.25, 25%% or 1/4");
	return verb == VERB_SHOW ? show(cli) : set(cli, argv[1]);
}

const struct command command_keep = {
	.name = "keep",
	.arguments = "show | set SHARE",
	.summary = "say what share of the traces it is sent a server keeps",
	.details =
		"A second sampling, behind that of the senders: one number that steers how much is written. "
		"Whole traces are kept or left out, by a hash of the trace id, so the parts of a trace that "
		"come from different hosts share its fate. A kept trace records its probability, and what was "
		"left out is counted in the metric causet_ingest_sampled_out_total; a sender gets the same answer "
		"either way.\n\n"
		"A running server follows within a second. A smaller share keeps a subset of what a larger one "
		"does. What is stored already stays.",
	.examples = "causet keep set 25%\n"
		    "causet keep set 1\n"
		    "causet keep show\n",
	.flags = COMMAND_OUTPUT | COMMAND_DATA,
	.words = words,
	.run = keep_run,
};
