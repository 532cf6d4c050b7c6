/* segment/column_model.c - models of classes, as they lie in a file, and reading with them.
 *
 *   model   varint contexts, the table of each (a byte), varint tables, tables (column_classes.c)
 *   block   varint model, varint escapes, their classes, classes by context
 *
 * A context that has no name in the model has its first table. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
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
	m->ready = calloc(tables, sizeof(*m->ready));
	if (!m->tables || !m->ready)
		return -ENOMEM;
	for (uint64_t t = 0; t < tables; t++) {
		const uint8_t *from = r->p;
		int e = column_table_read(r, NULL);

		if (e < 0)
			return e;
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
		m.n++;
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
	for (uint32_t i = 0; i < m->n; i++) {
		struct column_model *row = &m->rows[i];

		for (uint32_t t = 0; row->ready && t < row->table_n; t++)
			free(atomic_load_explicit(&row->ready[t], memory_order_relaxed));
		free(row->ready);
		free(row->tables);
	}
	free(m->rows);
	*m = (struct column_models){0};
}

size_t column_models_bytes(const struct column_models *m)
{
	size_t n = m->n * sizeof(*m->rows);

	for (uint32_t i = 0; i < m->n; i++) {
		const struct column_model *row = &m->rows[i];

		n += row->table_n * (sizeof(*row->tables) + sizeof(*row->ready));
		for (uint32_t t = 0; t < row->table_n; t++)
			if (atomic_load_explicit(&row->ready[t], memory_order_relaxed))
				n += sizeof(struct column_table);
	}
	return n;
}

/* Of two that make one at the same time, one wins. */
const struct column_table *column_model_make(const struct column_model *m, uint8_t number)
{
	struct column_reader r = column_reader_of(m->tables[number]);
	struct column_table *t = malloc(sizeof(*t)), *other = NULL;

	if (!t)
		return NULL;
	column_table_read(&r, t); /* it was right when the model was read */
	if (atomic_compare_exchange_strong_explicit(&m->ready[number], &other, t,
						    memory_order_acq_rel, memory_order_acquire))
		return t;
	free(t);
	return other;
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
	s.names = c->names;
	e = column_symbols_open(r, n, &s);
	if (e == 0)
		*ret_symbols = s;
	return e;
}
