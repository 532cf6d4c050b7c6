/* base/share.c - how much of the machine is taken by what can wait. */
#include "base/share.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/clock.h"

#define NICE_MOST   19
#define OWED_MOST   (100 * NS_PER_MS) /* of processor time, of one processor */
#define GROWS       25                /* per mille, each time that nobody has waited */
#define LOOKS_MOST  50                /* that one look stands for */
#define LIGHT_NS    (3 * NS_PER_MS)   /* a light question was at work so lately */
#define SEATS_LEAST 2
#define WAIT_LEAST  (2 * NS_PER_MS)
#define WAIT_MOST   (100 * NS_PER_MS)
/* Threads that are watched count when they want a fifth of a processor, … */
#define WANTED_PART 5
/* … and wait when they do for an eighth of the time they want. */
#define WAITED_PART 8
/* What they do matters when those of them that tell have run for a fiftieth of the time since the
 * last look, or for a hundredth lately: the log's thread does with some 30,000 spans a second. */
#define TOLD_NOW    50
#define TOLD_PART   100
#define RECENT_PART 8 /* of what was counted as lately is forgotten at each look */

void share_init(struct share *s, unsigned milli, int64_t now_ns)
{
	*s = (struct share){.milli = milli ? milli : 1000, .looking = ATOMIC_FLAG_INIT};
	atomic_init(&s->rate, SHARE_ALL);
	atomic_init(&s->left_ns, SHARE_SAVED_NS * s->milli / 1000);
	atomic_init(&s->since_ns, now_ns);
	atomic_init(&s->looked_ns, now_ns);
	atomic_init(&s->light_ns, now_ns - NS_PER_S);
	seats_init(&s->seats);
}

void share_done(struct share *s)
{
	while (s->watched_n > 0)
		close(s->watched[--s->watched_n].fd);
	seats_done(&s->seats);
}

/* --- what there is --- */

static bool file_read(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	text[n] = '\0';
	if (f)
		fclose(f);
	return n > 0;
}

/* Thousandths of a processor that a control group allows; 0: no limit is known. */
static long quota(void)
{
	long long quota_us = 0, period_us = 0;
	char text[64];

	if (file_read("/sys/fs/cgroup/cpu.max", text, sizeof(text))) {
		if (sscanf(text, "%lld %lld", &quota_us, &period_us) != 2)
			return 0; /* "max" */
	} else if (file_read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof(text))) {
		quota_us = atoll(text);
		if (file_read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text, sizeof(text)))
			period_us = atoll(text);
	}
	return quota_us > 0 && period_us > 0 ? (long)(quota_us * 1000 / period_us) : 0;
}

unsigned share_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN), allowed = quota();
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	n = MAX(n, 1L) * 1000;
	return (unsigned)(allowed > 0 ? MIN(n, MAX(allowed, 100L)) : n);
}

/* --- who waits --- */

static bool figures_read(struct share_watched *w, int64_t *ret_ran, int64_t *ret_waited)
{
	char text[96], *end;
	ssize_t n = pread(w->fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	*ret_ran = strtoll(text, &end, 10);
	*ret_waited = strtoll(end, NULL, 10);
	return true;
}

static void thread_watch(struct share *s, const char *id, const char *name, bool tells)
{
	struct share_watched *w = &s->watched[s->watched_n];
	char path[300], text[32];

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", id);
	if (s->watched_n == SHARE_WATCHED_MOST || !file_read(path, text, sizeof(text)))
		return;
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, name) != 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", id);
	w->tells = tells;
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0)
		return;
	if (figures_read(w, &w->ran_ns, &w->waited_ns))
		s->watched_n++;
	else
		close(w->fd);
}

size_t share_watch(struct share *s, const char *name, bool tells)
{
	size_t before = s->watched_n;
	struct dirent *entry;
	DIR *dir = opendir("/proc/self/task");

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			thread_watch(s, entry->d_name, name, tells);
	if (dir)
		closedir(dir);
	if (tells && s->watched_n > before)
		s->told = true;
	return s->watched_n - before;
}

bool share_heeds(struct share *s, int64_t wall_ns, int64_t told_ns, int64_t wanted_ns)
{
	const int64_t most = RECENT_PART * SHARE_LOOK_NS;

	/* Nobody has looked for long: what was is known for all of that time at once. */
	if (wall_ns > most) {
		told_ns = (int64_t)((double)told_ns * (double)most / (double)wall_ns);
		wanted_ns = (int64_t)((double)wanted_ns * (double)most / (double)wall_ns);
		wall_ns = most;
	}
	s->recent_ns += wall_ns - s->recent_ns / RECENT_PART;
	s->recent_told_ns += told_ns - s->recent_told_ns / RECENT_PART;
	/* Who wants a whole processor has much to do, however little it gets to it. */
	return !s->told || wanted_ns >= wall_ns || told_ns >= wall_ns / TOLD_NOW ||
	       s->recent_told_ns >= s->recent_ns / TOLD_PART;
}

