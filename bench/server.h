/* bench/server.h - a causet server as a benchmark sees it: a process with ports, a folder, and
 * costs. */
#ifndef CAUSET_BENCH_SERVER_H
#define CAUSET_BENCH_SERVER_H

#include <sys/types.h>

#include "base/buffer.h"

#define SERVER_ARGUMENTS_MOST 16

struct server {
	pid_t pid;
	char folder[96];
	bool own_folder; /* removed when it stops */
	int http, grpc, api, zipkin, jaeger, tempo;
};

/* Starts "CAUSET serve" on free ports, with further `arguments` (up to a NULL), in s->folder or, if
 * that is empty, a new one.  Ends the program if it does not start. */
void server_start(struct server *s, const char *causet, const char *const *arguments);

/* SIGTERM, and waits; removes the folder if it was new. */
void server_stop(struct server *s);

/* SIGKILL; the folder stays. */
void server_kill(struct server *s);

/* Seconds on a CPU of all its threads so far; only the second counts threads that
 * have ended. */
double server_cpu(const struct server *s);
double server_cpu_ever(const struct server *s);
long server_rss_mib(const struct server *s);
/* The most it ever had. */
long server_peak_mib(const struct server *s);

/* Waits until it has done nothing to speak of for `quiet_s` seconds, at most `most_s`.  False if it
 * never rested. */
bool server_settle(const struct server *s, double quiet_s, double most_s);

/* Bytes on disk of a folder and all in it, as du counts. */
double folder_bytes(const char *path);

/* Posts every body to /v1/traces over `connections` connections at once.  How many failed. */
size_t server_post(const struct server *s, const struct buffer *bodies, size_t n,
		   unsigned connections, const char *type, const char *coding);

#endif
