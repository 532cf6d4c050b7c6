/* store/group_rows.c - rows of a group as batches again.
 *
 * Rows of one source (owner, sender, threshold) go into one batch; the order of the rows is kept by
 * the references.  Strings, resources and scopes of the segment are carried over when first needed:
 * an array leads from the segment's numbers to the batch's. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/group_int.h"
#include "store/packed_value.h"
#include "store/store_int.h"

#define NESTED_DEPTH_MOST 128
#define BYTES_PER_ROW     400 /* first sizes of a batch */

struct builder {
	struct batch *b;
	uint32_t *strings;            /* code → code; 0: not yet */
	uint32_t *resources, *scopes; /* number → number + 1 */
	uint32_t next;                /* row whose reference is given out next */
};

/* Where a column is being read. */
struct cursor {
	struct loaded_column *c;
	uint32_t at;
};

struct run {
	uint32_t builder, count;
};

struct making {
	struct segment_group *g;
	const struct segment_tables *t;
	struct cursor *cursors; /* by column */
	size_t loose;           /* the next LOOSE entry */
	struct builder *builders;
	size_t builder_n, builder_capacity;
	uint32_t *by_source; /* builder + 1 */
	struct run *runs;
	size_t run_n, run_capacity;
	size_t row_n; /* asked for */
};

static void making_done(struct making *m)
{
	for (size_t i = 0; i < m->builder_n; i++) {
		batch_unref(m->builders[i].b);
		free(m->builders[i].strings);
	}
	free(m->builders);
	free(m->cursors);
	free(m->by_source);
	free(m->runs);
}

/* --- what the segment knows by number --- */

static uint32_t string(const struct making *m, struct builder *to, uint32_t code)
{
	if (code == 0 || to->strings[code] || to->b->failed)
		return to->strings[code];
	return to->strings[code] = batch_string(to->b, batch_text(m->t->batch, code));
}

static struct attr copy_attr(struct making *m, struct builder *to, const struct attr *a,
			     unsigned depth)
{
	struct attr out = {.key = string(m, to, a->key), .type = a->type, .bits = a->bits};
	uint32_t first;

	if (value_is_nested(a->type)) {
		out.children = (struct value_range){0, 0};
		if (a->children.count == 0 || depth == NESTED_DEPTH_MOST)
			return out;
		first = batch_nested(to->b, a->children.count);
		if (to->b->failed)
			return out;
		for (uint32_t i = 0; i < a->children.count; i++) {
			struct attr child = copy_attr(
				m, to, &m->t->batch->nested[a->children.first + i], depth + 1);

			to->b->nested[first + i] = child;
		}
		out.children = (struct value_range){first, a->children.count};
	} else if (value_is_text(a->type))
		out.bits = string(m, to, a->string);
	return out;
}

static struct attr_range copy_attrs(struct making *m, struct builder *to, struct attr_range range)
{
	struct attr_range out = {(uint32_t)to->b->attr_n, range.count};

	for (uint32_t i = 0; i < range.count && !to->b->failed; i++)
		batch_attr(to->b, copy_attr(m, to, &m->t->batch->attrs[range.first + i], 0));
	return out;
}

static uint32_t resource(struct making *m, struct builder *to, uint32_t number)
{
	const struct resource *from = &m->t->batch->resources[number];
	struct resource r;
	uint32_t at;

	if (to->resources[number])
		return to->resources[number] - 1;
	r = (struct resource){.attrs = copy_attrs(m, to, from->attrs),
			      .dropped_attributes = from->dropped_attributes,
			      .schema_url = string(m, to, from->schema_url),
			      .unknown = string(m, to, from->unknown),
			      .unknown_group = string(m, to, from->unknown_group),
			      .entities = copy_attr(m, to, &from->entities, 0)};
	at = batch_resource(to->b);
	if (to->b->failed)
		return 0;
	to->b->resources[at] = r;
	to->resources[number] = at + 1;
	return at;
}

