/* cli/trace_lines.c - the lines of one block: itself, its further causes, its points. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/text.h"
#include "cli/trace_view_int.h"

#define INDENT_MAX     16 /* levels; deeper ones stand there with their number */
#define CAUSES_MAX     5  /* further causes shown per block */
#define POINTS_MAX     50 /* per block */
#define ATTRIBUTES_MAX 64
#define START_COLUMNS  11
#define TIME_COLUMNS   9
#define VALUE_COLUMNS  200

#define LIGHT          "\xe2\x94\x80" /* ─ */
#define HEAVY          "\xe2\x94\x81" /* ━ */

char view_repair_letter(unsigned bit)
{
	return "ebocdxlntki"[bit];
}
_Static_assert(sizeof("ebocdxlntki") - 1 == REPAIR_BITS, "one letter per repair");

size_t view_indent(struct view *v, uint32_t depth)
{
	size_t levels = MIN(depth, (uint32_t)INDENT_MAX), used = levels * 2;

	text_repeat(&v->out, "  ", levels);
	if (depth > INDENT_MAX) {
		size_t before = v->out.n;

		buffer_printf(&v->out, "(%u) ", depth);
		used += v->out.n - before;
	}
	return used;
}

/* " [ok]" for orphan and clock. */
static size_t put_repairs(struct view *v, uint32_t repairs)
{
	size_t used = 0;

	for (unsigned bit = 0; bit < REPAIR_BITS; bit++) {
		if (!(repairs & 1U << bit))
			continue;
		buffer_printf(&v->out, "%s%c", used ? "" : " [", view_repair_letter(bit));
		used += used ? 1 : 3;
	}
	if (used) {
		buffer_byte(&v->out, ']');
		used++;
	}
	v->marks |= repairs;
	return used;
}

static size_t marks_width(uint32_t repairs, bool error)
{
	return (repairs ? 3U + (unsigned)__builtin_popcount(repairs) : 0) + (error ? 2 : 0);
}

/* Service, name and marks, filled up to the tree's width. */
static void put_label(struct view *v, uint32_t block, size_t used)
{
	const struct trace_block *k = &v->t->blocks[block];
	struct slice service = trace_block_service(v->t, block);
	struct slice name = trace_block_name(v->t, block);
	bool error = k->bits & BLOCK_ERROR;
	size_t marks = marks_width(k->repairs, error);
	size_t room = v->tree_columns > used + marks ? v->tree_columns - used - marks : 1;
	size_t service_room = room > 3 ? room * 2 / 5 : 1;

	if (service.n > 0) {
		view_colour(v, COLOUR_SERVICE);
		service_room = MIN(text_put(&v->out, service,
					    MAX(service_room, room > text_width(name) + 2
								      ? room - text_width(name) - 2
								      : 0)),
				   room);
		view_colour(v, COLOUR_NONE);
		used += service_room;
		room -= service_room;
		if (room > 2) {
			buffer_text(&v->out, "  ");
			used += 2;
			room -= 2;
		}
	}
	used += text_put(&v->out, name.n ? name : SLICE("(no name)"), room);
	used += put_repairs(v, k->repairs);
	if (error) {
		view_colour(v, COLOUR_ERROR);
		buffer_text(&v->out, " !");
		view_colour(v, COLOUR_NONE);
		used += 2;
		v->any_error = true;
	}
	if (used < v->tree_columns)
		text_repeat(&v->out, " ", v->tree_columns - used);
}

static void put_bar(struct view *v, const struct trace_block *k, bool critical)
{
	double all = (double)(v->t->end_ns - v->t->begin_ns);
	double scale = all > 0 ? (double)v->bar_columns / all : 0;
	size_t from = (size_t)((double)(k->begin_ns - v->t->begin_ns) * scale);
	size_t to = (size_t)((double)(k->end_ns - v->t->begin_ns) * scale + 0.5);

	from = MIN(from, v->bar_columns - 1);
	to = MIN(MAX(to, from + 1), v->bar_columns);
	text_repeat(&v->out, " ", from + 1);
	view_colour(v, k->bits & BLOCK_ERROR ? COLOUR_ERROR
		       : critical            ? COLOUR_CRITICAL
					     : COLOUR_DIM);
	text_repeat(&v->out, critical ? HEAVY : LIGHT, to - from);
	if (k->bits & BLOCK_RUNNING)
		buffer_text(&v->out, ">");
	view_colour(v, COLOUR_NONE);
}

