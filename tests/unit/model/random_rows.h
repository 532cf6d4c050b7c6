/* tests/unit/model/random_rows.h - small random traces, hostile ones among them: cycles,
 * duplicates, self parents, edges to nowhere, ends without begins, times that cannot be. */
#ifndef CAUSET_TESTS_UNIT_MODEL_RANDOM_ROWS_H
#define CAUSET_TESTS_UNIT_MODEL_RANDOM_ROWS_H

#include "model/rows.h"

#define RANDOM_BATCHES 3

struct random_rows {
	struct batch *batches[RANDOM_BATCHES];
};

static inline void random_rows_done(struct random_rows *r)
{
	for (int i = 0; i < RANDOM_BATCHES; i++)
		batch_unref(r->batches[i]);
}

enum random_taste { RANDOM_SPANS, RANDOM_NATIVE, RANDOM_ANYTHING, RANDOM_TASTES };

static inline int64_t random_time(struct rng *rng, enum random_taste taste)
{
	if (taste == RANDOM_ANYTHING && rng_below(rng, 12) == 0)
		return -1;
	return (int64_t)rng_below(rng, 60);
}

static inline enum event_type random_type(struct rng *rng, enum random_taste taste)
{
	static const uint8_t spans[] = {EVENT_SPAN,  EVENT_SPAN, EVENT_SPAN, EVENT_SPAN,
					EVENT_POINT, EVENT_LINK, EVENT_LOG};
	static const uint8_t native[] = {EVENT_BEGIN, EVENT_BEGIN, EVENT_BEGIN, EVENT_END,
					 EVENT_END,   EVENT_END,   EVENT_SEND,  EVENT_RECEIVE,
					 EVENT_POINT, EVENT_EDGE};

	if (taste == RANDOM_SPANS)
		return spans[rng_below(rng, ARRAY_SIZE(spans))];
	if (taste == RANDOM_NATIVE)
		return native[rng_below(rng, ARRAY_SIZE(native))];
	return (enum event_type)rng_below(rng, EVENT_TYPES);
}

static inline void random_row(struct rng *rng, struct batch *b, enum random_taste taste,
			      span_id_t ids, const uint32_t process[3])
{
	static const char *const names[] = {"fork", "join", "queue", "lock", "?", "message"};
	enum event_type type = random_type(rng, taste);
	span_id_t id1 = 1 + rng_below(rng, ids), id2 = rng_below(rng, ids + 2);
	uint32_t where = process[rng_below(rng, 3)];
	span_id_t unit = 0;
	uint64_t seq = 0;
	struct event *e;
	uint32_t name;

	if (taste != RANDOM_ANYTHING && rng_below(rng, 8)) /* mostly a tree, mostly one place */
		id2 = type == EVENT_SPAN || type == EVENT_BEGIN ? rng_below(rng, id1) : id2;
	if (taste != RANDOM_ANYTHING)
		where = process[id1 % 3];
	if (type >= EVENT_SEND && type <= EVENT_LOCK_RELEASE)
		id2 = rng_below(rng, 4);
	e = rows_add(b, type, id1, id2, random_time(rng, taste), where);
	if (type == EVENT_SPAN || type == EVENT_EDGE)
		e->end_ns = taste == RANDOM_ANYTHING ? rows_time(random_time(rng, taste))
						     : e->time_ns + rng_below(rng, 40);
	if (type == EVENT_SPAN || type == EVENT_BEGIN)
		e->kind = (int32_t)rng_below(rng, 6);
	if (type != EVENT_SPAN && rng_below(rng, 3))
		unit = taste == RANDOM_NATIVE ? 200 + id1 % 2 : 200 + rng_below(rng, 3);
	if (type != EVENT_SPAN && taste == RANDOM_ANYTHING && rng_below(rng, 3))
		seq = rng_below(rng, 20);
	rows_place(b, unit, seq);
	if (taste == RANDOM_ANYTHING && rng_below(rng, 10) == 0)
		e->bits = EVENT_SHARED;
	if (taste == RANDOM_ANYTHING && rng_below(rng, 30) == 0)
		e->time_ns = UINT64_MAX - rng_below(rng, 3);
	name = batch_string(b, slice_cstr(names[rng_below(rng, ARRAY_SIZE(names))]));
	b->events[b->event_n - 1].name = name;
	if (rng_below(rng, 4) == 0)
		rows_attr(b, "thread.id", rng_below(rng, 2) ? "1" : "2");
}

static inline struct random_rows random_rows(struct rng *rng, enum random_taste taste, size_t most)
{
	struct random_rows r;
	span_id_t ids = 1 + rng_below(rng, 9);
	size_t n = rng_below(rng, most + 1);
	uint32_t process[RANDOM_BATCHES][3];

	for (int i = 0; i < RANDOM_BATCHES; i++) {
		r.batches[i] = rows_new();
		r.batches[i]->received_ns =
			ROWS_T0 + (int64_t)rng_below(rng, 3) * 61 * 1000000000LL;
		for (int j = 0; j < 3; j++)
			process[i][j] = rows_process(r.batches[i],
						     j == 0   ? "p"
						     : j == 1 ? "q"
							      : "r",
						     NULL);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t at = rng_below(rng, RANDOM_BATCHES);
		struct rng again = *rng;

		random_row(rng, r.batches[at], taste, ids, process[at]);
		if (rng_below(rng, 8) == 0) /* the very same in another batch */
			random_row(&again, r.batches[(at + 1) % RANDOM_BATCHES], taste, ids,
				   process[(at + 1) % RANDOM_BATCHES]);
	}
	return r;
}

#endif
