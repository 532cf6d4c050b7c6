/* Writing many rows piece by piece. */
#include "t.h"

#include "wire/pieces.h"

enum { SPANS = 3000 };

/* Spans with a point behind each. */
static struct batch *rows(struct event_ref *refs)
{
	struct batch *b = batch_new(0);

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2 * SPANS; i++) {
		uint32_t name = batch_string(b, SLICE("some name that takes a few bytes"));
		struct event *e = batch_event(b);

		*e = (struct event){.trace_id = {{1}},
				    .id1 = i / 2 + 1,
				    .time_ns = 5,
				    .end_ns = 6,
				    .name = name,
				    .type = i % 2 ? EVENT_POINT : EVENT_SPAN};
		refs[i] = (struct event_ref){b, i};
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

static void every_row_is_written_once_and_points_stay_with_their_span(void **state)
{
	static const char *const names[] = {"otlp", "otlp-json", "events"};
	static struct event_ref refs[2 * SPANS];
	struct batch *b = rows(refs);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct codec *codec = codec_find(slice_cstr(names[i]));
		struct pieces p = pieces_of(codec, refs, ARRAY_SIZE(refs));
		_cleanup_(buffer_done)
		struct buffer out = {0};
		size_t pieces = 0, spans = 0, points = 0;

		for (; pieces_next(&p, &out); pieces++) {
			struct slice rest = buffer_get(&out);

			while (rest.n > 0) {
				struct slice one = codec->frame == FRAME_VALUES
							   ? slice_cut(&rest, '\n')
							   : rest;
				struct decode_tally tally = {0};
				struct batch *back;

				if (codec->frame != FRAME_VALUES)
					rest = slice_of(NULL, 0);
				if (one.n == 0)
					continue;
				back = batch_new(one.n);
				assert_int_equal(codec->decode(one, back, &tally, NULL), 0);
				assert_int_equal(back->events[0].type, EVENT_SPAN);
				for (size_t k = 0; k < back->event_n; k++) {
					spans += back->events[k].type == EVENT_SPAN;
					points += back->events[k].type == EVENT_POINT;
				}
				batch_unref(back);
			}
			buffer_clear(&out);
		}
		assert_true(pieces > 1);
		assert_int_equal(spans, SPANS);
		assert_int_equal(points, SPANS);
	}
	batch_unref(b);
}

static void no_rows_are_no_piece(void **state)
{
	struct pieces p = pieces_of(codec_find(SLICE("otlp-json")), NULL, 0);
	_cleanup_(buffer_done)
	struct buffer out = {0};

	assert_false(pieces_next(&p, &out));
	assert_int_equal(out.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_written_once_and_points_stay_with_their_span),
		cmocka_unit_test(no_rows_are_no_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
