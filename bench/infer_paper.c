/* bench/infer_paper.c - the experiments of "Performance Debugging for Distributed Systems of Black
 * Boxes" (SOSP 2003) again, with our traces: Table 1, Figures 17 and 19 to 23, and §7.5.7.
 *
 * The findings that the text names are bars; the exit code is how many are missed. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/infer.h"
#include "bench/infer_case.h"
#include "bench/plot.h"
#include "bench/spans.h"
#include "core/clock.h"

#define SPEC_BYTES 4096

static const char *folder;
static int missed;

/* A finding of the text. */
static void finding(bool holds, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("%s: ", holds ? "holds" : "MISSED");
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	missed += !holds;
}

static int system_case(struct infer_case *c, int which, const char *settings)
{
	char text[SPEC_BYTES];

	snprintf(text, sizeof(text), infer_systems[which].spec, settings);
	return case_make(c, text);
}

static struct case_answer nested(const struct infer_case *c, const struct infer_options *o)
{
	struct infer_options options = INFER_OPTIONS_DEFAULT;
	struct case_answer a;

	if (case_link(c, &nesting_mode, o ? o : &options, &a))
		exit(2);
	return a;
}

/* --- Table 1 --- */

struct row {
	const char *name;
	const char *spec;              /* of specs/; NULL: the multi-tier site */
	const char *settings;          /* of its own */
	double paper_nest_s, paper_mb; /* 0: nesting is not for it */
	int64_t quantum_ns;            /* 0: nesting only */
	double paper_conv_s;
};

static const struct row rows[] = {
	{"multi-tier short", NULL,
	 "duration 50s\ninstances 15\ncall normal 20ms 10%\nret normal 5ms 10%\n", 0.23, 1.5, 0, 0},
	{"multi-tier normal", NULL,
	 "duration 500s\ninstances 15\ncall normal 20ms 10%\nret normal 5ms 10%\n", 2.27, 13.8,
	 10000000, 6684},
	{"multi-tier added-delay", NULL,
	 "duration 500s\ninstances 15\ncall normal 20ms 10%\nret normal 5ms 10%\n"
	 "add 200ms at WS2 after AUTH\n",
	 2.31, 13.4, 10000000, 6709},
	{"multi-tier long", NULL,
	 "duration 5000s\ninstances 15\ncall normal 20ms 10%\nret normal 5ms 10%\n", 23.97, 136.8,
	 0, 0},
	{"parallelism-low", NULL,
	 "duration 5000s\ninstances 2\nthink uniform 0ms 300ms\ncall normal 20ms 10%\n"
	 "ret normal 5ms 10%\n",
	 7.54, 54.0, 0, 0},
	{"parallelism-medium", NULL, "duration 500s\ninstances 61\n", 11.15, 54.2, 0, 0},
	{"parallelism-high", NULL, "duration 50s\ninstances 615\n", 233.61, 132.1, 0, 0},
	{"PetStore normal", "petstore", "", 3.34, 19.8, 20000000, 12780},
	{"PetStore const-delay", "petstore-const-delay", "", 2.92, 18.4, 20000000, 6301},
	{"PetStore normal, full", "petstore", "duration 10799s\n", 17.12, 97.1, 0, 0},
	{"PetStore const-delay, full", "petstore-const-delay", "duration 10799s\n", 16.41, 93.2, 0,
	 0},
	{"e-mail, 5 s", "mail", "", 0, 131, 5000000000, 2106},
	{"e-mail, 30 s", "mail", "", 0, 36, 30000000000, 338},
};

/* The trace of an installed spec, with settings that come last and therefore count. */
static int spec_case(struct infer_case *c, const char *name, const char *settings)
{
	char path[256], text[SPEC_BYTES];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), SPECS "/%s.spec", name);
	file = fopen(path, "r");
	if (!file) {
		perror(path);
		return -1;
	}
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	snprintf(text + n, sizeof(text) - n, "%s", settings);
	return case_make(c, text);
}

static double row_convolve(const struct row *row, const struct infer_case *c)
{
	struct convolution_options o = CONVOLUTION_OPTIONS_DEFAULT;
	struct convolution found;
	struct error error = {0};
	double start = bench_cpu();

	o.quantum_ns = row->quantum_ns;
	if (row->paper_nest_s > 0)
		o.longest_ns = 500000000;
	if (convolution_infer(&c->messages, c->nodes.n, &o, &found, &error) < 0)
		_exit(2);
	convolution_done(&found);
	return bench_cpu() - start;
}

