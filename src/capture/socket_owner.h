/* capture/socket_owner.h - which program on this host has a port.
 *
 * On loopback all programs share one address, and a client's port says nothing: whose call is it?
 * While capturing live the kernel knows: /proc/net/tcp has the sockets, /proc/PID/fd who holds
 * them. A program is called after its command and the first port it listens on (nginx:80); a worker
 * whose parent listens counts as the parent.  One thread. */
#ifndef CAUSET_CAPTURE_SOCKET_OWNER_H
#define CAUSET_CAPTURE_SOCKET_OWNER_H

#include "capture/ip.h"
#include "core/slice.h"

#define OWNER_MAX_SOCKETS   (1 << 17)
#define OWNER_MAX_PROCESSES (1 << 16)
#define OWNER_MAX_FDS       (1 << 16) /* of one process, looked at */
#define OWNER_REFRESH_NS    INT64_C(100000000)

struct socket_owners;

/* `proc` is where the files are, "/proc" but for tests.  -ENOMEM. */
int socket_owners_new(const char *proc, struct socket_owners **ret_owners);
struct socket_owners *socket_owners_free(struct socket_owners *o);

static inline void socket_owners_freep(struct socket_owners **o)
{
	socket_owners_free(*o);
}

/* The name of whoever has this address and port here, borrowed until the next call; empty when
 * nobody is known to.  Reads the files again when it is not found, at most every OWNER_REFRESH_NS
 * by now_ns.  A server's port is found by its listening socket, too. */
struct slice socket_owner(struct socket_owners *o, struct ip_address address, uint16_t port,
			  int64_t now_ns);

#endif
