/* api/tempo_series.c - series as Tempo answers them. */
#include "api/tempo_series.h"

#include <errno.h>
#include <stdlib.h>

#include "api/tempo_query.h"
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

/* What protobuf's JSON leaves out when it is 0. */
static void put_number(struct json_writer *w, double value)
{
	if (value == 0)
		return;
	json_put_name(w, "value");
	json_put_double(w, value);
}

static void put_labels(const struct tempo_series *s, const struct tempo_one *one,
		       struct json_writer *w)
{
	json_put_name(w, "labels");
	json_begin_array(w);
	for (size_t i = 0; i < one->label_n; i++) {
		json_begin_object(w);
		json_put_name(w, "key");
		json_put_string(w, one->labels[i].key);
		json_put_name(w, "value");
		tempo_put_any(w, one->labels[i].value, s->arena);
		json_end_object(w);
	}
	json_end_array(w);
}

static void put_exemplars(const struct tempo_series *s, const struct tempo_one *one,
			  struct json_writer *w)
{
	if (one->exemplar_n == 0)
		return;
	json_put_name(w, "exemplars");
	json_begin_array(w);
	for (size_t i = 0; i < one->exemplar_n; i++) {
		const struct tempo_exemplar *e = &one->exemplars[i];

		json_begin_object(w);
		json_put_name(w, "labels");
		json_begin_array(w);
		json_begin_object(w);
		json_put_name(w, "key");
		json_put_cstr(w, "trace:id");
		json_put_name(w, "value");
		tempo_put_any(w, value_text(e->trace), s->arena);
		json_end_object(w);
		json_end_array(w);
		put_number(w, e->value);
		json_put_name(w, "timestampMs");
		json_put_i64_text(w, e->time_ns / 1000000);
		json_end_object(w);
	}
	json_end_array(w);
}

void tempo_series_put(const struct tempo_series *s, struct json_writer *w, bool instant)
{
	json_begin_array(w);
	for (size_t i = 0; i < s->n; i++) {
		const struct tempo_one *one = &s->rows[i];

		json_begin_object(w);
		put_labels(s, one, w);
		if (instant) {
			put_number(w, one->samples[0].value);
			json_end_object(w);
			continue;
		}
		qsort(one->samples, one->n, sizeof(*one->samples), by_time);
		json_put_name(w, "samples");
		json_begin_array(w);
		for (size_t k = 0; k < one->n; k++) {
			json_begin_object(w);
			json_put_name(w, "timestampMs");
			json_put_i64_text(w, one->samples[k].time_ns / 1000000);
			put_number(w, one->samples[k].value);
			json_end_object(w);
		}
		json_end_array(w);
		put_exemplars(s, one, w);
		json_end_object(w);
	}
	json_end_array(w);
}
