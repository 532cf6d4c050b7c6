/* api/tempo_narrow.c - which traces can answer a question of TraceQL.
 *
 *   resource.service.name = "a"        a span has the service
 *   name = "b"                         … and the name, and
 *   span.k = "c", .k = 5, .k = true    … the attribute, on itself or its resource: the same span
 *   status = error                     a span has failed
 *   duration > 1s                      … and takes that long: the same span
 *   traceDuration > 1s                 the trace is that long
 *
 * Only what a span must have in any case counts: sides of `&&`, within braces and between them.  Of
 * two spans that must both be there one is asked for, of which more is known. */
#include "api/tempo_narrow.h"

#include <stdio.h>

#include "base/cleanup.h"

#define DEPTH_MOST 64
#define INT_MOST   1000000000000000LL /* beyond, a double of the same value is written otherwise */

/* --- one span --- */

static bool is_field(const struct plan_expr *e, enum plan_field field)
{
	return e->kind == X_FIELD && e->field.field == field && e->field.of == OF_SELF;
}

static struct slice constant_text(struct tempo_narrow *n, const struct plan_value *v)
{
	char *room = n->texts[n->query.tag_n];

	switch (v->type) {
	case PLAN_STRING:
		return v->s;
	case PLAN_BOOL:
		return v->b ? SLICE("true") : SLICE("false");
	case PLAN_INT:
		if (v->i > INT_MOST || v->i < -INT_MOST)
			return slice_of(NULL, 0);
		snprintf(room, sizeof(n->texts[0]), "%lld", (long long)v->i);
		return slice_cstr(room);
	default:
		return slice_of(NULL, 0);
	}
}

static void tag_narrow(struct tempo_narrow *n, struct slice key, const struct plan_value *v)
{
	struct slice text;

	if (n->query.tag_n == NARROW_TAGS)
		return;
	text = constant_text(n, v);
	if (text.n == 0)
		return;
	n->tags[n->query.tag_n++] = (struct store_tag){key, text};
	n->narrows += 8;
}

static void equal_narrow(struct tempo_narrow *n, const struct plan_expr *e,
			 const struct plan_value *v, bool plain)
{
	bool text = v->type == PLAN_STRING && v->s.n > 0;

	if (is_field(e, F_STATUS) && v->type == PLAN_STATUS && v->i == STATUS_ERROR) {
		n->query.errors = true;
		n->narrows += 1;
	}
	if (!plain)
		return;
	if (text && (is_field(e, F_SERVICE) || (e->kind == X_ATTR && e->attr.of == OF_SELF &&
						e->attr.scope == ATTR_RESOURCE &&
						slice_eq(e->attr.key, SLICE("service.name"))))) {
		n->query.service = v->s;
		n->narrows += 2;
	} else if (text && is_field(e, F_NAME)) {
		n->query.operation = v->s;
		n->narrows += 2;
	} else if (e->kind == X_ATTR && e->attr.of == OF_SELF &&
		   (e->attr.scope == ATTR_ANY || e->attr.scope == ATTR_SPAN)) {
		tag_narrow(n, e->attr.key, v);
	}
}

/* No span is longer than its trace. */
static void longer_narrow(struct tempo_narrow *n, const struct plan_expr *e, int64_t ns, bool plain)
{
	bool span = is_field(e, F_DURATION);

	if ((!span && !is_field(e, F_TRACE_DURATION)) || ns <= 0)
		return;
	n->query.min_duration_ns = MAX(n->query.min_duration_ns, ns);
	n->narrows += 1;
	if (!span || !plain)
		return;
	n->query.span_min_ns = MAX(n->query.span_min_ns, ns);
	n->narrows += 2;
}

static void shorter_narrow(struct tempo_narrow *n, const struct plan_expr *e, int64_t ns,
			   bool plain)
{
	bool span = is_field(e, F_DURATION);
	int64_t *most = span ? &n->query.span_max_ns : &n->query.max_duration_ns;

	if ((!(span && plain) && !is_field(e, F_TRACE_DURATION)) || ns <= 0)
		return;
	*most = *most ? MIN(*most, ns) : ns;
	n->narrows += 1;
}

static void compared_narrow(struct tempo_narrow *n, enum plan_operator op,
			    const struct plan_expr *e, const struct plan_value *v, bool plain)
{
	bool duration = v->type == PLAN_DURATION;

	if (op == XO_EQ)
		equal_narrow(n, e, v, plain);
	if (duration && (op == XO_GT || op == XO_GE || op == XO_EQ))
		longer_narrow(n, e, v->i, plain);
	if (duration && (op == XO_LT || op == XO_LE || op == XO_EQ))
		shorter_narrow(n, e, v->i, plain);
}

static enum plan_operator turned(enum plan_operator op)
{
	switch (op) {
	case XO_LT:
		return XO_GT;
	case XO_LE:
		return XO_GE;
	case XO_GT:
		return XO_LT;
	case XO_GE:
		return XO_LE;
	default:
		return op;
	}
}

static void span_narrow(struct tempo_narrow *n, const struct plan_expr *e, bool plain, int depth)
{
	if (!e || e->kind != X_OP || depth > DEPTH_MOST)
		return;
	if (e->op == XO_AND) {
		for (uint32_t i = 0; i < e->n; i++)
			span_narrow(n, e->args[i], plain, depth + 1);
	} else if (e->n == 2 && e->args[1]->kind == X_CONST) {
		compared_narrow(n, e->op, e->args[0], &e->args[1]->value, plain);
	} else if (e->n == 2 && e->args[0]->kind == X_CONST) {
		compared_narrow(n, turned(e->op), e->args[1], &e->args[0]->value, plain);
	}
}

/* --- sets of spans --- */

/* The filter that a span of the trace must pass, and of which most is known; NULL: none. */
static const struct plan_set *filter_of(const struct plan_set *s, bool plain, int depth,
					unsigned *ret_narrows)
{
	const struct plan_set *left, *right;
	unsigned more = 0;

	*ret_narrows = 0;
	if (!s || depth > DEPTH_MOST)
		return NULL;
	switch (s->op) {
	case SET_FILTER: {
		struct tempo_narrow own = {0};

		span_narrow(&own, s->predicate, plain, 0);
		*ret_narrows = own.narrows;
		left = s->left ? filter_of(s->left, plain, depth + 1, &more) : NULL;
		break;
	}
	case SET_HAVING:
		return s->having->sets ? NULL : filter_of(s->left, plain, depth + 1, ret_narrows);
	case SET_AND:
		left = filter_of(s->left, plain, depth + 1, ret_narrows);
		right = filter_of(s->right, plain, depth + 1, &more);
		if (more <= *ret_narrows)
			return left;
		*ret_narrows = more;
		return right;
	case SET_RELATION:
		right = filter_of(s->right, plain, depth + 1, ret_narrows);
		if (s->form == REL_NOT)
			return right;
		left = filter_of(s->left, plain, depth + 1, &more);
		if (more <= *ret_narrows)
			return right;
		*ret_narrows = more;
		return left;
	default: /* one of several */
		return NULL;
	}
	if (more <= *ret_narrows)
		return s;
	*ret_narrows = more;
	return left;
}

void tempo_narrow(struct tempo_narrow *n, const struct plan_set *set, bool plain)
{
	unsigned narrows;
	const struct plan_set *filter = filter_of(set, plain, 0, &narrows);

	*n = (struct tempo_narrow){0};
	if (filter)
		span_narrow(n, filter->predicate, plain, 0);
	n->query.tags = n->tags;
}
