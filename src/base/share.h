/* base/share.h - how much of the machine may be taken at ordinary priority by what can wait.
 *
 * Answering questions can wait, taking in spans cannot.  Questions have a share of the processors
 * at ordinary priority: enough that a few are answered at once however busy the machine is.  When
 * many ask, the share is used up, and from then on their threads have the least priority there is:
 * they get all the time that nobody else wants, and nearly none of what others want.
 *
 * A thread that has lowered its priority cannot raise it again without privileges; who wants to
 * must go on in another thread.  Any thread may call anything here. */
#ifndef CAUSET_BASE_SHARE_H
#define CAUSET_BASE_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SHARE_PER_MILLE 40 /* of all processors' time, over long */
#define SHARE_SAVED_NS                                                                             \
	(500 * 1000000L) /* of one processor: what can be saved up and used at once */

struct share {
	int64_t processors;
	_Atomic int64_t left_ns;  /* of processor time; below 0 when more was taken */
	_Atomic int64_t since_ns; /* up to when it has grown */
};

/* Full, for so many processors. */
void share_init(struct share *s, unsigned processors, int64_t now_ns);

/* Whether something is left at `now_ns`, monotonic. */
bool share_left(struct share *s, int64_t now_ns);

/* So much processor time was taken at ordinary priority.  What is owed is bounded: one giant
 * question does not put all others at the end for hours. */
void share_take(struct share *s, int64_t ns);

/* Processor time of the calling thread so far. */
int64_t share_thread_ns(void);

/* Gives a thread of this process the least priority, for good. */
void share_give_way(pid_t thread);

#endif
