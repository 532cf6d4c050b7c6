/* bench/server.c - starts, watches and stops the server that is measured. */
#include "bench/server.h"

#include <curl/curl.h>
#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_TRIES      2000
#define START_SLEEP_US   10000
#define CONNECTIONS_MOST 16
#define QUIET_SHARE      0.02 /* of a CPU: what an idle server may use */
#define LOOK_S           0.5

static int port_of(const char *json, const char *name)
{
	const char *at = strstr(json, name);

	at = at ? strchr(at, ':') : NULL;
	return at ? atoi(at + 1) : 0;
}

static void server_exec(const char *causet, const char *folder, const char *ports,
			const char *const *arguments)
{
	const char *row[32 + SERVER_ARGUMENTS_MOST] = {causet,
						       "serve",
						       "--data",
						       folder,
						       "--otlp-http-port",
						       "0",
						       "--otlp-grpc-port",
						       "0",
						       "--zipkin-port",
						       "0",
						       "--http-port",
						       "0",
						       "--jaeger-grpc-port",
						       "0",
						       "--tempo-port",
						       "0",
						       "--port-file",
						       ports};
	size_t n = 18;

	for (; arguments && *arguments && n < 31 + SERVER_ARGUMENTS_MOST; arguments++)
		row[n++] = *arguments;
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(1);
	execv(causet, (char *const *)row);
	_exit(127);
}

static void read_ports(struct server *s, const char *path)
{
	char text[1024];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	s->http = port_of(text, "otlp_http_port");
	s->grpc = port_of(text, "otlp_grpc_port");
	s->api = port_of(text, "\"http_port");
	s->zipkin = port_of(text, "zipkin_port");
	s->jaeger = port_of(text, "jaeger_grpc_port");
	s->tempo = port_of(text, "tempo_port");
}

void server_start(struct server *s, const char *causet, const char *const *arguments)
{
	char ports[128];

	if (!*s->folder) {
		snprintf(s->folder, sizeof(s->folder), "/tmp/causet-bench.XXXXXX");
		if (!mkdtemp(s->folder))
			exit(1);
		s->own_folder = true;
	}
	snprintf(ports, sizeof(ports), "%s/ports", s->folder);
	unlink(ports);
	s->http = s->grpc = s->api = s->zipkin = s->jaeger = s->tempo = 0;
	fflush(stdout);
	s->pid = fork();
	if (s->pid == 0)
		server_exec(causet, s->folder, ports, arguments);
	for (int i = 0; i < START_TRIES && s->http == 0; i++) {
		usleep(START_SLEEP_US);
		read_ports(s, ports);
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
			break;
	}
	if (s->http == 0) {
		fprintf(stderr, "bench: %s serve did not start\n", causet);
		exit(1);
	}
}

void server_stop(struct server *s)
{
	char command[160];

	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", s->folder);
	if (s->own_folder && system(command) != 0)
		fprintf(stderr, "bench: %s stays behind\n", s->folder);
}

void server_kill(struct server *s)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

/* --- what it costs --- */

/* From /proc/PID/task/TID/schedstat, which is finer than /proc/PID/stat.  Threads that have ended
 * are not in there: the server's live as long as it does. */
double server_cpu(const struct server *s)
{
	char path[64];
	double total = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char file[400];
		unsigned long long ns = 0;
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s/schedstat", path, entry->d_name);
		f = entry->d_name[0] == '.' ? NULL : fopen(file, "re");
		if (f) {
			if (fscanf(f, "%llu", &ns) == 1)
				total += (double)ns;
			fclose(f);
		}
	}
	if (dir)
		closedir(dir);
	return total * 1e-9;
}

double server_cpu_ever(const struct server *s)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(s->pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long status_mib(const struct server *s, const char *format)
{
	char path[64], line[200];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib / 1024;
}

long server_rss_mib(const struct server *s)
{
	return status_mib(s, "VmRSS: %ld");
}

long server_peak_mib(const struct server *s)
{
	return status_mib(s, "VmHWM: %ld");
}

bool server_settle(const struct server *s, double quiet_s, double most_s)
{
	double last = server_cpu(s), quiet = 0;

	for (double t = 0; t < most_s; t += LOOK_S) {
		double now;

		usleep((useconds_t)(LOOK_S * 1e6));
		now = server_cpu(s);
		quiet = now - last < QUIET_SHARE * LOOK_S ? quiet + LOOK_S : 0;
		last = now;
		if (quiet >= quiet_s)
			return true;
	}
	return false;
}

static double du_total;

static int du_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	du_total += (double)st->st_blocks * 512;
	return 0;
}

double folder_bytes(const char *path)
{
	du_total = 0;
	nftw(path, du_one, 16, FTW_PHYS);
	return du_total;
}

/* --- sending --- */

struct sender {
	pthread_t thread;
	const struct server *server;
	const struct buffer *bodies;
	size_t first, n, step, failed;
	const char *type, *coding;
};

static size_t ignore(char *data, size_t size, size_t n, void *context)
{
	return size * n;
}

static CURL *open_handle(const struct sender *s, struct curl_slist **headers)
{
	CURL *curl = curl_easy_init();
	char text[160];

	snprintf(text, sizeof(text), "Content-Type: %s", s->type);
	*headers = curl_slist_append(*headers, text);
	if (s->coding) {
		snprintf(text, sizeof(text), "Content-Encoding: %s", s->coding);
		*headers = curl_slist_append(*headers, text);
	}
	*headers = curl_slist_append(*headers, "Expect:");
	snprintf(text, sizeof(text), "http://127.0.0.1:%d/v1/traces", s->server->http);
	curl_easy_setopt(curl, CURLOPT_URL, text);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 2L << 20);
	return curl;
}

/* One body; a server that is full says so and is asked again, as clients do. */
static bool post(CURL *curl, const struct buffer *body)
{
	long status = 0;

	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->p);
	for (int tries = 0; tries < 600; tries++) {
		if (curl_easy_perform(curl) != CURLE_OK ||
		    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK)
			return false;
		if (status != 429 && status != 503)
			return status == 200;
		usleep(100000);
	}
	return false;
}

static void *send_bodies(void *context)
{
	struct sender *s = context;
	struct curl_slist *headers = NULL;
	CURL *curl = open_handle(s, &headers);

	for (size_t i = s->first; i < s->n; i += s->step)
		s->failed += !post(curl, &s->bodies[i]);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return NULL;
}

size_t server_post(const struct server *s, const struct buffer *bodies, size_t n,
		   unsigned connections, const char *type, const char *coding)
{
	struct sender senders[CONNECTIONS_MOST];
	size_t failed = 0;

	connections = connections < CONNECTIONS_MOST ? connections : CONNECTIONS_MOST;
	for (unsigned c = 0; c < connections; c++) {
		senders[c] = (struct sender){.server = s,
					     .bodies = bodies,
					     .first = c,
					     .n = n,
					     .step = connections,
					     .type = type,
					     .coding = coding};
		if (pthread_create(&senders[c].thread, NULL, send_bodies, &senders[c]) != 0)
			exit(1);
	}
	for (unsigned c = 0; c < connections; c++) {
		pthread_join(senders[c].thread, NULL);
		failed += senders[c].failed;
	}
	return failed;
}
