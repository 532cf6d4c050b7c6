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

int column_learnt_tables(const struct column_codec *c, struct column_symbols *s, size_t first,
			 size_t end, const struct column_context *context)
{
	int e = 0;

	if (s->all_numbers)
		return 0;
	s->all_numbers = end - first >= context->count;
	for (uint32_t i = 0; s->all_numbers && i < context->count && e == 0; i++)
		e = find_table(c, s->model, i, s->slots, &s->numbers[i]);
	for (size_t i = first; !s->all_numbers && i < end && e == 0; i++)
		e = find_table(c, s->model, context->of[i], s->slots, &s->numbers[context->of[i]]);
	s->tables = s->slots->slots;
	return e;
}

int column_learnt_escapes(const struct column_symbols *s, const struct column_restarts *restarts,
			  uint32_t i, size_t n, size_t end, uint8_t *classes)
{
	const struct column_restart *from = &restarts->rows[i];
	uint8_t *at = classes + from->at, *last = classes + end;
	struct column_reader escapes = s->escapes;

	if (column_left(&escapes) < from->escapes)
		return -EBADMSG;
	escapes.p += from->escapes;
	while (at < last && (at = memchr(at, COLUMN_ESCAPE, (size_t)(last - at)))) {
		if (!column_read_byte(&escapes, at))
			return -EBADMSG;
		at++;
	}
	if (i + 1 < restarts->n && end == from[1].at &&
	    (size_t)(escapes.p - s->escapes.p) != from[1].escapes)
		return -EBADMSG;
	return end == n && column_left(&escapes) > 0 ? -EBADMSG : 0;
}

int column_learnt_open(struct column_codec *c, struct column_reader *r, size_t n,
		       const struct column_context *context, struct column_symbols *ret_symbols)
{
	struct column_symbols s = {0};
	uint64_t model, escaped;
	int e;

	if (!context || !context->of || !c->models || !c->names || !column_read_varint(r, &model) ||
	    model >= c->models->n || !column_read_varint(r, &escaped) || escaped > n ||
	    !column_read_block(r, escaped, &s.escapes))
		return -EBADMSG;
	s.model = &c->models->rows[model];
	s.numbers = column_scratch(c, SLOT_TABLE, context->count);
	if (!s.numbers)
		return -ENOMEM;
	s.slots = slots_of(c, model);
	e = column_symbols_open(r, n, &s);
	if (e == 0)
		*ret_symbols = s;
	return e;
}
