/* infer/score.c - compares an answer with the truth. */
#include "infer/score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FREQUENT 10 /* instances of a pattern whose delays are judged one by one */

/* Who calls a node: nobody, one, or several. */
enum callers { CALLERS_NONE, CALLERS_ONE, CALLERS_MANY };

static int find_callers(const struct calls *calls, size_t node_n, uint8_t *callers)
{
	_cleanup_(freep)
	uint32_t *one = calloc(node_n + 1, sizeof(*one));

	if (!one)
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++) {
		const struct call *c = &calls->at[i];

		if (callers[c->callee] == CALLERS_NONE) {
			callers[c->callee] = CALLERS_ONE;
			one[c->callee] = c->caller;
		} else if (one[c->callee] != c->caller) {
			callers[c->callee] = CALLERS_MANY;
		}
	}
	return 0;
}

struct verdict {
	bool wrong, wrong_with_shared, seen;
};

static void spoil(struct verdict *traces, uint32_t trace, bool shared)
{
	if (trace == TRUTH_UNKNOWN)
		return;
	traces[trace].wrong_with_shared = true;
	if (!shared)
		traces[trace].wrong = true;
}

static void count_link(struct score *s, const struct call_link *found,
		       const struct call_link *true_)
{
	bool right = found->parent == true_->parent;
	double confidence = fmin(fmax((double)found->confidence, 0), 1);
	struct score_bucket *b = &s->calibration[(unsigned)(confidence * 10 + 0.5)];

	s->links++;
	s->links_right += right;
	s->link.n += true_->parent != LINK_NONE;
	s->link.false_positives += !right && found->parent != LINK_NONE;
	s->link.false_negatives += !right && true_->parent != LINK_NONE;
	if (found->parent != LINK_NONE) {
		b->n++;
		b->right += right;
		b->confidence += confidence;
	}
}

static void count_links(struct score *s, const struct calls *calls, const struct call_link *links,
			const struct truth_of_calls *truth, const uint8_t *callers,
			struct verdict *traces)
{
	for (size_t i = 0; i < calls->n; i++) {
		uint8_t kind = callers[calls->at[i].caller];

		if (!truth->links[i].decided) {
			s->unknown++;
			continue;
		}
		traces[truth->trace[i]].seen = true;
		if (kind == CALLERS_NONE)
			continue;
		count_link(s, &links[i], &truth->links[i]);
		if (links[i].parent == truth->links[i].parent)
			continue;
		spoil(traces, truth->trace[i], kind == CALLERS_MANY);
		if (links[i].parent != LINK_NONE)
			spoil(traces, truth->trace[links[i].parent], kind == CALLERS_MANY);
	}
	for (size_t t = 0; t < truth->trace_n; t++) {
		s->traces += traces[t].seen;
		s->traces_right += traces[t].seen && !traces[t].wrong;
		s->traces_right_with_shared += traces[t].seen && !traces[t].wrong_with_shared;
	}
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Adds what `these` have more of than `those`. */
static void count_more(const struct patterns *these, const struct patterns *those,
		       uint64_t *patterns, uint64_t *instances, uint64_t *messages)
{
	for (size_t i = 0; i < these->n; i++) {
		const struct pattern *p = &these->at[i], *q = patterns_find(those, these, p);
		uint64_t more = beyond(p->count, q ? q->count : 0);

		*patterns += q == NULL;
		*instances += more;
		*messages += more * p->hop_n;
	}
}

static void count_delays(struct score *s, const struct patterns *found, const struct patterns *real)
{
	double off = 0, sum = 0;

	for (size_t i = 0; i < real->n; i++) {
		const struct pattern *p = &real->at[i], *q = patterns_find(found, real, p);

		for (uint32_t h = 1; q && h < p->hop_n; h++) {
			double mean = spread_mean(&p->hops[h].delay);
			double error = fabs(spread_mean(&q->hops[h].delay) - mean);

			s->delay_hops++;
			off += error * (double)p->count;
			sum += mean * (double)p->count;
			if (p->count >= FREQUENT && mean > 0)
				s->delay_error_worst = fmax(s->delay_error_worst, error / mean);
		}
	}
	s->delay_error = sum > 0 ? off / sum : 0;
}

static struct score_top top_of(uint32_t n, const struct patterns *found, const uint32_t *rank,
			       const struct patterns *real, const uint32_t *real_rank)
{
	struct score_top top = {.n = n};
	uint64_t least = found->n >= n ? found->at[rank[n - 1]].count : 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct pattern *p = patterns_find(found, real, &real->at[real_rank[i]]);
		double count = p ? (double)p->count : 0;

		if (count >= (double)least && p)
			continue;
		top.omitted++;
		top.near2 += count < 0.98 * (double)least || !p;
		top.near6 += count < 0.94 * (double)least || !p;
	}
	return top;
}

static int count_tops(struct score *s, const struct patterns *found, const struct patterns *real)
{
	static const uint32_t tops[SCORE_TOPS] = {1, 2, 5, 10, 20, 50};
	_cleanup_(freep)
	uint32_t *rank = patterns_rank(found, PATTERNS_BY_COUNT);
	_cleanup_(freep)
	uint32_t *real_rank = patterns_rank(real, PATTERNS_BY_COUNT);

	if (!rank || !real_rank)
		return -ENOMEM;
	for (unsigned i = 0; i < SCORE_TOPS && tops[i] <= real->n; i++)
		s->top[s->top_n++] = top_of(tops[i], found, rank, real, real_rank);
	return 0;
}

static int count_patterns(struct score *s, const struct calls *calls, const struct call_link *links,
			  const struct truth_of_calls *truth, const struct names *nodes)
{
	struct patterns found, real;
	int r;

	patterns_init(&found, nodes);
	patterns_init(&real, nodes);
	r = patterns_add(&found, calls, links, INT64_MAX, NULL);
	if (r == 0)
		r = patterns_add(&real, calls, truth->links, INT64_MAX, NULL);
	if (r == 0) {
		s->pattern.n = real.n;
		s->instance.n = real.paths;
		s->message.n = real.calls;
		count_more(&found, &real, &s->pattern.false_positives, &s->instance.false_positives,
			   &s->message.false_positives);
		count_more(&real, &found, &s->pattern.false_negatives, &s->instance.false_negatives,
			   &s->message.false_negatives);
		count_delays(s, &found, &real);
		r = count_tops(s, &found, &real);
	}
	patterns_done(&found);
	patterns_done(&real);
	return r;
}

int score_links(const struct calls *calls, const struct call_link *links,
		const struct truth_of_calls *truth, const struct names *nodes,
		struct score *ret_score)
{
	_cleanup_(freep)
	struct verdict *traces = calloc(truth->trace_n + 1, sizeof(*traces));
	_cleanup_(freep)
	uint8_t *callers = calloc(nodes->n + 1, sizeof(*callers));
	struct score s = {0};
	int r;

	if (!traces || !callers || find_callers(calls, nodes->n, callers) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nodes->n; i++)
		s.shared_nodes += callers[i] == CALLERS_MANY;
	count_links(&s, calls, links, truth, callers, traces);
	r = count_patterns(&s, calls, links, truth, nodes);
	if (r == 0)
		*ret_score = s;
	return r;
}
