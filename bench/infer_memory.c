/* bench/infer_memory.c - what linking a stream keeps in memory.  A made-up trace goes by, each
 * measurement in a process of its own:
 *
 *   bytes a message   what a window of twice the calls takes more, by the messages it has more
 *   flat              the most after all of the stream against the most after a tenth of it */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/infer.h"
#include "bench/spans.h"
#include "infer/generate.h"
#include "infer/linking.h"

#define BAR_BYTES 32
#define BAR_FLAT  1.1
#define STREAM    100000000 /* messages, when nobody says */
#define WINDOW    500000    /* calls */
#define PER_CALL  2         /* messages */
#define MAPPED    (1 << 20) /* blocks of this size are given back to the system, as causet does */

static const char spec_text[] =
	"duration 10s\n"
	"seed 5\n"
	"call lognormal 3ms 40%\n"
	"ret lognormal 2ms 40%\n"
	"think uniform 0ms 80ms\n"
	"tracelet shop instances 6: C -> WEB { AUTH { DB }; APP { CACHE; DB } }\n";

struct run {
	const struct infer_mode *mode;
	double messages;
	size_t window; /* calls */
};

struct spent {
	double bytes;  /* at the most */
	double cpu_us; /* a message, making it up included */
};

static int pass(void *context, const struct message *messages, size_t n)
{
	return 0;
}

/* A trace of about that many messages. */
static int spec_make(double messages, struct spec *ret)
{
	const struct generate_sink nowhere = {.messages = {.put = pass}};
	struct generate_tally tally;
	struct error error = {0};
	int r = spec_parse(ret, slice_cstr(spec_text), &error);

	if (r < 0) {
		fprintf(stderr, "%s\n", error.text);
		return r;
	}
	r = generate(ret, &nowhere, &tally);
	ret->duration_ns = (int64_t)((double)ret->duration_ns * messages / (double)tally.messages);
	return r;
}

static int stream(const struct run *run)
{
	struct linking_options options = {
		.mode = run->mode, .infer = INFER_OPTIONS_DEFAULT, .max_calls = run->window};
	struct generate_sink sink = {0};
	struct generate_tally tally;
	struct linking *linking;
	struct patterns patterns;
	struct spec spec;
	int r = spec_make(run->messages, &spec);

	if (r < 0)
		return r;
	patterns_init(&patterns, &spec.names);
	r = linking_new(&options, &patterns, &linking);
	if (r < 0)
		return r;
	sink.messages = linking_sink(linking);
	r = generate(&spec, &sink, &tally);
	if (r == 0)
		r = linking_finish(linking);
	linking_free(linking);
	patterns_done(&patterns);
	spec_done(&spec);
	return r;
}

static int measure(const struct run *run, struct spent *ret)
{
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		mallopt(M_MMAP_THRESHOLD, MAPPED);
		_exit(stream(run) < 0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) < 0 || status != 0) {
		fprintf(stderr, "linking a stream failed\n");
		return -1;
	}
	ret->bytes = (double)used.ru_maxrss * 1024;
	ret->cpu_us = ((double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec)) /
		      run->messages;
	return 0;
}

static unsigned figure(const char *what, const char *mode, double value, const char *unit,
		       double bar)
{
	printf("  %-8s %-44s %8.2f %-6s bar %6.1f  %s\n", mode, what, value, unit, bar,
	       value <= bar ? "MET" : "NOT MET");
	return value > bar;
}

static int mode_measure(const char *name, double messages, unsigned *missed)
{
	struct run run = {.mode = infer_mode_find(slice_cstr(name)), .window = WINDOW};
	struct spent small, twice, tenth, all;

	run.messages = 8.0 * WINDOW * PER_CALL;
	if (!run.mode || measure(&run, &small) < 0)
		return -1;
	run.window = 2 * (size_t)WINDOW;
	if (measure(&run, &twice) < 0)
		return -1;
	*missed +=
		figure("memory of a message in flight", name,
		       (twice.bytes - small.bytes) / ((double)WINDOW * PER_CALL), "B", BAR_BYTES);
	run.window = WINDOW;
	run.messages = messages / 10;
	if (measure(&run, &tenth) < 0)
		return -1;
	run.messages = messages;
	if (measure(&run, &all) < 0)
		return -1;
	printf("  %-8s %.0f million messages: %.1f MiB at the most, %.1f after a tenth; %.2f us of "
	       "CPU a message, making it up included\n",
	       name, messages / 1e6, all.bytes / (1 << 20), tenth.bytes / (1 << 20), all.cpu_us);
	*missed += figure("memory after all against after a tenth", name, all.bytes / tenth.bytes,
			  "times", BAR_FLAT);
	return 0;
}

int bench_infer_memory(int argc, char **argv)
{
	double messages = argc > 0 ? atof(argv[0]) : STREAM;
	unsigned missed = 0;

	if (messages < 20.0 * WINDOW) {
		fprintf(stderr, "a stream has at least %.0f messages\n", 20.0 * WINDOW);
		return 2;
	}
	printf("a stream of calls, windows of %d calls:\n", WINDOW);
	if (mode_measure("nesting", messages, &missed) < 0 ||
	    mode_measure("best", messages, &missed) < 0)
		return 2;
	return (int)missed;
}
