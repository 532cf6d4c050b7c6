/* base/leash.h - what a question hangs on: whether anybody still wants the answer, until when, and
 * its turn at the processors.
 *
 * Whoever answers a question holds its leash, on each thread that works for it; whatever takes
 * long, however deep below, calls leash_check() about every millisecond of work, without a lock
 * held and without anybody waiting for it: there it may be kept waiting (base/share.h).  A thread
 * without a leash (flushing, the feed) is never stopped and never waits. */
#ifndef CAUSET_BASE_LEASH_H
#define CAUSET_BASE_LEASH_H

#include "base/seats.h"
#include "base/share.h"

struct leash {
	const _Atomic bool *cancel; /* NULL: nobody can */
	int64_t end_ns;             /* monotonic; 0: none */
	struct share *share;        /* NULL: takes what it wants */
	_Atomic int64_t taken_ns;   /* processor time, all threads */
	_Atomic int64_t
		repaid_ns; /* until it has taken so much, it counts as having taken nothing */
	_Atomic unsigned holders; /* threads */
	struct seat seat;         /* where questions are limited and this one is light */
};

/* Nobody holds it yet. */
void leash_init(struct leash *l, struct share *share, const _Atomic bool *cancel, int64_t end_ns);

/* The same, and the calling thread holds it from now on.  It does not wait here: its first
 * leash_check() does.  leash_end() on the same thread; the leash must stay until then. */
void leash_begin(struct leash *l, struct share *share, const _Atomic bool *cancel, int64_t end_ns);
void leash_end(struct leash *l);

/* What the calling thread holds; NULL: nothing. */
struct leash *leash_held(void);

/* For threads that help another, and hold what it holds (or NULL) meanwhile, or that work for a
 * question in pieces:
 *   bool held = leash_hold(l);  …  if (held) leash_drop();
 * Nothing happens, and it is false, where the thread holds it already. */
bool leash_hold(struct leash *l);
void leash_drop(void);

/* 0, perhaps after a while; -ECANCELED, -ETIMEDOUT. */
int leash_check(void);

/* The same with a lock held: does not wait. */
int leash_stopped(void);

#endif
