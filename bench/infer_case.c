/* bench/infer_case.c - one experiment: a made-up trace, an algorithm, and how right it was. */
#include "bench/infer_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "bench/spans.h"
#include "core/clock.h"
#include "infer/generate.h"
#include "infer/node_view.h"
#include "infer/pairing.h"

#define SAMPLE 4000 /* children looked at for the parallelism */

const struct infer_system infer_systems[] = {
	{"multi-tier", "call normal 30ms 10%%\nret normal 8ms 10%%\n%s"
		       "tracelet page: C -> WS1|WS2 { AUTH { DB1|DB2 }; AP1|AP2 { DB1|DB2 } }\n"
		       "tracelet public: C -> WS1|WS2 { AP1|AP2 { DB1|DB2 } }\n"
		       "tracelet static: C -> WS1|WS2\n"},
	{"children-parallel", "call normal 20ms 10%%\nret normal 10ms 10%%\n%s"
			      "tracelet cc: A -> B { C || C }\n"},
	{"children-0/2", "call normal 20ms 10%%\nret normal 10ms 10%%\n%s"
			 "tracelet two: A -> B { C; C }\ntracelet none: A -> B\n"},
	{"children-d/cc", "call normal 20ms 10%%\nret normal 10ms 10%%\n%s"
			  "tracelet cc: A -> B { C; C }\ntracelet d: A -> B { D }\n"},
	{"penalty-breaker", "call normal 20ms 10%%\nret normal 10ms 10%%\n%s"
			    "tracelet cc: A -> B { C; C }\ntracelet ccd: A -> B { C; C; D }\n"
			    "tracelet d: A -> B { D }\n"},
};

static int truth_keep(void *context, const struct truth *t)
{
	struct truth_reader *r = context;

	if (!vec_reserve(&r->rows, &r->row_capacity, r->row_n + 1, sizeof(*r->rows)))
		return -1;
	r->rows[r->row_n++] = (struct truth_row){t->id, t->parent, (uint32_t)(t->path - 1)};
	return 0;
}

