/* exec/expr_call.c - the functions of the language over values. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "exec/expr_int.h"

#define ARGS_MOST 16 /* of one call */

static struct value text_or_fail(struct expr_env *env, struct slice s)
{
	return s.p ? value_text(s) : expr_fail(env, -ENOMEM);
}

static struct value to_text(struct expr_env *env, struct value v)
{
	if (v.type == V_STRING || value_is_nil(v))
		return v;
	return text_or_fail(env, value_format(env->arena, v));
}

/* Integers, times and durations are whole already. */
static struct value rounded(double (*round_one)(double), struct value v)
{
	if (v.type != V_FLOAT)
		return value_is_number(v) ? v : value_nil();
	v.f = round_one(v.f);
	return v.f >= -0x1p63 && v.f < 0x1p63 ? value_int((int64_t)v.f) : v;
}

static struct value of_number(double (*function)(double), struct value v)
{
	return value_is_number(v) ? value_float(function(value_number(v))) : value_nil();
}

static struct value absolute(struct value v)
{
	if (v.type == V_FLOAT)
		return value_float(fabs(v.f));
	if ((v.type != V_INT && v.type != V_DURATION) || v.i == INT64_MIN)
		return value_nil();
	return value_of(v.type, v.i < 0 ? -v.i : v.i);
}

static struct value length(struct value v)
{
	if (v.type == V_STRING || v.type == V_BYTES || v.type == V_LIST)
		return value_int(v.n);
	return value_nil();
}

/* ASCII letters; others stay as they are. */
static struct value in_case(struct expr_env *env, struct value v, int (*turn)(int))
{
	char *text;

	if (v.type != V_STRING)
		return value_nil();
	text = arena_alloc(env->arena, (size_t)v.n + 1);
	if (!text)
		return expr_fail(env, -ENOMEM);
	for (uint32_t i = 0; i < v.n; i++)
		text[i] = (char)((unsigned char)v.p[i] < 128 ? turn(v.p[i]) : v.p[i]);
	return value_text(slice_of(text, v.n));
}

static struct value contains(struct value a, struct value b)
{
	if (a.type == V_LIST) {
		for (uint32_t i = 0; i < a.n; i++)
			if (value_is_true(value_compare(VALUE_EQ, a.list[i], b)))
				return value_bool(true);
		return value_bool(false);
	}
	if (a.type != V_STRING || b.type != V_STRING)
		return value_nil();
	return value_bool(b.n == 0 || (a.n >= b.n && memmem(a.p, a.n, b.p, b.n)));
}

static struct value at_an_end(struct value a, struct value b, bool at_start)
{
	if (a.type != V_STRING || b.type != V_STRING)
		return value_nil();
	return value_bool(at_start ? slice_starts(value_slice(a), value_slice(b))
				   : slice_ends(value_slice(a), value_slice(b)));
}

static struct value concat(struct expr_env *env, const struct value *args, uint32_t n)
{
	size_t bytes = 0;
	char *text, *at;
	struct value parts[ARGS_MOST];

