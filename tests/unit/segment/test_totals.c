/* Totals of a segment are what its rows come to, however much of them is taken together. */
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "segment/totals.h"

#define SPANS    5000
#define SERVICES 3
#define PLENTY   ((size_t)1 << 30)

struct span {
	struct totals_key key;
	int64_t duration;
};

/* So many resources of SERVICES services. */
static struct batch *resources(uint32_t n)
{
	struct batch *b = batch_new(1);

	assert_non_null(b);
	for (uint32_t i = 0; i < n; i++) {
		char service[24];
		uint32_t at = batch_resource(b), first = (uint32_t)b->attr_n;

		snprintf(service, sizeof(service), "service-%u", i % SERVICES);
		batch_attr_int(b, SLICE("process.pid"), i);
		batch_attr_string(b, SLICE("service.name"), slice_cstr(service));
		b->resources[at].attrs = (struct attr_range){first, 2};
	}
	for (uint32_t i = 0; i < 5; i++) {
		char name[24];

		snprintf(name, sizeof(name), "name-%u", i);
		batch_string(b, slice_cstr(name));
	}
	assert_int_equal(b->resource_n, n);
	return b;
}

static struct span *spans_random(struct rng *rng, const struct batch *b)
{
	struct span *spans = calloc(SPANS, sizeof(*spans));

	for (size_t i = 0; i < SPANS; i++) {
		uint64_t length =
			rng_next(rng) >> (rng_below(rng, 500) ? 30 : 1) >> rng_below(rng, 20);

		spans[i] = (struct span){
			.key = {.source = (uint32_t)rng_below(rng, b->resource_n),
				.name = (uint32_t)rng_below(rng, b->strings),
				.kind = (int32_t)rng_below(rng, 3),
				.status = (int32_t)rng_below(rng, 3),
				.type = rng_below(rng, 20) ? EVENT_SPAN : EVENT_BEGIN},
			.duration = rng_below(rng, 9) ? (int64_t)length
						      : (int64_t)rng_below(rng, 3) - 1,
		};
	}
	return spans;
}

static void count(struct totals *t, const struct span *spans)
{
	for (size_t i = 0; i < SPANS && !t->given_up; i++) {
		uint32_t number = totals_number(t, &spans[i].key);

		if (t->given_up)
			break;
		assert_true(number != UINT32_MAX);
		assert_int_equal(totals_add(t, number, spans[i].key.status == STATUS_ERROR,
					    spans[i].duration),
				 0);
	}
}

static bool is_in(const struct totals_table *t, const struct batch *b, const struct total_row *row,
		  const struct span *s)
{
	struct slice service =
		batch_attr_text(b, b->resources[s->key.source].attrs, SLICE("service.name"));

	return row->key.name == s->key.name && row->key.type == s->key.type &&
	       (!(t->apart & APART_KIND) || row->key.kind == s->key.kind) &&
	       (!(t->apart & APART_STATUS) || row->key.status == s->key.status) &&
	       (t->apart & APART_RESOURCE ? row->key.source == s->key.source
					  : slice_eq(batch_text(b, row->key.source), service));
}

/* Counts again, span by span. */
static void assert_counts(const struct totals_table *t, const struct batch *b,
			  const struct span *spans)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct total_row *row = &t->rows[i];
		uint32_t places[PLACES] = {0};
		uint64_t n = 0, errors = 0, timed = 0;
		uint32_t kinds = 0;
		int64_t shortest = INT64_MAX, longest = 0;
		unsigned __int128 sum = 0;

		for (size_t k = 0; k < SPANS; k++) {
			int64_t ns = spans[k].duration;

			if (!is_in(t, b, row, &spans[k]))
				continue;
			n++;
			kinds |= kind_bit(spans[k].key.kind);
			errors += spans[k].key.status == STATUS_ERROR;
			if (ns < 0)
				continue;
			timed++;
			sum += (uint64_t)ns;
			shortest = MIN(shortest, ns);
			longest = MAX(longest, ns);
			places[duration_place(ns)]++;
		}
		assert_int_equal(row->spans, n);
		assert_int_equal(row->errors, errors);
		assert_int_equal(row->kinds, kinds);
		assert_int_equal(row->timed, timed);
		assert_true(row->sum == sum);
		if (timed > 0) {
			assert_int_equal(row->shortest, shortest);
			assert_int_equal(row->longest, longest);
		}
		for (uint32_t k = 0; k < PLACES; k++) {
			bool in = k >= row->place && k < row->place + row->place_n;

			assert_int_equal(in ? row->counts[k - row->place] : 0, places[k]);
		}
		all += n;
	}
	assert_int_equal(all, SPANS); /* each in one row */
}

