/* store/steady_clock.c - a clock to remove things by. */
#include "store/steady_clock.h"

#include "base/cleanup.h"

void steady_clock_init(struct steady_clock *c, int64_t newest_ns, int64_t wall_ns, int64_t mono_ns)
{
	*c = (struct steady_clock){.wall_ns = newest_ns > 0 ? MIN(newest_ns, wall_ns) : wall_ns,
				   .mono_ns = mono_ns};
}

static int64_t believe(struct steady_clock *c, int64_t wall_ns, int64_t mono_ns)
{
	*c = (struct steady_clock){.wall_ns = wall_ns, .mono_ns = mono_ns};
	return wall_ns;
}

int64_t steady_clock_now(struct steady_clock *c, int64_t wall_ns, int64_t mono_ns)
{
	int64_t expected = c->wall_ns + (mono_ns - c->mono_ns);

	if (wall_ns - STEADY_SLACK_NS <= expected)
		return believe(c, wall_ns, mono_ns);
	if (c->ahead_ns == 0)
		c->ahead_ns = MAX(mono_ns, (int64_t)1);
	if (mono_ns - c->ahead_ns >= STEADY_TRUST_NS)
		return believe(c, wall_ns, mono_ns);
	return expected;
}
