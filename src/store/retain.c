/* store/retain.c - what is too old, or too much, goes. */
#include "store/retain.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/engine_int.h"

static bool is_old(const struct engine *e, const struct manifest_segment *s, int64_t now_ns)
{
	int64_t age = e->options.retention_age_ns;

	return age > 0 && s->received_max_ns < now_ns - age;
}

/* Numbers of the segments to go, oldest first. */
static size_t choose(const struct engine *e, int64_t now_ns, uint64_t *numbers)
{
	const struct manifest *m = &e->manifest;
	uint64_t bytes = 0, most = e->options.retention_bytes;
	size_t n = 0;

	for (size_t i = 0; i < m->segment_n; i++)
		bytes += m->segments[i].bytes;
	for (size_t i = 0; i < m->segment_n; i++) {
		const struct manifest_segment *s = &m->segments[i];
		bool surplus = most > 0 && bytes > most && i + 1 < m->segment_n;

		if (!surplus && !is_old(e, s, now_ns))
			continue;
		numbers[n++] = s->number;
		bytes -= s->bytes;
	}
	return n;
}

static void count(struct engine *e, const struct manifest_segment *s)
{
	atomic_fetch_add(&e->counters.removed_segments, 1);
	atomic_fetch_add(&e->counters.removed_rows, s->rows);
	atomic_fetch_add(&e->counters.removed_bytes, s->bytes);
}

/* With `merges` and `files` held. */
static int retain_locked(struct engine *e, int64_t now_ns)
{
	_cleanup_(manifest_done)
	struct manifest before = {0};
	_cleanup_(freep)
	uint64_t *numbers = malloc((e->manifest.segment_n + 1) * sizeof(*numbers));
	struct engine_change change = {.remove = numbers};
	int r;

	if (!numbers)
		return -ENOMEM;
	change.remove_n = choose(e, now_ns, numbers);
	if (change.remove_n == 0)
		return 0;
	r = manifest_dup(&e->manifest, &before);
	if (r < 0)
		return r;
	r = engine_change(e, &change);
	for (size_t i = 0, at = 0; r == 0 && i < before.segment_n; i++)
		if (at < change.remove_n && before.segments[i].number == numbers[at]) {
			count(e, &before.segments[i]);
			at++;
		}
	return r < 0 ? r : (int)MIN(change.remove_n, (size_t)INT_MAX);
}

int retain(struct engine *e, int64_t now_ns)
{
	int r;

	pthread_mutex_lock(&e->merges);
	pthread_mutex_lock(&e->files);
	r = retain_locked(e, now_ns);
	pthread_mutex_unlock(&e->files);
	pthread_mutex_unlock(&e->merges);
	return r;
}