static void row_run(const struct row *row)
{
	struct infer_case c;
	struct rusage before, after;
	double conv = 0;

	if (row->spec ? spec_case(&c, row->spec, row->settings)
		      : system_case(&c, SYSTEM_MULTI_TIER, row->settings))
		_exit(2);
	printf("%-26s %9zu %7.0f ", row->name, c.messages.n, c.seconds);
	getrusage(RUSAGE_SELF, &before);
	if (row->paper_nest_s > 0) {
		struct case_answer a = nested(&c, NULL);

		printf("%7.2f %8.1f %8.1f %8.3f %8.2f ", a.parallelism, row->paper_mb,
		       (double)(a.peak_kib - before.ru_maxrss) / 1024, a.cpu_s, row->paper_nest_s);
		if (row->quantum_ns)
			conv = row_convolve(row, &c);
		printf("%8.2f %9.0f %8.1f\n", conv, row->paper_conv_s,
		       (double)c.messages.n / a.cpu_s / 1e6);
		answer_done(&a);
	} else {
		conv = row_convolve(row, &c);
		getrusage(RUSAGE_SELF, &after);
		printf("%7s %8.1f %8.1f %8s %8s %8.2f %9.0f\n", "", row->paper_mb,
		       (double)(after.ru_maxrss - before.ru_maxrss) / 1024, "", "", conv,
		       row->paper_conv_s);
	}
	fflush(stdout);
	case_done(&c);
}

/* Each row in a process of its own, so that the memory is its own. */
static void table_1(void)
{
	printf("Table 1, with the paper's figures (its machines: P4 1.7 GHz, Alpha 667 MHz)\n"
	       "%-26s %9s %7s %7s %8s %8s %8s %8s %8s %9s %8s\n",
	       "trace", "messages", "s", "p", "MB then", "MB", "nest s", "then", "conv s", "then",
	       "M msg/s");
	fflush(stdout);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			row_run(&rows[i]);
			_exit(0);
		}
		waitpid(child, &status, 0);
		if (status != 0)
			exit(2);
	}
}

/* --- Figure 17 --- */

static void figure_17(void)
{
	struct plot p = {.file = "figure-17",
			 .title = "Figure 17: true top-N patterns that nesting leaves out, p = 42",
			 .x_title = "N",
			 .y_title = "omitted"};
	struct curve *all = plot_curve(&p, "all"), *beyond2 = plot_curve(&p, "beyond 2 %"),
		     *beyond6 = plot_curve(&p, "beyond 6 %");
	struct infer_case c;
	struct case_answer a;

	if (system_case(&c, SYSTEM_MULTI_TIER, "duration 13s\ninstances 590\n"))
		exit(2);
	a = nested(&c, NULL);
	for (uint32_t i = 0; i < a.score.top_n; i++) {
		const struct score_top *t = &a.score.top[i];

		curve_point(all, t->n, (double)t->omitted / t->n);
		curve_point(beyond2, t->n, (double)t->near2 / t->n);
		curve_point(beyond6, t->n, (double)t->near6 / t->n);
	}
	printf("\n%zu messages, p = %.1f\n", c.messages.n, a.parallelism);
	plot_show(&p, folder);
	answer_done(&a);
	case_done(&c);
}

/* --- Figures 19 and 20 --- */