static uint32_t scope(struct making *m, struct builder *to, uint32_t number)
{
	const struct scope *from = &m->t->batch->scopes[number];
	struct scope s;
	uint32_t at;

	if (to->scopes[number])
		return to->scopes[number] - 1;
	s = (struct scope){.name = string(m, to, from->name),
			   .version = string(m, to, from->version),
			   .schema_url = string(m, to, from->schema_url),
			   .attrs = copy_attrs(m, to, from->attrs),
			   .dropped_attributes = from->dropped_attributes,
			   .unknown = string(m, to, from->unknown),
			   .unknown_group = string(m, to, from->unknown_group)};
	at = batch_scope(to->b);
	if (to->b->failed)
		return 0;
	to->b->scopes[at] = s;
	to->scopes[number] = at + 1;
	return at;
}

/* The builder for rows of a resource. */
static struct builder *get_builder(struct making *m, uint32_t resource_number)
{
	const struct segment_footer *f = &m->g->segment->footer;
	uint32_t source = m->t->resource_source[resource_number];
	struct builder to = {0};

	if (m->by_source[source])
		return &m->builders[m->by_source[source] - 1];
	if (!vec_reserve(&m->builders, &m->builder_capacity, m->builder_n + 1,
			 sizeof(*m->builders)))
		return NULL;
	/* Most groups come from one source.  Where there are many, each has few rows. */
	to.b = batch_new(m->builder_n == 0 ? m->row_n * BYTES_PER_ROW : 0);
	to.strings = calloc((size_t)f->strings + f->resources + f->scopes, sizeof(*to.strings));
	if (!to.b || !to.strings) {
		batch_unref(to.b);
		free(to.strings);
		return NULL;
	}
	to.resources = to.strings + f->strings;
	to.scopes = to.resources + f->resources;
	to.b->owner = string(m, &to, m->t->sources[source].owner);
	to.b->sender = string(m, &to, m->t->sources[source].sender);
	to.b->kept_threshold = m->t->sources[source].kept_threshold;
	to.b->received_ns = m->g->segment->info.received_min_ns;
	m->builders[m->builder_n++] = to;
	m->by_source[source] = (uint32_t)m->builder_n;
	return &m->builders[m->builder_n - 1];
}

/* --- values --- */

static int next_value(struct making *m, struct builder *to, uint32_t column, struct attr *a)
{
	struct cursor *at = &m->cursors[column];
	struct slice text;
	int r;

	if (a->type == VALUE_EMPTY)
		return 0;
	if (!at->c) {
		at->c = group_find_column(m->g, column);
		if (!at->c)
			return group_bad(m->g, "values");
	}
	r = group_need_column(m->g, at->c);
	if (r < 0)
		return r;
	if (!value_is_text(a->type)) {
		a->bits = at->c->numbers[at->at++];
		return 0;
	}
	if (at->c->by_code) {
		a->bits = string(m, to, at->c->text.codes[at->at++]);
		return 0;
	}
	text = text_column_get(&at->c->text, at->at++);
	if (!value_is_nested(a->type)) {
		a->bits = batch_string(to->b, text);
		return 0;
	}
	r = packed_value_get(text, to->b, a);
	return r < 0 ? group_bad(m->g, "values") : 0;
}

/* The value of an entry; its key is the segment's. */
static int entry_value(struct making *m, struct builder *to, uint32_t entry, struct attr *ret_value)
{
	const struct shape_entry *e = &m->t->entries[entry];
	uint32_t column = m->t->entry_columns[entry];
	struct attr a = {.key = e->key, .type = e->type, .bits = 0};
	uint32_t key;
	int r = 0;

	if (e->class == ENTRY_FIXED) {
		if (!value_is_text(e->type))
			a.bits = e->value;
		else if (!value_is_nested(e->type))
			a.bits = string(m, to, (uint32_t)e->value);
		else if (packed_value_get(batch_text(m->t->batch, (uint32_t)e->value), to->b, &a) <
			 0)
			return group_bad(m->g, "values");
	} else {
		if (e->class == ENTRY_LOOSE) {
			column = m->g->loose[m->loose++];
			a.key = m->t->columns[column].key;
			a.type = m->t->columns[column].type;
		}
		r = next_value(m, to, column, &a);
	}
	key = e->class == ENTRY_LOOSE ? m->t->columns[column].key : e->key;
	/* A value that is not of the type it should have cannot come out of a packed one alone. */
	if (r == 0 && a.type != (e->class == ENTRY_LOOSE ? m->t->columns[column].type : e->type))
		return group_bad(m->g, "values");
	a.key = key;
	*ret_value = a;
	return r;
}

