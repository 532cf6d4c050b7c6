/* store/column_model.c - models of classes, as they lie in a file, and reading with them.
 *
 *   model   varint contexts, the table of each (a byte), varint tables, tables (column_classes.c)
 *   block   varint model, varint escapes, their classes, classes by context
 *
 * A context that has no name in the model has its first table. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "store/column_int.h"
#include "store/column_model.h"

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

/* The tables that contexts of the block have, each once. */
struct decoder {
	uint32_t tables;
	uint8_t place[MODEL_TABLES]; /* + 1, of those that are there */
	uint32_t slots[][COLUMN_SCALE];
};

/* Which of the decoder's tables each context has, where values 0 … count - 1 have such contexts. */
static int find_tables(struct column_codec *c, const struct column_model *m, size_t count,
		       const struct column_context *context, uint8_t *numbers, struct decoder *d)
{
	d->tables = 0;
	memset(d->place, 0, sizeof(d->place));
	memset(numbers, UINT8_MAX, context->count);
	for (size_t i = 0; i < count; i++) {
		uint32_t of = context->of[i], name;
		uint8_t table;

		if (numbers[of] != UINT8_MAX)
			continue;
		name = c->names[of];
		table = name < m->contexts ? m->table_of[name] : 0;
		if (d->place[table] == 0) {
			struct column_reader r = column_reader_of(m->tables[table]);
			int e = column_table_read(&r, d->slots[d->tables]);

			if (e < 0)
				return e;
			d->place[table] = (uint8_t)++d->tables;
		}
		numbers[of] = (uint8_t)(d->place[table] - 1);
	}
	return 0;
}

/* Classes that the tables do not have. */
static int fill_escapes(struct column_reader *escapes, uint8_t *classes, size_t count, bool all)
{
	for (size_t i = 0; i < count; i++)
		if (classes[i] == COLUMN_ESCAPE && !column_read_byte(escapes, &classes[i]))
			return -EBADMSG;
	return all && column_left(escapes) > 0 ? -EBADMSG : 0;
}

int column_learnt_read(struct column_codec *c, struct column_reader *r, size_t n, size_t count,
		       const struct column_context *context, uint8_t *out)
{
	const struct column_model *m;
	struct column_reader escapes;
	uint64_t model, escaped;
	struct decoder *d;
	uint8_t *numbers;
	int e;

	if (!context || !context->of || !c->models || !c->names || !column_read_varint(r, &model) ||
	    model >= c->models->n || !column_read_varint(r, &escaped) || escaped > n ||
	    !column_read_block(r, escaped, &escapes))
		return -EBADMSG;
	m = &c->models->rows[model];
	numbers = column_scratch(c, SLOT_TABLE, context->count);
	d = column_scratch(c, SLOT_MODES, sizeof(*d) + m->table_n * sizeof(d->slots[0]));
	if (!numbers || !d)
		return -ENOMEM;
	e = find_tables(c, m, count, context, numbers, d);
	if (e == 0)
		e = column_symbols_read(r, (const uint32_t(*)[COLUMN_SCALE])d->slots, numbers, n,
					count, context->of, out);
	return e == 0 ? fill_escapes(&escapes, out, count, count == n) : e;
}
