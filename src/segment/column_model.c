/* segment/column_model.c - models of classes, as they lie in a file, and reading with them.
 *
 *   model   varint contexts, the table of each (a byte), varint tables, tables (column_classes.c)
 *   block   varint model, varint escapes, their classes, classes by context
 *
 * A context that has no name in the model has its first table. */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/column_int.h"

static int model_read(struct column_reader *r, uint32_t names, struct column_model *m)
{
	struct column_reader numbers;
	uint64_t contexts, tables;

	if (!column_read_varint(r, &contexts) || contexts > names ||
	    !column_read_block(r, contexts, &numbers) || !column_read_varint(r, &tables) ||
	    tables == 0 || tables > MODEL_TABLES)
		return -EBADMSG;
	*m = (struct column_model){
		.contexts = (uint32_t)contexts, .table_n = (uint32_t)tables, .table_of = numbers.p};
	for (uint64_t i = 0; i < contexts; i++)
		if (numbers.p[i] >= tables)
			return -EBADMSG;
	m->tables = malloc(tables * sizeof(*m->tables));
	if (!m->tables)
		return -ENOMEM;
	for (uint64_t t = 0; t < tables; t++) {
		const uint8_t *from = r->p;
		int e = column_table_read(r, NULL);

		if (e < 0) {
			free(m->tables);
			return e;
		}
		m->tables[t] = slice_of(from, (size_t)(r->p - from));
	}
	return 0;
}

int column_models_read(struct slice bytes, uint32_t n, uint32_t names,
		       struct column_models *ret_models)
{
	struct column_reader r = column_reader_of(bytes);
	struct column_models m = {0};
	int e = 0;

	if (n > MODELS_MOST || n > bytes.n)
		return -EBADMSG;
	m.rows = calloc((size_t)n + 1, sizeof(*m.rows));
	if (!m.rows)
		return -ENOMEM;
	for (uint32_t i = 0; e == 0 && i < n; i++) {
		e = model_read(&r, names, &m.rows[i]);
		m.n += e == 0;
	}
	if (e == 0 && column_left(&r) > 0)
		e = -EBADMSG;
	if (e < 0) {
		column_models_done(&m);
		return e;
	}
	m.id = XXH3_64bits(bytes.p, bytes.n);
	*ret_models = m;
	return 0;
}

void column_models_done(struct column_models *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->rows[i].tables);
	free(m->rows);
	*m = (struct column_models){0};
}

/* The model's tables as far as they were needed, which stay until another model takes their place:
 * the next group has the same. */
static struct model_slots *slots_of(struct column_codec *c, uint64_t model)
{
	struct model_slots *d = &c->model_slots[model % MODEL_SLOTS];

	if (d->id != c->models->id || d->model != model || d->tables == 0) {
		d->id = c->models->id;
		d->model = (uint32_t)model;
		d->tables = 0;
		memset(d->place, 0, sizeof(d->place));
	}
	return d;
}

static int add_table(struct model_slots *d, const struct column_model *m, uint8_t table)
{
	struct column_reader r = column_reader_of(m->tables[table]);
	int e;

	if (!vec_reserve(&d->slots, &d->capacity, d->tables + 1, sizeof(*d->slots)))
		return -ENOMEM;
	e = column_table_read(&r, &d->slots[d->tables]);
	if (e == 0)
		d->place[table] = (uint8_t)++d->tables;
	return e;
}

static int find_table(const struct column_codec *c, const struct column_model *m, uint32_t context,
		      struct model_slots *d, uint8_t *ret_number)
{
	uint32_t name = c->names[context];
	uint8_t table = name < m->contexts ? m->table_of[name] : 0;
	int e = d->place[table] ? 0 : add_table(d, m, table);

	*ret_number = (uint8_t)(d->place[table] - 1);
	return e;
}

/* Which of these tables each context has that values 0 … count - 1 have. */
static int find_tables(const struct column_codec *c, const struct column_model *m, size_t count,
		       const struct column_context *context, uint8_t *numbers,
		       struct model_slots *d)
{
	int e = 0;

	for (uint32_t i = 0; i < context->count && count >= context->count && e == 0; i++)
		e = find_table(c, m, i, d, &numbers[i]);
	for (size_t i = 0; i < count && count < context->count && e == 0; i++)
		e = find_table(c, m, context->of[i], d, &numbers[context->of[i]]);
	return e;
}

/* Classes that the tables do not have. */
static int fill_escapes(struct column_reader *escapes, uint8_t *classes, size_t count, bool all)
{
	uint8_t *at = classes, *end = classes + count;

	while (at < end && (at = memchr(at, COLUMN_ESCAPE, (size_t)(end - at)))) {
		if (!column_read_byte(escapes, at))
			return -EBADMSG;
		at++;
	}
	return all && column_left(escapes) > 0 ? -EBADMSG : 0;
}

int column_learnt_read(struct column_codec *c, struct column_reader *r, size_t n, size_t count,
		       const struct column_context *context, uint8_t *out)
{
	const struct column_model *m;
	struct column_reader escapes;
	uint64_t model, escaped;
	struct model_slots *d;
	uint8_t *numbers;
	int e;

	if (!context || !context->of || !c->models || !c->names || !column_read_varint(r, &model) ||
	    model >= c->models->n || !column_read_varint(r, &escaped) || escaped > n ||
	    !column_read_block(r, escaped, &escapes))
		return -EBADMSG;
	m = &c->models->rows[model];
	numbers = column_scratch(c, SLOT_TABLE, context->count);
	if (!numbers)
		return -ENOMEM;
	d = slots_of(c, model);
	e = find_tables(c, m, count, context, numbers, d);
	if (e == 0)
		e = column_symbols_read(r, d->slots, numbers, n, count, context->of, out);
	return e == 0 ? fill_escapes(&escapes, out, count, count == n) : e;
}
