/* feature/alert_state.c - how an alert goes from pending to firing to resolved. */
#include "feature/alert_state.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

void alert_states_done(struct alert_states *s)
{
	free(s->rows);
	s->rows = NULL;
	s->n = s->room = 0;
}

int alert_states_add(struct alert_states *s, const struct alert_state_row *row)
{
	const char *labels = arena_dup(s->arena, slice_cstr(row->labels)).p;

	if (!labels || !vec_reserve(&s->rows, &s->room, s->n + 1, sizeof(*s->rows)))
		return -ENOMEM;
	s->rows[s->n] = *row;
	s->rows[s->n].rule = NULL;
	s->rows[s->n++].labels = labels;
	return 0;
}

static int by_labels(const void *a, const void *b)
{
	return strcmp(((const struct alert_state_row *)a)->labels,
		      ((const struct alert_state_row *)b)->labels);
}

static void sort(struct alert_states *s)
{
	if (s->n > 0)
		qsort(s->rows, s->n, sizeof(*s->rows), by_labels);
}

static struct alert_state_row *find(struct alert_state_row *rows, size_t n, const char *labels)
{
	const struct alert_state_row key = {.labels = labels};

	return n ? bsearch(&key, rows, n, sizeof(*rows), by_labels) : NULL;
}

/* Resolved ones last, those of long ago at the end. */
static int by_age(const void *one, const void *other)
{
	const struct alert_state_row *a = one, *b = other;
	bool gone_a = a->is == ALERT_RESOLVED, gone_b = b->is == ALERT_RESOLVED;

	if (gone_a != gone_b)
		return gone_a - gone_b;
	return (a->resolved_ns < b->resolved_ns) - (a->resolved_ns > b->resolved_ns);
}

static size_t live(const struct alert_states *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->rows[i].is != ALERT_RESOLVED;
	return n;
}

/* Resolved ones are bounded as those are that hold. */
static void trim(struct alert_states *s, struct alert_step *step)
{
	size_t most = live(s) + ALERT_MOST;

	if (s->n <= most)
		return;
	qsort(s->rows, s->n, sizeof(*s->rows), by_age);
	s->n = most;
	step->changed = true;
}

static bool clamp(int64_t *ns, int64_t most)
{
	if (*ns <= most)
		return false;
	*ns = most;
	return true;
}

/* The clock was ahead when they were written: without this they would wait for that time. */
static void set_back(struct alert_states *s, int64_t now_ns, struct alert_step *step)
{
	for (size_t i = 0; i < s->n; i++) {
		struct alert_state_row *row = &s->rows[i];

		step->changed |= clamp(&row->since_ns, now_ns);
		step->changed |= clamp(&row->fired_ns, now_ns);
		step->changed |= clamp(&row->told_ns, now_ns);
		if (row->resolved_ns > now_ns)
			step->changed |= clamp(&row->resolved_ns, now_ns - 1); /* it was told */
	}
}

/* The condition holds for it. */
static bool hold(struct alert_state_row *s, const struct alert_rule *rule, double value,
		 int64_t now_ns, struct alert_step *step)
{
	bool changed = false;

	s->value = value;
	if (s->is == ALERT_RESOLVED || s->is == 0) {
		*s = (struct alert_state_row){.labels = s->labels,
					      .is = ALERT_PENDING,
					      .value = value,
					      .since_ns = now_ns};
		changed = true;
	}
	if (s->is == ALERT_PENDING && now_ns - s->since_ns >= rule->for_ns) {
		s->is = ALERT_FIRING;
		s->fired_ns = now_ns;
		step->tell = changed = true;
	} else if (s->is == ALERT_FIRING && rule->repeat_ns > 0 &&
		   now_ns - s->told_ns >= rule->repeat_ns) {
		step->tell = changed = true;
	}
	return changed;
}

/* It does not, any more.  False: the row goes. */
static bool fall(struct alert_state_row *s, int64_t now_ns, struct alert_step *step)
{
	if (s->is == ALERT_FIRING) {
		s->is = ALERT_RESOLVED;
		s->resolved_ns = now_ns;
		step->tell = step->changed = true;
		return true;
	}
	if (s->is == ALERT_RESOLVED && now_ns - s->resolved_ns < ALERT_RESOLVED_KEEP_NS)
		return true;
	step->changed = true;
	return false;
}

static int hold_all(struct alert_states *s, size_t before, bool *held,
		    const struct alert_rule *rule, const struct alert_answer *answer,
		    int64_t now_ns, struct alert_step *step)
{
	size_t room = ALERT_MOST - MIN(live(s), (size_t)ALERT_MOST);

	for (size_t i = 0; i < answer->n; i++) {
		struct alert_state_row *row = find(s->rows, before, answer->rows[i].labels.p);

		if (answer->overflow && (!row || row->is == ALERT_RESOLVED)) {
			if (room == 0) {
				step->overflow++;
				continue;
			}
			room--;
		}
		if (row)
			held[row - s->rows] = true;
		else {
			const struct alert_state_row fresh = {.labels = answer->rows[i].labels.p};
			int r = alert_states_add(s, &fresh);

			if (r < 0)
				return r;
			row = &s->rows[s->n - 1];
		}
		step->changed |= hold(row, rule, answer->rows[i].value, now_ns, step);
	}
	return 0;
}

int alert_states_step(struct alert_states *s, const struct alert_rule *rule,
		      const struct alert_answer *answer, int64_t now_ns,
		      struct alert_step *ret_step)
{
	_cleanup_(freep)
	bool *held = calloc(s->n + 1, sizeof(*held));
	size_t before = s->n, n = 0;
	int r;

	*ret_step = (struct alert_step){0};
	if (!held)
		return -ENOMEM;
	sort(s);
	set_back(s, now_ns, ret_step);
	r = hold_all(s, before, held, rule, answer, now_ns, ret_step);
	if (r < 0) {
		*ret_step = (struct alert_step){0};
		return r;
	}
	for (size_t i = 0; i < s->n; i++) {
		bool unknown = answer->overflow && s->rows[i].is != ALERT_RESOLVED;

		if (i >= before || held[i] || unknown || fall(&s->rows[i], now_ns, ret_step))
			s->rows[n++] = s->rows[i];
	}
	s->n = n;
	trim(s, ret_step);
	sort(s);
	for (size_t i = 0; ret_step->tell && i < s->n; i++)
		if (s->rows[i].is == ALERT_FIRING || s->rows[i].resolved_ns == now_ns)
			s->rows[i].told_ns = now_ns;
	return 0;
}
