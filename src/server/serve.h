/* server/serve.h - the running server: everything opened, wired and closed again. */
#ifndef CAUSET_SERVER_SERVE_H
#define CAUSET_SERVER_SERVE_H

#include "server/config.h"

struct serve_hooks {
	/* Reads the settings again on SIGHUP; what can change while running is taken from *fresh.
	 * 0, or a negative errno with the reason (the old settings stay). */
	int (*reload)(void *context, struct config *fresh, struct error *error);
	/* Everything listens; the ports are real.  For what a person at a terminal is told. */
	void (*ready)(void *context, const int ports[], const char *host);
	void *context;
};

/* Runs until SIGTERM or SIGINT, then drains.  0 after an orderly end, otherwise a negative errno
 * with the reason.  Call it on the main thread, before any other is started: it blocks those
 * signals for all of them. */
int serve(const struct config *config, const struct serve_hooks *hooks, struct error *error);

#endif
