/* server/notify.c - systemd's protocol for services. */
#include "server/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "core/slice.h"

#define FIRST_FD      3 /* SD_LISTEN_FDS_START */
#define MESSAGE_BYTES 512

int notify_send(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_(closep)
	int fd = -1;
	char message[MESSAGE_BYTES];
	size_t path_n;
	va_list args;
	int n;

	if (!path || !*path)
		return 0;
	path_n = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || path_n >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, path, path_n);
	if (path[0] == '@')
		address.sun_path[0] = 0; /* Linux's abstract names */
	va_start(args, format);
	n = vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(message))
		return -EMSGSIZE;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, message, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_n)) < 0)
		return -errno;
	return 0;
}

/* Is the number in this variable our process? */
static bool is_us(const char *variable, bool when_missing)
{
	const char *text = getenv(variable);
	uint64_t pid;

	if (!text)
		return when_missing;
	return slice_parse_u64(slice_cstr(text), &pid) == 0 && pid == (uint64_t)getpid();
}

int64_t notify_watchdog_ns(void)
{
	const char *text = getenv("WATCHDOG_USEC");
	uint64_t us;

	if (!text || !is_us("WATCHDOG_PID", true) || slice_parse_u64(slice_cstr(text), &us) < 0 ||
	    us == 0 || us > INT64_MAX / 1000)
		return 0;
	return (int64_t)(us * 1000 / 2);
}

static bool address_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int activated_init(struct activated *a, int fd, struct error *error)
{
	struct sockaddr_storage address;
	socklen_t n = sizeof(address);
	int listening = 0;
	socklen_t listening_n = sizeof(listening);

	if (getsockname(fd, (struct sockaddr *)&address, &n) < 0 ||
	    (address.ss_family != AF_INET && address.ss_family != AF_INET6) ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &listening_n) < 0 || !listening)
		return error_set(error, -EINVAL,
				 "file descriptor %d from the service manager is no listening TCP "
				 "socket; the .socket unit wants ListenStream=PORT",
				 fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	a->fd = fd;
	a->loopback = address_is_loopback(&address);
	a->port =
		ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
						   : ((struct sockaddr_in6 *)&address)->sin6_port);
	return 0;
}

int activation_take(struct activated *out, size_t room, size_t *ret_n, struct error *error)
{
	const char *count = getenv("LISTEN_FDS"), *names = getenv("LISTEN_FDNAMES");
	uint64_t n = 0;

	*ret_n = 0;
	if (!count || !is_us("LISTEN_PID", false))
		return 0;
	if (slice_parse_u64(slice_cstr(count), &n) < 0 || n > room)
		return error_set(error, -EINVAL,
				 "LISTEN_FDS is '%s', which is not a number up to %zu", count,
				 room);
	for (size_t i = 0; i < n; i++) {
		size_t name_n = names ? strcspn(names, ":") : 0;
		int r = activated_init(&out[i], FIRST_FD + (int)i, error);

		if (r < 0)
			return r;
		snprintf(out[i].name, sizeof(out[i].name), "%.*s", (int)name_n, names ? names : "");
		if (names)
			names += name_n + (names[name_n] == ':');
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	*ret_n = (size_t)n;
	return 0;
}
