/* tests/unit/infer/convolution_text.h - messages that a spec makes, and vertices by their paths. */
#ifndef CAUSET_TESTS_UNIT_INFER_CONVOLUTION_TEXT_H
#define CAUSET_TESTS_UNIT_INFER_CONVOLUTION_TEXT_H

#include "trace_text.h"

#include "infer/convolution.h"

static inline void make_messages(const char *text, struct names *nodes, struct message_list *list)
{
	struct generate_tally tally;
	struct error error = {0};
	struct spec spec;

	names_init(nodes);
	assert_int_equal(spec_parse(&spec, slice_cstr(text), &error), 0);
	assert_int_equal(generate(&spec,
				  &(struct generate_sink){.messages = message_list_sink(list)},
				  &tally),
			 0);
	for (uint32_t i = 0; i < spec.names.n; i++) {
		uint32_t number;

		assert_int_equal(names_intern(nodes, spec.names.at[i], &number), 0);
	}
	spec_done(&spec);
}

/* The vertex reached by that path, or NULL. */
static inline const struct vertex *vertex_find(const struct convolution *c,
					       const struct names *nodes, const char *path)
{
	for (uint32_t i = 0; i < c->n; i++) {
		struct buffer b = {0};
		bool same;

		vertex_path(c, i, nodes, &b);
		same = strcmp(buffer_cstr(&b), path) == 0;
		buffer_done(&b);
		if (same && !c->at[i].derived)
			return &c->at[i];
	}
	return NULL;
}

#endif