static int set_extra(struct making *m, struct builder *to, struct event_extra *x,
		     const struct attr *a)
{
	switch (a->key) {
	case FIELD_TRACE_STATE:
		x->trace_state = (uint32_t)a->bits;
		break;
	case FIELD_STATUS_MESSAGE:
		x->status_message = (uint32_t)a->bits;
		break;
	case FIELD_SEVERITY_TEXT:
		x->severity_text = (uint32_t)a->bits;
		break;
	case FIELD_UNKNOWN:
		x->unknown = (uint32_t)a->bits;
		break;
	case FIELD_UNKNOWN_STATUS:
		x->unknown_status = (uint32_t)a->bits;
		break;
	case FIELD_DROPPED_ATTRIBUTES:
		x->dropped_attributes = (uint32_t)a->bits;
		break;
	case FIELD_DROPPED_POINTS:
		x->dropped_points = (uint32_t)a->bits;
		break;
	case FIELD_DROPPED_LINKS:
		x->dropped_links = (uint32_t)a->bits;
		break;
	case FIELD_LINK_HIGH:
		store_be64(x->link_trace.b, a->bits);
		break;
	case FIELD_LINK_LOW:
		store_be64(x->link_trace.b + 8, a->bits);
		break;
	case FIELD_OBSERVED:
		x->observed_ns = a->bits;
		break;
	case FIELD_BODY: {
		uint32_t key = x->body.key;

		x->body = *a;
		x->body.key = key;
		break;
	}
	case FIELD_BODY_KEY:
		x->body.key = (uint32_t)a->bits;
		break;
	default:
		return group_bad(m->g, "shapes");
	}
	return 0;
}

/* Texts of these are dictionary codes of a batch: nothing else may be taken for one. */
static bool field_type_ok(const struct attr *a)
{
	if (a->key < FIELD_NAME || a->key == FIELD_BODY)
		return true;
	if (a->key <= FIELD_UNKNOWN_STATUS || a->key == FIELD_BODY_KEY)
		return a->type == VALUE_STRING;
	return a->type == VALUE_INT;
}

static int make_row(struct making *m, uint32_t i, uint32_t piece, struct builder *to)
{
	struct segment_group *g = m->g;
	const struct shape *s = group_shape(g, g->codes[i]);
	struct event e = {
		.trace_id = g->pieces[piece].id,
		.id1 = g->id1[i],
		.id2 = g->id2[i],
		.unit = g->units[i],
		.seq = g->seqs[i],
		.time_ns = g->times[i],
		.end_ns = (s->form & END_MASK) == END_ZERO ? 0 : g->times[i] + g->durations[i],
		.resource = resource(m, to, s->resource),
		.scope = scope(m, to, s->scope),
		.flags = s->flags,
		.kind = s->kind,
		.status = s->status,
		.type = s->type,
		.format = s->format,
		.bits = s->bits};
	struct event_extra x = {0};
	bool has_extra = false;

	e.attrs.first = (uint32_t)to->b->attr_n;
	for (uint32_t n = s->entry_first; n < s->entry_first + s->entry_n; n++) {
		struct attr a;
		int r = entry_value(m, to, n, &a);

		if (r < 0)
			return r;
		if (!field_type_ok(&a))
			return group_bad(g, "shapes");
		if (a.key == FIELD_NAME)
			e.name = (uint32_t)a.bits;
		else if (a.key > FIELD_NAME) {
			has_extra = true;
			r = set_extra(m, to, &x, &a);
			if (r < 0)
				return r;
		} else {
			a.key = string(m, to, a.key);
			batch_attr(to->b, a);
			e.attrs.count++;
		}
		if (to->b->failed)
			return to->b->failed;
	}
	*batch_event(to->b) = e;
	if (has_extra && !to->b->failed)
		*batch_extra(to->b, (uint32_t)to->b->event_n - 1) = x;
	return to->b->failed;
}

