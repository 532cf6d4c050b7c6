/* cli/ask.c - a query, asked of a server or of a folder. */
#include "cli/ask.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/ask_int.h"
#include "core/clock.h"

const char *const ask_dialects[] = {
	[DIALECT_CAUSETQL] = "causetql", [DIALECT_TRACEQL] = "traceql", NULL};

static int moment(struct cli *cli, const char *option, const char *text, int64_t now_ns,
		  int64_t *ret_ns)
{
	if (text && moment_parse(slice_cstr(text), now_ns, ret_ns) < 0)
		return cli_usage(cli,
				 "--%s is a moment: RFC 3339, a number since 1970, or relative as "
				 "-1h; not '%s'",
				 option, text);
	return 0;
}

int ask_init(struct ask *ask, struct cli *cli, const struct ask_values *values)
{
	int64_t memory = 0;

	*ask = (struct ask){.cli = cli, .values = values, .now_ns = clock_wall_ns()};
	if (values->memory && (size_parse(slice_cstr(values->memory), &memory) < 0 || memory <= 0))
		return cli_usage(cli, "--memory is a size, as 64MiB; not '%s'", values->memory);
	ask->memory_bytes = (size_t)memory;
	if (moment(cli, "start", values->start, ask->now_ns, &ask->range.from_ns) ||
	    moment(cli, "end", values->end, ask->now_ns, &ask->range.to_ns))
		return EXIT_USAGE;
	if (ask->range.from_ns && ask->range.to_ns && ask->range.from_ns >= ask->range.to_ns)
		return cli_usage(cli, "--start lies behind --end");
	return 0;
}

void ask_show_diags(const struct ask *ask, struct diags *diags)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};

	if (diags->n == 0 || (diags->errors == 0 && ask->cli->quiet))
		return;
	diags_sort(diags);
	diags_show(diags, ask->text.text, ask->text.name, &out);
	fputs(buffer_cstr(&out), stderr);
}

int ask_give(struct ask *ask, const struct value *values, const double *plus_minus, size_t n)
{
	for (size_t i = 0; plus_minus && i < n; i++)
		ask->estimate |= plus_minus[i] != 0;
	return ask->sink->row(ask->sink->context, values, plus_minus, n);
}

/* What is to be known about the answer. */
static void show_stats(const struct ask *ask, int64_t elapsed_ns)
{
	const struct query_stats *s = &ask->stats;
	char time[QUANTITY_TEXT_BYTES], memory[QUANTITY_TEXT_BYTES];

	for (size_t i = 0; i < s->warning_n; i++)
		cli_note(ask->cli, "%s: %s", diag_code_text(s->warnings[i].code),
			 s->warnings[i].text);
	if (ask->estimate)
		cli_note(ask->cli, "estimated: traces were sampled, \xc2\xb1 is half the width of "
				   "the 95 %% interval");
	if (s->truncated)
		cli_note(ask->cli, "there are more rows: see --limit");
	if (ask->cli->verbose)
		cli_note(ask->cli,
			 "%s; %llu rows of %llu traces looked at, %llu traces ruled out before, "
			 "%llu tuples joined, %s of memory",
			 duration_format(elapsed_ns, time), (unsigned long long)s->rows,
			 (unsigned long long)s->traces, (unsigned long long)s->traces_pruned,
			 (unsigned long long)s->tuples_packed, size_format(s->memory_peak, memory));
}

int ask_run(struct ask *ask)
{
	struct interrupt interrupt = {0};
	int64_t began = clock_mono_ns();
	int code;

	ask->interrupt = &interrupt;
	interrupt_begin(&interrupt);
	code = ask->values->data ? ask_local_run(ask) : ask_remote_run(ask);
	interrupt_end(&interrupt);
	ask->interrupt = NULL;
	if (code == EXIT_OK)
		show_stats(ask, clock_mono_ns() - began);
	else if (atomic_load(&interrupt.hit))
		code = cli_fail(ask->cli, EXIT_INTERRUPTED, "cancelled");
	return code;
}

int ask_explain(struct ask *ask, bool live, struct buffer *out)
{
	return ask->values->data ? ask_local_explain(ask, live, out)
				 : ask_remote_explain(ask, live, out);
}