int case_make(struct infer_case *c, const char *spec_text)
{
	struct generate_tally tally;
	struct error error = {0};
	struct spec spec;
	char name[24];
	uint32_t number;
	int r;

	*c = (struct infer_case){0};
	names_init(&c->nodes);
	truth_reader_init(&c->truth);
	if (spec_parse(&spec, slice_cstr(spec_text), &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	r = generate(&spec,
		     &(struct generate_sink){.messages = message_list_sink(&c->messages),
					     .truth = truth_keep,
					     .context = &c->truth},
		     &tally);
	for (uint32_t i = 0; r == 0 && i < spec.names.n; i++)
		r = names_intern(&c->nodes, spec.names.at[i], &number);
	/* Rows name their trace by number; the names are asked for as many. */
	for (uint64_t i = 0; r == 0 && i < tally.paths; i++)
		r = names_intern(&c->truth.traces,
				 slice_of(name, (size_t)snprintf(name, sizeof(name), "%llu",
								 (unsigned long long)i)),
				 &number);
	c->lost = tally.lost;
	c->seconds = (double)spec.duration_ns / (double)NS_PER_S;
	spec_done(&spec);
	if (r < 0)
		fprintf(stderr, "out of memory\n");
	return r < 0;
}

void case_done(struct infer_case *c)
{
	names_done(&c->nodes);
	message_list_done(&c->messages);
	truth_reader_done(&c->truth);
}

/* Candidate parents of a child, on average over those that have any. */
static double parallelism(const struct calls *calls)
{
	size_t step = calls->n / SAMPLE + 1;
	double sum = 0, n = 0;
	struct node_view v;
	int64_t longest = 0;

	if (node_view_init(&v, calls) < 0)
		return 0;
	for (size_t i = 0; i < calls->n; i++)
		if (call_finished(&calls->at[i]))
			longest = MAX(longest, call_reply_ns(calls, i) - call_recv_ns(calls, i));
	for (size_t i = 0; i < calls->n; i += step) {
		const struct call *c = &calls->at[i];
		double found = 0;
		uint32_t low = v.in_start[c->caller], high = v.in_start[c->caller + 1];

		if (!call_finished(c))
			continue;
		while (low < high) { /* the first that was called later */
			uint32_t middle = low + (high - low) / 2;

			if (call_recv_ns(calls, v.in[middle]) <= c->start_ns)
				low = middle + 1;
			else
				high = middle;
		}
		for (uint32_t k = low; k-- > v.in_start[c->caller];) {
			const struct call *p = &calls->at[v.in[k]];

			if (call_recv_ns(calls, v.in[k]) < c->end_ns - longest)
				break;
			found += call_finished(p) && p != c &&
				 call_reply_ns(calls, v.in[k]) >= c->end_ns;
		}
		if (found > 0) {
			sum += found;
			n++;
		}
	}
	node_view_done(&v);
	return n > 0 ? sum / n : 0;
}

int case_link(const struct infer_case *c, const struct infer_mode *mode,
	      const struct infer_options *options, struct case_answer *ret)
{
	struct calls calls = {0};
	struct call_link *links = NULL;
	struct truth_of_calls truth = {0};
	struct pairing *pairing;
	struct error error = {0};
	void *state = NULL;
	struct rusage used;
	double start = bench_cpu();
	int r = pairing_new(&calls, &pairing);

	*ret = (struct case_answer){0};
	patterns_init(&ret->patterns, &c->nodes);
	if (r == 0)
		r = pairing_put(pairing, c->messages.at, c->messages.n);
	if (r == 0)
		r = pairing_finish(pairing);
	links = calloc(calls.n + 1, sizeof(*links));
	if (r == 0)
		r = links ? mode->open(options, &state) : -1;
	if (r == 0)
		r = mode->link(state, &calls, INT64_MAX, links, &error);
	if (r == 0)
		r = patterns_add(&ret->patterns, &calls, links, INT64_MAX, NULL);
	ret->cpu_s = bench_cpu() - start;
	getrusage(RUSAGE_SELF, &used);
	ret->peak_kib = used.ru_maxrss;
	ret->calls = calls.n;
	ret->parallelism = parallelism(&calls);
	if (r == 0)
		r = truth_match(&c->truth, &calls, &truth);
	if (r == 0)
		r = score_links(&calls, links, &truth, &c->nodes, &ret->score);
	truth_of_calls_done(&truth);
	mode->close(state);
	pairing_free(pairing);
	calls_done(&calls);
	free(links);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", mode->name, error.text);
	return r < 0;
}

void answer_done(struct case_answer *a)
{
	patterns_done(&a->patterns);
}

double answer_false_negatives(const struct case_answer *a)
{
	return 1 - score_share(a->score.instance.n - a->score.instance.false_negatives,
			       a->score.instance.n);
}

double answer_false_positives(const struct case_answer *a)
{
	return (double)a->score.instance.false_positives /
	       (double)(a->patterns.paths ? a->patterns.paths : 1);
}

int case_true_patterns(const struct infer_case *c, struct patterns *ret)
{
	struct calls calls = {0};
	struct truth_of_calls truth = {0};
	struct pairing *pairing;
	int r = pairing_new(&calls, &pairing);

	patterns_init(ret, &c->nodes);
	if (r == 0)
		r = pairing_put(pairing, c->messages.at, c->messages.n);
	if (r == 0)
		r = pairing_finish(pairing);
	if (r == 0)
		r = truth_match(&c->truth, &calls, &truth);
	if (r == 0)
		r = patterns_add(ret, &calls, truth.links, INT64_MAX, NULL);
	truth_of_calls_done(&truth);
	pairing_free(pairing);
	calls_done(&calls);
	return r < 0;
}

double patterns_missing(const struct patterns *truth, const struct patterns *found)
{
	double all = 0, missing = 0;

	for (size_t i = 0; i < truth->n; i++) {
		const struct pattern *p = patterns_find(found, truth, &truth->at[i]);
		double have = p ? (double)p->count : 0, want = (double)truth->at[i].count;

		all += want;
		missing += want > have ? want - have : 0;
	}
	return all > 0 ? missing / all : 0;
}