static void figure_19(void)
{
	static const int instances[] = {1, 2, 4, 8, 16, 32, 128, 512, 2048};
	struct plot p = {.file = "figure-19",
			 .title = "Figure 19: false path instances against parallelism, nesting",
			 .x_title = "parallelism",
			 .y_title = "false positives"};

	for (int s = 0; s < SYSTEM_N; s++) {
		struct curve *curve = plot_curve(&p, infer_systems[s].name);

		/* The last three only where the text says that something changes. */
		for (size_t i = 0; i < (s == SYSTEM_PARALLEL ? ARRAY_SIZE(instances) : 6); i++) {
			struct infer_case c;
			struct case_answer a;
			char settings[200];

			snprintf(settings, sizeof(settings),
				 "duration %ds\nthink uniform 0ms 400ms\ninstances %d\n",
				 1200 / instances[i] + 1, instances[i]);
			if (system_case(&c, s, settings))
				exit(2);
			a = nested(&c, NULL);
			curve_point(curve, a.parallelism, answer_false_positives(&a));
			answer_done(&a);
			case_done(&c);
		}
	}
	plot_show(&p, folder);
	for (size_t i = 0; i < p.n; i++) {
		const struct curve *c = &p.curves[i];

		if (i == SYSTEM_PARALLEL) {
			finding(c->y[c->n - 1] < c->y[5] / 2,
				"%s gets better again with much parallelism: %.3f at %.1f, %.3f at %.1f",
				c->name, c->y[5], c->x[5], c->y[c->n - 1], c->x[c->n - 1]);
			continue;
		}
		finding(c->y[0] < c->y[c->n - 1],
			"%s gets worse with parallelism: %.3f at %.1f, %.3f at %.1f", c->name,
			c->y[0], c->x[0], c->y[c->n - 1], c->x[c->n - 1]);
	}
}

static void figure_20(void)
{
	static const int deviations[] = {2, 10, 20, 30, 40, 50};
	struct plot p = {.file = "figure-20",
			 .title =
				 "Figure 20: false path instances against the deviation of delays, "
				 "nesting",
			 .x_title = "sd %",
			 .y_title = "false positives"};

	for (int s = 0; s < SYSTEM_N; s++) {
		struct curve *curve = plot_curve(&p, infer_systems[s].name);

		for (size_t i = 0; i < ARRAY_SIZE(deviations); i++) {
			struct infer_case c;
			struct case_answer a;
			char settings[240];

			snprintf(settings, sizeof(settings),
				 "duration 200s\nthink uniform 0ms 400ms\ninstances 6\n"
				 "call normal %s %d%%\nret normal %s %d%%\n",
				 s == SYSTEM_MULTI_TIER ? "30ms" : "20ms", deviations[i],
				 s == SYSTEM_MULTI_TIER ? "8ms" : "10ms", deviations[i]);
			if (system_case(&c, s, settings))
				exit(2);
			a = nested(&c, NULL);
			curve_point(curve, deviations[i], answer_false_positives(&a));
			answer_done(&a);
			case_done(&c);
		}
	}
	plot_show(&p, folder);
	for (size_t i = 0; i < p.n; i++)
		finding(p.curves[i].y[0] < p.curves[i].y[p.curves[i].n - 1],
			"%s gets worse with variation: %.3f at 2 %%, %.3f at 50 %%",
			p.curves[i].name, p.curves[i].y[0], p.curves[i].y[p.curves[i].n - 1]);
}

/* --- Figure 21 --- */

static void figure_21(void)
{
	struct plot p = {
		.file = "figure-21",
		.title = "Figure 21: true path instances lost against messages lost, nesting",
		.x_title = "dropped",
		.y_title = "false negatives",
		.log_x = true};
	static const int systems[] = {SYSTEM_MULTI_TIER, SYSTEM_0_2, SYSTEM_D_CC};

	for (size_t s = 0; s < ARRAY_SIZE(systems); s++) {
		const char *settings = "duration 300s\nthink uniform 0ms 400ms\ninstances 3\n";
		struct curve *curve = plot_curve(&p, infer_systems[systems[s]].name);
		struct infer_case whole;
		struct patterns truth;
		struct case_answer base;
		double rate, none;

		if (system_case(&whole, systems[s], settings) || case_true_patterns(&whole, &truth))
			exit(2);
		base = nested(&whole, NULL);
		none = patterns_missing(&truth, &base.patterns);
		curve_point(curve, 0.0001, none);
		rate = (double)whole.messages.n / whole.seconds;
		for (double slow = 1.12; slow > 0.5; slow -= 0.03) {
			struct infer_case c;
			struct case_answer a;
			double dropped, lost;
			char with[300];

			snprintf(with, sizeof(with), "%sloss queue 64 rate %.1f\n", settings,
				 rate * slow);
			if (system_case(&c, systems[s], with))
				exit(2);
			a = nested(&c, NULL);
			dropped = (double)c.lost / (double)(c.lost + c.messages.n);
			lost = patterns_missing(&truth, &a.patterns);
			if (dropped > 0.0001)
				curve_point(curve, dropped, lost);
			if (dropped > 0 && dropped < 0.01)
				finding(lost < none + 0.03,
					"%s: %.2f %% of the messages lost, %.1f %% of the paths "
					"missing, %.1f %% without loss",
					curve->name, 100 * dropped, 100 * lost, 100 * none);
			answer_done(&a);
			case_done(&c);
		}
		answer_done(&base);
		patterns_done(&truth);
		case_done(&whole);
	}
	plot_show(&p, folder);
}

