/* bench/grpc_client.c - the smallest gRPC client, on nghttp2. */
#include "bench/grpc_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct grpc_client {
	int fd;
	nghttp2_session *session;
	struct slice left; /* of the message under way */
	bool closed;
	int status;
};

static ssize_t on_read(nghttp2_session *session, int32_t stream, uint8_t *out, size_t room,
		       uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct grpc_client *c = context;
	size_t n = c->left.n < room ? c->left.n : room;

	memcpy(out, c->left.p, n);
	c->left = slice_from(c->left, n);
	if (c->left.n == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t n, int flags,
		       void *context)
{
	struct grpc_client *c = context;
	ssize_t sent = send(c->fd, data, n, MSG_NOSIGNAL);

	return sent > 0 ? sent : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
		     void *context)
{
	struct grpc_client *c = context;

	if (slice_eq(slice_of(name, name_n), SLICE("grpc-status")))
		c->status = atoi((const char *)value);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *context)
{
	struct grpc_client *c = context;

	c->closed = true;
	return 0;
}

struct grpc_client *grpc_client_open(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct grpc_client *c = calloc(1, sizeof(*c));
	nghttp2_session_callbacks *callbacks;
	int on = 1;

	if (!c)
		return NULL;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		grpc_client_close(c);
		return NULL;
	}
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_client_new(&c->session, callbacks, c);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0);
	return c;
}

void grpc_client_close(struct grpc_client *c)
{
	nghttp2_session_del(c->session);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

static nghttp2_nv field(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			    strlen(value), NGHTTP2_NV_FLAG_NONE};
}

int grpc_client_call(struct grpc_client *c, const char *path, struct slice message)
{
	const nghttp2_nv headers[] = {field(":method", "POST"),
				      field(":scheme", "http"),
				      field(":authority", "localhost"),
				      field(":path", path),
				      field("content-type", "application/grpc"),
				      field("te", "trailers")};
	const nghttp2_data_provider body = {.read_callback = on_read};
	uint8_t room[16384];

	c->left = message;
	c->closed = false;
	c->status = -1;
	if (nghttp2_submit_request(c->session, NULL, headers, sizeof(headers) / sizeof(headers[0]),
				   &body, NULL) < 0)
		return -1;
	for (;;) {
		ssize_t n;

		if (nghttp2_session_send(c->session) < 0)
			return -1;
		if (c->closed)
			return c->status;
		n = recv(c->fd, room, sizeof(room), 0);
		if (n <= 0 || nghttp2_session_mem_recv(c->session, room, (size_t)n) < 0)
			return -1;
	}
}
