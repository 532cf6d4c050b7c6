/* server/notify.h - systemd's protocol for services: what state we are in, and sockets it opened
 * for us.  Both are a few lines of text and file descriptors, so libsystemd is not needed. */
#ifndef CAUSET_SERVER_NOTIFY_H
#define CAUSET_SERVER_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ACTIVATION_MAX 64 /* sockets */

/* Sends a datagram such as "READY=1" to $NOTIFY_SOCKET; without one it does nothing.  Failures are
 * returned for logging, and are no reason to stop. */
int notify_send(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often the watchdog wants to hear of us: half of $WATCHDOG_USEC, or 0 when there is none for
 * this process. */
int64_t notify_watchdog_ns(void);

struct activated {
	int fd;
	char name[32]; /* from $LISTEN_FDNAMES; "" when there is none */
	int port;      /* the bound one */
	bool loopback; /* only this machine can reach it */
};

/* The sockets systemd passed ($LISTEN_FDS), 0 when there are none.  They are close-on-exec
 * afterwards, and the variables are gone.  -EINVAL when one is no listening TCP socket. */
int activation_take(struct activated *out, size_t room, size_t *ret_n, struct error *error);

#endif