/* --- all --- */

/* Where each column stands before row `first`. */
static void skip_rows(struct making *m, uint32_t first)
{
	struct segment_group *g = m->g;

	if (first == 0)
		return;
	memset(g->scratch, 0, g->zone->shape_n * sizeof(*g->scratch));
	for (uint32_t i = 0; i < first; i++)
		g->scratch[g->codes[i]]++;
	for (uint32_t i = 0; i < g->zone->shape_n; i++) {
		const struct shape *s = group_shape(g, i);

		m->loose += g->scratch[i] * s->loose_n;
		for (uint32_t e = s->entry_first; e < s->entry_first + s->entry_n && g->scratch[i];
		     e++)
			if (m->t->entries[e].class == ENTRY_VAR)
				m->cursors[m->t->entry_columns[e]].at += (uint32_t)g->scratch[i];
	}
	for (size_t i = 0; i < m->loose; i++)
		m->cursors[g->loose[i]].at++;
}

static int make_rows(struct making *m, uint32_t first, uint32_t count)
{
	uint32_t piece = 0;

	skip_rows(m, first);
	for (uint32_t i = first; i < first + count; i++) {
		struct builder *to = get_builder(m, group_shape(m->g, m->g->codes[i])->resource);
		uint32_t number = to ? (uint32_t)(to - m->builders) : 0;
		int r;

		if (!to)
			return -ENOMEM;
		while (i >= m->g->piece_first[piece + 1])
			piece++;
		r = make_row(m, i, piece, to);
		if (r < 0)
			return r;
		if (m->run_n > 0 && m->runs[m->run_n - 1].builder == number) {
			m->runs[m->run_n - 1].count++;
			continue;
		}
		if (!vec_reserve(&m->runs, &m->run_capacity, m->run_n + 1, sizeof(*m->runs)))
			return -ENOMEM;
		m->runs[m->run_n++] = (struct run){number, 1};
	}
	return 0;
}

static int give(struct making *m, struct event_set *set)
{
	size_t n = set->n, batch_n = set->batch_n;

	for (size_t i = 0; i < m->builder_n; i++) {
		int r = batch_seal(m->builders[i].b);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < m->run_n; i++) {
		struct builder *from = &m->builders[m->runs[i].builder];

		if (!event_set_add(set, from->b, from->next, m->runs[i].count)) {
			while (set->batch_n > batch_n)
				batch_unref(set->batches[--set->batch_n]);
			set->n = n;
			return -ENOMEM;
		}
		from->next += m->runs[i].count;
	}
	return 0;
}

static int need_all(struct segment_group *g)
{
	const struct group_piece *pieces;
	uint32_t n;
	int r = group_read_whole(g);

	if (r == 0)
		r = group_pieces(g, &pieces, &n);
	if (r == 0)
		r = group_need_times(g);
	if (r == 0)
		r = group_need_durations(g);
	if (r == 0)
		r = group_need_units(g);
	return r == 0 ? group_need_expected(g) : r;
}

int group_rows(struct segment_group *g, uint32_t first, uint32_t count, struct event_set *set)
{
	_cleanup_(making_done)
	struct making m = {.g = g, .t = g->tables, .row_n = count};
	int r;

	if (first > g->zone->rows || count > g->zone->rows - first)
		return -EINVAL;
	r = need_all(g);
	if (r < 0)
		return r;
	m.cursors = calloc((size_t)m.t->column_n + 1, sizeof(*m.cursors));
	m.by_source = calloc((size_t)g->segment->footer.sources + 1, sizeof(*m.by_source));
	if (!m.cursors || !m.by_source)
		return -ENOMEM;
	r = make_rows(&m, first, count);
	return r == 0 ? give(&m, set) : r;
}
