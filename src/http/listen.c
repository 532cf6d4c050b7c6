/* http/listen.c - sockets that listen, and the spreading of connections over the loops.
 *
 * One loop accepts and gives each connection to the loop with the fewest.  (With SO_REUSEPORT the
 * kernel chooses by hash: two busy clients would share one thread half of the time.) */
#include "http/listen_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG           1024
#define ACCEPTS_PER_EVENT 64

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static void format_address(const union address *a, char *out, size_t n)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
		snprintf(out, n, "%s:%u", text, ntohs(a->v4.sin_port));
	} else if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr)) {
		inet_ntop(AF_INET, (const char *)&a->v6.sin6_addr + 12, text, sizeof(text));
		snprintf(out, n, "%s:%u", text, ntohs(a->v6.sin6_port));
	} else if (a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
		snprintf(out, n, "[%s]:%u", text, ntohs(a->v6.sin6_port));
	} else {
		snprintf(out, n, "local");
	}
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* Takes a listening socket; closes it on failure. */
static int add_endpoint(struct http_server *server, int fd, const struct http_listener *listener,
			size_t index)
{
	union address a = {0};
	socklen_t n = sizeof(a);
	struct http_endpoint *more;
	int flags = fcntl(fd, F_GETFL);

	more = realloc(server->endpoints, (server->endpoint_count + 1) * sizeof(*more));
	if (!more) {
		close(fd);
		return -ENOMEM;
	}
	server->endpoints = more;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || getsockname(fd, &a.any, &n) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	more = &server->endpoints[server->endpoint_count++];
	*more = (struct http_endpoint){
		.fd = fd,
		.port = a.any.sa_family == AF_INET    ? ntohs(a.v4.sin_port)
			: a.any.sa_family == AF_INET6 ? ntohs(a.v6.sin6_port)
						      : 0,
		.tag = listener->tag,
		.listener = index,
		.is_tls = server->certificate && !listener->clear,
		.loopback = is_loopback(&a),
		.server = server,
	};
	return 0;
}

static int bind_address(struct http_server *server, const struct addrinfo *address, int port,
			const struct http_listener *listener, size_t index)
{
	int fd, r, one = 1, zero = 0;
	union address a = {0};

	memcpy(&a, address->ai_addr, address->ai_addrlen);
	if (a.any.sa_family == AF_INET6)
		a.v6.sin6_port = htons((uint16_t)port);
	else
		a.v4.sin_port = htons((uint16_t)port);
	fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, listener->host[0] ? &one : &zero,
			   sizeof(one));
	if (bind(fd, &a.any, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return add_endpoint(server, fd, listener, index);
}

int listen_bind(struct http_server *server, const struct http_listener *listener, size_t index,
		struct error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
	struct addrinfo *found, *at;
	const char *host = listener->host;
	int r, port = listener->port, bound = 0;
	bool both;

	if (listener->use_fd) {
		r = add_endpoint(server, listener->fd, listener, index);
		return r < 0 ? error_set(error, r, "the socket given for listening: %s",
					 strerror(-r))
			     : 0;
	}
	both = strcmp(host, "localhost") == 0;
	if (port < 0 || port > 65535)
		return error_set(error, -EINVAL, "%s:%d: a port is 0 to 65535", host, port);
	r = getaddrinfo(host[0] ? host : "::", NULL, &hints, &found);
	if (r != 0)
		return error_set(error, -EADDRNOTAVAIL, "%s: %s", host, gai_strerror(r));
	r = -EADDRNOTAVAIL;
	for (at = found; at; at = at->ai_next) {
		r = bind_address(server, at, port, listener, index);
		/* A machine without IPv6 still has a localhost. */
		if (r < 0 && !(both && bound) && at->ai_next &&
		    (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT))
			continue;
		if (r < 0)
			break;
		bound++;
		port = server->endpoints[server->endpoint_count - 1].port;
		if (!both)
			break;
	}
	freeaddrinfo(found);
	if (r == -EAFNOSUPPORT && !host[0]) {
		struct http_listener v4 = *listener;

		v4.host = "0.0.0.0";
		return listen_bind(server, &v4, index, error);
	}
	if (bound && (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT))
		r = 0;
	if (r < 0)
		return error_set(error, r, "cannot listen on %s:%d: %s", host[0] ? host : "*",
				 listener->port, strerror(-r));
	return 0;
}

/* Tells the client why, as far as a socket that nobody reads from allows. */
static void turn_away(struct http_endpoint *e, int fd)
{
	static const char text[] = "HTTP/1.1 503 Service Unavailable\r\n"
				   "Retry-After: 1\r\n"
				   "Content-Type: text/plain\r\n"
				   "Content-Length: 33\r\n"
				   "Connection: close\r\n\r\n"
				   "too many connections; try again.\n";

	http_count(&e->server->counters.refused[HTTP_REFUSED_CONNECTIONS], 1);
	if (!e->is_tls)
		(void)!send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void spread(struct http_endpoint *e, const struct accepted *a)
{
	struct http_server *server = e->server;
	struct http_loop *best = server->loops;

	for (int i = 1; i < server->loop_count; i++)
		if (atomic_load(&server->loops[i].load) < atomic_load(&best->load))
			best = &server->loops[i];
	if (atomic_load(&server->counters.connections_open) >=
	    (uint64_t)server->limits.connections) {
		turn_away(e, a->fd);
		return;
	}
	http_count(&server->counters.connections_total, 1);
	http_count(&server->counters.connections_open, 1);
	atomic_fetch_add(&best->load, 1);
	if (best == server->loops) {
		loop_adopt(best, a);
	} else if (loop_give(best, a) < 0) {
		atomic_fetch_sub(&best->load, 1);
		atomic_fetch_sub(&server->counters.connections_open, 1);
		close(a->fd);
	}
}

/* Out of descriptors: gives up the spare one to take and close a connection, else the event would
 * come again and again. */
static void shed(struct http_endpoint *e)
{
	struct http_server *server = e->server;
	int fd;

	if (server->spare_fd >= 0)
		close(server->spare_fd);
	fd = accept4(e->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		turn_away(e, fd);
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
	struct http_endpoint *e = container_of(poll, struct http_endpoint, poll);

	e->server->loops[0].now_ms = (int64_t)uv_now(&e->server->loops[0].uv);
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		struct accepted a = {.endpoint = e};
		union address from = {0};
		socklen_t n = sizeof(from);

		a.fd = accept4(e->fd, &from.any, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (a.fd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				shed(e);
			return;
		}
		format_address(&from, a.peer, sizeof(a.peer));
		spread(e, &a);
	}
}

int listen_start(struct http_server *server)
{
	server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < server->endpoint_count; i++) {
		struct http_endpoint *e = &server->endpoints[i];
		int r = uv_poll_init_socket(&server->loops[0].uv, &e->poll, e->fd);

		if (r < 0)
			return r;
		e->poll_ready = true;
		uv_poll_start(&e->poll, UV_READABLE, on_acceptable);
	}
	return 0;
}

void listen_close(struct http_server *server)
{
	for (size_t i = 0; i < server->endpoint_count; i++) {
		struct http_endpoint *e = &server->endpoints[i];

		if (e->poll_ready) {
			uv_close((uv_handle_t *)&e->poll, NULL);
			e->poll_ready = false;
		}
		if (e->fd >= 0)
			close(e->fd);
		e->fd = -1;
	}
	if (server->spare_fd >= 0)
		close(server->spare_fd);
	server->spare_fd = -1;
}
