/* bench/api_load.c - what goes on beside the questions: spans that come in, and other readers. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "base/vec.h"
#include "bench/api.h"
#include "bench/source.h"

#define CONNECTIONS_MOST 8
#define READERS_MOST     1000
#define WAIT_MS          50
#define REFUSED_WAIT_US  20000
#define SENDER_NICE      (-10)

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- bodies --- */

/* A body is sent again and again with other trace ids: what came before would not be kept, and
 * making spans takes more CPU than keeping them does. */
struct body {
	struct buffer bytes;
	size_t *ids; /* where trace ids stand in it */
	size_t id_n, id_room, spans;
};

struct api_bodies {
	size_t n;
	_Atomic uint64_t sent;
	struct body rows[];
};

static void note_ids(struct body *body, const struct batch *b)
{
	struct trace_id last = {0};

	for (size_t i = 0; i < b->event_n; i++) {
		const struct trace_id *id = &b->events[i].trace_id;
		const char *p = body->bytes.p, *end = p + body->bytes.n;
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = memcmp(&b->events[k].trace_id, id, sizeof(*id)) == 0;
		last = *id;
		while (!seen && (p = memmem(p, (size_t)(end - p), &last, sizeof(last)))) {
			if (!vec_reserve(&body->ids, &body->id_room, body->id_n + 1,
					 sizeof(*body->ids)))
				exit(1);
			body->ids[body->id_n++] = (size_t)(p - body->bytes.p);
			p += sizeof(last);
		}
	}
}

struct api_bodies *api_bodies_new(size_t n)
{
	struct api_bodies *all = calloc(1, sizeof(*all) + n * sizeof(all->rows[0]));
	struct source *source = source_open("random");
	struct timespec now;
	uint64_t shift = 0;

	if (!all || !source)
		exit(1);
	clock_gettime(CLOCK_REALTIME, &now);
	for (; all->n < n; all->n++) {
		struct body *body = &all->rows[all->n];
		struct batch *b = source_next(source, &body->spans);

		if (!b)
			exit(1);
		if (all->n == 0)
			shift = (uint64_t)now.tv_sec * 1000000000 - b->events[0].time_ns;
		for (size_t i = 0; i < b->event_n; i++) {
			b->events[i].time_ns += shift;
			b->events[i].end_ns += shift;
		}
		source_encode(b, &body->bytes);
		note_ids(body, b);
		if (body->bytes.failed || body->id_n < body->spans)
			exit(1);
		batch_unref(b);
	}
	source_close(source);
	return all;
}

void api_bodies_free(struct api_bodies *b)
{
	for (size_t i = 0; i < b->n; i++) {
		buffer_done(&b->rows[i].bytes);
		free(b->rows[i].ids);
	}
	free(b);
}

static void freshen(struct body *body, uint64_t number)
{
	struct rng rng = {number};
	uint64_t mask = rng_next(&rng), word;

	for (size_t i = 0; i < body->id_n; i++) {
		memcpy(&word, body->bytes.p + body->ids[i], sizeof(word));
		word ^= mask;
		memcpy(body->bytes.p + body->ids[i], &word, sizeof(word));
	}
}

/* --- ingest --- */

struct sender {
	struct api_ingest *ingest;
	pthread_t thread;
	unsigned index;
	_Atomic uint64_t spans;
	uint64_t refused, failed;
};

struct api_ingest {
	const struct server *server;
	struct api_bodies *bodies;
	unsigned n;
	double rate, began;
	_Atomic bool stop;
	struct sender senders[CONNECTIONS_MOST];
};

static size_t ignore(char *data, size_t size, size_t n, void *context)
{
	return size * n;
}

static CURL *sender_open(const struct sender *s, struct curl_slist **headers)
{
	CURL *curl = curl_easy_init();
	char url[80];

	*headers = curl_slist_append(*headers, "Content-Type: application/x-protobuf");
	*headers = curl_slist_append(*headers, "Expect:");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1/traces", s->ingest->server->http);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 2L << 20);
	return curl;
}

