/* base/share.c - how much of the machine may be taken at ordinary priority by what can wait. */
#include "base/share.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define NICE_MOST 19
#define OWED_MOST (2 * NS_PER_S) /* of processor time, of one processor */

void share_init(struct share *s, unsigned processors, int64_t now_ns)
{
	s->processors = processors ? processors : 1;
	atomic_init(&s->left_ns, SHARE_SAVED_NS * s->processors);
	atomic_init(&s->since_ns, now_ns);
}

bool share_left(struct share *s, int64_t now_ns)
{
	int64_t since = atomic_load(&s->since_ns), left, grown;

	/* Who moves the moment on adds what has grown until then. */
	if (now_ns - since > NS_PER_MS &&
	    atomic_compare_exchange_strong(&s->since_ns, &since, now_ns)) {
		grown = MIN(now_ns - since, 60 * NS_PER_S) / 1000 * SHARE_PER_MILLE * s->processors;
		left = atomic_load(&s->left_ns);
		while (!atomic_compare_exchange_weak(
			&s->left_ns, &left, MIN(left + grown, SHARE_SAVED_NS * s->processors)))
			;
	}
	return atomic_load(&s->left_ns) > 0;
}

void share_take(struct share *s, int64_t ns)
{
	int64_t left = atomic_load(&s->left_ns), least = -OWED_MOST * s->processors;

	while (!atomic_compare_exchange_weak(&s->left_ns, &left, MAX(left - ns, least)))
		;
}

int64_t share_thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

void share_give_way(pid_t thread)
{
	const struct sched_param none = {0};

	/* To less is always allowed.  The policy matters more than the number: whoever wakes up
	 * takes the processor from an idle thread at once, from one that is merely nice after some
	 * milliseconds, which are many for a request that goes through three threads. */
	if (sched_setscheduler(thread, SCHED_IDLE, &none) < 0)
		setpriority(PRIO_PROCESS, (id_t)thread, NICE_MOST);
}
