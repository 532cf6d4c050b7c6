/* Any bytes as events: a trace is built whose invariants hold, that does not depend on the order of
 * its rows, and of which every question can be asked. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/rng.h"
#include "model/causality.h"
#include "model/critical_path.h"

#define ROW_BYTES 12
#define ROWS_MOST 200
#define FIRST_NS  1700000000000000000ULL

static uint64_t time_from(uint8_t byte)
{
	return byte == 0 ? 0 : byte == 255 ? UINT64_MAX : FIRST_NS + byte;
}

/* Small ids and times, so that rows meet each other. */
static void add_row(struct batch *b, const uint8_t *p)
{
	static const struct slice names[] = {SLICE("fork"), SLICE("join"), SLICE("queue"),
					     SLICE("lock")};
	uint32_t name = batch_string(b, names[p[11] % 4]), attrs = (uint32_t)b->attr_n;
	struct event *e;

	if (p[11] & 0x40)
		batch_attr_int(b, SLICE("thread.id"), p[11] & 1);
	e = batch_event(b);
	e->type = p[0] % EVENT_TYPES;
	e->format = e->type == EVENT_SPAN ? FORMAT_OTLP : FORMAT_NATIVE;
	e->id1 = p[1] % 16;
	e->id2 = p[2] % 16;
	e->time_ns = time_from(p[5]);
	e->end_ns = time_from(p[6]);
	e->kind = p[7] % 6;
	e->status = p[8] % 3;
	e->bits = p[9] & EVENT_SHARED;
	e->resource = p[10] % 3;
	e->name = name;
	e->attrs = (struct attr_range){attrs, (uint32_t)b->attr_n - attrs};
	e->trace_id.b[0] = 1;
	batch_place(b, (uint32_t)b->event_n - 1, (struct event_place){p[3] % 4, p[4] % 32});
}

static struct batch *batch_from(const uint8_t *data, size_t size)
{
	struct batch *b = batch_new(0);

	FUZZ_CHECK(b);
	batch_scope(b);
	for (int i = 0; i < 3; i++) {
		uint32_t resource = batch_resource(b), first = (uint32_t)b->attr_n;

		batch_attr_int(b, SLICE("process.pid"), i);
		FUZZ_CHECK(!b->failed);
		b->resources[resource].attrs = (struct attr_range){first, 1};
	}
	for (size_t i = 0; i + ROW_BYTES <= size && i / ROW_BYTES < ROWS_MOST; i += ROW_BYTES)
		add_row(b, data + i);
	FUZZ_CHECK(batch_seal(b) == 0);
	return b;
}

static struct trace *build(const struct batch *b, bool backwards)
{
	struct event_ref refs[ROWS_MOST];
	struct trace *t = NULL;

	for (uint32_t i = 0; i < b->event_n; i++)
		refs[i] = (struct event_ref){b, backwards ? (uint32_t)b->event_n - 1 - i : i};
	FUZZ_CHECK(trace_build(refs, b->event_n, 0, &t) == 0);
	FUZZ_CHECK(trace_check(t));
	return t;
}

static void ask(struct trace *t, const uint8_t *data, size_t size)
{
	size_t positions = 2 * t->block_n;
	struct critical_path path;

	FUZZ_CHECK(critical_path_whole(t, &path) == 0);
	critical_path_done(&path);
	for (size_t i = 0; positions > 0 && i + 1 < size && i < 64; i += 2) {
		struct trace_pos a = trace_pos(data[i] & 1 ? POS_END : POS_BEGIN,
					       (uint32_t)(data[i] % t->block_n));
		struct trace_pos b = trace_pos(data[i + 1] & 1 ? POS_END : POS_BEGIN,
					       (uint32_t)(data[i + 1] % t->block_n));
		int before = trace_happened_before(t, a, b, NULL);

		FUZZ_CHECK(before >= 0);
		FUZZ_CHECK(!before || trace_happened_before(t, b, a, NULL) == 0);
		if (critical_path_between(t, a, b, &path) < 0)
			continue;
		FUZZ_CHECK(before == 1);
		for (size_t j = 1; j < path.n; j++)
			FUZZ_CHECK(path.segments[j].from_ns == path.segments[j - 1].to_ns);
		critical_path_done(&path);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(batch_unrefp)
	struct batch *b = batch_from(data, size);
	_cleanup_(batch_unrefp)
	struct batch *out = NULL;
	_cleanup_(trace_freep)
	struct trace *t = build(b, false);
	_cleanup_(trace_freep)
	struct trace *backwards = build(b, true);

	FUZZ_CHECK(t->block_n == backwards->block_n && t->edge_n == backwards->edge_n);
	for (size_t i = 0; i < t->block_n; i++)
		FUZZ_CHECK(memcmp(&t->blocks[i], &backwards->blocks[i], sizeof(t->blocks[i])) == 0);
	ask(t, data, size);
	FUZZ_CHECK(trace_to_batch(t, &out) == 0);
	FUZZ_CHECK(batch_check(out));
	return 0;
}
