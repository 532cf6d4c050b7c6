/* bench/api.h - the parts of the benchmark of the APIs. */
#ifndef CAUSET_BENCH_API_H
#define CAUSET_BENCH_API_H

#include <curl/curl.h>

#include "base/buffer.h"
#include "bench/server.h"

#define API_IDS 512 /* traces that are asked for */

/* What questions are filled in with. */
struct api_facts {
	char ids[API_IDS][33]; /* of traces from all over the store's time */
	size_t id_n;
	int64_t newest_ns; /* the newest trace's start: "now" of the store */
};

enum api_port { API_OWN, API_JAEGER, API_TEMPO, API_ZIPKIN };

/* One endpoint.  In path and body "@id@" and the like stand for what changes from one asking to the
 * next: bench/api_questions.c. */
struct api_question {
	const char *name;
	enum api_port port;
	const char *path;
	const char *body;  /* posted as JSON; NULL: GET */
	const char *proto; /* which message is posted by gRPC: "trace", "find" …; NULL: none */
	double bar;        /* p99 in milliseconds; 0: none is promised */
	bool reader;       /* what the many readers ask */
};

extern const struct api_question api_questions[];
extern const size_t api_question_n;

/* What a handle posts; lives as long as the handle. */
struct api_post {
	struct buffer body;
	struct curl_slist *headers;
};
void api_post_done(struct api_post *post);

/* A handle for api_question_set(); it reads answers and throws them away. */
CURL *api_handle(void);
/* Puts the i-th asking of a question, not one by gRPC, into a handle. */
void api_question_set(CURL *curl, const struct api_question *q, const struct server *server,
		      const struct api_facts *facts, unsigned i, struct api_post *post);
/* Whether what a handle has transferred is an answer. */
bool api_answered(CURL *curl);

/* The framed message of the i-th asking of a question by gRPC. */
void api_question_message(const struct api_question *q, const struct api_facts *facts, unsigned i,
			  struct buffer *out);

/* Finds traces to ask for.  -1 and a line on stderr when there are none. */
int api_facts_gather(const struct server *server, struct api_facts *ret_facts);

/* --- load --- */

/* Bodies with fresh ids each time they are sent. */
struct api_bodies;
struct api_bodies *api_bodies_new(size_t n);
void api_bodies_free(struct api_bodies *b);

/* Sends over `connections`, spans a second in all (0: as fast as is acknowledged), on threads of
 * its own from start to stop. */
struct api_ingest;
struct api_ingest *api_ingest_start(const struct server *server, struct api_bodies *bodies,
				    unsigned connections, double rate);
struct api_sent {
	double spans, seconds;
	uint64_t refused, failed; /* requests */
};
/* How far it has come: spans that were taken, the server's CPU seconds. */
struct api_mark {
	double at, spans, cpu;
};
struct api_mark api_ingest_mark(const struct api_ingest *ingest);
struct api_sent api_ingest_stop(struct api_ingest *ingest);

/* Many readers that ask one question after the other, from begin to end, in a process of its own.
 * What it takes of the processors counts against the server.  Made before the bodies are: they
 * would be shared with the process, and each page be copied when it is next written. */
struct api_readers;
struct api_readers *api_readers_new(const struct server *server, const struct api_facts *facts,
				    unsigned n);
struct api_read {
	uint64_t answered, refused, failed;
};
void api_readers_begin(struct api_readers *readers);
struct api_read api_readers_end(struct api_readers *readers);
void api_readers_free(struct api_readers *readers);

#endif
