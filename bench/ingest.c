/* bench/ingest.c - what taking in a span costs the server, by protocol.
 *
 *   bench_ingest PATH-TO-CAUSET [REQUESTS]
 *
 * Starts a server for each row, posts requests of 512 spans over loopback on two connections, and
 * divides the CPU time of all the server's threads (user and system) by the spans.  Every request
 * is different, so nothing is answered from memory of repeats.  The median of three runs.
 *
 * The floor is a process that reads the same bytes from a socket and answers, and does nothing
 * else. Peers cannot be had here; their recorded figures for the same kind of data are printed as
 * such. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "bench/grpc_client.h"
#include "bench/server.h"
#include "bench/spans.h"
#include "wire/otlp_json.h"
#include "wire/otlp_proto.h"

#define SPANS         512
#define CONNECTIONS   2
#define RUNS          3
#define READ_BYTES    (1 << 20)
#define REQUESTS_MOST 100000

enum protocol { HTTP_PROTO, HTTP_GZIP, HTTP_JSON, GRPC, PROTOCOLS };

static const struct row {
	const char *name;
	double bar; /* microseconds a span */
} rows[PROTOCOLS] = {
	[HTTP_PROTO] = {"OTLP/HTTP protobuf", 0.7},
	[HTTP_GZIP] = {"OTLP/HTTP protobuf, gzip", 1.6},
	[HTTP_JSON] = {"OTLP/HTTP JSON", 3},
	[GRPC] = {"OTLP/gRPC", 1},
};

static struct buffer *bodies;
static size_t body_n = 400;

/* --- bodies --- */

static void frame_grpc(struct buffer *body)
{
	struct buffer framed = {0};
	uint32_t size = htonl((uint32_t)body->n);

	buffer_byte(&framed, 0);
	buffer_append(&framed, &size, sizeof(size));
	buffer_slice(&framed, buffer_get(body));
	buffer_done(body);
	*body = framed;
}

static void compress(struct buffer *body)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct buffer packed = {0};
	size_t room = libdeflate_gzip_compress_bound(c, body->n);
	char *to = buffer_reserve(&packed, room);

	if (to)
		packed.n = libdeflate_gzip_compress(c, body->p, body->n, to, room);
	libdeflate_free_compressor(c);
	buffer_done(body);
	*body = packed;
}

static void make_body(struct rng *rng, enum protocol protocol, struct buffer *out)
{
	_cleanup_(batch_unrefp)
	struct batch *b = bench_spans(rng, SPANS);
	_cleanup_(freep)
	struct event_ref *refs = b ? calloc(b->event_n, sizeof(*refs)) : NULL;

	if (!refs)
		exit(1);
	for (size_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, (uint32_t)i};
	buffer_done(out);
	if (protocol == HTTP_JSON)
		otlp_json_encode_traces(refs, b->event_n, out);
	else
		otlp_proto_encode_traces(refs, b->event_n, out);
	if (protocol == GRPC)
		frame_grpc(out);
	if (protocol == HTTP_GZIP)
		compress(out);
	if (out->failed || out->n == 0)
		exit(1);
}

/* --- the floor: reads bodies, answers, nothing else --- */

static void floor_serve(int listener)
{
	char *room = malloc(READ_BYTES);

	for (int c = 0; c < CONNECTIONS; c++)
		if (fork() == 0) {
			int fd = accept(listener, NULL, NULL);

			for (;;) {
				uint32_t size, got = 0;

				if (recv(fd, &size, sizeof(size), MSG_WAITALL) != sizeof(size))
					_exit(0);
				while (got < size) {
					ssize_t n = recv(fd, room,
							 size - got < READ_BYTES ? size - got
										 : READ_BYTES,
							 0);

					if (n <= 0)
						_exit(1);
					got += (uint32_t)n;
				}
				if (send(fd, &size, 1, 0) != 1)
					_exit(1);
			}
		}
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static double floor_run(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fds[CONNECTIONS];
	double total = 0;
	pid_t pid;

	if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		exit(1);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		floor_serve(listener);
	close(listener);
	for (int c = 0; c < CONNECTIONS; c++) {
		fds[c] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fds[c], (struct sockaddr *)&address, size) < 0)
			exit(1);
	}
	for (size_t i = 0; i < body_n; i++) {
		uint32_t n = (uint32_t)bodies[i].n;
		int fd = fds[i % CONNECTIONS];
		char ack;

		for (size_t at = 0; at < n;) {
			ssize_t sent;

			if (at == 0 && send(fd, &n, sizeof(n), MSG_MORE) != sizeof(n))
				exit(1);
			sent = send(fd, bodies[i].p + at, n - at, 0);
			if (sent <= 0)
				exit(1);
			at += (size_t)sent;
		}
		if (recv(fd, &ack, 1, 0) != 1)
			exit(1);
	}
	for (int c = 0; c < CONNECTIONS; c++)
		close(fds[c]);
	{
		int status;
		struct rusage usage;

		wait4(pid, &status, 0, &usage); /* includes its children */
		total = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	}
	return total;
}

