/* base/seats.c - a few seats, taken in the order of arrival. */
#include "base/seats.h"

#include "core/clock.h"

void seats_init(struct seats *s)
{
	pthread_condattr_t attributes;

	*s = (struct seats){.last = &s->first};
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

void seats_done(struct seats *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
}

static void line_leave(struct seats *s, struct seat *seat)
{
	for (struct seat **at = &s->first; *at; at = &(*at)->next)
		if (*at == seat) {
			*at = seat->next;
			if (s->last == &seat->next)
				s->last = at;
			break;
		}
	seat->waits = false;
}

static void line_join(struct seats *s, struct seat *seat)
{
	seat->next = NULL;
	seat->waits = true;
	*s->last = seat;
	s->last = &seat->next;
}

bool seats_take(struct seats *s, struct seat *seat, unsigned most, int64_t ns)
{
	int64_t end = clock_mono_ns() + ns;
	const struct timespec until = {end / NS_PER_S, end % NS_PER_S};
	bool taken;

	pthread_mutex_lock(&s->lock);
	if (!seat->taken && !seat->waits)
		line_join(s, seat);
	while (!seat->taken && (s->first != seat || s->taken >= most))
		if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != 0)
			break;
	/* Another thread may have taken it for both meanwhile. */
	if (!seat->taken && s->first == seat && s->taken < most) {
		line_leave(s, seat);
		seat->taken = true;
		s->taken++;
		pthread_cond_broadcast(&s->changed); /* there may be more than one */
	}
	taken = seat->taken;
	pthread_mutex_unlock(&s->lock);
	return taken;
}

void seats_leave(struct seats *s, struct seat *seat)
{
	pthread_mutex_lock(&s->lock);
	if (seat->waits)
		line_leave(s, seat);
	s->taken -= seat->taken;
	seat->taken = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}
