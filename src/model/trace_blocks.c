/* model/trace_blocks.c - the rows of one id become blocks, and points and counters of them.
 *
 * Usually one SPAN, or one BEGIN and one END, makes one block.  But several rows may claim an id:
 *
 *   SPAN twice, one a server's     both sides of a call share the id (Zipkin): two blocks, the
 *                                  server's is the client's child
 *   SPAN twice, otherwise          two blocks, both marked REPAIR_CONFLICT
 *   BEGIN beside an equal SPAN     announced first, then sent whole: one block
 *   END without BEGIN              one block, from the earliest row of the id
 *   only sends, receives, …        one block, from the first to the last of them (Canopy's first
 *                                  instrumentation had nothing else)
 *   only points or logs            no block: points of none, REPAIR_ORPHAN */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/trace_int.h"

/* The rows [row, end) of one id, and the blocks [block, t->block_n) made from them so far. */
struct group {
	span_id_t id;
	uint32_t row, end;
	uint32_t block;
	uint32_t without_end; /* blocks before this one all have an end */
};

static bool is_instant(uint8_t type)
{
	return type >= EVENT_SEND && type <= EVENT_LOCK_RELEASE;
}

static struct trace_block *add_block(struct build *b, span_id_t id, uint32_t row)
{
	struct trace_block *block = &b->blocks[b->t->block_n++];

	*block = (struct trace_block){
		.id = id,
		.begin_ns = TIME_UNKNOWN,
		.end_ns = TIME_UNKNOWN,
		.row = row,
		.end_row = TRACE_NONE,
		.parent = TRACE_NONE,
		.unit = TRACE_NONE,
		.process = b->info[row].process,
		.inferred = TRACE_NONE,
		.repairs = b->info[row].repairs,
		.kind = trace_row(b->t, row)->kind,
	};
	return block;
}

static void set_begin(struct trace_block *block, const struct event *e)
{
	block->parent_id = e->id2;
	block->begin_ns = raw_time(e->time_ns);
	if (block->begin_ns == TIME_UNKNOWN)
		block->repairs |= REPAIR_TIME_RANGE;
}

static void set_end(struct trace_block *block, uint32_t row, uint64_t ns, int32_t status)
{
	block->end_row = row;
	block->end_ns = raw_time(ns);
	if (block->end_ns == TIME_UNKNOWN)
		block->repairs |= REPAIR_TIME_RANGE;
	if (status == STATUS_ERROR)
		block->bits |= BLOCK_ERROR;
}

static void add_span(struct build *b, const struct group *g, uint32_t row)
{
	const struct event *e = trace_row(b->t, row);
	struct trace_block *block = add_block(b, g->id, row);

	set_begin(block, e);
	if (e->end_ns != 0)
		set_end(block, row, e->end_ns, e->status);
	else if (e->status == STATUS_ERROR)
		block->bits |= BLOCK_ERROR;
}

/* The block of the group that ran in `process`, or TRACE_NONE. */
static uint32_t of_process(const struct build *b, const struct group *g, uint32_t process)
{
	uint32_t end = MIN((uint32_t)b->t->block_n, g->block + SAME_ID_SEARCH_MAX);

	for (uint32_t i = g->block; i < end; i++)
		if (b->blocks[i].process == process)
			return i;
	return TRACE_NONE;
}

static void add_begin(struct build *b, const struct group *g, uint32_t row)
{
	const struct event *e = trace_row(b->t, row);
	uint32_t same = of_process(b, g, b->info[row].process);
	struct trace_block *block;

	if (same != TRACE_NONE && !(b->blocks[same].bits & BLOCK_NATIVE) &&
	    trace_row(b->t, b->blocks[same].row)->time_ns == e->time_ns) {
		b->blocks[same].repairs |= REPAIR_DUPLICATE;
		b->t->duplicates++;
		return;
	}
	block = add_block(b, g->id, row);
	block->bits |= BLOCK_NATIVE;
	set_begin(block, e);
}

/* The first block without an end, one of `process` if such is near. */
static uint32_t to_end(const struct build *b, struct group *g, uint32_t process)
{
	uint32_t n = (uint32_t)b->t->block_n, end, found = TRACE_NONE;

	while (g->without_end < n && b->blocks[g->without_end].end_row != TRACE_NONE)
		g->without_end++;
	end = MIN(n, g->without_end + SAME_ID_SEARCH_MAX);
	for (uint32_t i = g->without_end; i < end; i++) {
		if (b->blocks[i].end_row != TRACE_NONE)
			continue;
		if (b->blocks[i].process == process)
			return i;
		if (found == TRACE_NONE)
			found = i;
	}
	return found;
}

