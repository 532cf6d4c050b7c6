/* segment/group_rows.c - rows of a group as batches again.
 *
 * Rows of one source (owner, sender, threshold) go into one batch; the order of the rows is kept by
 * the references.  Strings, resources and scopes of the segment are carried over when first needed:
 * an array leads from the segment's numbers to the batch's. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_window.h"
#include "segment/packed_value.h"

#define NESTED_DEPTH_MOST 128
#define BYTES_PER_ROW     400 /* first sizes of a batch */
#define WINDOW_SHARE      8   /* few rows are at most one in so many … */
#define WINDOWS_MOST      3   /* … and are asked for at most so often */

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
	uint32_t n; /* values in the rows that are made; not counted where all columns are whole */
};

struct run {
	uint32_t builder, count;
};

struct making {
	struct segment_group *g;
	const struct segment_tables *t;
	struct cursor *cursors; /* by column */
	const uint32_t *loose;  /* the next LOOSE entry */
	const uint32_t *listed; /* columns that these are indices into, or NULL: they are columns */
	struct row_window window;
	struct builder *builders;
	size_t builder_n, builder_capacity;
	uint32_t *by_source; /* builder + 1 */
	struct run *runs;
	size_t run_n, run_capacity;
	size_t row_n; /* asked for */
	bool bare;    /* no attributes, no extras */
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
	const struct batch *from = m->t->batch;
	struct attr out = {.key = string(m, to, a->key), .type = a->type};
	struct value_range children;
	uint32_t first;

