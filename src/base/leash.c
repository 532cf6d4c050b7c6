/* base/leash.c - what a question hangs on. */
#include "base/leash.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define CHECK_NS  NS_PER_MS         /* the share is asked so often, of the wall */
#define POLITE_NS (2 * NS_PER_MS)   /* for which what has taken much lets light questions pass */
#define NAP_NS    (100 * NS_PER_MS) /* a wait is interrupted to see whether it is over */

/* Of the calling thread. */
static _Thread_local struct {
	struct leash *leash;
	int64_t asked_ns;    /* the share, last */
	int64_t cpu_ns;      /* processor time that has been counted */
	int64_t reserved_ns; /* that the share has been charged with beforehand */
} mine;

/* What it counts as having taken: nothing, while it is repaid for having waited. */
static int64_t taken(struct leash *l)
{
	int64_t ns = atomic_load(&l->taken_ns);

	return ns < atomic_load(&l->repaid_ns) ? 0 : ns;
}

static int stopped(const struct leash *l, int64_t now_ns)
{
	if (l->cancel && atomic_load_explicit(l->cancel, memory_order_relaxed))
		return -ECANCELED;
	return l->end_ns && now_ns > l->end_ns ? -ETIMEDOUT : 0;
}

/* Counts what this thread has taken since the last time. */
static void settle(struct leash *l)
{
	int64_t cpu = share_thread_ns(), took = cpu - mine.cpu_ns;

	mine.cpu_ns = cpu;
	atomic_fetch_add(&l->taken_ns, took);
	if (mine.reserved_ns || share_is_limited(l->share))
		share_take(l->share, took - mine.reserved_ns);
	mine.reserved_ns = 0;
}

static void nap(int64_t ns)
{
	struct timespec t = {.tv_nsec = MIN(ns, NAP_NS)};

	nanosleep(&t, NULL);
}

/* Those that have taken little go one after the other: is this one among the first?  Waits a while
 * to be. */
static bool sits(struct leash *l)
{
	if (!share_is_limited(l->share))
		return true;
	if (atomic_load(&l->taken_ns) <= SHARE_LIGHT_NS)
		return seats_take(&l->share->seats, &l->seat, share_seats(l->share), NAP_NS);
	seats_leave(&l->share->seats, &l->seat); /* it goes on beside them */
	return true;
}

/* Waits until it is this one's turn, or it is stopped. */
static int take_turn(struct leash *l, int64_t now_ns)
{
	int64_t began = now_ns, wait = 0;
	int r = 0;

	share_look(l->share, now_ns);
	for (; r == 0; r = stopped(l, now_ns)) {
		if (!sits(l)) {
			now_ns = clock_mono_ns();
			share_look(l->share, now_ns);
			continue;
		}
		if (now_ns - began >= SHARE_PATIENCE_NS)
			atomic_store(&l->repaid_ns, atomic_load(&l->taken_ns) + SHARE_LIGHT_NS);
		wait = share_ask(l->share, taken(l), now_ns);
		if (wait <= 0)
			break;
		atomic_fetch_add_explicit(&l->share->waiting, 1, memory_order_relaxed);
		nap(wait);
		atomic_fetch_sub_explicit(&l->share->waiting, 1, memory_order_relaxed);
		now_ns = clock_mono_ns();
		share_look(l->share, now_ns);
	}
	mine.reserved_ns = r == 0 ? -wait : 0;
	if (now_ns > began) {
		atomic_fetch_add_explicit(&l->share->waits, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&l->share->waited_ns, (uint64_t)(now_ns - began),
					  memory_order_relaxed);
	} else if (r == 0 && share_is_limited(l->share) &&
		   share_lets_pass(l->share, taken(l), now_ns)) {
		nap(POLITE_NS);
		now_ns = clock_mono_ns();
	}
	mine.asked_ns = now_ns;
	return r;
}

bool leash_hold(struct leash *l)
{
	if (mine.leash == l)
		return false;
	mine.leash = l;
	atomic_fetch_add(&l->holders, 1);
	mine.reserved_ns = 0;
	mine.asked_ns =
		0; /* the first check waits: who holds it may yet have to say who can stop it */
	if (l->share)
		mine.cpu_ns = share_thread_ns();
	return true;
}

void leash_drop(void)
{
	struct leash *l = mine.leash;

	if (l && l->share)
		settle(l);
	/* Between two pieces of an answer it is not at work. */
	if (l && atomic_fetch_sub(&l->holders, 1) == 1 && l->share)
		seats_leave(&l->share->seats, &l->seat);
	mine.leash = NULL;
}

void leash_init(struct leash *l, struct share *share, const _Atomic bool *cancel, int64_t end_ns)
{
	l->share = share;
	l->cancel = cancel;
	l->end_ns = end_ns;
	atomic_init(&l->taken_ns, 0);
	atomic_init(&l->repaid_ns, 0);
	atomic_init(&l->holders, 0);
	l->seat = (struct seat){0};
}

void leash_begin(struct leash *l, struct share *share, const _Atomic bool *cancel, int64_t end_ns)
{
	leash_init(l, share, cancel, end_ns);
	leash_hold(l);
}

void leash_end(struct leash *l)
{
	if (mine.leash == l)
		leash_drop();
}

struct leash *leash_held(void)
{
	return mine.leash;
}

int leash_stopped(void)
{
	return mine.leash ? stopped(mine.leash, clock_mono_ns()) : 0;
}

int leash_check(void)
{
	struct leash *l = mine.leash;
	int64_t now_ns;
	int r;

	if (!l)
		return 0;
	now_ns = clock_mono_ns();
	r = stopped(l, now_ns);
	if (r < 0 || !l->share || now_ns - mine.asked_ns < CHECK_NS)
		return r;
	settle(l);
	return take_turn(l, now_ns);
}