static void put_times(struct view *v, const struct trace_block *k)
{
	char text[QUANTITY_TEXT_BYTES], signed_text[QUANTITY_TEXT_BYTES + 1];
	int64_t start = k->begin_ns - v->t->begin_ns;

	snprintf(signed_text, sizeof(signed_text), "%s%s", start > 0 ? "+" : "",
		 duration_format(start, text));
	text_pad_left(&v->out, slice_cstr(signed_text), START_COLUMNS);
	buffer_byte(&v->out, ' ');
	if (k->bits & BLOCK_RUNNING) {
		text_pad_left(&v->out, SLICE("running"), TIME_COLUMNS);
		v->any_running = true;
	} else {
		text_pad_left(&v->out, slice_cstr(duration_format(k->end_ns - k->begin_ns, text)),
			      TIME_COLUMNS);
	}
}

/* A line that belongs to a block, below it. */
static void note_begin(struct view *v, uint32_t depth)
{
	buffer_text(&v->out, "  ");
	view_indent(v, depth);
	buffer_text(&v->out, "    ");
	view_colour(v, COLOUR_DIM);
}

static void note_end(struct view *v)
{
	view_colour(v, COLOUR_NONE);
	buffer_byte(&v->out, '\n');
}

static size_t note_room(const struct view *v, uint32_t depth)
{
	size_t used = 2 * MIN((size_t)depth, (size_t)INDENT_MAX) + 8;

	return v->o->columns > used + 20 ? v->o->columns - used : 20;
}

/* Does the tree say it already?  Its parent, and its own descendants' answers. */
static bool is_in_tree(const struct trace *t, uint32_t block, const struct trace_edge *e)
{
	uint32_t from = trace_pos_block(t, e->from);

	return from == TRACE_NONE || from == block || from == t->blocks[block].parent ||
	       trace_is_ancestor(t, block, from);
}

static void put_cause(struct view *v, uint32_t block, const struct trace_edge *e)
{
	uint32_t from = trace_pos_block(v->t, e->from);
	char id[SPAN_ID_HEX + 1];
	_cleanup_(buffer_done)
	struct buffer text = {0};

	span_id_format(v->t->blocks[from].id, id);
	buffer_printf(&text, "<- %s from ", trace_edge_kind_name((enum trace_edge_kind)e->kind));
	buffer_slice(&text, trace_block_service(v->t, from));
	buffer_text(&text, "  ");
	buffer_slice(&text, trace_block_name(v->t, from));
	buffer_printf(&text, " (%s)", id);
	note_begin(v, v->t->blocks[block].depth);
	text_put(&v->out, buffer_get(&text), note_room(v, v->t->blocks[block].depth));
	put_repairs(v, e->repairs);
	note_end(v);
	v->any_cause = true;
}

static void put_causes(struct view *v, uint32_t block)
{
	size_t first, n = trace_edges_into(v->t, block, &first), shown = 0, more = 0;

	for (size_t i = first; i < first + n; i++) {
		if (is_in_tree(v->t, block, &v->t->edges[i]))
			continue;
		if (shown < CAUSES_MAX) {
			put_cause(v, block, &v->t->edges[i]);
			shown++;
		} else {
			more++;
		}
	}
	if (more) {
		note_begin(v, v->t->blocks[block].depth);
		buffer_printf(&v->out, "<- and %zu more causes", more);
		note_end(v);
	}
}

static void put_links(struct view *v, uint32_t block)
{
	const struct trace *t = v->t;

	while (v->link_at < t->link_n && t->links[v->links[v->link_at]].block < block)
		v->link_at++;
	for (; v->link_at < t->link_n && t->links[v->links[v->link_at]].block == block;
	     v->link_at++) {
		uint32_t row = t->links[v->links[v->link_at]].row;
		const struct event *e = trace_row(t, row);
		struct trace_id other = batch_extra_get(trace_row_batch(t, row), e)->link_trace;
		char trace[TRACE_ID_HEX + 1], span[SPAN_ID_HEX + 1];

		trace_id_format(other, trace);
		span_id_format(e->id2, span);
		note_begin(v, t->blocks[block].depth);
		buffer_printf(&v->out, "-> link to trace %s span %s", trace, span);
		note_end(v);
	}
}

