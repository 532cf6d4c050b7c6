/* tests/unit/batch_random.c - batches full of what decoders and encoders may stumble over. */
#include "batch_random.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "wire/protobuf.h"

#define DEPTH_MAX 5
#define TEXT(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

struct maker {
	struct rng *rng;
	const struct batch_random *what;
	struct batch *b;
};

static bool one_in(struct maker *m, unsigned n)
{
	return rng_below(m->rng, n) == 0;
}

static uint64_t number(struct maker *m)
{
	static const uint64_t odd[] = {0,
				       1,
				       127,
				       128,
				       16383,
				       16384,
				       INT32_MAX,
				       UINT32_MAX,
				       INT64_MAX,
				       (uint64_t)INT64_MIN,
				       UINT64_MAX,
				       1ULL << 53,
				       (1ULL << 53) + 1,
				       1700000000000000000ULL,
				       9223372036854775808ULL /* the year 2262 */};

	return one_in(m, 2) ? odd[rng_below(m->rng, ARRAY_SIZE(odd))]
			    : rng_next(m->rng) >> rng_below(m->rng, 64);
}

static double real(struct maker *m)
{
	static const double odd[] = {0.0,
				     -0.0,
				     1.0,
				     -1.5,
				     0.1,
				     1e300,
				     -1e-300,
				     0x1p-1074,
				     1.7976931348623157e308,
				     INFINITY,
				     -INFINITY,
				     NAN,
				     9007199254740993.0,
				     1e21,
				     123456789.125};
	uint64_t bits = rng_next(m->rng);
	double d;

	if (one_in(m, 2))
		return odd[rng_below(m->rng, ARRAY_SIZE(odd))];
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static struct trace_id trace(struct maker *m)
{
	struct trace_id id;

	store_be64(id.b, one_in(m, 4) ? 0 : rng_next(m->rng));
	store_be64(id.b + 8, rng_next(m->rng) | 1);
	return id;
}

static span_id_t id_or_none(struct maker *m)
{
	return one_in(m, 3) ? 0 : rng_next(m->rng) >> rng_below(m->rng, 64);
}

static span_id_t id(struct maker *m)
{
	return (rng_next(m->rng) >> rng_below(m->rng, 63)) | 1;
}

static void random_bytes(struct maker *m, struct buffer *out, size_t n)
{
	while (n-- > 0)
		buffer_byte(out, (char)rng_next(m->rng));
}

static uint32_t intern(struct maker *m, struct buffer *bytes)
{
	uint32_t code = batch_string(m->b, buffer_get(bytes));

	if (bytes->failed)
		abort();
	buffer_done(bytes);
	return code;
}

static uint32_t text(struct maker *m)
{
	static const struct slice odd[] = {
		TEXT(""),
		TEXT("service.name"),
		TEXT("a\0b"),
		TEXT("\0"),
		TEXT("\"quoted\" \\ / \b\f\n\r\t\x1f\x7f"),
		TEXT("caf\303\251 \346\274\242\345\255\227 \360\237\220\242"),
		TEXT("\357\277\277\364\217\277\277\342\200\250"),
		TEXT("</script>"),
		TEXT("null"),
	};
	static const struct slice not_text[] = {TEXT("\xff"), TEXT("\xed\xa0\x80"),
						TEXT("cut \xe6\xbc"), TEXT("\xc0\x80")};
	struct buffer s = {0};

	if (m->what->huge && one_in(m, 50))
		for (size_t i = 0; i < 1 << 17; i++)
			buffer_text(&s, "12345\303\251\n");
	else if (!m->what->json && one_in(m, 10))
		buffer_slice(&s, not_text[rng_below(m->rng, ARRAY_SIZE(not_text))]);
	else if (one_in(m, 3))
		buffer_slice(&s, odd[rng_below(m->rng, ARRAY_SIZE(odd))]);
	else
		for (size_t n = rng_below(m->rng, one_in(m, 10) ? 300 : 12); n > 0; n--)
			buffer_byte(&s, (char)('a' + rng_below(m->rng, 26)));
	return intern(m, &s);
}

static uint32_t text_or_none(struct maker *m)
{
	return one_in(m, 2) ? 0 : text(m);
}

/* A field of a number that nobody uses. */
static void unknown_field(struct maker *m, struct buffer *out)
{
	uint32_t field = 1000 + (uint32_t)rng_below(m->rng, 1000);

	switch (rng_below(m->rng, 4)) {
	case 0:
		pb_put_varint(out, field, number(m));
		break;
	case 1:
		pb_put_fixed64(out, field, number(m));
		break;
	case 2:
		pb_put_fixed32(out, field, (uint32_t)number(m));
		break;
	default:
		pb_put_bytes(out, field, SLICE("of a newer version"));
	}
}

static uint32_t unknown(struct maker *m)
{
	struct buffer s = {0};

	if (m->what->json || !one_in(m, 5))
		return 0;
	for (uint64_t n = 1 + rng_below(m->rng, 3); n > 0; n--)
		unknown_field(m, &s);
	return intern(m, &s);
}

static struct attr value(struct maker *m, unsigned depth);

static struct attr pair(struct maker *m, unsigned depth)
{
	struct buffer s = {0};
	struct attr a;

	if (!m->what->json && one_in(m, 20)) {
		uint32_t key = text(m);

		if (key)
			pb_put_bytes(&s, 1, batch_text(m->b, key));
		unknown_field(m, &s);
		return (struct attr){.key = key, .type = VALUE_RAW_PAIR, .string = intern(m, &s)};
	}
	a = value(m, depth);
	a.key = text(m);
	return a;
}

static struct attr list(struct maker *m, unsigned depth, uint8_t type)
{
	uint32_t count = (uint32_t)rng_below(m->rng, 5);
	struct value_range range = {batch_nested(m->b, count), count};

	for (uint32_t i = 0; i < count; i++) {
		struct attr child = type == VALUE_ARRAY ? value(m, depth + 1) : pair(m, depth + 1);

		m->b->nested[range.first + i] = child;
	}
	return batch_list(m->b, type, range);
}

static struct attr value(struct maker *m, unsigned depth)
{
	uint64_t type = rng_below(m->rng, m->what->json ? VALUE_RAW : VALUE_RAW + 1);
	struct buffer s = {0};

	switch (type) {
	case VALUE_STRING:
		return (struct attr){.type = VALUE_STRING, .string = text(m)};
	case VALUE_BOOL:
		return (struct attr){.type = VALUE_BOOL, .word = one_in(m, 2)};
	case VALUE_INT:
		return batch_int(m->b, (int64_t)number(m));
	case VALUE_DOUBLE:
		return batch_double(m->b, real(m));
	case VALUE_BYTES:
		random_bytes(m, &s, rng_below(m->rng, 20));
		return (struct attr){.type = VALUE_BYTES, .string = intern(m, &s)};
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		if (depth < DEPTH_MAX)
			return list(m, depth, (uint8_t)type);
		return (struct attr){.type = (uint8_t)type};
	case VALUE_RAW:
		unknown_field(m, &s);
		if (one_in(m, 2))
			pb_put_bytes(&s, 1, SLICE("and a string"));
		return (struct attr){.type = VALUE_RAW, .string = intern(m, &s)};
	default:
		return (struct attr){.type = VALUE_EMPTY};
	}
}

static struct attr_range attrs(struct maker *m)
{
	uint32_t count = (uint32_t)rng_below(m->rng, one_in(m, 10) ? 70 : 6);
	struct attr_range range = {(uint32_t)m->b->attr_n, count};

	for (uint32_t i = 0; i < count; i++)
		batch_attr(m->b, pair(m, 0));
	return range;
}

static struct attr strings(struct maker *m, struct slice key)
{
	uint32_t count = (uint32_t)rng_below(m->rng, 3);
	struct value_range range = {batch_nested(m->b, count), count};
	struct attr a = batch_list(m->b, VALUE_ARRAY, range);

	a.key = batch_string(m->b, key);
	for (uint32_t i = 0; i < count; i++)
		m->b->nested[range.first + i] =
			(struct attr){.type = VALUE_STRING, .string = text(m)};
	return a;
}

/* Entity references, with all four keys as the decoders give them. */
static struct attr entities(struct maker *m)
{
	struct value_range range;
	uint32_t count = 1 + (uint32_t)rng_below(m->rng, 2);

	if (!one_in(m, 3))
		return (struct attr){.type = VALUE_EMPTY};
	range = (struct value_range){batch_nested(m->b, count), count};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t first = batch_nested(m->b, 4);
		struct attr fields[4] = {
			{.key = batch_string(m->b, SLICE("schemaUrl")),
			 .type = VALUE_STRING,
			 .string = text(m)},
			{.key = batch_string(m->b, SLICE("type")),
			 .type = VALUE_STRING,
			 .string = text(m)},
			strings(m, SLICE("idKeys")),
			strings(m, SLICE("descriptionKeys")),
		};

		memcpy(m->b->nested + first, fields, sizeof(fields));
		m->b->nested[range.first + i] =
			batch_list(m->b, VALUE_KVLIST, (struct value_range){first, 4});
	}
	return batch_list(m->b, VALUE_ARRAY, range);
}