static void add_point(struct build *b, uint32_t row, uint32_t block, uint16_t repairs)
{
	struct trace *t = b->t;
	const struct event *e = trace_row(t, row);
	struct trace_point *p = &t->points[t->point_n++];

	*p = (struct trace_point){
		.time_ns = raw_time(e->time_ns),
		.row = row,
		.block = block,
		.unit = TRACE_NONE,
		.repairs = b->info[row].repairs | repairs,
		.copies = b->info[row].copies,
	};
	if (p->time_ns == TIME_UNKNOWN)
		p->repairs |= REPAIR_TIME_RANGE;
	if (block == TRACE_NONE && e->id1 != 0)
		p->repairs |= REPAIR_ORPHAN;
}

/* An end without a block to end is kept as a point. */
static void add_end(struct build *b, struct group *g, uint32_t row)
{
	const struct event *e = trace_row(b->t, row);
	uint32_t at = to_end(b, g, b->info[row].process);

	if (at == TRACE_NONE) {
		at = of_process(b, g, b->info[row].process);
		if (at == TRACE_NONE)
			at = g->block;
		b->blocks[at].repairs |= REPAIR_CONFLICT;
		add_point(b, row, at, REPAIR_CONFLICT);
		return;
	}
	b->blocks[at].repairs |= b->info[row].repairs;
	set_end(&b->blocks[at], row, e->time_ns, e->status);
}

/* A block that never said it began (or anything at all): made from what its rows say. */
static void add_implied(struct build *b, const struct group *g)
{
	uint32_t first = TRACE_NONE;
	int64_t begin = INT64_MAX, end = TIME_UNKNOWN;
	bool ended = false;
	struct trace_block *block;

	for (uint32_t row = g->row; row < g->end; row++) {
		const struct event *e = trace_row(b->t, row);
		int64_t when = raw_time(e->time_ns);

		if (e->type != EVENT_END && !is_instant(e->type))
			continue;
		ended |= e->type == EVENT_END;
		if (first == TRACE_NONE || (when != TIME_UNKNOWN && when < begin)) {
			first = row;
			begin = when != TIME_UNKNOWN ? when : begin;
		}
		end = MAX(end, when);
	}
	if (first == TRACE_NONE)
		return;
	block = add_block(b, g->id, first);
	block->kind = KIND_UNSPECIFIED;
	block->bits |= BLOCK_NATIVE;
	block->repairs |= REPAIR_MISSING_BEGIN;
	block->begin_ns = begin == INT64_MAX ? TIME_UNKNOWN : begin;
	if (!ended) {
		block->bits |= BLOCK_IMPLIED;
		block->repairs |= REPAIR_MISSING_END;
		block->end_ns = end;
	}
}

static bool serves(const struct build *b, const struct trace_block *block)
{
	return kind_serves(block->kind) || trace_row(b->t, block->row)->bits & EVENT_SHARED;
}

/* Several blocks have one id: finds both sides of shared calls, marks the rest. */
static void settle(struct build *b, const struct group *g)
{
	uint32_t n = (uint32_t)b->t->block_n, client = TRACE_NONE, previous = TRACE_NONE;

	for (uint32_t i = g->block; i < n && client == TRACE_NONE; i++)
		if (kind_calls(b->blocks[i].kind) && !serves(b, &b->blocks[i]))
			client = i;
	for (uint32_t i = g->block; i < n && client == TRACE_NONE; i++)
		if (!serves(b, &b->blocks[i]))
			client = i;
	for (uint32_t i = g->block; i < n; i++) {
		struct trace_block *block = &b->blocks[i];

		if (client != TRACE_NONE && serves(b, block)) {
			block->parent = client;
			block->bits |= BLOCK_SHARED;
			if (previous != TRACE_NONE &&
			    b->blocks[previous].process == block->process) {
				block->repairs |= REPAIR_CONFLICT;
				b->blocks[previous].repairs |= REPAIR_CONFLICT;
			}
			previous = i;
		} else if (i != (client == TRACE_NONE ? g->block : client)) {
			block->repairs |= REPAIR_CONFLICT;
			b->blocks[client == TRACE_NONE ? g->block : client].repairs |=
				REPAIR_CONFLICT;
		}
	}
}

static void add_attached(struct build *b, const struct group *g)
{
	struct trace *t = b->t;

	for (uint32_t row = g->row; row < g->end; row++) {
		uint8_t type = b->info[row].type;
		uint32_t block = TRACE_NONE;
		const struct event *e;

		if (type < EVENT_POINT || type == EVENT_UNIT || type == EVENT_EDGE)
			continue;
		e = trace_row(t, row);
		if (g->id != 0 && g->block < t->block_n) {
			block = of_process(b, g, b->info[row].process);
			if (block == TRACE_NONE)
				block = g->block;
		}
		if (e->type == EVENT_LINK) {
			b->links[b->link_n++] = (struct pending_link){row, block};
		} else if (e->type == EVENT_COUNTER) {
			t->counters[t->counter_n++] = (struct trace_counter){
				.time_ns = raw_time(e->time_ns),
				.row = row,
				.block = block,
				.unit = TRACE_NONE,
				.repairs = b->info[row].repairs |
					   (raw_time(e->time_ns) == TIME_UNKNOWN ? REPAIR_TIME_RANGE
										 : 0) |
					   (block == TRACE_NONE && g->id ? REPAIR_ORPHAN : 0)};
		} else {
			add_point(b, row, block, 0);
		}
	}
}

