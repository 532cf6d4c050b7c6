/* base/share.h - how much of the machine is taken by what can wait, beside what cannot.
 *
 * Answering questions can wait, taking in spans cannot.  Questions run at ordinary priority and
 * stop by themselves, where they hold no lock (base/leash.h): a thread of low priority that the
 * kernel stops in the middle of a lock makes everybody wait who is to be preferred.
 *
 *   nobody waits for a processor   questions take what they want
 *   what cannot wait does wait     their rate is halved, again and again, down to SHARE_LEAST; it
 *                                  grows when that is over
 *   it waits and has little to do  questions take what they want: the machine is busy with
 *                                  something else, and giving way would help nobody
 *
 * What cannot wait are threads that are watched: the kernel tells how long each was ready to run
 * and did not (/proc/self/task/ID/schedstat).  That takes in other processes, and the quota of a
 * container.  Any thread may call anything here, share_watch() one at a time. */
#ifndef CAUSET_BASE_SHARE_H
#define CAUSET_BASE_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/seats.h"

#define SHARE_LEAST        30   /* per mille of all processors: what questions have in any case */
#define SHARE_ALL          1000 /* from here on they are not limited */
#define SHARE_LIGHT_NS     (100 * 1000000L)  /* of processor time: who has taken less comes first */
#define SHARE_PATIENCE_NS  (2000 * 1000000L) /* who has waited so long for a turn is light again */
#define SHARE_SAVED_NS     (50 * 1000000L)   /* of one processor: what can be used at once */
#define SHARE_LOOK_NS      (20 * 1000000L)   /* how often it is looked who waits */
#define SHARE_WATCHED_MOST 64

struct share_watched {
	int fd;
	bool tells;
	int64_t ran_ns, waited_ns; /* when it was last looked at */
};

struct share {
	int64_t milli; /* thousandths of a processor: what there is in all */
	_Atomic int64_t rate;
	_Atomic int64_t left_ns;  /* of processor time; below 0 when more was taken */
	_Atomic int64_t since_ns; /* up to when it has grown */
	_Atomic int64_t looked_ns;
	_Atomic int64_t light_ns;          /* when a question was at work that had taken little */
	_Atomic int64_t waiting;           /* threads, just now */
	_Atomic uint64_t waits, waited_ns; /* of questions, ever */
	atomic_flag looking;               /* guards what follows but the last two */
	/* Of lately, ever less of what is longer ago; processor time of threads that tell. */
	int64_t recent_ns, recent_told_ns;
	struct share_watched watched[SHARE_WATCHED_MOST];
	_Atomic size_t watched_n;
	_Atomic bool told;  /* some thread tells; set while others may look */
	struct seats seats; /* of light questions, while they are limited */
};

/* `milli` thousandths of a processor; nothing is watched, so nothing is limited. */
void share_init(struct share *s, unsigned milli, int64_t now_ns);
void share_done(struct share *s);

/* Processors that this process may use, in thousandths: by its affinity and its control group. */
unsigned share_processors(void);

/* Watches the threads of this process that have this name now.  How many there are.  `tells`: how
 * much they do says how much there is to do; where none does, there always is. */
size_t share_watch(struct share *s, const char *name, bool tells);

/* Looks, if it is time, who has waited. */
void share_look(struct share *s, int64_t now_ns);

/* Is there enough to do for waits to matter?  Of wall_ns, threads that tell ran so long, and all of
 * those that are watched wanted to. */
bool share_heeds(struct share *s, int64_t wall_ns, int64_t told_ns, int64_t wanted_ns);

/* What a look does: of wall_ns, threads that are watched ran and waited so long. */
void share_adjust(struct share *s, int64_t wall_ns, int64_t ran_ns, int64_t waited_ns);

/* May a question that has taken so much go on?  0: yes, for
 * nothing is limited; -SHARE_STEP_NS: yes, and so much was taken; else how long to wait before
 * asking again.
 */
#define SHARE_STEP_NS (1000000L)
int64_t share_ask(struct share *s, int64_t taken_ns, int64_t now_ns);

/* So much processor time was taken; less than 0: not taken after all. */
void share_take(struct share *s, int64_t ns);

bool share_is_limited(struct share *s);

/* How many light questions share what there is, while it is limited.  All that wait would each have
 * a snapshot, for as long as all of them together take, and what they hold of the newest rows could
 * not be used again: so the first come are answered first. */
unsigned share_seats(struct share *s);

/* Should a question that has taken so much let others pass?  Those that have taken little are noted
 * by asking. */
bool share_lets_pass(struct share *s, int64_t taken_ns, int64_t now_ns);

/* Processor time of the calling thread so far. */
int64_t share_thread_ns(void);

/* Gives a thread of this process the least priority, for good.  For processes that share no lock
 * with others: see above. */
void share_give_way(pid_t thread);

#endif