/* --- the real server --- */

struct sender {
	pthread_t thread;
	const struct server *server;
	size_t first, failed;
};

static void *send_grpc(void *context)
{
	static const char path[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
	struct sender *s = context;
	struct grpc_client *client = grpc_client_open(s->server->grpc);

	for (size_t i = s->first; i < body_n; i += CONNECTIONS)
		s->failed += !client || grpc_client_call(client, path, buffer_get(&bodies[i])) != 0;
	if (client)
		grpc_client_close(client);
	return NULL;
}

static size_t send_all_grpc(const struct server *server)
{
	struct sender senders[CONNECTIONS];
	size_t failed = 0;

	for (size_t c = 0; c < CONNECTIONS; c++) {
		senders[c] = (struct sender){.server = server, .first = c};
		pthread_create(&senders[c].thread, NULL, send_grpc, &senders[c]);
	}
	for (size_t c = 0; c < CONNECTIONS; c++) {
		pthread_join(senders[c].thread, NULL);
		failed += senders[c].failed;
	}
	return failed;
}

static double server_run(const char *causet, enum protocol protocol, long *ret_rss)
{
	/* What taking a span in costs by itself; bench_store measures it with the disk. */
	static const char *const arguments[] = {"--store", "memory", "--memory-limit", "8GiB",
						NULL};
	struct server server = {0};
	double before, after;
	size_t failed;

	server_start(&server, causet, arguments);
	before = server_cpu(&server);
	if (protocol == GRPC)
		failed = send_all_grpc(&server);
	else
		failed = server_post(&server, bodies, body_n, CONNECTIONS,
				     protocol == HTTP_JSON ? "application/json"
							   : "application/x-protobuf",
				     protocol == HTTP_GZIP ? "gzip" : NULL);
	after = server_cpu(&server);
	*ret_rss = server_rss_mib(&server);
	server_stop(&server);
	if (failed) {
		fprintf(stderr, "bench_ingest: %zu requests failed\n", failed);
		exit(1);
	}
	return after - before;
}

static void report(const char *causet, enum protocol protocol)
{
	double spans = (double)body_n * SPANS, figures[RUNS], floors[RUNS], bytes = 0, cost, floor;
	struct rng rng = {7};
	long rss = 0;

	for (size_t i = 0; i < body_n; i++) {
		make_body(&rng, protocol, &bodies[i]);
		bytes += (double)bodies[i].n;
	}
	for (int i = 0; i < RUNS; i++) {
		floors[i] = floor_run();
		figures[i] = server_run(causet, protocol, &rss);
	}
	cost = bench_median(figures, RUNS) / spans * 1e6;
	floor = bench_median(floors, RUNS) / spans * 1e6;
	printf("%-28s %8.0f %9.3f %9.3f %8.2f %8ld   %s\n", rows[protocol].name, bytes / spans,
	       cost, floor, rows[protocol].bar, rss,
	       cost <= rows[protocol].bar ? "met" : "NOT MET");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_ingest PATH-TO-CAUSET [REQUESTS]\n");
		return 2;
	}
	if (argc > 2)
		body_n = (size_t)atol(argv[2]);
	if (body_n < CONNECTIONS || body_n > REQUESTS_MOST)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	bodies = calloc(body_n, sizeof(*bodies));
	if (!bodies)
		return 1;
	printf("%zu requests of %d spans with %d attributes; CPU of all server threads, median of %d\n\n",
	       body_n, SPANS, BENCH_ATTRIBUTES, RUNS);
	printf("%-28s %8s %9s %9s %8s %8s\n", "", "B/span", "us/span", "floor", "bar", "RSS MiB");
	for (enum protocol p = 0; p < PROTOCOLS; p++)
		report(argv[1], p);
	printf("\nrecorded elsewhere, OTLP/HTTP protobuf to disk: VictoriaTraces 18.8 us/span, Tempo 56, Jaeger 2 178\n");
	for (size_t i = 0; i < body_n; i++)
		buffer_done(&bodies[i]);
	free(bodies);
	return 0;
}
