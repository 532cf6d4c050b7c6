/* cli/trace_view.c - a trace as a tree of lines: which lines there are. */
#include "cli/trace_view.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/trace_view_int.h"

#define FLUSH_BYTES ((size_t)64 << 10)
#define NUMBERS     22 /* columns of start and duration, with their blanks */
#define BAR_MIN     10
#define BAR_MAX     40
#define TREE_MIN    24
#define TREE_MAX    90

void view_colour(struct view *v, enum colour colour)
{
	static const char *const codes[] = {"\x1b[0m", "\x1b[33m", "\x1b[31m", "\x1b[2m",
					    "\x1b[36m"};

	if (v->o->colour)
		buffer_text(&v->out, codes[colour]);
}

static int path_collect(struct view *v)
{
	if (!v->path || v->path->n == 0)
		return 0;
	v->on_path = malloc(v->t->block_n * sizeof(*v->on_path));
	if (!v->on_path)
		return -1;
	memset(v->on_path, 0xff, v->t->block_n * sizeof(*v->on_path)); /* -1: not on it */
	for (size_t i = 0; i < v->path->n; i++) {
		const struct path_segment *s = &v->path->segments[i];

		v->path_kinds[s->kind] += s->to_ns - s->from_ns;
		if (s->block == TRACE_NONE)
			continue;
		v->on_path[s->block] = MAX(v->on_path[s->block], (int64_t)0);
		if (s->kind == SEGMENT_SELF)
			v->on_path[s->block] += s->to_ns - s->from_ns;
	}
	return 0;
}

static int link_cmp(const void *a, const void *b, void *context)
{
	const struct trace *t = context;
	uint32_t x = t->links[*(const uint32_t *)a].block, y = t->links[*(const uint32_t *)b].block;

	return x < y ? -1 : x > y;
}

static int links_collect(struct view *v)
{
	if (v->t->link_n == 0)
		return 0;
	v->links = malloc(v->t->link_n * sizeof(*v->links));
	if (!v->links)
		return -1;
	for (size_t i = 0; i < v->t->link_n; i++)
		v->links[i] = (uint32_t)i;
	qsort_r(v->links, v->t->link_n, sizeof(*v->links), link_cmp, (void *)v->t);
	return 0;
}

static void layout(struct view *v)
{
	size_t columns = v->o->columns;
	size_t bar = columns / 4;

	bar = MAX(bar, (size_t)BAR_MIN);
	bar = MIN(bar, (size_t)BAR_MAX);
	v->tree_columns = columns > bar + NUMBERS + TREE_MIN ? columns - bar - NUMBERS : TREE_MIN;
	v->tree_columns = MIN(v->tree_columns, (size_t)TREE_MAX);
	v->bar_columns = bar;
}

static bool is_shown(struct view *v, uint32_t block)
{
	if (v->o->depth && v->t->blocks[block].depth > v->o->depth) {
		v->hidden_depth++;
		return false;
	}
	if (v->o->limit && v->shown >= v->o->limit) {
		v->hidden_limit++;
		return false;
	}
	return true;
}

static int lines(struct view *v)
{
	int code = EXIT_OK;

	view_head(v);
	for (uint32_t i = 0; code == EXIT_OK && i < v->t->block_n; i++) {
		if (!is_shown(v, i))
			continue;
		v->shown++;
		view_block(v, i);
		if (v->out.n >= FLUSH_BYTES)
			code = cli_print(v->cli, &v->out);
	}
	if (code == EXIT_OK) {
		view_foot(v);
		code = cli_print(v->cli, &v->out);
	}
	return code;
}

int trace_view(const struct cli *cli, const struct trace *t, const struct critical_path *path,
	       const struct view_options *options)
{
	struct view v = {.cli = cli, .t = t, .path = path, .o = options};
	int code;

	layout(&v);
	if (path_collect(&v) < 0 || links_collect(&v) < 0)
		code = cli_fail(cli, EXIT_FAILED, "out of memory");
	else
		code = lines(&v);
	free(v.on_path);
	free(v.links);
	buffer_done(&v.out);
	return code;
}
