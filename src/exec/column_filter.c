/* exec/column_filter.c - which rows of a group may match, by looking through columns. */
#include "exec/column_filter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
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
	free(f->found);
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

static uint32_t match_code(struct column_filter *f, const struct group_column *c, uint32_t code)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		f->found[n] = i;
		n += c->codes[i] == code;
	}
	return n;
}

/* Texts of the dictionary are asked once in the segment. */
static int match_by_code(struct column_filter *f, const struct group_column *c, uint32_t driver,
			 uint32_t *ret_n)
{
	const struct column_driver *d = &f->drivers[driver];
	uint8_t *asked = f->asked[driver];
	struct slice text;
	uint32_t n = 0;

	*ret_n = 0;
	if (equals_text(d->expr, &text)) {
		uint32_t code = tables_find(f->shapes->tables, text);

		if (code != UINT32_MAX)
			*ret_n = match_code(f, c, code);
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
		f->found[n] = i;
		n += *at == ASKED_YES;
	}
	*ret_n = n;
	return 0;
}

/* Texts that stand in the column: each is asked once; most values have one of their own. */
static int match_texts(struct column_filter *f, const struct group_column *c, uint32_t driver,
		       uint32_t *ret_n)
{
	const struct column_driver *d = &f->drivers[driver];
	struct slice equal = slice_of(NULL, 0);
	bool equals = c->type == VALUE_STRING && equals_text(d->expr, &equal);
	uint8_t *asked = c->codes ? calloc(c->text_n + 1, 1) : NULL;
	uint32_t n = 0;

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
		f->found[n] = i;
		n += told == ASKED_YES;
	}
	free(asked);
	*ret_n = n;
	return 0;
}

/* A number is no text: names alone (true, false) are. */
static bool cannot_equal(const struct column_filter *f, uint32_t driver, enum value_type type)
{
	struct slice text;

	return (type == VALUE_INT || type == VALUE_DOUBLE) &&
	       equals_text(f->drivers[driver].expr, &text);
}

/* The values of a column that fit: f->found. */
static int match_column(struct column_filter *f, const struct group_column *c, uint32_t driver,
			uint32_t *ret_n)
{
	uint32_t n = 0;

	*ret_n = 0;
	if (!vec_reserve(&f->found, &f->found_capacity, (size_t)c->n + 1, sizeof(*f->found)))
		return -ENOMEM;
	if (!c->values)
		/* Bytes may have the code of a text, and are another value. */
		return c->by_code && c->type == VALUE_STRING ? match_by_code(f, c, driver, ret_n)
							     : match_texts(f, c, driver, ret_n);
	if (cannot_equal(f, driver, c->type))
		return 0;
	for (uint32_t i = 0; i < c->n; i++)
		if (holds(f, &f->drivers[driver], bits_value(c->type, c->values[i])))
			f->found[n++] = i;
	*ret_n = n;
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
		for (uint32_t k = 0; r == 0 && k < c->n; k++) {
			uint32_t n;

			r = match_column(f, c->columns[k], i, &n);
			for (uint32_t v = 0; r == 0 && v < n; v++)
				f->maybe[c->columns[k]->rows[f->found[v]]] |= (uint8_t)(1u << i);
		}
		/* A key that stands twice in a row: the row itself is asked. */
	}
	return r == 0 ? f->env.failed : r;
}

/* --- few rows --- */

/* The one whose values are found without decoding the column, if there is one. */
static uint32_t best_driver(const struct column_filter *f, uint8_t always)
{
	struct slice text;

	for (uint32_t i = 0; i < f->n; i++)
		if (always >> i & 1 && equals_text(f->drivers[i].expr, &text))
			return i;
	return (uint32_t)__builtin_ctz(always);
}

/* The values of one column that fit: *ret_values.  -ENOENT when there is no such column. */
static int few_values(struct column_filter *f, struct column_group *g, uint32_t driver,
		      enum value_type type, const uint32_t **ret_values, uint32_t *ret_n)
{
	uint32_t key = g->shapes->key[f->drivers[driver].leaf];
	const struct group_column *c;
	struct slice text;
	int r;

	*ret_n = 0;
	if (cannot_equal(f, driver, type))
		return -ENOENT;
	if (type == VALUE_STRING && equals_text(f->drivers[driver].expr, &text))
		return group_find_text(g->group, LEVEL_BLOCK, key, text,
				       tables_find(f->shapes->tables, text), ret_values, ret_n);
	r = group_column_values(g->group, LEVEL_BLOCK, key, type, &c);
	if (r == 0)
		r = match_column(f, c, driver, ret_n);
	*ret_values = f->found;
	return r;
}

/* Puts rows among those that are there.  Returns how many there are then. */
static uint32_t rows_join(uint32_t *rows, uint32_t n, const uint32_t *more, uint32_t more_n)
{
	for (uint32_t i = 0; i < more_n; i++) {
		uint32_t at = n;

		while (at > 0 && rows[at - 1] >= more[i])
			at--;
		if (at < n && rows[at] == more[i])
			continue;
		memmove(rows + at + 1, rows + at, (n - at) * sizeof(*rows));
		rows[at] = more[i];
		n++;
	}
	return n;
}

int column_filter_few(struct column_filter *f, struct column_group *g, uint8_t always)
{
	uint32_t driver = best_driver(f, always), n = 0, key;
	uint32_t more[GROUP_FEW_ROWS], all[2 * GROUP_FEW_ROWS];
	int r = 0;

	follow_segment(f, g->shapes);
	key = g->shapes->key[f->drivers[driver].leaf];
	if (equals_text(f->drivers[driver].expr, &g->few_text))
		g->few_leaf = f->drivers[driver].leaf;
	for (uint32_t i = 0; r == 0 && key != NO_KEY && i < LEAF_TYPES_ALL; i++) {
		const uint32_t *values;
		uint32_t k;

		r = few_values(f, g, driver, leaf_types[i], &values, &k);
		if (r == -ENOENT || (r == 0 && k == 0)) {
			r = 0;
			continue;
		}
		if (r == 0 && k > GROUP_FEW_ROWS)
			return 0;
		if (leaf_types[i] != VALUE_STRING)
			g->few_leaf = COLUMN_SLOTS_MOST;
		if (r == 0)
			r = group_value_rows(g->group, LEVEL_BLOCK, key, leaf_types[i], values, k,
					     more);
		if (r < 0)
			return r;
		n = rows_join(all, n, more, k);
		if (n > GROUP_FEW_ROWS)
			return 0;
	}
	if (r == 0)
		r = f->env.failed;
	if (r < 0)
		return r;
	memcpy(g->few, all, n * sizeof(*all));
	g->few_n = n;
	return 1;
}
