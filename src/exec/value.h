/* exec/value.h - one typed value on its way through a query: 16 bytes, text borrowed.
 *
 * Text and lists belong to whoever made them (an arena of the query, a column of a group, a batch):
 * value_dup() keeps them.
 *
 * Missing is a value.  Logic has three values: true, false, and nil for "cannot be told".
 *
 *   comparison with nil       nil, except that `= nil` and `!= nil` ask whether something is there
 *   comparison across types   numbers compare as numbers (integers exactly); status, kind and
 *                             booleans with their names; anything else is false for =, true for !=
 *                             and nil for an order
 *   a list and a scalar       (expr.c) one of its elements is so; for != and !~, none is
 *   a && b, a || b, !a        Kleene's: false && nil is false, true || nil is true, !nil is nil
 *   a filter                  keeps what is true: neither false nor nil
 *   arithmetic with nil       nil; so is a division of integers by 0, and what overflows
 *   aggregates                pass over nil; count() of nothing counts rows
 *
 * So `{ span.a != "x" }` does not find spans without `a`; `{ span.a != "x" || span.a = nil }` does.
 */
#ifndef CAUSET_EXEC_VALUE_H
#define CAUSET_EXEC_VALUE_H

#include "base/arena.h"
#include "core/slice.h"

enum value_is {
	V_NIL,
	V_BOOL,
	V_INT,
	V_FLOAT,
	V_TIME,     /* nanoseconds since 1970, raw */
	V_DURATION, /* nanoseconds */
	V_STATUS,   /* enum span_status: unset, ok, error */
	V_KIND,     /* enum span_kind: unspecified, internal, server, client, producer, consumer */
	V_STRING,   /* trace and span ids, too: lower-case hex digits */
	V_BYTES,
	V_LIST,
	V_TYPES
};

struct value {
	uint8_t type; /* enum value_is */
	uint32_t n;   /* STRING, BYTES: bytes; LIST: elements */
	union {
		bool b;
		int64_t i; /* INT, TIME, DURATION, STATUS, KIND */
		double f;
		const char *p;
		const struct value *list;
		uint64_t bits;
	};
};

static inline struct value value_nil(void)
{
	return (struct value){.type = V_NIL};
}

static inline struct value value_bool(bool b)
{
	return (struct value){.type = V_BOOL, .bits = b};
}

static inline struct value value_int(int64_t i)
{
	return (struct value){.type = V_INT, .i = i};
}

static inline struct value value_float(double f)
{
	return (struct value){.type = V_FLOAT, .f = f};
}

static inline struct value value_of(enum value_is type, int64_t i)
{
	return (struct value){.type = (uint8_t)type, .i = i};
}

/* A text of more than UINT32_MAX bytes is cut: nothing so long is ever stored. */
static inline struct value value_text(struct slice s)
{
	return (struct value){
		.type = V_STRING, .n = s.n > UINT32_MAX ? UINT32_MAX : (uint32_t)s.n, .p = s.p};
}

static inline struct value value_list(const struct value *list, uint32_t n)
{
	return (struct value){.type = V_LIST, .n = n, .list = list};
}

static inline struct slice value_slice(struct value v)
{
	return slice_of(v.p, v.n);
}

static inline bool value_is_nil(struct value v)
{
	return v.type == V_NIL;
}

/* Kept by a filter. */
static inline bool value_is_true(struct value v)
{
	return v.type == V_BOOL && v.b;
}

/* Has it a magnitude?  Booleans have none. */
static inline bool value_is_number(struct value v)
{
	return v.type >= V_INT && v.type <= V_DURATION;
}

/* 0 for what is no number. */
static inline double value_number(struct value v)
{
	return v.type == V_FLOAT ? v.f : value_is_number(v) ? (double)v.i : 0;
}

/* A total order for sorting and for results that are the same every time: nil first, then numbers
 * of all types by magnitude (NaN before them), booleans, status, kind, text, bytes, lists.  0: the
 * same key. */
int value_order(struct value a, struct value b);

/* The same key for grouping: as value_order() says 0.  Hashes agree with it. */
static inline bool value_same(struct value a, struct value b)
{
	if (a.type == b.type && a.type != V_FLOAT && a.type < V_STRING)
		return a.bits == b.bits || a.type == V_NIL;
	return value_order(a, b) == 0;
}

/* Not seeded: what is counted by it (distinct) must come out the same every time. */
uint64_t value_hash(struct value v, uint64_t seed);

enum value_relation { VALUE_EQ, VALUE_NE, VALUE_LT, VALUE_LE, VALUE_GT, VALUE_GE };

/* A comparison as the language means it: true, false or nil (above). */
struct value value_compare(enum value_relation relation, struct value a, struct value b);

enum value_operation { VALUE_ADD, VALUE_SUB, VALUE_MUL, VALUE_DIV, VALUE_MOD, VALUE_POW };

/* Arithmetic: time − time is a duration, time ± duration a time, time / duration and duration /
 * duration integers rounded down, duration × number and duration / number a duration, integers stay
 * integers but for `/` and `^`, which round down and give a float if that is what comes out.
 * Anything else is nil: the checker has refused it where it could be seen. */
struct value value_arithmetic(enum value_operation operation, struct value a, struct value b);

struct value value_and(struct value a, struct value b);
struct value value_or(struct value a, struct value b);
struct value value_not(struct value a);

/* A copy whose text lies in the arena.  False when out of memory. */
bool value_dup(struct arena *arena, struct value v, struct value *ret_value);

/* Bytes of text and lists behind it, for budgets. */
size_t value_bytes(struct value v);

/* "unset", "ok", "error"; a number nobody named: "". */
const char *value_status_name(int64_t status);
const char *value_kind_name(int64_t kind);

/* As text for a person, in the arena: 1.5s, 2026-08-01T12:00:00.000000001Z, [a, b].  p is NULL when
 * out of memory. */
struct slice value_format(struct arena *arena, struct value v);

#endif
