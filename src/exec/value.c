/* exec/value.c - one typed value: order, hash, comparison, arithmetic. */
#include "exec/value.h"

#include <math.h>

#include "base/cleanup.h"
#include "core/hash.h"

#define LIST_DEPTH 16 /* of lists in lists that are looked into */

static const char *const status_names[] = {"unset", "ok", "error"};
static const char *const kind_names[] = {"unspecified", "internal", "server",
					 "client",      "producer", "consumer"};

const char *value_status_name(int64_t status)
{
	return status >= 0 && status < (int64_t)ARRAY_SIZE(status_names) ? status_names[status]
									 : "";
}

const char *value_kind_name(int64_t kind)
{
	return kind >= 0 && kind < (int64_t)ARRAY_SIZE(kind_names) ? kind_names[kind] : "";
}

/* --- order --- */

/* Numbers of all types are one class, in which magnitude decides. */
static int class_of(struct value v)
{
	return value_is_number(v) ? V_INT : v.type;
}

static int order_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* An integer against a double, exactly: a double that large is an integer itself. */
static int order_mixed(int64_t i, double f)
{
	if (isnan(f))
		return 1;
	if (f >= 0x1p63)
		return -1;
	if (f < -0x1p63)
		return 1;
	if (i != (int64_t)f)
		return order_i64(i, (int64_t)f);
	return (f - trunc(f) < 0) - (f - trunc(f) > 0);
}

static int order_numbers(struct value a, struct value b)
{
	if (a.type == V_FLOAT && b.type == V_FLOAT) {
		if (isnan(a.f) || isnan(b.f))
			return (isnan(a.f) ? 0 : 1) - (isnan(b.f) ? 0 : 1);
		return (a.f > b.f) - (a.f < b.f);
	}
	if (a.type == V_FLOAT)
		return -order_mixed(b.i, a.f);
	if (b.type == V_FLOAT)
		return order_mixed(a.i, b.f);
	return order_i64(a.i, b.i);
}

static int order_at(struct value a, struct value b, int depth)
{
	int c = order_i64(class_of(a), class_of(b));

	if (c != 0 || a.type == V_NIL)
		return c;
	switch (a.type) {
	case V_STRING:
	case V_BYTES:
		return slice_cmp(value_slice(a), value_slice(b));
	case V_LIST:
		for (uint32_t i = 0; depth < LIST_DEPTH && i < MIN(a.n, b.n); i++) {
			c = order_at(a.list[i], b.list[i], depth + 1);
			if (c != 0)
				return c;
		}
		return order_i64(a.n, b.n);
	case V_BOOL:
	case V_STATUS:
	case V_KIND:
		return order_i64(a.i, b.i);
	default:
		return order_numbers(a, b);
	}
}

int value_order(struct value a, struct value b)
{
	return order_at(a, b, 0);
}

static uint64_t hash_at(struct value v, uint64_t seed, int depth)
{
	switch (v.type) {
	case V_NIL:
		return hash_u64(0, seed);
	case V_STRING:
	case V_BYTES:
		return hash_bytes(v.p, v.n, seed + v.type);
	case V_LIST:
		seed = hash_u64(v.n, seed);
		for (uint32_t i = 0; depth < LIST_DEPTH && i < v.n; i++)
			seed = hash_at(v.list[i], seed, depth + 1);
		return seed;
	case V_FLOAT:
		/* A float that is an integer is the same key as the integer. */
		if (v.f >= -0x1p63 && v.f < 0x1p63 && v.f == trunc(v.f))
			return hash_u64((uint64_t)(int64_t)v.f, seed + V_INT);
		return hash_u64(isnan(v.f) ? 1 : v.bits, seed + V_FLOAT);
	default:
		return hash_u64(v.bits, seed + (uint64_t)class_of(v));
	}
}

uint64_t value_hash(struct value v, uint64_t seed)
{
	return hash_at(v, seed, 0);
}

/* --- comparison --- */

static bool holds(enum value_relation relation, int order)
{
	switch (relation) {
	case VALUE_EQ:
		return order == 0;
	case VALUE_NE:
		return order != 0;
	case VALUE_LT:
		return order < 0;
	case VALUE_LE:
		return order <= 0;
	case VALUE_GT:
		return order > 0;
	default:
		return order >= 0;
	}
}

/* The name of what has one. */
static struct slice named(struct value v)
{
	if (v.type == V_STATUS)
		return slice_cstr(value_status_name(v.i));
	if (v.type == V_KIND)
		return slice_cstr(value_kind_name(v.i));
	if (v.type == V_BOOL)
		return v.b ? SLICE("true") : SLICE("false");
	return slice_of(NULL, 0);
}

struct value value_compare(enum value_relation relation, struct value a, struct value b)
{
	bool equality = relation == VALUE_EQ || relation == VALUE_NE;

	if (a.type == V_NIL || b.type == V_NIL)
		return value_nil();
	if (class_of(a) == class_of(b)) {
		if (value_is_number(a) && (isnan(value_number(a)) || isnan(value_number(b))))
			return value_bool(relation == VALUE_NE);
		return value_bool(holds(relation, value_order(a, b)));
	}
	if (!equality)
		return value_nil();
	if (a.type == V_STRING && named(b).n > 0)
		return value_bool(slice_eq(value_slice(a), named(b)) == (relation == VALUE_EQ));
	if (b.type == V_STRING && named(a).n > 0)
		return value_bool(slice_eq(value_slice(b), named(a)) == (relation == VALUE_EQ));
	return value_bool(relation == VALUE_NE);
}

