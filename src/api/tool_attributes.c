/* api/tool_attributes.c - which attributes there are, or which values one of them has.
 *
 * Names are those of the newest traces, as many as are read for one question; values are counted by
 * a query over everything in the window. */
#include <errno.h>
#include <stdio.h>

#include "api/tool_int.h"
#include "api/trace_pick.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "lang/ast.h"

#define TRACES_READ 500
#define NAMES_MOST  20000

enum tag_scope { SCOPE_RESOURCE, SCOPE_SPAN, SCOPE_EVENT, SCOPE_LINK, SCOPES };

static const char *const scope_names[SCOPES] = {"resource", "span", "event", "link"};

struct name_row {
	enum tag_scope scope;
	struct slice name;
	uint64_t seen;
};

struct names {
	struct tool_call *call;
	struct name_row *rows;
	size_t n, capacity;
	struct map map;
	bool cut;
};

struct name_key {
	enum tag_scope scope;
	struct slice name;
};

static bool name_equal(const void *context, uint32_t value, const void *key)
{
	const struct names *x = context;
	const struct name_key *k = key;

	return x->rows[value].scope == k->scope && slice_eq(x->rows[value].name, k->name);
}

static int name_add(struct names *x, enum tag_scope scope, struct slice name)
{
	struct name_key key = {scope, name};
	uint64_t hash = hash_bytes(name.p, name.n, x->map.seed + (uint64_t)scope);
	uint32_t at = map_get(&x->map, hash, name_equal, x, &key);

	if (at != MAP_NONE) {
		x->rows[at].seen++;
		return 0;
	}
	if (x->n == NAMES_MOST) {
		x->cut = true;
		return 0;
	}
	name = arena_dup(&x->call->arena, name);
	if (!name.p || !vec_reserve(&x->rows, &x->capacity, x->n + 1, sizeof(*x->rows)) ||
	    !map_put(&x->map, hash, (uint32_t)x->n))
		return -ENOMEM;
	x->rows[x->n++] = (struct name_row){scope, name, 1};
	return 0;
}

static int range_add(struct names *x, enum tag_scope scope, const struct batch *b,
		     struct attr_range range)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < range.count; i++)
		r = name_add(x, scope, batch_text(b, b->attrs[range.first + i].key));
	return r;
}

static int event_add(struct names *x, const struct batch *b, const struct event *e)
{
	int r;

	switch (e->type) {
	case EVENT_SPAN:
	case EVENT_BEGIN:
	case EVENT_END:
		r = range_add(x, SCOPE_SPAN, b, e->attrs);
		return r == 0 && e->resource < b->resource_n
			       ? range_add(x, SCOPE_RESOURCE, b, b->resources[e->resource].attrs)
			       : r;
	case EVENT_POINT:
		return range_add(x, SCOPE_EVENT, b, e->attrs);
	case EVENT_LINK:
		return range_add(x, SCOPE_LINK, b, e->attrs);
	default:
		return 0;
	}
}

static int on_trace(void *context, const struct trace_summary *summary, struct event_set *set)
{
	struct names *x = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < set->n; i++)
		r = event_add(x, set->refs[i].batch, event_get(set->refs[i]));
	return r == 0 && tool_cancelled(x->call) ? -ECANCELED : r;
}

static int name_order(const void *a, const void *b)
{
	const struct name_row *x = a, *y = b;

	return x->scope != y->scope ? (int)x->scope - (int)y->scope : slice_cmp(x->name, y->name);
}

static int names_list(struct tool_call *call, const struct store_query *query)
{
	struct names x = {.call = call};
	struct trace_picked picked = {0};
	const struct trace_pick pick = {.store = call->house->store,
					.query = *query,
					.limit = TRACES_READ,
					.take = on_trace,
					.context = &x};
	int r;

	map_init(&x.map);
	r = trace_pick(&pick, &picked);
	if (r == 0 && x.n > 1)
		qsort(x.rows, x.n, sizeof(*x.rows), name_order);
	call->total = x.n;
	for (size_t i = 0; r == 0 && i < x.n; i++) {
		tool_row(call);
		tool_put_text(&call->w, "scope", slice_cstr(scope_names[x.rows[i].scope]));
		tool_put_text(&call->w, "name", x.rows[i].name);
		tool_put_count(&call->w, "seen", x.rows[i].seen);
		r = tool_row_end(call);
	}
	if (x.cut)
		call->incomplete = "there are more names: name a service, or ask for less time";
	snprintf(call->summary, sizeof(call->summary),
		 "%zu attributes in the newest %zu traces; in a query they are written as "
		 "scope.name, such as span.http.route",
		 x.n, picked.n);
	map_done(&x.map);
	free(x.rows);
	return MIN(r, 0);
}

static void put_quoted(struct buffer *out, struct slice text)
{
	buffer_byte(out, '"');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			buffer_byte(out, '\\');
		buffer_byte(out, text.p[i]);
	}
	buffer_byte(out, '"');
}

static bool is_scope(struct slice word)
{
	static const char *const known[] = {"resource", "span", "event", "link", "instrumentation"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (slice_eq(word, slice_cstr(known[i])))
			return true;
	return false;
}

/* "span.http.route", or "http.route" of any scope. */
static int values_list(struct tool_call *call, struct slice name, struct slice service)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	struct slice rest = name, scope = slice_cut(&rest, '.');
	int r;

	buffer_text(&text, "{ ");
	if (service.n) {
		buffer_text(&text, "resource.service.name = ");
		put_quoted(&text, service);
	}
	buffer_text(&text, " } | count() by (");
	if (rest.p && is_scope(scope))
		buffer_slice(&text, scope);
	else
		rest = name;
	buffer_byte(&text, '.');
	put_quoted(&text, rest);
	buffer_byte(&text, ')');
	if (text.failed)
		return -ENOMEM;
	r = tool_query_rows(call, buffer_get(&text), DIALECT_TRACEQL);
	snprintf(call->summary, sizeof(call->summary),
		 "values of %.*s and how many spans have them; nil: those without it",
		 SLICE_ARG(slice_first(name, 100)));
	return r;
}

int tool_attributes(struct tool_call *call)
{
	const struct tool_value *name = tool_value(call, "name");
	struct store_query query = {.service = tool_value(call, "service")->text};
	int r = tool_window(call, &query.from_ns, &query.to_ns);

	if (r < 0)
		return r;
	if (!name->given)
		return names_list(call, &query);
	if (name->text.n == 0)
		return tool_fail(call, -EINVAL,
				 "name: an attribute is wanted, such as "
				 "\"span.http.route\"");
	return values_list(call, name->text, query.service);
}
