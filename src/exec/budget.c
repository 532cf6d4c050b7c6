/* exec/budget.c - what a query may take. */
#include "exec/budget.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/leash.h"

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void budget_init(struct budget *b, const _Atomic bool *cancel, int64_t time_ns, size_t memory_most)
{
	*b = (struct budget){.cancel = cancel, .time_ns = time_ns, .memory_most = memory_most};
	if (time_ns > 0)
		b->end_ns = now_ns() + time_ns;
}

void budget_give_way(struct budget *b, int64_t after_ns)
{
	b->give_way_ns = now_ns() + after_ns;
}

void budget_tick(struct budget *b, int64_t every_ns, int (*tick)(void *context), void *context)
{
	b->caller = pthread_self();
	b->tick_every_ns = every_ns;
	b->tick_ns = now_ns() + every_ns;
	b->tick = tick;
	b->tick_context = context;
}

int budget_stop(struct budget *b, int r)
{
	int none = 0;

	atomic_compare_exchange_strong(&b->stopped, &none, r);
	return atomic_load(&b->stopped);
}

int budget_check(struct budget *b)
{
	int r = atomic_load_explicit(&b->stopped, memory_order_relaxed);

	if (r < 0)
		return r;
	if (b->cancel && atomic_load_explicit(b->cancel, memory_order_relaxed))
		return budget_stop(b, -ECANCELED);
	r = leash_check();
	if (r < 0)
		return budget_stop(b, r);
	if (b->end_ns || b->give_way_ns || b->tick) {
		int64_t now = now_ns();

		if (b->end_ns && now > b->end_ns)
			return budget_stop(b, -ETIMEDOUT);
		/* Again and again, as it costs less than remembering for each thread. */
		if (b->give_way_ns && now > b->give_way_ns)
			share_give_way(gettid());
		if (b->tick && pthread_equal(b->caller, pthread_self()) && now > b->tick_ns) {
			b->tick_ns = now + b->tick_every_ns;
			r = b->tick(b->tick_context);
			if (r < 0)
				return budget_stop(b, r);
		}
	}
	return 0;
}

int budget_take(struct budget *b, size_t bytes)
{
	size_t had = atomic_fetch_add(&b->memory, bytes), peak = atomic_load(&b->memory_peak);

	if (b->memory_most && had + bytes > b->memory_most) {
		atomic_fetch_sub(&b->memory, bytes);
		return budget_stop(b, -ENOSPC);
	}
	while (had + bytes > peak &&
	       !atomic_compare_exchange_weak(&b->memory_peak, &peak, had + bytes))
		;
	return 0;
}

void budget_give(struct budget *b, size_t bytes)
{
	atomic_fetch_sub(&b->memory, bytes);
}

int budget_hold(struct budget *b, size_t *held, size_t bytes)
{
	int r = 0;

	if (bytes > *held)
		r = budget_take(b, bytes - *held);
	else
		budget_give(b, *held - bytes);
	if (r == 0)
		*held = bytes;
	return r;
}

int budget_error(const struct budget *b, int r, struct error *error)
{
	const double mib = 1 << 20;

	switch (r) {
	case -ECANCELED:
		return error_set(error, r, "cancelled");
	case -ETIMEDOUT:
		return error_set(error, r,
				 "stopped after %.3g s, the time it may take: ask about a shorter "
				 "range (Over last 1h), filter by service or name first, or allow "
				 "more time",
				 (double)b->time_ns / 1e9);
	case -ENOSPC:
		return error_set(error, r,
				 "stopped at %.0f MiB, the memory it may take: group by fewer or "
				 "coarser keys (time / 1m instead of time), ask about a shorter "
				 "range, add a Limit, or allow more memory",
				 (double)b->memory_most / mib);
	default:
		return error_set(error, r, "could not be answered");
	}
}