/* Sends a body until it is taken. */
static void send_one(struct sender *s, CURL *curl, struct body *body)
{
	long status = 0;

	freshen(body, atomic_fetch_add(&s->ingest->bodies->sent, 1) + 1);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->bytes.n);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->bytes.p);
	while (!atomic_load(&s->ingest->stop)) {
		if (curl_easy_perform(curl) != CURLE_OK ||
		    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK ||
		    (status != 200 && status != 429 && status != 503)) {
			s->failed++;
			return;
		}
		if (status == 200) {
			s->spans += body->spans;
			return;
		}
		s->refused++;
		usleep(REFUSED_WAIT_US);
	}
}

static void *sender_run(void *context)
{
	struct sender *s = context;
	struct api_ingest *g = s->ingest;
	struct curl_slist *headers = NULL;
	CURL *curl = sender_open(s, &headers);
	/* Each has bodies of its own. */
	size_t share = g->bodies->n / g->n, at = 0;

	/* Senders are on other machines: here they must not wait for the processors that the
	 * server answers readers with.  (Without the right to it the figure is too high.) */
	setpriority(PRIO_PROCESS, (id_t)gettid(), SENDER_NICE);
	while (!atomic_load(&g->stop)) {
		double due =
			g->rate > 0 ? g->began + (double)s->spans / (g->rate / g->n) - wall() : 0;

		if (due > 0) {
			usleep((useconds_t)((due < 0.1 ? due : 0.1) * 1e6));
			continue;
		}
		send_one(s, curl, &g->bodies->rows[s->index * share + at]);
		at = (at + 1) % share;
	}
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return NULL;
}

struct api_ingest *api_ingest_start(const struct server *server, struct api_bodies *bodies,
				    unsigned connections, double rate)
{
	struct api_ingest *g = calloc(1, sizeof(*g));

	if (!g)
		exit(1);
	g->server = server;
	g->bodies = bodies;
	g->n = connections < CONNECTIONS_MOST ? connections : CONNECTIONS_MOST;
	g->rate = rate;
	g->began = wall();
	for (unsigned i = 0; i < g->n; i++) {
		g->senders[i].ingest = g;
		g->senders[i].index = i;
		if (pthread_create(&g->senders[i].thread, NULL, sender_run, &g->senders[i]) != 0)
			exit(1);
	}
	return g;
}

struct api_mark api_ingest_mark(const struct api_ingest *g)
{
	struct api_mark mark = {.at = wall(), .cpu = server_cpu_ever(g->server)};

	for (unsigned i = 0; i < g->n; i++)
		mark.spans += (double)atomic_load(&g->senders[i].spans);
	return mark;
}

struct api_sent api_ingest_stop(struct api_ingest *g)
{
	struct api_sent sent = {.seconds = wall() - g->began};

	atomic_store(&g->stop, true);
	for (unsigned i = 0; i < g->n; i++) {
		pthread_join(g->senders[i].thread, NULL);
		sent.spans += (double)atomic_load(&g->senders[i].spans);
		sent.refused += g->senders[i].refused;
		sent.failed += g->senders[i].failed;
	}
	free(g);
	return sent;
}

/* --- readers --- */

struct reader {
	CURL *curl;
	struct api_post post;
	double wake; /* refused: not before; 0: it is asking */
	unsigned asked;
};

struct api_readers {
	pid_t pid;
	int pipe; /* to and from the child */
};

struct reading {
	const struct server *server;
	const struct api_facts *facts;
	CURLM *multi;
	size_t questions[64], question_n; /* those of readers */
	struct api_read done;
};

static void reader_ask(struct reading *r, struct reader *reader)
{
	const struct api_question *q = &api_questions[r->questions[reader->asked % r->question_n]];

	reader->wake = 0;
	api_question_set(reader->curl, q, r->server, r->facts, reader->asked++, &reader->post);
	curl_multi_add_handle(r->multi, reader->curl);
}