static uint32_t resource(struct maker *m)
{
	uint32_t at = batch_resource(m->b);
	struct resource r = {.dropped_attributes = one_in(m, 4) ? (uint32_t)number(m) : 0,
			     .schema_url = text_or_none(m),
			     .unknown = unknown(m),
			     .unknown_group = unknown(m)};

	r.attrs = attrs(m);
	r.entities = entities(m);
	m->b->resources[at] = r;
	return at;
}

static uint32_t scope(struct maker *m)
{
	uint32_t at = batch_scope(m->b);
	struct scope s = {.name = text_or_none(m),
			  .version = text_or_none(m),
			  .schema_url = text_or_none(m),
			  .dropped_attributes = one_in(m, 4) ? (uint32_t)number(m) : 0,
			  .unknown = unknown(m),
			  .unknown_group = unknown(m)};

	s.attrs = attrs(m);
	m->b->scopes[at] = s;
	return at;
}

static uint32_t few(struct maker *m)
{
	return one_in(m, 4) ? (uint32_t)number(m) : 0;
}

/* What every shape has: a row with a trace, its attributes and unknown fields. */
static struct event row(struct maker *m, struct event_extra *x)
{
	struct event e = {.trace_id = trace(m),
			  .id1 = id(m),
			  .time_ns = number(m),
			  .name = text(m),
			  .attrs = attrs(m)};

