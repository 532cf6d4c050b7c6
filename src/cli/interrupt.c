/* cli/interrupt.c - Ctrl-C while something can still be ended properly. */
#include "cli/interrupt.h"

#include <stdbool.h>
#include <unistd.h>

#define WAKE SIGUSR1 /* from interrupt_end() to the thread alone */

static sigset_t watched(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, WAKE);
	return set;
}

static void *watch(void *argument)
{
	struct interrupt *i = argument;
	sigset_t set = watched();
	int number = 0;

	while (sigwait(&set, &number) == 0 && number != WAKE)
		if (atomic_exchange(&i->hit, true))
			_exit(EXIT_INTERRUPTED);
	return NULL;
}

void interrupt_begin(struct interrupt *i)
{
	sigset_t set = watched();

	atomic_store(&i->hit, false);
	pthread_sigmask(SIG_BLOCK, &set, &i->before);
	i->running = pthread_create(&i->thread, NULL, watch, i) == 0;
	if (!i->running)
		pthread_sigmask(SIG_SETMASK, &i->before, NULL);
}

void interrupt_end(struct interrupt *i)
{
	if (!i->running)
		return;
	pthread_kill(i->thread, WAKE);
	pthread_join(i->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &i->before, NULL);
	i->running = false;
}
