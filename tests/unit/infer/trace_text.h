/* tests/unit/infer/trace_text.h - calls from a trace written in the test itself. */
#ifndef CAUSET_TESTS_UNIT_INFER_TRACE_TEXT_H
#define CAUSET_TESTS_UNIT_INFER_TRACE_TEXT_H

#include "t.h"

#include "infer/abstract_read.h"
#include "infer/generate.h"
#include "infer/infer.h"
#include "infer/message_list.h"
#include "infer/pairing.h"
#include "infer/patterns.h"

struct trace_text {
	struct names nodes, operations;
	struct calls calls;
	struct call_link *links;
	struct patterns patterns;
};

static inline void trace_init(struct trace_text *t)
{
	*t = (struct trace_text){0};
	names_init(&t->nodes);
	names_init(&t->operations);
	patterns_init(&t->patterns, &t->nodes);
}

static inline void trace_done(struct trace_text *t)
{
	patterns_done(&t->patterns);
	names_done(&t->nodes);
	names_done(&t->operations);
	calls_done(&t->calls);
	free(t->links);
}

static inline void trace_read(struct trace_text *t, const char *text)
{
	struct abstract_reader *r = malloc(sizeof(*r));
	struct error error = {0};
	struct pairing *p;

	trace_init(t);
	assert_int_equal(pairing_new(&t->calls, &p), 0);
	abstract_reader_init(r, &t->nodes, &t->operations, pairing_sink(p));
	assert_int_equal(abstract_reader_feed(r, slice_cstr(text), &error), 0);
	assert_int_equal(abstract_reader_finish(r, &error), 0);
	assert_int_equal(pairing_finish(p), 0);
	abstract_reader_done(r);
	free(r);
	pairing_free(p);
}

/* The calls that a spec makes; `truths`, if not NULL, gets every truth. */
struct truth_list {
	struct truth *at;
	size_t n, capacity;
};

static inline int truth_keep(void *context, const struct truth *t)
{
	struct truth_list *l = context;

	if (l->n == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 256;
		l->at = realloc(l->at, l->capacity * sizeof(*l->at));
		assert_non_null(l->at);
	}
	l->at[l->n++] = *t;
	return 0;
}

static inline void trace_make(struct trace_text *t, const char *spec_text,
			      struct truth_list *truths)
{
	struct generate_tally tally;
	struct error error = {0};
	struct pairing *p;
	struct spec spec;

	trace_init(t);
	assert_int_equal(spec_parse(&spec, slice_cstr(spec_text), &error), 0);
	assert_int_equal(pairing_new(&t->calls, &p), 0);
	assert_int_equal(generate(&spec,
				  &(struct generate_sink){.messages = pairing_sink(p),
							  .truth = truths ? truth_keep : NULL,
							  .context = truths},
				  &tally),
			 0);
	assert_int_equal(pairing_finish(p), 0);
	for (uint32_t i = 0; i < spec.names.n; i++) {
		uint32_t number;

		assert_int_equal(names_intern(&t->nodes, spec.names.at[i], &number), 0);
		assert_int_equal(number, i);
	}
	pairing_free(p);
	spec_done(&spec);
}

static inline void trace_link(struct trace_text *t, const struct infer_mode *mode,
			      const struct infer_options *options)
{
	struct error error = {0};
	void *state;

	t->links = calloc(t->calls.n + 1, sizeof(*t->links));
	assert_int_equal(mode->open(options, &state), 0);
	assert_int_equal(mode->link(state, &t->calls, INT64_MAX, t->links, &error), 0);
	mode->close(state);
	assert_int_equal(patterns_add(&t->patterns, &t->calls, t->links, INT64_MAX, NULL), 0);
}

/* How many links the truth agrees with. */
static inline size_t trace_right(const struct trace_text *t, const struct truth_list *truths)
{
	size_t right = 0;

	for (size_t i = 0; i < t->calls.n; i++) {
		uint32_t parent = t->links[i].parent;
		uint64_t said = parent == LINK_NONE ? MESSAGE_NO_ID : t->calls.at[parent].id;

		for (size_t k = 0; k < truths->n; k++)
			if (truths->at[k].id == t->calls.at[i].id) {
				right += truths->at[k].parent == said;
				break;
			}
	}
	return right;
}

/* The pattern written so, or NULL. */
static inline const struct pattern *trace_pattern(const struct trace_text *t, const char *text)
{
	for (size_t i = 0; i < t->patterns.n; i++) {
		struct buffer b = {0};
		bool same;

		pattern_format(&t->patterns.at[i], &t->nodes, &b);
		same = strcmp(buffer_cstr(&b), text) == 0;
		buffer_done(&b);
		if (same)
			return &t->patterns.at[i];
	}
	return NULL;
}

#endif
