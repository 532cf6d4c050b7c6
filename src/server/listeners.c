/* server/listeners.c - which addresses are listened on. */
#include "server/listeners.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"

static const struct {
	const char *name; /* of a passed socket, and for people */
	const char *key;  /* in the port file */
	enum service service;
	size_t port; /* in struct config */
} services[SERVICE_COUNT] = {
	{"otlp-grpc", "otlp_grpc_port", SERVICE_OTLP_GRPC, offsetof(struct config, otlp_grpc_port)},
	{"otlp-http", "otlp_http_port", SERVICE_OTLP_HTTP, offsetof(struct config, otlp_http_port)},
	{"zipkin", "zipkin_port", SERVICE_ZIPKIN, offsetof(struct config, zipkin_port)},
	{"http", "http_port", SERVICE_HTTP, offsetof(struct config, http_port)},
	{"jaeger-grpc", "jaeger_grpc_port", SERVICE_JAEGER_GRPC,
	 offsetof(struct config, jaeger_grpc_port)},
	{"tempo", "tempo_port", SERVICE_TEMPO, offsetof(struct config, tempo_port)},
};

const char *listener_name(unsigned bit)
{
	return services[bit].name;
}

static int64_t port_of(const struct config *c, size_t i)
{
	return *(const int64_t *)((const char *)c + services[i].port);
}

/* Which service a passed socket is for: by its name, else by its port. */
static int service_of(const struct config *c, const struct activated *a)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		if (strcmp(a->name, services[i].name) == 0)
			return (int)services[i].service;
	for (size_t i = 0; i < SERVICE_COUNT; i++)
		if (port_of(c, i) == a->port)
			return (int)services[i].service;
	return -EINVAL;
}

static int take_activated(struct listeners *l, const struct config *c, const struct activated *all,
			  size_t n, struct error *error)
{
	for (size_t i = 0; i < n; i++)
		l->rows[l->n++] =
			(struct http_listener){.host = c->listen, .use_fd = true, .fd = all[i].fd};
	for (size_t i = 0; i < n; i++) {
		int service = service_of(c, &all[i]);

		if (service < 0)
			return error_set(
				error, -EINVAL,
				"the socket on port %d from the service manager has the name "
				"'%s'; say FileDescriptorName=otlp-grpc, otlp-http, zipkin, http, "
				"jaeger-grpc or tempo",
				all[i].port, all[i].name);
		if (!all[i].loopback && !c->auth && !c->insecure)
			return error_set(
				error, -EPERM,
				"the socket on port %d can be reached from other machines and "
				"authentication is off; set auth = on, listen on 127.0.0.1, or set "
				"insecure = on",
				all[i].port);
		l->rows[i].tag = service;
		l->rows[i].port = all[i].port;
	}
	return 0;
}

int listeners_init(struct listeners *l, const struct config *c, struct error *error)
{
	struct activated passed[ACTIVATION_MAX];
	size_t n;
	int r;

	*l = (struct listeners){0};
	r = activation_take(passed, ARRAY_SIZE(passed), &n, error);
	if (r < 0)
		return r;
	if (n > 0)
		return take_activated(l, c, passed, n, error);
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		int64_t port = port_of(c, i);

		if (port == OPTION_OFF)
			continue;
		l->rows[l->n++] = (struct http_listener){
			.host = c->listen, .port = (int)port, .tag = (int)services[i].service};
	}
	return 0;
}

void listeners_taken(struct listeners *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->rows[i].use_fd = false;
}

void listeners_done(struct listeners *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->rows[i].use_fd)
			close(l->rows[i].fd);
	l->n = 0;
}

int ports_write(const char *path, const char *host, const int *ports, struct error *error)
{
	char fresh[PATH_MAX];
	FILE *file;
	bool bad;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return error_set(error, -ENAMETOOLONG, "port-file: '%s' is too long", path);
	file = fopen(fresh, "we");
	if (!file)
		return error_set(error, -errno, "cannot write %s: %s", fresh, strerror(errno));
	fprintf(file, "{\"pid\":%d,\"host\":\"%s\"", (int)getpid(), host);
	for (unsigned bit = 0; bit < SERVICE_COUNT; bit++)
		if (ports[bit])
			fprintf(file, ",\"%s\":%d", services[bit].key, ports[bit]);
	fputs("}\n", file);
	bad = ferror(file);
	if (fclose(file) != 0 || bad || rename(fresh, path) < 0)
		return error_set(error, errno ? -errno : -EIO, "cannot write %s: %s", path,
				 strerror(errno));
	return 0;
}
