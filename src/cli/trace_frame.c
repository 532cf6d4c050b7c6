/* cli/trace_frame.c - what stands above and below the tree: the trace in a line, clocks, the
 * critical path, what the marks mean, and what is not shown. */
#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/text.h"
#include "cli/trace_view_int.h"

#define CLOCKS_MAX   5
#define CONTRIBUTORS 5 /* contributors to the critical path */
#define LOOSE_MAX    20

static void count(struct buffer *out, size_t n, const char *one, const char *many)
{
	buffer_printf(out, ", %zu %s", n, n == 1 ? one : many);
}

static int by_text(const void *a, const void *b)
{
	return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* Services that sent something: inferred peers did not. */
static size_t count_services(const struct trace *t)
{
	_cleanup_(freep)
	struct slice *names = calloc(t->process_n + 1, sizeof(*names));
	size_t n = 0, distinct = 0;

	for (size_t i = 0; names && i < t->process_n; i++)
		if (!t->processes[i].inferred)
			names[n++] = t->processes[i].service;
	if (n > 1)
		qsort(names, n, sizeof(*names), by_text);
	for (size_t i = 0; i < n; i++)
		distinct += i == 0 || !slice_eq(names[i], names[i - 1]);
	return distinct;
}

static void put_clocks(struct view *v)
{
	size_t shown = 0, more = 0;
	char text[QUANTITY_TEXT_BYTES];

	for (size_t i = 0; i < v->t->process_n; i++) {
		const struct trace_process *p = &v->t->processes[i];

		if (p->offset_ns == 0)
			continue;
		if (shown == CLOCKS_MAX) {
			more++;
			continue;
		}
		shown++;
		buffer_text(&v->out, "clock of ");
		text_put(&v->out, p->service, 40);
		if (p->host.n) {
			buffer_text(&v->out, " on ");
			text_put(&v->out, p->host, 40);
		}
		buffer_printf(&v->out,
			      " moved by %s%s, so that nothing is received before it is sent\n",
			      p->offset_ns > 0 ? "+" : "", duration_format(p->offset_ns, text));
	}
	if (more)
		buffer_printf(&v->out, "and %zu more clocks\n", more);
}

void view_head(struct view *v)
{
	const struct trace *t = v->t;
	char id[TRACE_ID_HEX + 1], text[QUANTITY_TEXT_BYTES];

	trace_id_format(t->id, id);
	buffer_printf(&v->out, "trace %s\n%s, ", id, moment_format(t->begin_ns, text));
	buffer_text(&v->out, duration_format(t->end_ns - t->begin_ns, text));
	count(&v->out, t->block_n - t->inferred_n, "span", "spans");
	if (t->inferred_n)
		count(&v->out, t->inferred_n, "inferred", "inferred");
	count(&v->out, count_services(t), "service", "services");
	if (t->errors)
		count(&v->out, t->errors, "error", "errors");
	if (t->running)
		count(&v->out, t->running, "running", "running");
	if (t->duplicates)
		count(&v->out, t->duplicates, "duplicate left out", "duplicates left out");
	if (t->threshold_known && t->probability < 1)
		buffer_printf(&v->out, ", sampled with probability %g", t->probability);
	buffer_byte(&v->out, '\n');
	put_clocks(v);
	buffer_byte(&v->out, '\n');
}

static void put_share(struct view *v, int64_t ns)
{
	char text[QUANTITY_TEXT_BYTES];

	text_pad_left(&v->out, slice_cstr(duration_format(ns, text)), 10);
	buffer_printf(&v->out, " %3.0f%%  ",
		      100.0 * (double)ns / (double)MAX(v->path->total_ns, (int64_t)1));
}

/* What the path was not spent working on. */
static void put_waits(struct view *v)
{
	static const char *const names[SEGMENT_KINDS] = {
		[SEGMENT_EDGE] = "(on the way from one to the next)",
		[SEGMENT_QUEUE] = "(waiting in queues and for locks)",
		[SEGMENT_IDLE] = "(waiting; nobody says for what)",
	};

	for (int kind = 0; kind < SEGMENT_KINDS; kind++) {
		if (!names[kind] || v->path_kinds[kind] <= 0)
			continue;
		put_share(v, v->path_kinds[kind]);
		buffer_printf(&v->out, "%s\n", names[kind]);
	}
}

/* The blocks whose own work holds the path longest. */
static void put_path(struct view *v)
{
	char text[QUANTITY_TEXT_BYTES];
	int64_t below = INT64_MAX;
	uint32_t after = 0;

	buffer_printf(&v->out, "\ncritical path (*) %s:\n",
		      duration_format(v->path->total_ns, text));
	for (size_t n = 0; n < CONTRIBUTORS; n++) {
		uint32_t best = TRACE_NONE;

		/* The next in order of (time on the path, index). */
		for (uint32_t i = 0; i < v->t->block_n; i++) {
			int64_t ns = v->on_path[i];

			if (ns <= 0 || ns > below || (ns == below && i < after))
				continue;
			if (best == TRACE_NONE || ns > v->on_path[best])
				best = i;
		}
		if (best == TRACE_NONE)
			break;
		below = v->on_path[best];
		after = best + 1;
		put_share(v, below);
		text_put(&v->out, trace_block_service(v->t, best), 30);
		buffer_text(&v->out, "  ");
		text_put(&v->out, trace_block_name(v->t, best), 50);
		buffer_byte(&v->out, '\n');
	}
	put_waits(v);
}

static void put_legend(struct view *v)
{
	static const char *const meanings[REPAIR_BITS] = {
		"no end came: running, or lost",
		"no begin came; its earliest event stands in",
		"its parent never came",
		"closed a cycle of causes; cut here",
		"came more than once; shown once",
		"another event has the same id and says something else",
		"arrived long after the rest",
		"said to end before it begins; shown without length",
		"a time of 0 or beyond 2262; a neighbour's is shown",
		"its clock was moved (above)",
		"nobody sent it: concluded from its client",
	};

	if (v->marks)
		buffer_byte(&v->out, '\n');
	for (unsigned bit = 0; bit < REPAIR_BITS; bit++)
		if (v->marks & 1U << bit)
			buffer_printf(&v->out, "[%c] %s: %s\n", view_repair_letter(bit),
				      trace_repair_name((enum trace_repair)(1U << bit)),
				      meanings[bit]);
	if (v->any_error)
		buffer_text(&v->out, " !  failed\n");
	if (v->any_cause)
		buffer_text(&v->out, " <- a further cause, besides the parent\n");
}

static void put_loose_points(struct view *v)
{
	size_t n = 0;

	for (size_t i = v->t->point_n; i > 0 && v->t->points[i - 1].block == TRACE_NONE; i--)
		n++;
	if (n)
		buffer_printf(&v->out, "\n%zu point%s of no span%s\n", n, n == 1 ? "" : "s",
			      v->o->points ? "" : " (--points shows them)");
	if (!v->o->points)
		return;
	for (size_t i = v->t->point_n - n; i < v->t->point_n && i < v->t->point_n - n + LOOSE_MAX;
	     i++) {
		buffer_text(&v->out, "    . ");
		text_put(&v->out, trace_row_name(v->t, v->t->points[i].row), 80);
		buffer_byte(&v->out, '\n');
	}
	if (n > LOOSE_MAX)
		buffer_printf(&v->out, "    and %zu more\n", n - LOOSE_MAX);
}

void view_foot(struct view *v)
{
	if (v->hidden_depth)
		buffer_printf(&v->out,
			      "… %zu spans lie deeper than --depth %zu and are not shown\n",
			      v->hidden_depth, v->o->depth);
	if (v->hidden_limit)
		buffer_printf(&v->out, "… %zu of %zu spans are not shown; --limit 0 shows all\n",
			      v->hidden_limit, v->t->block_n);
	put_loose_points(v);
	if (v->on_path)
		put_path(v);
	put_legend(v);
}
