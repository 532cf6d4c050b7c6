/* exec/tracepoint_names.c - what the catalogue defines, as the checker asks for it. */
#include "exec/tracepoint_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "catalog/tracepoint.h"

static int keep(void *context, const struct tracepoint_row *row)
{
	struct tracepoint_names *t = context;
	struct tracepoint_text item = {arena_dup(&t->arena, slice_cstr(row->name)),
				       arena_dup(&t->arena, slice_cstr(row->text))};

	if (!item.name.p || !item.text.p ||
	    !vec_reserve(&t->items, &t->capacity, t->n + 1, sizeof(*t->items)))
		return -ENOMEM;
	t->items[t->n++] = item;
	return 0;
}

static int load(struct tracepoint_names *t)
{
	if (t->loaded == 0) {
		int r = t->catalog ? tracepoint_list(t->catalog, keep, t, NULL) : 0;

		t->loaded = r < 0 ? r : 1;
	}
	return t->loaded < 0 ? t->loaded : 0;
}

/* The catalogue gives them by name, in the order of bytes. */
static int define(void *context, struct slice name, struct slice *ret_text)
{
	struct tracepoint_names *t = context;
	size_t low = 0, high;
	int r = load(t);

	if (r < 0)
		return r;
	for (high = t->n; low < high;) {
		size_t middle = low + (high - low) / 2;
		int c = slice_cmp(name, t->items[middle].name);

		if (c == 0) {
			*ret_text = t->items[middle].text;
			return 0;
		}
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -ENOENT;
}

static void each(void *context, void (*offer)(void *data, const char *name), void *data)
{
	struct tracepoint_names *t = context;

	if (load(t) < 0)
		return;
	for (size_t i = 0; i < t->n; i++)
		offer(data, t->items[i].name.p);
}

void tracepoint_names_init(struct tracepoint_names *t, struct catalog *catalog)
{
	*t = (struct tracepoint_names){.names = {t, define, each}, .catalog = catalog};
}

void tracepoint_names_done(struct tracepoint_names *t)
{
	free(t->items);
	arena_done(&t->arena);
}
