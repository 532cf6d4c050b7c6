/* cli/filter.c - which traces: the options that `traces` and `export` share. */
#include "cli/filter.h"

#include "cli/remote.h"

static void add(struct buffer *query, const char *name, const char *value)
{
	if (value)
		query_add(query, name, slice_cstr(value));
}

void filter_query(const struct filter *f, struct buffer *query)
{
	add(query, "service", f->service);
	add(query, "operation", f->operation);
	add(query, "minDuration", f->min_duration);
	add(query, "maxDuration", f->max_duration);
	add(query, "start", f->start);
	add(query, "end", f->end);
	for (size_t i = 0; i < f->tags.n; i++)
		add(query, "tag", f->tags.items[i]);
	if (f->errors)
		add(query, "errors", "true");
}
