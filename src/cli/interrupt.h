/* cli/interrupt.h - Ctrl-C while something can still be ended properly.
 *
 * A thread waits for SIGINT and SIGTERM and raises a flag that others look at; a second one ends
 * the program at once.  Begin before other threads are started: they must not get the signal. */
#ifndef CAUSET_CLI_INTERRUPT_H
#define CAUSET_CLI_INTERRUPT_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#define EXIT_INTERRUPTED 130 /* as shells say it */

struct interrupt {
	_Atomic bool hit;
	bool running;
	pthread_t thread;
	sigset_t before;
};

/* Without a thread (none to be had) signals end the program as ever. */
void interrupt_begin(struct interrupt *i);
void interrupt_end(struct interrupt *i);

#endif
