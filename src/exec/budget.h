/* exec/budget.h - what a query may take: time, memory, and until somebody says stop.
 *
 * One budget for all threads of a run.  Whoever works asks budget_check() about every thousand
 * rows, and says what memory it holds with budget_take().  Any thread. */
#ifndef CAUSET_EXEC_BUDGET_H
#define CAUSET_EXEC_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/leash.h"

struct budget {
	const _Atomic bool *cancel; /* may be NULL */
	struct leash *leash;        /* what helping threads hold; may be NULL */
	int64_t time_ns;            /* allowed; 0: any */
	int64_t end_ns;             /* by the monotonic clock; 0: none */
	int64_t give_way_ns;        /* likewise; 0: never */
	/* budget_tick() */
	pthread_t caller;
	int64_t tick_ns, tick_every_ns;
	int (*tick)(void *context);
	void *tick_context;
	size_t memory_most; /* 0: any */
	_Atomic size_t memory, memory_peak;
	_Atomic int stopped; /* negative errno: everybody stops with it */
};

/* time_ns, memory_most: 0 is no limit. */
void budget_init(struct budget *b, const _Atomic bool *cancel, int64_t time_ns, size_t memory_most);

/* From after_ns on, each thread that asks budget_check() is given the least priority there is, for
 * as long as it lives: what has taken so long is not urgent, and others may be.  A thread cannot
 * take that back, so it must not be one that is needed for anything else, nor one that shares a
 * lock with what is urgent: a server's queries have a leash instead. */
void budget_give_way(struct budget *b, int64_t after_ns);

/* Calls tick(context) about so often from budget_check(), on the thread that calls this function;
 * anything negative from it stops everybody. */
void budget_tick(struct budget *b, int64_t every_ns, int (*tick)(void *context), void *context);

/* 0; -ECANCELED, -ETIMEDOUT, or what budget_stop() said. */
int budget_check(struct budget *b);

/* Everybody stops with r; the first reason counts.  Returns it. */
int budget_stop(struct budget *b, int r);

/* 0, or -ENOSPC: over; nothing is taken then. */
int budget_take(struct budget *b, size_t bytes);
void budget_give(struct budget *b, size_t bytes);

/* Keeps what was taken for one growing thing in step: *held becomes `bytes`. */
int budget_hold(struct budget *b, size_t *held, size_t bytes);

/* For a person: what was used up and what to change.  Returns r. */
int budget_error(const struct budget *b, int r, struct error *error);

#endif