	if (value_is_nested(a->type)) {
		children = attr_children(from, a);
		if (children.count == 0 || depth == NESTED_DEPTH_MOST)
			return out;
		first = batch_nested(to->b, children.count);
		if (to->b->failed)
			return out;
		for (uint32_t i = 0; i < children.count; i++) {
			struct attr child =
				copy_attr(m, to, &from->nested[children.first + i], depth + 1);

			to->b->nested[first + i] = child;
		}
		children.first = first;
		out.word = batch_list(to->b, a->type, children).word;
	} else if (value_is_text(a->type))
		out.string = string(m, to, a->string);
	else
		out.word = batch_word(to->b, attr_bits(from, a));
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

/* Numbers go to *ret_number: not all are those of attributes. */
static int next_value(struct making *m, struct builder *to, uint32_t column, struct attr *a,
		      uint64_t *ret_number)
{
	struct cursor *at = &m->cursors[column];
	struct slice text;
	uint32_t i;
	int r;

	if (a->type == VALUE_EMPTY)
		return 0;
	if (!at->c) {
		at->c = group_find_column(m->g, column);
		if (!at->c)
			return group_bad(m->g, "values");
	}
	r = m->window.whole ? group_need_column(m->g, at->c)
			    : group_need_column_part(m->g, at->c, at->at, at->n);
	if (r < 0)
		return r;
	i = at->at++ - at->c->base;
	if (!value_is_text(a->type)) {
		*ret_number = at->c->numbers[i];
		return 0;
	}
	if (at->c->by_code) {
		a->string = string(m, to, at->c->text.codes[i]);
		return 0;
	}
	text = text_column_get(&at->c->text, i);
	if (!value_is_nested(a->type)) {
		a->string = batch_string(to->b, text);
		return 0;
	}
	r = packed_value_get(text, to->b, a);
	return r < 0 ? group_bad(m->g, "values") : 0;
}

static uint32_t loose_at(const struct making *m, uint32_t code)
{
	return m->listed ? m->listed[code] : code;
}

/* The value of an entry, but for numbers, which go to *ret_number; its key is the segment's. */
static int entry_value(struct making *m, struct builder *to, uint32_t entry, struct attr *ret_value,
		       uint64_t *ret_number)
{
	const struct shape_entry *e = &m->t->entries[entry];
	uint32_t column = m->t->entry_columns[entry];
	struct attr a = {.key = e->key, .type = e->type};
	uint32_t key;
	int r = 0;

	if (e->class == ENTRY_FIXED) {
		if (!value_is_text(e->type))
			*ret_number = e->value;
		else if (!value_is_nested(e->type))
			a.string = string(m, to, (uint32_t)e->value);
		else if (packed_value_get(batch_text(m->t->batch, (uint32_t)e->value), to->b, &a) <
			 0)
			return group_bad(m->g, "values");
	} else {
		if (e->class == ENTRY_LOOSE) {
			column = loose_at(m, *m->loose++);
			a.key = m->t->columns[column].key;
			a.type = m->t->columns[column].type;
		}
		r = next_value(m, to, column, &a, ret_number);
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
		     const struct attr *a, uint64_t number)
{
	switch (a->key) {
	case FIELD_TRACE_STATE:
		x->trace_state = a->string;
		break;
	case FIELD_STATUS_MESSAGE:
		x->status_message = a->string;
		break;
	case FIELD_SEVERITY_TEXT:
		x->severity_text = a->string;
		break;
	case FIELD_UNKNOWN:
		x->unknown = a->string;
		break;
	case FIELD_UNKNOWN_STATUS:
		x->unknown_status = a->string;
		break;
	case FIELD_DROPPED_ATTRIBUTES:
		x->dropped_attributes = (uint32_t)number;
		break;
	case FIELD_DROPPED_POINTS:
		x->dropped_points = (uint32_t)number;
		break;
	case FIELD_DROPPED_LINKS:
		x->dropped_links = (uint32_t)number;
		break;
	case FIELD_LINK_HIGH:
		store_be64(x->link_trace.b, number);
		break;
	case FIELD_LINK_LOW:
		store_be64(x->link_trace.b + 8, number);
		break;
	case FIELD_OBSERVED:
		x->observed_ns = number;
		break;
	case FIELD_BODY: {
		uint32_t key = x->body.key;

		x->body = *a;
		x->body.key = key;
		break;
	}
	case FIELD_BODY_KEY:
		x->body.key = a->string;
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
		uint64_t number = 0;
		struct attr a;
		int r;

		if (m->bare && m->t->entries[n].key != FIELD_NAME)
			break; /* the name stands in front */
		r = entry_value(m, to, n, &a, &number);
		if (r < 0)
			return r;
		if (!field_type_ok(&a))
			return group_bad(g, "shapes");
		if (!value_is_text(a.type) && (a.key < FIELD_NAME || a.key == FIELD_BODY))
			a.word = batch_word(to->b, number);
		if (a.key == FIELD_NAME)
			e.name = a.string;
		else if (a.key > FIELD_NAME) {
			has_extra = true;
			r = set_extra(m, to, &x, &a, number);
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
	if (!m->bare && (g->units[i] | g->seqs[i]))
		batch_place(to->b, (uint32_t)to->b->event_n - 1,
			    (struct event_place){g->units[i], g->seqs[i]});
	if (has_extra && !to->b->failed)
		*batch_extra(to->b, (uint32_t)to->b->event_n - 1) = x;
	return to->b->failed;
}

/* --- all --- */

static void count_vars(struct making *m, uint32_t shape, bool inside)
{
	const uint32_t *end, *v = shape_vars(m->t, shape, &end);

	for (; v < end; v++) {
		m->cursors[*v].n += inside;
		m->cursors[*v].at += !inside;
	}
}

/* Counts the values of a row, whose LOOSE attributes are the next. */
static void count_row(struct making *m, uint32_t row, const uint32_t **loose, bool inside)
{
	uint32_t shape = m->g->zone->shapes[m->g->codes[row]];

	count_vars(m, shape, inside);
	for (uint32_t k = m->t->loose_n[shape]; k > 0; k--) {
		uint32_t column = loose_at(m, *(*loose)++);

		if (m->t->columns[column].type != VALUE_EMPTY) {
			m->cursors[column].n += inside;
			m->cursors[column].at += !inside;
		}
	}
}

/* The columns, as bits of var_filters, in which the rows have a value and whose places must be
 * counted row by row. */
static uint64_t counted_columns(const struct making *m, bool by_chunk, uint32_t first, uint32_t end)
{
	const struct segment_group *g = m->g;
	uint64_t bits = 0;

	for (uint32_t i = first; i < end; i++) {
		uint32_t index;
		const uint32_t *end_var,
			*v = shape_vars(m->t, g->zone->shapes[g->codes[i]], &end_var);

		for (; v < end_var; v++)
			if (!by_chunk || !loose_list_find(&g->list, *v, &index))
				bits |= 1ULL << *v % 64;
	}
	return bits;
}

/* Where these columns stand before the first row, by the shapes of the rows before: rows[shape]. */
static void skip_shapes(struct making *m, const uint32_t *rows, uint64_t columns)
{
	const struct segment_group *g = m->g;

	for (uint32_t i = 0; i < g->zone->shape_n; i++) {
		const uint32_t *end, *v;

		if (!rows[i] || !(m->t->var_filters[m->t->skeletons[g->zone->shapes[i]]] & columns))
			continue;
		for (v = shape_vars(m->t, g->zone->shapes[i], &end); v < end; v++)
			m->cursors[*v].at += rows[i];
	}
}

/* The list of LOOSE attributes is not cut: what is before a row must be counted. */
static int skip_list(struct making *m, uint32_t first)
{
	struct segment_group *g = m->g;
	size_t n = 0;
	int r = group_need_loose(g);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < first; i++)
		n += m->t->loose_n[g->zone->shapes[g->codes[i]]];
	for (size_t i = 0; i < n; i++)
		m->cursors[g->loose[i]].at += m->t->columns[g->loose[i]].type != VALUE_EMPTY;
	m->loose = g->loose + n;
	return 0;
}

/* Columns of the list stand where its counts say, and further by the rows of the chunk before the
 * first. */
static int skip_chunk(struct making *m, uint32_t first, uint32_t end)
{
	struct segment_group *g = m->g;
	const struct loose_list *l = &g->list;
	uint32_t chunk = first / l->rows;
	int r;

	r = group_need_chunks(g, chunk, (end - 1) / l->rows - chunk + 1);
	if (r < 0)
		return r;
	m->loose = l->codes;
	m->listed = l->columns;
	/* What the shapes said of these columns is in the counts as well; what rows of this chunk
	 * have comes with the rows. */
	for (uint32_t i = chunk * l->rows; i < first; i++) {
		const uint32_t *end_var,
			*v = shape_vars(m->t, g->zone->shapes[g->codes[i]], &end_var);

		for (; v < end_var; v++)
			m->cursors[*v].at--;
	}
	for (uint32_t i = 0; i < l->column_n; i++)
		m->cursors[l->columns[i]].at = l->before[(size_t)chunk * l->column_n + i];
	for (uint32_t i = chunk * l->rows; i < first; i++)
		count_row(m, i, &m->loose, false);
	return 0;
}

/* Sets the cursors to the first row and counts what the rows have. */
static int place_cursors(struct making *m, const uint32_t *shapes_before, uint32_t first,
			 uint32_t count)
{
	struct segment_group *g = m->g;
	const uint32_t *loose;
	uint64_t columns = UINT64_MAX;
	bool by_chunk;
	int r = m->bare ? 0 : group_check_list(g);

	if (r < 0)
		return r;
	by_chunk = !m->bare && g->loose_n > 0 && g->list.rows && !(g->have & HAVE_LOOSE);
	/* What is made of a whole group needs nearly all columns, and LOOSE values may be in any.
	 */
	if (!m->window.whole && (m->bare || by_chunk || g->loose_n == 0))
		columns = counted_columns(m, by_chunk, first, first + count);
	skip_shapes(m, shapes_before, columns);
	if (m->bare) {
		for (uint32_t i = first; i < first + count && !m->window.whole; i++)
			count_vars(m, g->zone->shapes[g->codes[i]], true);
		return 0;
	}
	if (g->loose_n > 0)
		r = by_chunk ? skip_chunk(m, first, first + count) : skip_list(m, first);
	loose = m->loose;
	for (uint32_t i = first; i < first + count && r == 0 && !m->window.whole; i++)
		count_row(m, i, &loose, true);
	return r;
}

static int make_rows(struct making *m, uint32_t first, uint32_t count)
{
	uint32_t piece = m->window.piece;

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

static int need_all(struct making *m)
{
	struct segment_group *g = m->g;
	const struct group_piece *pieces;
	uint32_t n;
	int r = m->bare ? 0 : group_read_whole(g);

	if (r == 0)
		r = group_pieces(g, &pieces, &n);
	if (r == 0)
		r = group_need_times(g);
	if (r == 0)
		r = group_need_durations(g);
	if (r == 0 && !m->bare)
		r = group_need_units(g);
	if (r == 0 && !m->bare)
		r = group_need_expected(g);
	return r == 0 ? window_whole(g, &m->window) : r;
}

/* What is not decoded yet of the rows' own arrays. */
static int need_window(const struct making *m)
{
	struct segment_group *g = m->g;
	const struct row_window *w = &m->window;

	int r = g->have & HAVE_PIECES ? 0 : window_piece_ids(g, w, 1);

	if (r == 0 && !(g->have & HAVE_IDS))
		r = window_ids(g, w, 1);
	if (r == 0 && !(g->have & HAVE_DURATIONS))
		r = window_durations(g, w, 1);
	if (r == 0 && !(g->have & HAVE_TIMES))
		r = window_times(g, w, 1);
	return r == 0 && !m->bare && !(g->have & HAVE_UNITS) ? window_units(g, w) : r;
}

/* A few rows: what they need, and what cannot be had without.  Whoever keeps asking, or wants
 * much, is better off with everything. */
static bool is_little(struct segment_group *g, uint32_t count)
{
	return count <= g->zone->rows / WINDOW_SHARE && g->windows++ < WINDOWS_MOST;
}

void group_expect_many(struct segment_group *g)
{
	g->windows = WINDOWS_MOST;
}

static int need_some(struct making *m, uint32_t first, uint32_t count, uint32_t **ret_before)
{
	struct segment_group *g = m->g;
	size_t size = g->zone->shape_n * sizeof(**ret_before);
	int r = window_of(g, first, first + count, &m->window);

	if (r < 0)
		return r;
	*ret_before = malloc(size + 1);
	if (!*ret_before)
		return -ENOMEM;
	memcpy(*ret_before, g->scratch, size);
	/* Shapes are counted up to the window, which begins with a piece. */
	for (uint32_t i = m->window.first; i < first; i++)
		(*ret_before)[g->codes[i]]++;
	r = need_window(m);
	g->window++;
	return r;
}

static int get_rows(struct segment_group *g, uint32_t first, uint32_t count, bool bare,
		    struct event_set *set)
{
	_cleanup_(making_done)
	struct making m = {.g = g, .t = g->tables, .row_n = count, .bare = bare};
	_cleanup_(freep)
	uint32_t *before = NULL;
	int r;

	if (first > g->zone->rows || count > g->zone->rows - first)
		return -EINVAL;
	if (count == 0)
		return 0;
	m.cursors = calloc((size_t)m.t->column_n + 1, sizeof(*m.cursors));
	m.by_source = calloc((size_t)g->segment->footer.sources + 1, sizeof(*m.by_source));
	if (!m.cursors || !m.by_source)
		return -ENOMEM;
	if (is_little(g, count)) {
		r = need_some(&m, first, count, &before);
	} else {
		r = need_all(&m);
		before = r == 0 ? calloc((size_t)g->zone->shape_n + 1, sizeof(*before)) : NULL;
		if (r == 0 && !before)
			r = -ENOMEM;
		for (uint32_t i = 0; r == 0 && i < first; i++)
			before[g->codes[i]]++;
	}
	if (r == 0)
		r = place_cursors(&m, before, first, count);
	if (r == 0)
		r = make_rows(&m, first, count);
	return r == 0 ? give(&m, set) : r;
}

int group_rows(struct segment_group *g, uint32_t first, uint32_t count, struct event_set *set)
{
	return get_rows(g, first, count, false, set);
}

int group_rows_bare(struct segment_group *g, uint32_t first, uint32_t count, struct event_set *set)
{
	return get_rows(g, first, count, true, set);
}
