/* bench/api.c - how long each endpoint of every API takes to answer, on 10 million spans.
 *
 *   bench_api CAUSET [--data FOLDER] [--spans N] [--only WORDS] [--asks N] [alone|beside|readers]
 *
 * alone      p50 and p99 of each endpoint, one question at a time
 * beside     the same while 5,000 spans a second come in
 * readers    spans that are acknowledged as durable a second, alone and beside 200 readers that ask
 *            one question after the other without a pause
 *
 * Without a word all three.  A store of 10 million random spans (bench/source.h) is made first, or
 * FOLDER, which an earlier run of bench_store left behind, is used: its segments are linked, the
 * rest is copied, nothing in it changes.
 *
 * Each figure stands beside its bar and says MET or NOT MET; the exit status counts what was
 * missed.  CPU is what the server took for one question, all threads. */
#include "bench/api.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/grpc_client.h"
#include "bench/spans.h"
#include "bench/store.h"

#define MILLION      1000000
#define ASKS         200 /* of each endpoint, unless … */
#define ASKS_MOST    10000
#define ASKS_LEAST   2
#define ENDPOINT_MS  4000.0 /* … they take longer than this together */
#define WARM         5      /* questions that do not count */
#define STEADY_RATE  5000
#define STEADY_LINES 2
#define BODIES       512
#define READERS      200
#define FULL_LINES   4
#define ROUNDS       12 /* each: without, with, with, without */
#define TURN_S       2
#define TURN_LOST_US 500000 /* until a turn's readers are all there, or their questions done */
#define READ_S       6
#define BAR_LOWER    10.0 /* per cent */

struct options {
	const char *causet, *data, *only, *what;
	size_t spans;
	unsigned asks;
};

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- one endpoint after the other --- */

static unsigned missed;

/* How one endpoint is asked: over one connection. */
struct asker {
	const struct api_question *q;
	const struct server *server;
	const struct api_facts *facts;
	CURL *curl;
	struct grpc_client *grpc;
	struct api_post post;
	unsigned asked;
};

/* Milliseconds until the whole answer was there. */
static double ask(struct asker *a, unsigned *failed)
{
	double start;

	if (a->grpc) {
		api_question_message(a->q, a->facts, a->asked++, &a->post.body);
		start = wall_ms();
		*failed += grpc_client_call(a->grpc, a->q->path, buffer_get(&a->post.body)) != 0;
	} else {
		api_question_set(a->curl, a->q, a->server, a->facts, a->asked++, &a->post);
		start = wall_ms();
		*failed += curl_easy_perform(a->curl) != CURLE_OK || !api_answered(a->curl);
	}
	return wall_ms() - start;
}

static void ask_endpoint(const struct options *o, const struct api_question *q,
			 const struct server *server, const struct api_facts *facts)
{
	static double took[ASKS_MOST];
	struct asker a = {.q = q, .server = server, .facts = facts, .curl = api_handle()};
	unsigned n = 0, failed = 0;
	double cpu, p99, begun, ms;
	bool met;

	if (q->proto && !(a.grpc = grpc_client_open(server->jaeger)))
		exit(1);
	begun = wall_ms();
	for (unsigned i = 0; i < WARM && wall_ms() - begun < ENDPOINT_MS / 4; i++)
		ask(&a, &failed);
	cpu = server_cpu_ever(server);
	begun = wall_ms();
	while (n < o->asks && (n < ASKS_LEAST || wall_ms() - begun < ENDPOINT_MS))
		took[n++] = ask(&a, &failed);
	cpu = (server_cpu_ever(server) - cpu) * 1000 / n;
	curl_easy_cleanup(a.curl);
	if (a.grpc)
		grpc_client_close(a.grpc);
	api_post_done(&a.post);
	ms = bench_median(took, n); /* they are sorted now */
	p99 = took[n * 99 / 100];
	met = failed == 0 && (q->bar <= 0 || p99 <= q->bar);
	printf("  %-40s %9.2f %9.2f %9.2f %6u", q->name, ms, p99, cpu, n);
	if (q->bar > 0)
		printf("  bar %5.0f  %s", q->bar, met ? "MET" : "NOT MET");
	if (failed)
		printf("  %u FAILED", failed);
	printf("\n");
	fflush(stdout);
	missed += !met;
}

