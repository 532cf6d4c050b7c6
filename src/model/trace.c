/* model/trace.c - reading a modelled trace. */
#include "model/trace.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "model/causality.h"

const char *trace_repair_name(enum trace_repair bit)
{
	switch (bit) {
	case REPAIR_MISSING_END:
		return "missing end";
	case REPAIR_MISSING_BEGIN:
		return "missing begin";
	case REPAIR_ORPHAN:
		return "orphan";
	case REPAIR_CYCLE:
		return "cycle";
	case REPAIR_DUPLICATE:
		return "duplicate";
	case REPAIR_CONFLICT:
		return "conflict";
	case REPAIR_LATE:
		return "late";
	case REPAIR_END_BEFORE_BEGIN:
		return "end before begin";
	case REPAIR_TIME_RANGE:
		return "time out of range";
	case REPAIR_CLOCK:
		return "clock adjusted";
	case REPAIR_INFERRED:
		return "inferred";
	default:
		return NULL;
	}
}

const char *trace_edge_kind_name(enum trace_edge_kind kind)
{
	static const char *const names[EDGE_KINDS] = {
		[EDGE_REQUEST] = "request", [EDGE_RESPONSE] = "response", [EDGE_PARENT] = "parent",
		[EDGE_MESSAGE] = "message", [EDGE_LINK] = "link",         [EDGE_FORK] = "fork",
		[EDGE_JOIN] = "join",       [EDGE_QUEUE] = "queue",       [EDGE_LOCK] = "lock",
		[EDGE_OTHER] = "other",
	};

	return (unsigned)kind < EDGE_KINDS ? names[kind] : "other";
}

struct trace *trace_free(struct trace *t)
{
	struct arena arena;

	if (!t)
		return NULL;
	causality_free(t->causality);
	arena = t->arena; /* it holds the trace itself */
	arena_done(&arena);
	return NULL;
}

struct slice trace_block_name(const struct trace *t, uint32_t block)
{
	const struct trace_block *b = &t->blocks[block];

	if (b->inferred != TRACE_NONE)
		return t->inferred[b->inferred].name;
	return trace_row_name(t, b->row);
}

struct slice trace_block_service(const struct trace *t, uint32_t block)
{
	return t->processes[t->blocks[block].process].service;
}

struct slice trace_block_host(const struct trace *t, uint32_t block)
{
	return t->processes[t->blocks[block].process].host;
}

/* The first edge that leads into a block ≥ `block`. */
static size_t edges_from(const struct trace *t, uint32_t block)
{
	size_t low = 0, high = t->edge_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace_pos_block(t, t->edges[middle].to) < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t trace_edges_into(const struct trace *t, uint32_t block, size_t *ret_first)
{
	*ret_first = edges_from(t, block);
	return edges_from(t, block + 1) - *ret_first;
}

uint32_t trace_find(const struct trace *t, span_id_t id)
{
	size_t low = 0, high = t->block_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->blocks[t->by_id[middle]].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	if (id == 0 || low == t->block_n || t->blocks[t->by_id[low]].id != id)
		return TRACE_NONE;
	return t->by_id[low];
}
