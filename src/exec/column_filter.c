/* exec/column_filter.c - which rows of a group may match, by looking through columns. */
#include "exec/column_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "exec/attr_value.h"

enum { NOT_ASKED, ASKED_NO, ASKED_YES };

static bool is_constant(const struct plan_expr *e)
{
	if (e->kind == X_LIST)
		for (uint32_t i = 0; i < e->n; i++)
			if (e->args[i]->kind != X_CONST)
				return false;
	return e->kind == X_LIST || (e->kind == X_CONST && e->value.type != PLAN_NIL);
}

/* A comparison that nil makes nil. */
static bool is_driver(const struct column_query *q, const struct plan_expr *e, uint32_t *ret_leaf)
{
	const struct plan_expr *a, *b;

	if (e->kind != X_OP || e->n != 2 || e->op < XO_EQ || e->op > XO_IN)
		return false;
	a = e->args[0];
	b = e->args[1];
	if (a->kind != X_COLUMN && e->op != XO_IN && b->kind == X_COLUMN) {
		a = e->args[1];
		b = e->args[0];
	}
	if (a->kind != X_COLUMN || a->column < q->unnest_n || !is_constant(b))
		return false;
	*ret_leaf = a->column - q->unnest_n;
	return true;
}

static void find_drivers(struct column_filter *f, const struct plan_expr *e)
{
	uint32_t leaf;

	if (e->kind == X_OP && e->op == XO_AND) {
		for (uint32_t i = 0; i < e->n; i++)
			find_drivers(f, e->args[i]);
	} else if (f->n < COLUMN_DRIVERS_MOST && is_driver(f->query, e, &leaf)) {
		f->drivers[f->n++] = (struct column_driver){.leaf = leaf, .expr = e};
	}
}

static struct value nothing(void *context, const struct plan_expr *e)
{
	(void)context;
	(void)e;
	return value_unknown();
}

void column_filter_init(struct column_filter *f, const struct column_query *q,
			struct expr_memo *memo, struct arena *arena)
{
	*f = (struct column_filter){.query = q};
	f->env = (struct expr_env){
		.columns = f->slots,
		.element = nothing,
		.arena = arena,
		.memo = memo,
	};
	if (q->where)
		find_drivers(f, q->where);
}

void column_filter_done(struct column_filter *f)
{
	free(f->maybe);
	for (uint32_t i = 0; i < COLUMN_DRIVERS_MOST; i++)
		free(f->asked[i]);
}

uint8_t column_filter_needed(const struct column_filter *f, const uint8_t *place,
			     const struct value *slots, const struct value *absent)
{
	uint8_t needed = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t leaf = f->drivers[i].leaf;

		/* Where rows without a value have another, the column does not settle it. */
		if (place[leaf] == LEAF_COLUMN && slots[leaf].type == V_UNKNOWN &&
		    value_is_nil(absent[leaf]))
			needed |= (uint8_t)(1u << i);
	}
	return needed;
}

static bool holds(struct column_filter *f, const struct column_driver *d, struct value v)
{
	f->slots[f->query->unnest_n + d->leaf] = v;
	return value_is_true(expr_eval(&f->env, d->expr));
}

/* --- texts --- */

/* `slot = "constant"`: the constant. */
static bool equals_text(const struct plan_expr *e, struct slice *ret_text)
{
	const struct plan_expr *c = e->args[0]->kind == X_CONST ? e->args[0] : e->args[1];

	if (e->op != XO_EQ || c->kind != X_CONST || c->value.type != PLAN_STRING)
		return false;
	*ret_text = c->value.s;
	return true;
}

static void match_code(struct column_filter *f, const struct group_column *c, uint32_t code,
		       uint8_t bit)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->codes[i] == code)
			f->maybe[c->rows[i]] |= bit;
}

/* Texts of the dictionary are asked once in the segment. */
static int match_by_code(struct column_filter *f, const struct group_column *c, uint32_t driver,
			 uint8_t bit)
{
	const struct column_driver *d = &f->drivers[driver];
	uint8_t *asked = f->asked[driver];
	struct slice text;

	if (c->type == VALUE_STRING && equals_text(d->expr, &text)) {
		uint32_t code = tables_find(f->shapes->tables, text);

		if (code != UINT32_MAX)
			match_code(f, c, code, bit);
		return 0;
	}
	if (!asked) {
		asked = f->asked[driver] = calloc(tables_strings(f->shapes->tables) + 1, 1);
		if (!asked)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		uint8_t *at = &asked[c->codes[i]];

		if (*at == NOT_ASKED)
			*at = holds(f, d, text_value(c->type, column_text(c, i), f->env.arena))
				      ? ASKED_YES
				      : ASKED_NO;
		if (*at == ASKED_YES)
			f->maybe[c->rows[i]] |= bit;
	}
	return 0;
}

/* Texts that stand in the column: each is asked once; most values have one of their own. */
static int match_texts(struct column_filter *f, const struct group_column *c, uint32_t driver,
		       uint8_t bit)
{
	const struct column_driver *d = &f->drivers[driver];
	struct slice equal = slice_of(NULL, 0);
	bool equals = c->type == VALUE_STRING && equals_text(d->expr, &equal);
	uint8_t *asked = c->codes ? calloc(c->text_n + 1, 1) : NULL;

	if (c->codes && !asked)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++) {
		uint8_t *at = asked ? &asked[c->codes[i]] : NULL, told = at ? *at : NOT_ASKED;
		struct slice text = column_text(c, i);

		if (told == NOT_ASKED) {
			bool yes = equals ? slice_eq(text, equal)
					  : holds(f, d, text_value(c->type, text, f->env.arena));

			told = yes ? ASKED_YES : ASKED_NO;
			if (at)
				*at = told;
		}
		if (told == ASKED_YES)
			f->maybe[c->rows[i]] |= bit;
	}
	free(asked);
	return 0;
}

static int match_column(struct column_filter *f, const struct group_column *c, uint32_t driver)
{
	uint8_t bit = (uint8_t)(1u << driver);
	struct slice text;

	if (!c->values)
		return c->by_code ? match_by_code(f, c, driver, bit)
				  : match_texts(f, c, driver, bit);
	/* A number is no text: names alone (true, false) are. */
	if (c->type != VALUE_BOOL && equals_text(f->drivers[driver].expr, &text))
		return 0;
	for (uint32_t i = 0; i < c->n; i++)
		if (holds(f, &f->drivers[driver], bits_value(c->type, c->values[i])))
			f->maybe[c->rows[i]] |= bit;
	return 0;
}

/* --- the group --- */

static void follow_segment(struct column_filter *f, const struct column_shapes *s)
{
	if (f->shapes == s)
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		free(f->asked[i]);
		f->asked[i] = NULL;
	}
	f->shapes = s;
}

int column_filter_group(struct column_filter *f, struct column_group *g)
{
	int r = 0;

	follow_segment(f, g->shapes);
	if (!f->maybe)
		f->maybe = malloc(SEGMENT_GROUP_ROWS);
	if (!f->maybe)
		return -ENOMEM;
	memset(f->maybe, 0, g->row_n);
	for (uint32_t i = 0; r == 0 && i < f->n; i++) {
		uint32_t leaf = f->drivers[i].leaf;
		struct leaf_column *c;

		if (g->shapes->place[leaf] != LEAF_COLUMN)
			continue;
		r = column_group_columns(g, leaf, &c);
		for (uint32_t k = 0; r == 0 && k < c->n; k++)
			r = match_column(f, c->columns[k], i);
		/* A key that stands twice in a row: the row itself is asked. */
	}
	return r == 0 ? f->env.failed : r;
}