static void ask_endpoints(const struct options *o, const char *title, const struct server *server,
			  const struct api_facts *facts)
{
	printf("\n%s\n  %-40s %9s %9s %9s %6s\n", title, "milliseconds", "p50", "p99", "CPU",
	       "asked");
	for (size_t i = 0; i < api_question_n; i++)
		if (strstr(api_questions[i].name, o->only))
			ask_endpoint(o, &api_questions[i], server, facts);
}

static void ask_beside(const struct options *o, const struct server *server,
		       const struct api_facts *facts, struct api_bodies *bodies)
{
	struct api_ingest *ingest = api_ingest_start(server, bodies, STEADY_LINES, STEADY_RATE);
	struct api_sent sent;

	sleep(1);
	ask_endpoints(o, "while 5,000 spans a second come in", server, facts);
	sent = api_ingest_stop(ingest);
	printf("  meanwhile %.0f spans a second were kept, %llu requests refused, %llu failed\n",
	       sent.spans / sent.seconds, (unsigned long long)sent.refused,
	       (unsigned long long)sent.failed);
	missed += sent.failed > 0 || sent.spans / sent.seconds < STEADY_RATE * 0.95;
}

/* --- ingest beside many readers --- */

/* Spans a second that are kept in one turn, beside readers or not. */
static double turn(struct api_readers *readers, const struct api_ingest *ingest, bool beside,
		   struct api_read *read)
{
	struct api_mark from, to;
	double kept;

	if (beside)
		api_readers_begin(readers);
	usleep(TURN_LOST_US);
	from = api_ingest_mark(ingest);
	sleep(TURN_S);
	to = api_ingest_mark(ingest);
	kept = (to.spans - from.spans) / (to.at - from.at);
	printf("  %-14s %9.0f spans a second kept; server on %.2f CPUs",
	       beside ? "beside readers" : "alone", kept, (to.cpu - from.cpu) / (to.at - from.at));
	if (beside) {
		struct api_read one = api_readers_end(readers);

		printf("; %.0f questions a second answered, %llu refused, %llu failed",
		       (double)one.answered / (to.at - from.at + TURN_LOST_US / 1e6),
		       (unsigned long long)one.refused, (unsigned long long)one.failed);
		read->answered += one.answered;
		read->failed += one.failed;
	}
	printf("\n");
	fflush(stdout);
	return kept;
}

/* What readers get where nothing comes in, to compare with. */
static void read_for(const struct server *server, struct api_readers *readers)
{
	double cpu = server_cpu_ever(server);
	struct api_read one;

	api_readers_begin(readers);
	sleep(READ_S);
	cpu = server_cpu_ever(server) - cpu;
	one = api_readers_end(readers);
	printf("  %-14s %9.0f questions a second answered, %llu refused, %llu failed; server on "
	       "%.2f CPUs\n",
	       "readers alone", (double)one.answered / READ_S, (unsigned long long)one.refused,
	       (unsigned long long)one.failed, cpu / READ_S);
	fflush(stdout);
	missed += one.failed > 0;
}

/* Ingest goes on all the time; readers come and go.  The machine may be faster in one minute than
 * in the next, and a head is frozen now and then: so turns are short, and with them stand between
 * without. */
static void ask_readers(const struct server *server, struct api_readers *readers,
			struct api_bodies *bodies)
{
	static const bool order[] = {false, true, true, false};
	double lower[ROUNDS];
	struct api_read read = {0};
	struct api_ingest *ingest;
	struct api_sent sent;

