/* api/tempo_series.c - series as Tempo answers them. */
#include "api/tempo_series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

void tempo_series_done(struct tempo_series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->rows[i].samples);
		free(s->rows[i].exemplars);
	}
	free(s->rows);
}

static int order(const struct tempo_one *one, const struct tempo_label *labels, size_t n)
{
	for (size_t i = 0; i < n && i < one->label_n; i++) {
		int r = slice_cmp(one->labels[i].key, labels[i].key);

		if (r == 0)
			r = value_order(one->labels[i].value, labels[i].value);
		if (r)
			return r;
	}
	return one->label_n == n ? 0 : one->label_n < n ? -1 : 1;
}

static int sample_add(struct tempo_one *one, int64_t time_ns, double value)
{
	if (one->n == one->room) {
		size_t room = one->room ? one->room * 2 : 16;
		struct tempo_sample *more = realloc(one->samples, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		one->samples = more;
		one->room = room;
	}
	one->samples[one->n++] = (struct tempo_sample){.time_ns = time_ns, .value = value};
	return 0;
}

int tempo_series_add(struct tempo_series *s, const struct tempo_label *labels, size_t label_n,
		     int64_t time_ns, double value)
{
	size_t low = 0, high = s->n;
	struct tempo_one fresh = {.label_n = label_n};

	while (low < high) {
		size_t middle = (low + high) / 2;
		int r = order(&s->rows[middle], labels, label_n);

		if (r == 0)
			return sample_add(&s->rows[middle], time_ns, value);
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (s->n == TEMPO_SERIES_MOST)
		return -E2BIG;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct tempo_one *more = realloc(s->rows, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->rows = more;
		s->room = room;
	}
	fresh.labels = arena_zalloc(s->arena, label_n + 1, sizeof(*fresh.labels));
	if (!fresh.labels)
		return -ENOMEM;
	for (size_t i = 0; i < label_n; i++) {
		fresh.labels[i].key = labels[i].key;
		if (!value_dup(s->arena, labels[i].value, &fresh.labels[i].value))
			return -ENOMEM;
	}
	if (sample_add(&fresh, time_ns, value) < 0)
		return -ENOMEM;
	memmove(&s->rows[low + 1], &s->rows[low], (s->n - low) * sizeof(fresh));
	s->rows[low] = fresh;
	s->n++;
	return 0;
}

int tempo_series_exemplar(struct tempo_series *s, struct tempo_one *one,
			  const struct tempo_exemplar *exemplar)
{
	struct tempo_exemplar *kept;

	if (one->exemplar_n == one->exemplar_room) {
		size_t room = one->exemplar_room ? one->exemplar_room * 2 : 8;
		struct tempo_exemplar *more = realloc(one->exemplars, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		one->exemplars = more;
		one->exemplar_room = room;
	}
	kept = &one->exemplars[one->exemplar_n];
	*kept = *exemplar;
	kept->trace = arena_dup(s->arena, exemplar->trace);
	if (!kept->trace.p)
		return -ENOMEM;
	one->exemplar_n++;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct tempo_sample *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int fill(struct tempo_one *one, int64_t from_ns, int64_t step_ns, uint32_t step_n)
{
	size_t n = one->n, at = 0;
	int r = 0;

	qsort(one->samples, n, sizeof(*one->samples), by_time);
	for (uint32_t i = 0; r == 0 && i < step_n; i++) {
		int64_t time_ns = from_ns + (int64_t)i * step_ns;

		while (at < n && one->samples[at].time_ns < time_ns)
			at++;
		if (at == n || one->samples[at].time_ns != time_ns)
			r = sample_add(one, time_ns, 0);
	}
	return r;
}

int tempo_series_fill(struct tempo_series *s, int64_t from_ns, int64_t step_ns, uint32_t step_n,
		      struct error *error)
{
	int r = 0;

	if (s->n * step_n > TEMPO_FILLED_MOST)
		return error_set(error, -ENOSPC,
				 "%zu series of %u steps each are more than %zu samples: ask for a "
				 "longer step or a shorter range, or group by something with fewer "
				 "values",
				 s->n, step_n, TEMPO_FILLED_MOST);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		r = fill(&s->rows[i], from_ns, step_ns, step_n);
	return r;
}

static bool is_in(const struct tempo_series_part *part, int64_t time_ns)
{
	return (!part->from_ns || time_ns >= part->from_ns) &&
	       (!part->to_ns || time_ns < part->to_ns);
}

static bool has_any(const struct tempo_one *one, const struct tempo_series_part *part)
{
	for (size_t i = 0; i < one->n; i++)
		if (is_in(part, one->samples[i].time_ns))
			return true;
	return false;
}

static void put_exemplars(const struct tempo_series *s, const struct tempo_one *one,
			  struct tempo_message *m)
{
	if (one->exemplar_n == 0)
		return;
	message_list(m, "exemplars");
	for (size_t i = 0; i < one->exemplar_n; i++) {
		const struct tempo_exemplar *e = &one->exemplars[i];
		size_t begun = message_begin(m, NULL, 4);

		message_list(m, "labels");
		message_pair(m, 1, SLICE("trace:id"), value_text(e->trace), s->arena);
		message_list_end(m);
		message_double(m, "value", 2, e->value);
		message_64(m, "timestampMs", 3, e->time_ns / 1000000);
		message_end(m, begun);
	}
	message_list_end(m);
}

static void put_samples(const struct tempo_one *one, struct tempo_message *m,
			const struct tempo_series_part *part)
{
	qsort(one->samples, one->n, sizeof(*one->samples), by_time);
	message_list(m, "samples");
	for (size_t i = 0; i < one->n; i++) {
		size_t begun;

		if (!is_in(part, one->samples[i].time_ns))
			continue;
		begun = message_begin(m, NULL, 2);
		message_64(m, "timestampMs", 2, one->samples[i].time_ns / 1000000);
		message_double(m, "value", 1, one->samples[i].value);
		message_end(m, begun);
	}
	message_list_end(m);
}

void tempo_series_put(const struct tempo_series *s, struct tempo_message *m,
		      const struct tempo_series_part *part)
{
	message_list(m, "series");
	for (size_t i = 0; i < s->n; i++) {
		const struct tempo_one *one = &s->rows[i];
		size_t begun;

		if (!part->instant && !has_any(one, part))
			continue;
		begun = message_begin(m, NULL, 1);
		message_list(m, "labels");
		for (size_t k = 0; k < one->label_n; k++)
			message_pair(m, 1, one->labels[k].key, one->labels[k].value, s->arena);
		message_list_end(m);
		if (part->instant) {
			message_double(m, "value", 2, one->samples[0].value);
		} else {
			put_samples(one, m, part);
			put_exemplars(s, one, m);
		}
		message_end(m, begun);
	}
	message_list_end(m);
}