struct value value_and(struct value a, struct value b)
{
	if ((a.type == V_BOOL && !a.b) || (b.type == V_BOOL && !b.b))
		return value_bool(false);
	if (a.type != V_BOOL || b.type != V_BOOL)
		return value_nil();
	return value_bool(true);
}

struct value value_or(struct value a, struct value b)
{
	if (value_is_true(a) || value_is_true(b))
		return value_bool(true);
	if (a.type != V_BOOL || b.type != V_BOOL)
		return value_nil();
	return value_bool(false);
}

struct value value_not(struct value a)
{
	return a.type == V_BOOL ? value_bool(!a.b) : value_nil();
}

/* --- arithmetic --- */

static int64_t floor_div(int64_t a, int64_t b)
{
	int64_t q = a / b;

	return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Rounded down; nil by 0, and where the quotient does not fit. */
static struct value divide(enum value_is type, int64_t a, int64_t b)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return value_nil();
	return value_of(type, floor_div(a, b));
}

static struct value integers(enum value_operation op, enum value_is type, int64_t a, int64_t b)
{
	int64_t result;
	bool overflow;

	switch (op) {
	case VALUE_ADD:
		overflow = __builtin_add_overflow(a, b, &result);
		break;
	case VALUE_SUB:
		overflow = __builtin_sub_overflow(a, b, &result);
		break;
	case VALUE_MUL:
		overflow = __builtin_mul_overflow(a, b, &result);
		break;
	case VALUE_DIV:
		return divide(type, a, b);
	case VALUE_MOD:
		if (b == 0)
			return value_nil();
		return value_of(type, b == -1 ? 0 : a - b * floor_div(a, b));
	default:
		return value_float(pow((double)a, (double)b));
	}
	return overflow ? value_nil() : value_of(type, result);
}

static double floats(enum value_operation op, double a, double b)
{
	switch (op) {
	case VALUE_ADD:
		return a + b;
	case VALUE_SUB:
		return a - b;
	case VALUE_MUL:
		return a * b;
	case VALUE_DIV:
		return a / b;
	case VALUE_MOD:
		return fmod(a, b);
	default:
		return pow(a, b);
	}
}

static struct value to_duration(double ns)
{
	if (!(ns >= -0x1p63 && ns < 0x1p63))
		return value_nil();
	return value_of(V_DURATION, (int64_t)nearbyint(ns));
}

/* One of both is a duration, none a time. */
static struct value with_duration(enum value_operation op, struct value a, struct value b)
{
	bool both = a.type == V_DURATION && b.type == V_DURATION;

	if (both && (op == VALUE_ADD || op == VALUE_SUB || op == VALUE_MOD))
		return integers(op, V_DURATION, a.i, b.i);
	if (both)
		return op == VALUE_DIV ? divide(V_INT, a.i, b.i) : value_nil();
	if (op != VALUE_MUL && (op != VALUE_DIV || a.type != V_DURATION))
		return value_nil();
	if (a.type == V_FLOAT || b.type == V_FLOAT)
		return to_duration(floats(op, value_number(a), value_number(b)));
	return integers(op, V_DURATION, a.i, b.i);
}

static struct value with_time(enum value_operation op, struct value a, struct value b)
{
	if (a.type == V_TIME && b.type == V_TIME)
		return op == VALUE_SUB ? integers(op, V_DURATION, a.i, b.i) : value_nil();
	if (a.type == V_TIME && b.type == V_DURATION) {
		if (op == VALUE_DIV)
			return divide(V_INT, a.i, b.i);
		if (op == VALUE_MOD)
			return integers(op, V_DURATION, a.i, b.i);
		if (op == VALUE_ADD || op == VALUE_SUB)
			return integers(op, V_TIME, a.i, b.i);
	}
	if (a.type == V_DURATION && b.type == V_TIME && op == VALUE_ADD)
		return integers(op, V_TIME, a.i, b.i);
	return value_nil();
}

struct value value_arithmetic(enum value_operation op, struct value a, struct value b)
{
	if (!value_is_number(a) || !value_is_number(b))
		return value_nil();
	if (a.type == V_TIME || b.type == V_TIME)
		return with_time(op, a, b);
	if (a.type == V_DURATION || b.type == V_DURATION)
		return with_duration(op, a, b);
	if (a.type == V_INT && b.type == V_INT)
		return integers(op, V_INT, a.i, b.i);
	return value_float(floats(op, value_number(a), value_number(b)));
}

/* --- keeping --- */

static bool dup_at(struct arena *arena, struct value v, struct value *ret_value, int depth)
{
	struct value *list;
	struct slice text;

	if (v.type == V_STRING || v.type == V_BYTES) {
		text = arena_dup(arena, value_slice(v));
		v.p = text.p;
		if (!text.p)
			return false;
	} else if (v.type == V_LIST) {
		if (depth == LIST_DEPTH)
			v.n = 0;
		list = arena_zalloc(arena, v.n + 1, sizeof(*list));
		if (!list)
			return false;
		for (uint32_t i = 0; i < v.n; i++)
			if (!dup_at(arena, v.list[i], &list[i], depth + 1))
				return false;
		v.list = list;
	}
	*ret_value = v;
	return true;
}

bool value_dup(struct arena *arena, struct value v, struct value *ret_value)
{
	return dup_at(arena, v, ret_value, 0);
}

static size_t bytes_at(struct value v, int depth)
{
	size_t n = 0;

	if (v.type == V_STRING || v.type == V_BYTES)
		return v.n;
	if (v.type != V_LIST || depth == LIST_DEPTH)
		return 0;
	for (uint32_t i = 0; i < v.n; i++)
		n += sizeof(v) + bytes_at(v.list[i], depth + 1);
	return n;
}

size_t value_bytes(struct value v)
{
	return bytes_at(v, 0);
}