/* --- Figure 22 --- */

static double skewed(int64_t skew_ms, int64_t window_ms, double smooth)
{
	struct infer_options o = INFER_OPTIONS_DEFAULT;
	struct infer_case c;
	struct case_answer a;
	char settings[300];
	double fn;

	snprintf(settings, sizeof(settings),
		 "duration 150s\ninstances 15\nsightings sent\ncall normal 50ms 10%%\n"
		 "ret normal 10ms 10%%\nskew WS2 %lldms\n",
		 (long long)skew_ms);
	if (system_case(&c, SYSTEM_MULTI_TIER, settings))
		exit(2);
	o.skew_ns = window_ms * NS_PER_MS;
	o.smooth = smooth;
	a = nested(&c, &o);
	fn = answer_false_negatives(&a);
	answer_done(&a);
	case_done(&c);
	return fn;
}

static void figure_22(void)
{
	struct plot p = {
		.file = "figure-22",
		.title = "Figure 22: true path instances lost against skew at WS2, window 30 ms",
		.x_title = "skew ms",
		.y_title = "false negatives"};
	struct curve *none = plot_curve(&p, "no comp"), *comp = plot_curve(&p, "comp"),
		     *smooth = plot_curve(&p, "comp+smooth"),
		     *back = plot_curve(&p, "rev, comp+smooth");
	double sums[2] = {0};

	for (int skew = 0; skew <= 60; skew += 5) {
		curve_point(none, skew, skewed(skew, 0, 0));
		curve_point(comp, skew, skewed(skew, 30, 0));
		curve_point(smooth, skew, skewed(skew, 30, 3));
		curve_point(back, skew, skewed(-skew, 30, 3));
		if (skew >= 15 && skew <= 35) {
			sums[0] += none->y[none->n - 1];
			sums[1] += smooth->y[smooth->n - 1];
		}
	}
	plot_show(&p, folder);
	finding(sums[1] < sums[0],
		"a window with smoothing is better than nothing for reasonable skews: %.3f against %.3f",
		sums[1] / 5, sums[0] / 5);
	finding(back->y[6] > smooth->y[6],
		"a clock that is slow is another thing: %.3f against %.3f", back->y[6],
		smooth->y[6]);
	/* The text has the window alone make things worse.  It did here, too (0.47), as long as
	 * negative delays all went into the smallest bin; counted from minus the window on they do
	 * not. */
	finding(comp->y[4] < none->y[4], "a window alone helps as well: %.3f against %.3f",
		comp->y[4], none->y[4]);
}

/* --- Figure 23 and §7.5.7: mail --- */

static const char mail[] =
	"duration 5100000s\ncall exponential 800ms\nthink exponential 3600s\n"
	"add 10s at hub1 share 0.15\nadd 15s at hub2 share 0.15\n"
	"route lists: inet1 -> gw1 -> scan1 -> hub1 -> relay1 -> site1 -> mbx1 -> box\n"
	"route people: inet1 -> gw1 -> scan2 -> hub2 -> relay1 -> site1 -> mbx1 -> box\n"
	"route second: inet2 -> gw2 -> scan1 -> hub1 -> relay2 -> site2 -> mbx1 -> box\n"
	"route alias: inet2 -> gw2 -> scan2 -> hub2 -> relay2 -> site2 -> forward -> mbx1 -> box\n"
	"route labs: labs -> relay3 -> site1 -> mbx1 -> box\n"
	"route inside think exponential 1800s: desk -> mbx2 -> relay3 -> mbx1 -> box\n";