/* Without counts it says the same otherwise. */
static void assert_bare(const struct totals_table *t, struct slice bytes,
			const struct totals_limits *limits)
{
	struct totals_table *bare;

	assert_int_equal(totals_decode(bytes, limits, false, &bare), 0);
	assert_int_equal(bare->n, t->n);
	assert_int_equal(bare->apart, t->apart);
	for (uint32_t i = 0; i < t->n; i++) {
		assert_memory_equal(&bare->rows[i].key, &t->rows[i].key, sizeof(t->rows[i].key));
		assert_int_equal(bare->rows[i].spans, t->rows[i].spans);
		assert_int_equal(bare->rows[i].errors, t->rows[i].errors);
		assert_int_equal(bare->rows[i].kinds, t->rows[i].kinds);
		assert_null(bare->rows[i].counts);
	}
	totals_free(bare);
}

static void a_table_says_what_was_counted(void **state)
{
	struct column_codec *codec = column_codec_new();
	unsigned levels = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct rng rng = {seed};
		struct batch *b = resources(seed % 3 ? 4 : 600);
		const struct totals_limits limits = {(uint32_t)b->strings, (uint32_t)b->resource_n,
						     SPANS};
		struct span *spans = spans_random(&rng, b);
		struct buffer out = {0};
		struct totals_table *t;
		struct totals totals;

		totals_init(&totals, b);
		count(&totals, spans);
		for (unsigned i = 0; i < seed % 4; i++)
			assert_int_equal(totals_coarsen(&totals), 0);
		assert_int_equal(totals_encode(&totals, codec, PLENTY, &out), 0);
		assert_int_equal(totals_decode(buffer_get(&out), &limits, true, &t), 0);
		assert_counts(t, b, spans);
		assert_bare(t, buffer_get(&out), &limits);
		levels |= 1U << t->apart;
		/* Cut short or too long it is none. */
		totals_free(t);
		assert_int_equal(totals_decode(slice_of(out.p, out.n - 1), &limits, true, &t),
				 -EBADMSG);
		buffer_append(&out, "", 1);
		assert_int_equal(totals_decode(buffer_get(&out), &limits, true, &t), -EBADMSG);
		totals_done(&totals);
		buffer_done(&out);
		free(spans);
		batch_unref(b);
	}
	assert_int_equal(levels, 1U << APART_ALL | 1U << (APART_KIND | APART_STATUS) |
					 1U << APART_STATUS | 1U);
	column_codec_free(codec);
}

static void a_table_that_would_be_large_says_less_or_is_none(void **state)
{
	struct column_codec *codec = column_codec_new();
	struct rng rng = {3};
	struct batch *b = resources(500);
	const struct totals_limits limits = {(uint32_t)b->strings, (uint32_t)b->resource_n, SPANS};
	struct span *spans = spans_random(&rng, b);
	size_t last = PLENTY;

	(void)state;
	for (size_t most = 100000; most > 10; most /= 2) {
		struct totals_table *t = NULL;
		struct buffer out = {0};
		struct totals totals;

		totals_init(&totals, b);
		count(&totals, spans);
		assert_int_equal(totals_encode(&totals, codec, most, &out), 0);
		assert_true(out.n <= most && out.n <= last);
		if (out.n > 0) {
			assert_int_equal(totals_decode(buffer_get(&out), &limits, true, &t), 0);
			assert_counts(t, b, spans);
		}
		last = out.n;
		totals_free(t);
		totals_done(&totals);
		buffer_done(&out);
	}
	assert_int_equal(last, 0);
	free(spans);
	batch_unref(b);
	column_codec_free(codec);
}

/* Three rows: two spans of 5 and 7 ns, a BEGIN without a duration, and a span of 0 ns. */
static void count_few(struct totals *t)
{
	const struct totals_key keys[] = {{.name = 1, .type = EVENT_SPAN},
					  {.name = 1, .type = EVENT_BEGIN},
					  {.name = 2, .type = EVENT_SPAN}};
	const int64_t durations[] = {5, -1, 0, 7};

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(totals_add(t, totals_number(t, &keys[i % 3]), false, durations[i]),
				 0);
	assert_int_equal(t->n, 3);
}

/* What a table says of durations fits together, and all its spans are those of the segment: sums
 * of many tables are made without looking for overflow. */