	printf("\ndurable ingest over %d connections, and %d readers\n", FULL_LINES, READERS);
	read_for(server, readers);
	read_for(server, readers);
	ingest = api_ingest_start(server, bodies, FULL_LINES, 0);
	sleep(READ_S);
	for (unsigned i = 0; i < ROUNDS; i++) {
		double kept[2] = {0};

		for (unsigned k = 0; k < ARRAY_SIZE(order); k++)
			kept[order[k]] += turn(readers, ingest, order[k], &read);
		lower[i] = (1 - kept[true] / kept[false]) * 100;
		printf("  %14s %9.1f %% lower\n", "", lower[i]);
		fflush(stdout);
	}
	sent = api_ingest_stop(ingest);
	printf("  %llu requests with spans refused, %llu failed\n",
	       (unsigned long long)sent.refused, (unsigned long long)sent.failed);
	store_figure("ingest is lower beside 200 readers by", bench_median(lower, ROUNDS), "%",
		     BAR_LOWER, "median of the rounds");
	missed += read.answered == 0;
	missed += read.failed > 0 || sent.failed > 0;
}

/* --- the store --- */

/* Links segments, copies the rest. */
static int link_folder(const char *from, struct server *server)
{
	char command[800];

	snprintf(server->folder, sizeof(server->folder), "%s.api-XXXXXX", from);
	if (strlen(from) + 12 >= sizeof(server->folder) || strchr(from, '\'') ||
	    !mkdtemp(server->folder))
		return -1;
	server->own_folder = true;
	snprintf(command, sizeof(command),
		 "cp -al '%s/.' '%s' && find '%s' -type f ! -name 'seg-*' "
		 "-exec sh -c 'cp \"$1\" \"$1.copy\" && mv \"$1.copy\" \"$1\"' - {} ';'",
		 from, server->folder, server->folder);
	return system(command) == 0 ? 0 : -1;
}

static int options_read(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {{"data", required_argument, NULL, 'd'},
					      {"spans", required_argument, NULL, 's'},
					      {"only", required_argument, NULL, 'o'},
					      {"asks", required_argument, NULL, 'a'},
					      {0}};
	int c;

	*o = (struct options){.only = "", .what = "", .spans = 10 * MILLION, .asks = ASKS};
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (c == 'd')
			o->data = optarg;
		else if (c == 's')
			o->spans = (size_t)atof(optarg);
		else if (c == 'o')
			o->only = optarg;
		else if (c == 'a')
			o->asks = (unsigned)atoi(optarg);
		else
			return -1;
	if (optind >= argc || o->asks < 1 || o->asks > ASKS_MOST)
		return -1;
	o->causet = argv[optind];
	o->what = optind + 1 < argc ? argv[optind + 1] : "";
	return 0;
}

static int ask_all(const struct options *o, const struct server *server)
{
	static struct api_facts facts;
	struct api_readers *readers;
	struct api_bodies *bodies;
	bool all = !*o->what;

	if (api_facts_gather(server, &facts) < 0)
		return -1;
	readers = api_readers_new(server, &facts, READERS);
	bodies = api_bodies_new(BODIES);
	if (all || strcmp(o->what, "alone") == 0)
		ask_endpoints(o, "alone", server, &facts);
	if (all || strcmp(o->what, "beside") == 0)
		ask_beside(o, server, &facts, bodies);
	if (all || strcmp(o->what, "readers") == 0)
		ask_readers(server, readers, bodies);
	api_bodies_free(bodies);
	api_readers_free(readers);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const arguments[] = {"--memory-limit", "2GiB", NULL};
	static struct store_sent sent;
	struct server server = {0};
	struct options o;
	double load[1];
	int r = 0;

	if (options_read(&o, argc, argv) < 0) {
		fprintf(stderr,
			"usage: bench_api CAUSET [--data FOLDER] [--spans N] [--only WORDS] "
			"[--asks N] [alone|beside|readers]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (getloadavg(load, 1) == 1 && load[0] > 0.7)
		printf("the machine is busy (load %.1f): times on the wall will be too long\n",
		       load[0]);
	if (o.data) {
		r = link_folder(o.data, &server);
	} else {
		r = store_ingest(o.causet, "random", o.spans, &sent);
		memcpy(server.folder, sent.folder, sizeof(server.folder));
		server.own_folder = !getenv("BENCH_KEEP");
	}
	if (r == 0) {
		server_start(&server, o.causet, arguments);
		r = ask_all(&o, &server);
		server_stop(&server);
	}
	missed += store_missed();
	printf("\n%u figures miss their bars\n", missed);
	return r < 0 ? 2 : missed > 0;
}
