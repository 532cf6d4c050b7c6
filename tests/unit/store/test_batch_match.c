/* A batch in memory answers by codes what the summary answers by texts. */
#include "t.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "store/batch_match.h"
#include "store/summary.h"

#define BATCHES   40
#define ROWS      60
#define QUESTIONS 120
#define MANY_TAGS 130

static const char *const texts[] = {"a", "b", "key", "value", "service.name", "7", "1.5", "true"};

static struct slice some_text(struct rng *rng)
{
	return slice_cstr(texts[rng_below(rng, ARRAY_SIZE(texts))]);
}

static struct attr_range some_attrs(struct batch *b, struct rng *rng, uint64_t most)
{
	struct attr_range range = {(uint32_t)b->attr_n, 0};

	for (uint64_t n = rng_below(rng, most); n > 0; n--)
		switch (rng_below(rng, 6)) {
		case 0:
			batch_attr_int(b, some_text(rng), (int64_t)rng_below(rng, 9));
			break;
		case 1:
			batch_attr_double(b, some_text(rng), (double)rng_below(rng, 4) / 2);
			break;
		case 2:
			batch_attr_bool(b, some_text(rng), true);
			break;
		case 3: { /* a list, perhaps empty */
			uint32_t count = (uint32_t)rng_below(rng, 3),
				 first = batch_nested(b, count);
			struct attr list =
				batch_list(b, VALUE_ARRAY, (struct value_range){first, count});

			for (uint32_t i = 0; i < count; i++) {
				uint32_t code = batch_string(b, some_text(rng));

				b->nested[first + i] =
					i ? batch_int(b, 7)
					  : (struct attr){.type = VALUE_STRING, .string = code};
			}
			list.key = batch_string(b, some_text(rng));
			batch_attr(b, list);
			break;
		}
		default: /* also the empty text, and keys that stand twice */
			batch_attr_string(b, rng_below(rng, 9) ? some_text(rng) : SLICE(""),
					  rng_below(rng, 5) ? some_text(rng) : SLICE(""));
		}
	range.count = (uint32_t)b->attr_n - range.first;
	return range;
}

static struct batch *some_batch(struct rng *rng)
{
	struct batch *b = batch_new(0);
	uint32_t resources = 1 + (uint32_t)rng_below(rng, 4);

	b->owner = batch_string(b, some_text(rng));
	batch_scope(b);
	for (uint32_t i = 0; i < resources; i++) {
		struct attr_range attrs = some_attrs(b, rng, 5);

		b->resources[batch_resource(b)].attrs = attrs;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		struct attr_range attrs = some_attrs(b, rng, 6);
		uint32_t name = batch_string(b, some_text(rng));
		struct event *e = batch_event(b);

		e->type = rng_below(rng, 4) ? EVENT_SPAN : (uint8_t)rng_below(rng, EVENT_TYPES);
		e->time_ns = rng_below(rng, 100);
		e->end_ns = rng_below(rng, 200);
		e->name = name;
		e->attrs = attrs;
		e->resource = (uint32_t)rng_below(rng, resources);
	}
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* It asks something of spans, and nothing of whole traces. */
static struct store_query some_question(struct rng *rng, struct store_tag *tags)
{
	struct store_query q = {.tags = tags};

	do {
		q.service = rng_below(rng, 4) ? SLICE("") : some_text(rng);
		q.unnamed = rng_below(rng, 8) == 0;
		q.operation = rng_below(rng, 4) ? SLICE("") : some_text(rng);
		q.owner = rng_below(rng, 8) ? SLICE("") : some_text(rng);
		q.span_min_ns = rng_below(rng, 4) ? 0 : (int64_t)rng_below(rng, 90);
		q.span_max_ns = rng_below(rng, 4) ? 0 : (int64_t)rng_below(rng, 90);
		q.tag_n = 0;
		for (uint64_t n = rng_below(rng, 3); n > 0; n--)
			tags[q.tag_n++] = (struct store_tag){
				rng_below(rng, 9) ? some_text(rng) : SLICE("absent"),
				rng_below(rng, 9) ? some_text(rng) : SLICE("")};
	} while (!query_asks_spans(&q));
	return q;
}

static size_t compare(struct batch_match *m, const struct batch *b, const struct store_query *q)
{
	int r = batch_match_ask(m, q, b);
	size_t found = 0;

	assert_true(r >= 0);
	for (uint32_t i = 0; i < b->event_n; i++) {
		const struct event_ref ref = {b, i};
		int64_t start, duration;
		bool expected = trace_matches(&ref, 1, q, &start, &duration);

		assert_int_equal(r > 0 && batch_match_row(m, &b->events[i]), expected);
		found += expected;
	}
	return found;
}

static void codes_answer_what_texts_answer(void **state)
{
	struct batch_match m = {0};
	struct rng rng = {5};
	size_t found = 0;

	(void)state;
	for (int i = 0; i < BATCHES; i++) {
		struct batch *b = some_batch(&rng);

		for (int k = 0; k < QUESTIONS; k++) {
			struct store_tag tags[2];
			struct store_query q = some_question(&rng, tags);

			found += compare(&m, b, &q);
		}
		batch_unref(b);
	}
	batch_match_done(&m);
	assert_true(found > BATCHES);
}

/* More tags than one word has bits, half of them the resource's. */
static void every_one_of_many_tags_counts(void **state)
{
	struct store_tag tags[MANY_TAGS];
	static char keys[MANY_TAGS][8];
	struct store_query q = {.tags = tags, .tag_n = MANY_TAGS};
	struct batch *b = batch_new(0);
	struct attr_range own, shared;
	struct batch_match m = {0};
	struct event *e;

	(void)state;
	batch_scope(b);
	shared.first = (uint32_t)b->attr_n;
	for (size_t i = 0; i < MANY_TAGS; i++) {
		if (i == MANY_TAGS / 2) {
			shared.count = (uint32_t)b->attr_n - shared.first;
			own.first = (uint32_t)b->attr_n;
		}
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		batch_attr_string(b, slice_cstr(keys[i]), SLICE("v"));
		tags[i] = (struct store_tag){slice_cstr(keys[i]), SLICE("v")};
	}
	own.count = (uint32_t)b->attr_n - own.first;
	b->resources[batch_resource(b)].attrs = shared;
	e = batch_event(b);
	e->type = EVENT_SPAN;
	e->attrs = own;
	assert_int_equal(batch_seal(b), 0);
	assert_int_equal(compare(&m, b, &q), 1);
	for (size_t i = 0; i < MANY_TAGS; i++) {
		tags[i].value = SLICE("w");
		assert_int_equal(compare(&m, b, &q), 0);
		tags[i].value = SLICE("v");
	}
	batch_match_done(&m);
	batch_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_answer_what_texts_answer),
		cmocka_unit_test(every_one_of_many_tags_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