static const char *const ways[] = {"inet1>gw1>scan1>hub1>relay1>site1>mbx1>box",
				   "inet1>gw1>scan2>hub2>relay1>site1>mbx1>box",
				   "inet2>gw2>scan1>hub1>relay2>site2>mbx1>box",
				   "inet2>gw2>scan2>hub2>relay2>site2>forward>mbx1>box",
				   "labs>relay3>site1>mbx1>box",
				   "desk>mbx2>relay3>mbx1>box"};

/* Is the path the beginning of one that mail really takes? */
static bool is_way(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (strncmp(ways[i], path, strlen(path)) == 0)
			return true;
	return false;
}

struct mail_answer {
	double false_share, false_frequent, cpu_s;
	size_t missing; /* ways not found with 100 messages or more */
	double late;    /* the longest delay of a spike, s */
};

static struct mail_answer mail_run(const struct infer_case *c, int64_t quantum_s, bool fft)
{
	struct convolution_options o = CONVOLUTION_OPTIONS_DEFAULT;
	struct mail_answer a = {0};
	struct convolution found;
	struct error error = {0};
	double paths = 0, frequent = 0, start = bench_cpu();
	bool seen[ARRAY_SIZE(ways)] = {0};

	o.quantum_ns = quantum_s * NS_PER_S;
	o.always_fft = fft;
	o.least = 10;
	if (convolution_infer(&c->messages, c->nodes.n, &o, &found, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		exit(2);
	}
	a.cpu_s = bench_cpu() - start;
	for (uint32_t i = 0; i < found.n; i++) {
		struct buffer text = {0};
		bool right;

		if (found.at[i].depth < 2 || found.at[i].derived)
			continue;
		vertex_path(&found, i, &c->nodes, &text);
		right = is_way(buffer_cstr(&text));
		paths++;
		a.false_share += !right;
		if (found.at[i].count >= 100) {
			frequent++;
			a.false_frequent += !right;
			a.late = fmax(a.late, (double)found.at[i].delay_ns / 1e9);
			for (size_t k = 0; k < ARRAY_SIZE(ways); k++)
				seen[k] |= strcmp(ways[k], buffer_cstr(&text)) == 0;
		}
		buffer_done(&text);
	}
	for (size_t k = 0; k < ARRAY_SIZE(ways); k++)
		a.missing += !seen[k];
	a.false_share /= paths ? paths : 1;
	a.false_frequent /= frequent ? frequent : 1;
	convolution_done(&found);
	return a;
}

static void figure_23(void)
{
	static const int quanta[] = {5, 10, 30, 60, 120, 360, 720};
	struct plot p = {.file = "figure-23",
			 .title = "Figure 23: CPU of convolution against the quantum, mail",
			 .x_title = "quantum s",
			 .y_title = "CPU s",
			 .log_x = true,
			 .log_y = true};
	struct curve *fft = plot_curve(&p, "FFT"), *sparse = plot_curve(&p, "as chosen");
	struct infer_case c;

	if (case_make(&c, mail))
		exit(2);
	printf("\n7.5.7: convolution of %zu mail hops\n%9s %10s %10s %8s %8s\n", c.messages.n,
	       "quantum s", "false", "of >= 100", "missing", "latest s");
	for (size_t i = 0; i < ARRAY_SIZE(quanta); i++) {
		struct mail_answer a = mail_run(&c, quanta[i], false);

		printf("%9d %10.3f %10.3f %8zu %8.0f\n", quanta[i], a.false_share, a.false_frequent,
		       a.missing, a.late);
		curve_point(sparse, quanta[i], a.cpu_s);
		curve_point(fft, quanta[i], mail_run(&c, quanta[i], true).cpu_s);
		if (quanta[i] < 360)
			finding(a.false_frequent == 0 && a.missing == 0,
				"quantum %d s: no false path of 100 messages, no frequent one missing",
				quanta[i]);
		if (quanta[i] == 5)
			finding(a.late >= 10 && a.late <= 15, "a secondary spike at %.0f s",
				a.late);
	}
	plot_show(&p, folder);
	case_done(&c);
}

int bench_infer_paper(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = {{"1", table_1},    {"17", figure_17}, {"19", figure_19}, {"20", figure_20},
		     {"21", figure_21}, {"22", figure_22}, {"23", figure_23}};

	folder = argc > 0 && strcmp(argv[0], "-") != 0 ? argv[0] : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
			parts[i].run();
	printf("\n%d findings missed\n", missed);
	return missed != 0;
}