void share_adjust(struct share *s, int64_t wall_ns, int64_t ran_ns, int64_t waited_ns)
{
	int64_t wanted = ran_ns + waited_ns, rate = atomic_load(&s->rate);
	/* Without questions nobody has looked: as often as it would have been. */
	int64_t looks = MIN(MAX(wall_ns / SHARE_LOOK_NS, (int64_t)1), (int64_t)LOOKS_MOST);

	if (wanted >= wall_ns / WANTED_PART && waited_ns >= wanted / WAITED_PART)
		rate = MAX(rate >> looks, (int64_t)SHARE_LEAST);
	else
		rate = MIN(rate + GROWS * looks, (int64_t)SHARE_ALL);
	atomic_store(&s->rate, rate);
}

void share_look(struct share *s, int64_t now_ns)
{
	int64_t looked = atomic_load_explicit(&s->looked_ns, memory_order_relaxed), ran = 0,
		waited = 0, told = 0;

	if (now_ns - looked < SHARE_LOOK_NS || s->watched_n == 0 ||
	    atomic_flag_test_and_set(&s->looking))
		return;
	looked = atomic_load(&s->looked_ns);
	if (now_ns - looked >= SHARE_LOOK_NS) {
		for (size_t i = 0; i < s->watched_n; i++) {
			struct share_watched *w = &s->watched[i], was = *w;

			if (!figures_read(w, &w->ran_ns, &w->waited_ns))
				continue;
			ran += w->ran_ns - was.ran_ns;
			waited += w->waited_ns - was.waited_ns;
			if (w->tells)
				told += w->ran_ns - was.ran_ns;
		}
		if (!share_heeds(s, now_ns - looked, told, ran + waited))
			waited = 0;
		share_adjust(s, now_ns - looked, ran, waited);
		atomic_store(&s->looked_ns, now_ns);
	}
	atomic_flag_clear(&s->looking);
}

/* --- taking --- */

bool share_is_limited(struct share *s)
{
	return atomic_load_explicit(&s->rate, memory_order_relaxed) < SHARE_ALL;
}

unsigned share_seats(struct share *s)
{
	return SEATS_LEAST + (unsigned)(s->milli * atomic_load(&s->rate) / 1000 / SHARE_ALL);
}

static void grow(struct share *s, int64_t now_ns)
{
	int64_t since = atomic_load(&s->since_ns), left, grown,
		most = SHARE_SAVED_NS * s->milli / 1000;

	/* Who moves the moment on adds what has grown until then. */
	if (now_ns - since < NS_PER_MS ||
	    !atomic_compare_exchange_strong(&s->since_ns, &since, now_ns))
		return;
	grown = MIN(now_ns - since, 60 * NS_PER_S) / 1000 * atomic_load(&s->rate) * s->milli / 1000;
	left = atomic_load(&s->left_ns);
	while (!atomic_compare_exchange_weak(&s->left_ns, &left, MIN(left + grown, most)))
		;
}

int64_t share_ask(struct share *s, int64_t taken_ns, int64_t now_ns)
{
	int64_t need = 0, left, rate = atomic_load(&s->rate);

	if (rate >= SHARE_ALL)
		return 0;
	grow(s, now_ns);
	/* What has taken much leaves some to the others, who will soon be done. */
	if (taken_ns > SHARE_LIGHT_NS)
		need = SHARE_SAVED_NS / 2 * s->milli / 1000;
	left = atomic_load(&s->left_ns);
	while (left > need)
		if (atomic_compare_exchange_weak(&s->left_ns, &left, left - SHARE_STEP_NS))
			return -SHARE_STEP_NS;
	/* Others wait, too, and whoever wakes up in vain keeps somebody from his work. */
	need += atomic_load_explicit(&s->waiting, memory_order_relaxed) * SHARE_STEP_NS;
	return MIN(MAX((need - left) * 1000 / rate * 1000 / s->milli, WAIT_LEAST), WAIT_MOST);
}

bool share_lets_pass(struct share *s, int64_t taken_ns, int64_t now_ns)
{
	if (taken_ns > SHARE_LIGHT_NS)
		return now_ns - atomic_load_explicit(&s->light_ns, memory_order_relaxed) < LIGHT_NS;
	atomic_store_explicit(&s->light_ns, now_ns, memory_order_relaxed);
	return false;
}

void share_take(struct share *s, int64_t ns)
{
	int64_t left = atomic_load(&s->left_ns), least = -OWED_MOST * s->milli / 1000;

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
	 * milliseconds. */
	if (sched_setscheduler(thread, SCHED_IDLE, &none) < 0)
		setpriority(PRIO_PROCESS, (id_t)thread, NICE_MOST);
}