	*x = (struct event_extra){.unknown = unknown(m), .dropped_attributes = few(m)};
	return e;
}

static void add(struct maker *m, struct event e, struct event_extra x, uint32_t r, uint32_t s)
{
	static const struct event_extra zero;
	uint32_t at = (uint32_t)m->b->event_n;

	e.resource = r;
	e.scope = s;
	*batch_event(m->b) = e;
	if (memcmp(&x, &zero, sizeof(x)) != 0)
		*batch_extra(m->b, at) = x;
}

static void add_event(struct maker *m, uint32_t r, uint32_t s)
{
	struct event_extra x;
	struct event_place place;
	struct event e = row(m, &x);

	e.type = (uint8_t)rng_below(m->rng, EVENT_TYPES);
	e.format = (uint8_t)rng_below(m->rng, FORMAT_NATIVE + 1);
	e.bits = (uint16_t)rng_below(m->rng, 8);
	e.id2 = id(m);
	place.unit = id_or_none(m);
	place.seq = number(m);
	e.end_ns = number(m);
	e.kind = (int32_t)number(m);
	e.status = (int32_t)few(m);
	e.flags = (uint32_t)number(m);
	x.trace_state = text_or_none(m);
	x.status_message = text_or_none(m);
	x.severity_text = text_or_none(m);
	x.unknown_status = unknown(m);
	x.dropped_points = few(m);
	x.dropped_links = few(m);
	x.observed_ns = one_in(m, 4) ? number(m) : 0;
	if (e.type == EVENT_LINK || one_in(m, 10))
		x.link_trace = trace(m);
	if (one_in(m, 3))
		x.body = value(m, 0);
	if ((e.type == EVENT_LOG || e.type == EVENT_COUNTER) && one_in(m, 2))
		e.id1 = e.id2 = 0;
	add(m, e, x, r, s);
	batch_place(m->b, (uint32_t)m->b->event_n - 1, place);
}

static void add_log(struct maker *m, uint32_t r, uint32_t s)
{
	struct event_extra x;
	struct event e = row(m, &x);

	e.type = EVENT_LOG;
	e.id1 = id_or_none(m);
	e.kind = (int32_t)number(m);
	e.flags = (uint32_t)number(m);
	x.severity_text = text_or_none(m);
	x.observed_ns = number(m);
	x.body = value(m, 0);
	add(m, e, x, r, s);
}

static void add_span(struct maker *m, uint32_t r, uint32_t s)
{
	struct event_extra x;
	struct event span = row(m, &x), e;

	span.type = EVENT_SPAN;
	span.id2 = id_or_none(m);
	span.end_ns = number(m);
	span.kind = (int32_t)number(m);
	span.status = (int32_t)few(m);
	span.flags = (uint32_t)number(m);
	x.trace_state = text_or_none(m);
	x.status_message = text_or_none(m);
	x.unknown_status = unknown(m);
	x.dropped_points = few(m);
	x.dropped_links = few(m);
	add(m, span, x, r, s);
	for (uint64_t n = rng_below(m->rng, 4); n > 0; n--) {
		e = row(m, &x);
		e.type = EVENT_POINT;
		e.trace_id = span.trace_id;
		e.id1 = span.id1;
		add(m, e, x, r, s);
	}
	for (uint64_t n = rng_below(m->rng, 3); n > 0; n--) {
		e = row(m, &x);
		e.type = EVENT_LINK;
		e.trace_id = span.trace_id;
		e.id1 = span.id1;
		e.id2 = id(m);
		e.time_ns = 0;
		e.name = 0;
		e.flags = (uint32_t)number(m);
		x.link_trace = trace(m);
		x.trace_state = text_or_none(m);
		add(m, e, x, r, s);
	}
}

struct batch *batch_random(struct rng *rng, const struct batch_random *what)
{
	struct maker m = {rng, what, batch_new(0)};
	uint32_t r = 0, s = 0;

	if (!m.b)
		abort();
	while (m.b->event_n < what->rows) {
		if (m.b->resource_n == 0 || one_in(&m, 5)) {
			r = resource(&m);
			s = scope(&m);
		} else if (one_in(&m, 4))
			s = scope(&m);
		if (what->shape == RANDOM_EVENTS)
			add_event(&m, r, s);
		else if (what->shape == RANDOM_TRACES)
			add_span(&m, r, s);
		else
			add_log(&m, r, s);
	}
	if (batch_seal(m.b) < 0 || !batch_check(m.b))
		abort();
	return m.b;
}