	for (uint32_t i = 0; i < n; i++) {
		parts[i] = to_text(env, args[i]);
		if (value_is_nil(parts[i]))
			return value_nil();
		bytes += parts[i].n;
	}
	at = text = arena_alloc(env->arena, bytes + 1);
	if (!text)
		return expr_fail(env, -ENOMEM);
	for (uint32_t i = 0; i < n; i++) {
		if (parts[i].n)
			memcpy(at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	return value_text(slice_of(text, bytes));
}

/* (text, from, how many): bytes from 0; what lies outside is not there. */
static struct value substring(const struct value *args, uint32_t n)
{
	struct slice s = value_slice(args[0]);

	if (args[0].type != V_STRING || n < 2 || args[1].type != V_INT || args[1].i < 0)
		return value_nil();
	s = slice_from(s, (size_t)args[1].i);
	if (n > 2) {
		if (args[2].type != V_INT || args[2].i < 0)
			return value_nil();
		s = slice_first(s, (size_t)args[2].i);
	}
	return value_text(s);
}

static struct value replace(struct expr_env *env, struct value text, struct value from,
			    struct value to)
{
	size_t found = 0, left, n;
	const char *p, *at;
	char *out, *end;

	if (text.type != V_STRING || from.type != V_STRING || to.type != V_STRING)
		return value_nil();
	if (from.n == 0 || text.n < from.n)
		return text;
	for (p = text.p, left = text.n; (at = memmem(p, left, from.p, from.n)); found++) {
		left -= (size_t)(at - p) + from.n;
		p = at + from.n;
	}
	if (found == 0)
		return text;
	n = text.n + found * to.n;
	out = end = arena_alloc(env->arena, n + 1);
	if (!out)
		return expr_fail(env, -ENOMEM);
	for (p = text.p, left = text.n; (at = memmem(p, left, from.p, from.n));) {
		memcpy(end, p, (size_t)(at - p));
		end += at - p;
		if (to.n)
			memcpy(end, to.p, to.n);
		end += to.n;
		left -= (size_t)(at - p) + from.n;
		p = at + from.n;
	}
	memcpy(end, p, left);
	return value_text(slice_of(out, (size_t)(end - out) + left));
}

static struct value parsed(struct value v, bool whole)
{
	char text[64], *end;
	double f;
	long long i;

	if (v.n == 0 || v.n >= sizeof(text))
		return value_nil();
	memcpy(text, v.p, v.n);
	text[v.n] = 0;
	errno = 0;
	i = strtoll(text, &end, 10);
	if (whole && *end == 0 && errno == 0)
		return value_int(i);
	f = strtod(text, &end);
	if (*end != 0)
		return value_nil();
	return whole ? rounded(trunc, value_float(f)) : value_float(f);
}

static struct value to_number(struct value v, bool whole)
{
	if (v.type == V_STRING)
		return parsed(v, whole);
	if (v.type == V_BOOL || v.type == V_STATUS || v.type == V_KIND)
		v = value_int(v.i);
	if (!value_is_number(v))
		return value_nil();
	if (!whole)
		return value_float(value_number(v));
	v = rounded(trunc, v);
	return v.type == V_FLOAT ? value_nil() : value_int(v.i);
}

static struct value extreme(const struct value *args, uint32_t n, int sign)
{
	struct value best = value_nil();

	for (uint32_t i = 0; i < n; i++)
		if (!value_is_nil(args[i]) &&
		    (value_is_nil(best) || sign * value_order(args[i], best) > 0))
			best = args[i];
	return best;
}

static struct value call_numbers(const struct plan_expr *e, struct value a)
{
	switch (e->function) {
	case CALL_ABS:
		return absolute(a);
	case CALL_FLOOR:
		return rounded(floor, a);
	case CALL_CEIL:
		return rounded(ceil, a);
	case CALL_ROUND:
		return rounded(round, a);
	case CALL_SQRT:
		return of_number(sqrt, a);
	case CALL_LOG:
		return of_number(log, a);
	case CALL_LOG2:
		return of_number(log2, a);
	case CALL_LOG10:
		return of_number(log10, a);
	case CALL_EXP:
		return of_number(exp, a);
	case CALL_TO_INT:
		return to_number(a, true);
	case CALL_TO_FLOAT:
		return to_number(a, false);
	default:
		return length(a);
	}
}

#define WINDOWS_MOST 1000 /* that one instant lies in */

/* Begins of the windows, a multiple of `slide` each, that an instant lies in: oldest first. */
static struct value windows(struct expr_env *env, struct value time, int64_t width, int64_t slide)
{
	int64_t last, n;
	struct value *list;

	if (time.type != V_TIME || time.i < 0 || width <= 0 || slide <= 0)
		return value_nil();
	last = time.i - time.i % slide;
	n = time.i - last < width ? (width - 1 - (time.i - last)) / slide + 1 : 0;
	if (n > WINDOWS_MOST)
		return expr_fail(env, -E2BIG);
	list = arena_alloc(env->arena, (size_t)(n ? n : 1) * sizeof(*list));
	if (!list)
		return expr_fail(env, -ENOMEM);
	for (int64_t i = 0; i < n; i++)
		list[i] = value_of(V_TIME, last - (n - 1 - i) * slide);
	return value_list(list, (uint32_t)n);
}

static struct value call_texts(struct expr_env *env, const struct plan_expr *e,
			       const struct value *args, uint32_t n)
{
	struct value b = n > 1 ? args[1] : value_nil(), c = n > 2 ? args[2] : value_nil();

	switch (e->function) {
	case CALL_LOWER:
		return in_case(env, args[0], tolower);
	case CALL_UPPER:
		return in_case(env, args[0], toupper);
	case CALL_CONTAINS:
		return contains(args[0], b);
	case CALL_STARTS_WITH:
		return at_an_end(args[0], b, true);
	case CALL_ENDS_WITH:
		return at_an_end(args[0], b, false);
	case CALL_CONCAT:
		return concat(env, args, n);
	case CALL_SUBSTRING:
		return substring(args, n);
	case CALL_REPLACE:
		return replace(env, args[0], b, c);
	case CALL_TO_STRING:
		return to_text(env, args[0]);
	case CALL_LEAST:
		return extreme(args, n, -1);
	case CALL_GREATEST:
		return extreme(args, n, 1);
	case CALL_WINDOWS:
		return windows(env, args[0], b.i, c.i);
	case CALL_MOVING_AVERAGE:
		return expr_moving_average(env, e, args[0]);
	case CALL_SKETCH:
		return expr_sketch(env, e, args[0]);
	default:
		return call_numbers(e, args[0]);
	}
}

static struct value call_if(struct expr_env *env, const struct plan_expr *e)
{
	struct value c = e->n > 1 ? expr_eval(env, e->args[0]) : value_nil();

	if (c.type == V_UNKNOWN)
		return c;
	if (value_is_true(c))
		return expr_eval(env, e->args[1]);
	return e->n > 2 ? expr_eval(env, e->args[2]) : value_nil();
}

/* The first that is there. */
static struct value call_default(struct expr_env *env, const struct plan_expr *e)
{
	struct value v = value_nil();

	for (uint32_t i = 0; value_is_nil(v) && i < e->n; i++)
		v = expr_eval(env, e->args[i]);
	return v;
}

struct value expr_call(struct expr_env *env, const struct plan_expr *e)
{
	struct value args[ARGS_MOST] = {{0}};

	if (e->function == CALL_WHAT_IF)
		return env->element(env->context, e);
	if (e->function == CALL_IF)
		return call_if(env, e);
	if (e->function == CALL_DEFAULT)
		return call_default(env, e);
	if (e->n > ARGS_MOST)
		return expr_fail(env, -E2BIG);
	/* What has state must see each row once: it cannot be told ahead. */
	if (plan_has_state(e->function) && !env->memo)
		return value_unknown();
	for (uint32_t i = 0; i < e->n; i++) {
		args[i] = expr_eval(env, e->args[i]);
		if (args[i].type == V_UNKNOWN)
			return args[i];
	}
	return call_texts(env, e, args, e->n);
}