static void put_value(struct buffer *out, const struct batch *b, const struct attr *a)
{
	struct value_range children = attr_children(b, a);

	switch (a->type) {
	case VALUE_STRING:
		buffer_slice(out, batch_text(b, a->string));
		break;
	case VALUE_BOOL:
		buffer_text(out, a->word ? "true" : "false");
		break;
	case VALUE_INT:
		buffer_printf(out, "%" PRId64, attr_integer(b, a));
		break;
	case VALUE_DOUBLE:
		buffer_printf(out, "%g", attr_number(b, a));
		break;
	case VALUE_ARRAY:
	case VALUE_KVLIST:
		buffer_byte(out, a->type == VALUE_ARRAY ? '[' : '{');
		for (uint32_t i = 0; i < children.count && out->n < VALUE_COLUMNS * 4; i++) {
			const struct attr *child = &b->nested[children.first + i];

			if (i)
				buffer_text(out, ", ");
			if (a->type == VALUE_KVLIST) {
				buffer_slice(out, batch_text(b, child->key));
				buffer_text(out, ": ");
			}
			put_value(out, b, child);
		}
		buffer_byte(out, a->type == VALUE_ARRAY ? ']' : '}');
		break;
	case VALUE_EMPTY:
		break;
	default:
		buffer_printf(out, "(%zu bytes)", batch_text(b, a->string).n);
	}
}

void view_attributes(struct view *v, const struct batch *b, struct attr_range range, size_t depth)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	uint32_t n = MIN(range.count, (uint32_t)ATTRIBUTES_MAX);

	for (uint32_t i = 0; i < n; i++) {
		const struct attr *a = &b->attrs[range.first + i];

		buffer_clear(&text);
		buffer_slice(&text, batch_text(b, a->key));
		buffer_text(&text, " = ");
		put_value(&text, b, a);
		note_begin(v, (uint32_t)depth);
		text_put(&v->out, buffer_get(&text), note_room(v, (uint32_t)depth));
		note_end(v);
	}
	if (range.count > n) {
		note_begin(v, (uint32_t)depth);
		buffer_printf(&v->out, "and %u more attributes", range.count - n);
		note_end(v);
	}
	v->out.failed |= text.failed;
}

static void put_point(struct view *v, const struct trace_point *p, uint32_t depth)
{
	const struct batch *b = trace_row_batch(v->t, p->row);
	const struct event *e = trace_row(v->t, p->row);
	_cleanup_(buffer_done)
	struct buffer text = {0};
	char when[QUANTITY_TEXT_BYTES];

	buffer_printf(&text, ". +%s %s ", duration_format(p->time_ns - v->t->begin_ns, when),
		      event_type_name((enum event_type)e->type));
	buffer_slice(&text, batch_text(b, e->name));
	if (e->type == EVENT_LOG)
		put_value(&text, b, &batch_extra_get(b, e)->body);
	note_begin(v, depth);
	text_put(&v->out, buffer_get(&text), note_room(v, depth));
	put_repairs(v, p->repairs);
	note_end(v);
	if (v->o->attributes)
		view_attributes(v, b, e->attrs, depth + 1);
	v->out.failed |= text.failed;
}

static void put_points(struct view *v, const struct trace_block *k)
{
	uint32_t n = MIN(k->point_n, (uint32_t)POINTS_MAX);

	for (uint32_t i = 0; i < n; i++)
		put_point(v, &v->t->points[k->point_first + i], k->depth);
	if (k->point_n > n) {
		note_begin(v, k->depth);
		buffer_printf(&v->out, ". and %u more points", k->point_n - n);
		note_end(v);
	}
}

static void put_status(struct view *v, const struct trace_block *k)
{
	uint32_t row = k->end_row != TRACE_NONE ? k->end_row : k->row;
	const struct batch *b = trace_row_batch(v->t, row);
	uint32_t message = batch_extra_get(b, trace_row(v->t, row))->status_message;

	if (!message || !(k->bits & BLOCK_ERROR))
		return;
	note_begin(v, k->depth);
	view_colour(v, COLOUR_ERROR);
	buffer_text(&v->out, "! ");
	text_put(&v->out, batch_text(b, message), note_room(v, k->depth));
	note_end(v);
}

void view_block(struct view *v, uint32_t block)
{
	const struct trace_block *k = &v->t->blocks[block];
	bool critical = v->on_path && v->on_path[block] >= 0;

	view_colour(v, critical ? COLOUR_CRITICAL : COLOUR_NONE);
	buffer_text(&v->out, critical ? "* " : "  ");
	view_colour(v, COLOUR_NONE);
	put_label(v, block, view_indent(v, k->depth));
	put_times(v, k);
	put_bar(v, k, critical);
	buffer_byte(&v->out, '\n');
	put_causes(v, block);
	put_links(v, block);
	if (k->inferred == TRACE_NONE) {
		put_status(v, k);
		if (v->o->attributes)
			view_attributes(v, trace_row_batch(v->t, k->row),
					trace_row(v->t, k->row)->attrs, k->depth);
	}
	if (v->o->points)
		put_points(v, k);
}
