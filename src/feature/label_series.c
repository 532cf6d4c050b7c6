/* feature/label_series.c - a bounded set of time series. */
#include "feature/label_series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hash.h"

#define FIRST_BOUND 0.002
#define NS_PER_S    1e9

/* Room for stand-ins: one for each first label, as far as it goes; and always one for all. */
#define STAND_INS 256

double latency_bound(size_t bucket)
{
	return FIRST_BOUND * (double)(1U << bucket);
}

void series_set_init(struct series_set *s, size_t label_n, size_t latency_n, size_t most)
{
	*s = (struct series_set){.label_n = label_n, .latency_n = latency_n, .most = most};
	map_init(&s->by_label);
}

void series_set_done(struct series_set *s)
{
	map_done(&s->by_label);
	arena_done(&s->arena);
	free(s->rows);
	*s = (struct series_set){0};
}

/* At most SERIES_LABEL_BYTES of it, without half a character at the end. */
static struct slice cut(struct slice text)
{
	size_t n = SERIES_LABEL_BYTES;

	if (text.n <= n)
		return text;
	while (n > 0 && ((uint8_t)text.p[n] & 0xc0) == 0x80)
		n--;
	return slice_first(text, n);
}

static bool has_labels(const void *context, uint32_t value, const void *key)
{
	const struct series_set *s = context;
	const struct slice *labels = key;

	for (size_t i = 0; i < s->label_n; i++)
		if (!slice_eq(s->rows[value].labels[i], labels[i]))
			return false;
	return true;
}

static uint64_t hash_of(const struct series_set *s, const struct slice *labels)
{
	uint64_t hash = s->by_label.seed;

	for (size_t i = 0; i < s->label_n; i++)
		hash = hash_bytes(labels[i].p ? labels[i].p : "", labels[i].n, hash);
	return hash;
}

static int64_t add(struct series_set *s, const struct slice *labels, uint64_t hash)
{
	struct series row = {.latencies = arena_zalloc(&s->arena, MAX(s->latency_n, (size_t)1),
						       sizeof(*row.latencies))};

	if (!row.latencies)
		return -ENOMEM;
	for (size_t i = 0; i < s->label_n; i++) {
		row.labels[i] = arena_dup(&s->arena, labels[i]);
		if (!row.labels[i].p)
			return -ENOMEM;
	}
	if (!vec_reserve(&s->rows, &s->capacity, s->n + 1, sizeof(*s->rows)) ||
	    !map_put(&s->by_label, hash, (uint32_t)s->n))
		return -ENOMEM;
	s->rows[s->n] = row;
	return (int64_t)s->n++;
}

/* The series, made if there are fewer than `most`; -ENOSPC otherwise. */
static int64_t find_or_add(struct series_set *s, const struct slice *labels, size_t most)
{
	uint64_t hash = hash_of(s, labels);
	uint32_t at = map_get(&s->by_label, hash, has_labels, s, labels);

	if (at != MAP_NONE)
		return at;
	return s->n < most ? add(s, labels, hash) : -ENOSPC;
}

int64_t series_get(struct series_set *s, const struct slice *labels)
{
	struct slice own[SERIES_LABELS];
	int64_t at;

	for (size_t i = 0; i < s->label_n; i++)
		own[i] = cut(labels[i]);
	at = find_or_add(s, own, s->most);
	if (at != -ENOSPC)
		return at;
	s->overflowed++;
	own[1] = SLICE(SERIES_OVERFLOW);
	at = find_or_add(s, own, s->most + STAND_INS);
	if (at != -ENOSPC)
		return at;
	own[0] = SLICE(SERIES_OVERFLOW);
	return find_or_add(s, own, SIZE_MAX); /* the other labels have few values */
}

void latency_add(struct latency *l, uint64_t duration_ns, double weight,
		 const struct exemplar *exemplar)
{
	double seconds = (double)duration_ns / NS_PER_S;
	size_t bucket = 0;

	while (bucket < LATENCY_BUCKETS && seconds > latency_bound(bucket))
		bucket++;
	l->counts[bucket] += weight;
	l->sum += seconds * weight;
	l->exemplars[bucket] = *exemplar;
	l->exemplars[bucket].value = seconds;
}