static void numbers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t row;
		int64_t sum_more, sum_high, longest_more, spans;
	} rows[] = {
		{"as counted", 0, .spans = 4},
		{"another sum that can be", 0, 2, .spans = 4},
		{"less than all being the shortest", 0, -3, .spans = 4},
		{"more than all being the longest", 0, 3, .spans = 4},
		{"far more", 0, 0, 1, .spans = 4},
		{"a negative sum", 0, 0, INT64_MIN, .spans = 4},
		{"a longest without durations", 1, .longest_more = 1, .spans = 4},
		{"a negative one", 1, .longest_more = -1, .spans = 4},
		{"a sum without durations", 1, 1, .spans = 4},
		{"a sum of nothing", 2, 1, .spans = 4},
		{"a span that the segment has not", 0, .spans = 3},
		{"a span less", 0, .spans = 5},
	};
	struct column_codec *codec = column_codec_new();
	struct batch *b = resources(1);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct totals_limits limits = {(uint32_t)b->strings, 1,
						     (uint64_t)rows[i].spans};
		struct totals_table *t = NULL;
		struct buffer out = {0};
		struct totals totals;
		int r;

		totals_init(&totals, b);
		count_few(&totals);
		totals.rows[rows[i].row].sum += (unsigned __int128)(__int128)rows[i].sum_more;
		totals.rows[rows[i].row].sum |= (unsigned __int128)(uint64_t)rows[i].sum_high << 64;
		totals.rows[rows[i].row].longest += rows[i].longest_more;
		assert_int_equal(totals_encode(&totals, codec, PLENTY, &out), 0);
		r = totals_decode(buffer_get(&out), &limits, true, &t);
		if (r != (i < 2 ? 0 : -EBADMSG))
			fail_msg("%s: %d", rows[i].what, r);
		totals_free(t);
		totals_done(&totals);
		buffer_done(&out);
	}
	batch_unref(b);
	column_codec_free(codec);
}

static void what_service_means_is_not_guessed(void **state)
{
	struct batch *b = resources(2);
	const struct totals_key key = {.source = 1, .name = 1, .type = EVENT_SPAN};
	struct totals totals;

	(void)state;
	b->attrs[b->resources[1].attrs.first].key = b->attrs[b->resources[1].attrs.first + 1].key;
	totals_init(&totals, b);
	assert_int_equal(totals_number(&totals, &key), 0);
	assert_int_equal(totals_add(&totals, 0, false, 7), 0);
	assert_int_equal(totals_coarsen(&totals), 0);
	assert_true(totals.given_up);
	assert_int_equal(totals_number(&totals, &key), UINT32_MAX);
	totals_done(&totals);
	batch_unref(b);
}

static void places_hold_what_is_near(void **state)
{
	struct rng rng = {9};

	(void)state;
	assert_int_equal(duration_place(0), 0);
	assert_int_equal(duration_place(1), 1);
	assert_true(duration_place(INT64_MAX) < PLACES);
	for (int i = 0; i < 100000; i++) {
		int64_t a = (int64_t)(rng_next(&rng) >> 1 >> rng_below(&rng, 63)),
			b = (int64_t)(rng_next(&rng) >> 1 >> rng_below(&rng, 63));
		double middle = (double)place_middle(duration_place(a));

		assert_true((a < b) <= (duration_place(a) <= duration_place(b)));
		assert_true(middle >= (double)a * (1 - 1.0 / 128) &&
			    middle <= (double)a * (1 + 1.0 / 128));
	}
}

static void counts_of_a_place_may_be_large(void **state)
{
	static const uint32_t counts[] = {1, 254, 255, 256, 510, 511, 70000};
	struct batch *b = resources(2);

	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct totals t;
		uint32_t place = duration_place(1000) - 1U;

		totals_init(&t, b);
		for (uint32_t i = 0; i < 2 * counts[k]; i++) {
			const struct totals_key key = {
				.name = 1, .kind = (int32_t)(i % 2), .type = EVENT_SPAN};

			assert_int_equal(totals_add(&t, totals_number(&t, &key), false, 1000), 0);
		}
		assert_int_equal(t.places, 2);
		for (uint32_t row = 0; row < 2; row++)
			assert_int_equal(totals_count(&t, t.rows[row].chunks[place / PLACES_PER],
						      place % PLACES_PER),
					 counts[k]);
		while (t.apart & APART_KIND)
			assert_int_equal(totals_coarsen(&t), 0);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.places, 1);
		assert_int_equal(
			totals_count(&t, t.rows[0].chunks[place / PLACES_PER], place % PLACES_PER),
			2 * counts[k]);
		totals_done(&t);
	}
	batch_unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_says_what_was_counted),
		cmocka_unit_test(a_table_that_would_be_large_says_less_or_is_none),
		cmocka_unit_test(numbers_that_cannot_be_are_refused),
		cmocka_unit_test(what_service_means_is_not_guessed),
		cmocka_unit_test(places_hold_what_is_near),
		cmocka_unit_test(counts_of_a_place_may_be_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