static bool same_id(const void *context, uint32_t value, const void *key)
{
	return ((const struct build *)context)->blocks[value].id == *(const span_id_t *)key;
}

static int add_group(struct build *b, struct group *g)
{
	struct trace *t = b->t;
	uint32_t row = g->row;

	for (; row < g->end && b->info[row].type == EVENT_SPAN; row++)
		add_span(b, g, row);
	for (; row < g->end && b->info[row].type == EVENT_BEGIN; row++)
		add_begin(b, g, row);
	if (g->block == t->block_n && g->id != 0)
		add_implied(b, g);
	for (; row < g->end && b->info[row].type == EVENT_END; row++)
		if (g->block < t->block_n)
			add_end(b, g, row);
		else
			add_point(b, row, TRACE_NONE, 0);
	for (uint32_t i = g->block; i < t->block_n; i++)
		if (b->blocks[i].end_row == TRACE_NONE && !(b->blocks[i].bits & BLOCK_IMPLIED)) {
			b->blocks[i].bits |= BLOCK_RUNNING;
			b->blocks[i].repairs |= REPAIR_MISSING_END;
		}
	if (t->block_n - g->block > 1 && g->id != 0)
		settle(b, g);
	add_attached(b, g);
	if (g->block == t->block_n || g->id == 0)
		return 0;
	return map_put(&b->ids, hash_u64(g->id, b->ids.seed), g->block) ? 0 : -ENOMEM;
}

/* Room for everything the rows can become. */
static int allocate(struct build *b)
{
	struct trace *t = b->t;
	size_t blocks = 0, points = 0, counters = 0, links = 0, edges = 0;
	span_id_t implied = 0;

	for (uint32_t row = 0; row < t->row_n; row++) {
		switch (b->info[row].type) {
		case EVENT_SPAN:
		case EVENT_BEGIN:
			blocks += 2; /* perhaps a client, whose peer will have to be inferred */
			break;
		case EVENT_COUNTER:
			counters++;
			break;
		case EVENT_LINK:
			links++;
			break;
		case EVENT_EDGE:
			edges++;
			break;
		case EVENT_UNIT:
			break;
		default:
			points++;
			if (b->info[row].id != implied) {
				blocks++;
				implied = b->info[row].id;
			}
		}
	}
	/* more than will be used: pages nobody writes to cost nothing */
	b->blocks = t->blocks = arena_alloc(&t->arena, blocks * sizeof(*t->blocks));
	t->points = arena_alloc(&t->arena, (points + 2 * edges) * sizeof(*t->points));
	t->counters = arena_alloc(&t->arena, counters * sizeof(*t->counters));
	/* links may also hold an edge whose ends never came */
	t->links = arena_alloc(&t->arena, (links + edges) * sizeof(*t->links));
	b->links = malloc((links + 1) * sizeof(*b->links));
	return t->blocks && t->points && t->counters && t->links && b->links ? 0 : -ENOMEM;
}

int build_blocks(struct build *b)
{
	struct trace *t = b->t;
	int r = allocate(b);

	for (uint32_t row = 0; r == 0 && row < t->row_n;) {
		struct group g = {
			.id = b->info[row].id,
			.row = row,
			.end = row + 1,
			.block = (uint32_t)t->block_n,
			.without_end = (uint32_t)t->block_n,
		};

		while (g.end < t->row_n && b->info[g.end].id == g.id)
			g.end++;
		r = add_group(b, &g);
		row = g.end;
	}
	return r;
}

uint32_t build_find(const struct build *b, span_id_t id, uint32_t process)
{
	uint32_t first, found = TRACE_NONE, end;

	if (id == 0)
		return TRACE_NONE;
	first = map_get(&b->ids, hash_u64(id, b->ids.seed), same_id, b, &id);
	if (first == MAP_NONE)
		return TRACE_NONE;
	end = MIN((uint32_t)b->t->block_n, first + SAME_ID_SEARCH_MAX);
	for (uint32_t i = first; i < end && b->blocks[i].id == id; i++) {
		const struct trace_block *block = &b->blocks[i];

		if (process == TRACE_NONE) {
			if (!(block->bits & BLOCK_SHARED))
				return i;
			continue;
		}
		if (block->process == process &&
		    (found == TRACE_NONE || b->blocks[found].process != process ||
		     block->bits & BLOCK_SHARED))
			found = i;
		else if (found == TRACE_NONE ||
			 (block->bits & BLOCK_SHARED && b->blocks[found].process != process))
			found = i;
	}
	return found == TRACE_NONE ? first : found;
}