static void reader_answered(struct reading *r, struct reader *reader, CURLcode result)
{
	curl_off_t seconds = 0;
	long status = 0;

	curl_easy_getinfo(reader->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(reader->curl, CURLINFO_RETRY_AFTER, &seconds);
	curl_multi_remove_handle(r->multi, reader->curl);
	if (result == CURLE_OK && (status == 503 || status == 429)) {
		r->done.refused++;
		reader->wake = wall() + (double)(seconds ? seconds : 1);
		return;
	}
	if (result == CURLE_OK && api_answered(reader->curl))
		r->done.answered++;
	else
		r->done.failed++;
	reader_ask(r, reader);
}

static void reading_step(struct reading *r, struct reader *readers, unsigned n)
{
	CURLMsg *message;
	int running, left;

	curl_multi_perform(r->multi, &running);
	while ((message = curl_multi_info_read(r->multi, &left)))
		for (unsigned i = 0; i < n; i++)
			if (message->msg == CURLMSG_DONE &&
			    readers[i].curl == message->easy_handle) {
				reader_answered(r, &readers[i], message->data.result);
				break;
			}
	for (unsigned i = 0; i < n; i++)
		if (readers[i].wake > 0 && wall() >= readers[i].wake)
			reader_ask(r, &readers[i]);
	curl_multi_poll(r->multi, NULL, 0, WAIT_MS, NULL);
}

/* Asks until the parent writes, and lets go of all connections. */
static void read_on(struct reading *r, unsigned n, int parent)
{
	struct reader *readers = calloc(n, sizeof(*readers));
	struct pollfd end = {.fd = parent, .events = POLLIN};

	r->done = (struct api_read){0};
	r->multi = curl_multi_init();
	if (!readers || !r->multi)
		_exit(1);
	curl_multi_setopt(r->multi, CURLMOPT_MAXCONNECTS, (long)READERS_MOST);
	for (unsigned i = 0; i < n; i++) {
		readers[i] = (struct reader){.curl = api_handle(), .asked = i * 31};
		reader_ask(r, &readers[i]);
	}
	while (poll(&end, 1, 0) == 0)
		reading_step(r, readers, n);
	for (unsigned i = 0; i < n; i++) {
		curl_multi_remove_handle(r->multi, readers[i].curl);
		curl_easy_cleanup(readers[i].curl);
		api_post_done(&readers[i].post);
	}
	curl_multi_cleanup(r->multi);
	free(readers);
}

/* The child: each byte that its parent writes is a turn's begin or end. */
static void read_in_turns(struct reading *r, unsigned n, int parent)
{
	char byte;

	for (size_t i = 0; i < api_question_n && r->question_n < ARRAY_SIZE(r->questions); i++)
		if (api_questions[i].reader)
			r->questions[r->question_n++] = i;
	while (read(parent, &byte, 1) == 1) {
		read_on(r, n, parent);
		if (read(parent, &byte, 1) != 1 ||
		    write(parent, &r->done, sizeof(r->done)) != (ssize_t)sizeof(r->done))
			_exit(1);
	}
	_exit(0);
}

struct api_readers *api_readers_new(const struct server *server, const struct api_facts *facts,
				    unsigned n)
{
	struct reading reading = {.server = server, .facts = facts};
	struct api_readers *readers = calloc(1, sizeof(*readers));
	int ends[2];

	if (!readers || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		exit(1);
	fflush(stdout);
	readers->pid = fork();
	if (readers->pid < 0)
		exit(1);
	if (readers->pid == 0) {
		close(ends[0]);
		read_in_turns(&reading, n < READERS_MOST ? n : READERS_MOST, ends[1]);
	}
	close(ends[1]);
	readers->pipe = ends[0];
	return readers;
}

void api_readers_begin(struct api_readers *readers)
{
	const char begin = 0;

	if (write(readers->pipe, &begin, 1) != 1)
		fprintf(stderr, "bench: the readers are gone\n");
}

struct api_read api_readers_end(struct api_readers *readers)
{
	struct api_read done = {0};
	const char end = 0;

	if (write(readers->pipe, &end, 1) != 1 ||
	    read(readers->pipe, &done, sizeof(done)) != (ssize_t)sizeof(done))
		fprintf(stderr, "bench: the readers are gone\n");
	return done;
}

void api_readers_free(struct api_readers *readers)
{
	close(readers->pipe);
	waitpid(readers->pid, NULL, 0);
	free(readers);
}
