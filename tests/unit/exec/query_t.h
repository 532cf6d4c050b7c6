/* tests/unit/exec/query_t.h - what tests of queries share: traces written as text, a store with
 * them, and results as text.
 *
 * One row a line; times in nanoseconds after an arbitrary second:
 *
 *   span    TRACE ID PARENT SERVICE@HOST NAME BEGIN END [key=value …]
 *   point   TRACE BLOCK SERVICE@HOST NAME TIME [key=value …]
 *   link    TRACE BLOCK LINKED
 *   unit    TRACE ID PARENT SERVICE@HOST NAME
 *   begin   TRACE ID PARENT SERVICE@HOST NAME UNIT TIME SEQ [key=value …]
 *   end     TRACE ID UNIT TIME SEQ
 *   at      TRACE BLOCK UNIT NAME TIME SEQ [key=value …]      a point of a native block
 *   edge    TRACE FROM TO NAME LEFT ARRIVED [key=value …]
 *   counter TRACE BLOCK SERVICE@HOST NAME TIME VALUE
 *
 * kind=server and the like is the row's kind.  Values that are whole numbers are numbers, [a,b] are
 * lists, others text. */
#ifndef CAUSET_TESTS_UNIT_EXEC_QUERY_T_H
#define CAUSET_TESTS_UNIT_EXEC_QUERY_T_H

#include "store/store_t.h"

#include "exec/query.h"

#define QUERY_T0 1700000000000000000ULL

struct query_t {
	char folder[64];
	struct store *store;
};

/* --- writing traces --- */

static inline uint32_t query_t_resource(struct batch *b, struct slice who)
{
	struct slice host = who, service = slice_cut(&host, '@');
	uint32_t first = (uint32_t)b->attr_n;

	for (uint32_t i = 0; i < b->resource_n; i++)
		if (slice_eq(batch_attr_text(b, b->resources[i].attrs, SLICE("service.name")),
			     service) &&
		    slice_eq(batch_attr_text(b, b->resources[i].attrs, SLICE("host.name")), host))
			return i;
	batch_attr_string(b, SLICE("service.name"), service);
	if (host.n)
		batch_attr_string(b, SLICE("host.name"), host);
	{
		uint32_t r = batch_resource(b);

		b->resources[r].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
		return r;
	}
}

static inline bool query_t_number(struct slice s, int64_t *ret)
{
	bool minus = s.n > 1 && s.p[0] == '-';
	uint64_t v;

	if (slice_parse_u64(slice_from(s, minus), &v) < 0)
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

static inline void query_t_attr(struct batch *b, struct slice word)
{
	struct slice value = word, key = slice_cut(&value, '=');
	int64_t number;

	if (value.n && value.p[0] == '[') {
		struct slice rest = slice_of(value.p + 1, value.n - 2);
		uint32_t n = rest.n > 0, first, i = 0;
		struct attr a;

		for (size_t k = 0; k < rest.n; k++)
			n += rest.p[k] == ',';
		first = batch_nested(b, n);
		while (i < n) {
			struct slice one = slice_cut(&rest, ',');
			struct attr element = {.type = VALUE_STRING};

			if (query_t_number(one, &number))
				element = batch_int(b, number);
			else
				element.string = batch_string(b, one);
			b->nested[first + i++] = element;
		}
		a = batch_list(b, VALUE_ARRAY, (struct value_range){first, n});
		a.key = batch_string(b, key);
		batch_attr(b, a);
	} else if (query_t_number(value, &number)) {
		batch_attr_int(b, key, number);
	} else {
		batch_attr_string(b, key, value);
	}
}

static inline uint64_t query_t_u64(struct slice *rest)
{
	uint64_t v = 0;
	struct slice word = slice_cut(rest, ' ');

	if (slice_parse_u64(word, &v) < 0)
		fail_msg("not a number: %.*s", SLICE_ARG(word));
	return v;
}

static inline int32_t query_t_kind(struct slice name)
{
	static const char *const names[] = {"unspecified", "internal", "server",
					    "client",      "producer", "consumer"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (slice_eq(name, slice_cstr(names[i])))
			return (int32_t)i;
	fail_msg("no such kind: %.*s", SLICE_ARG(name));
	return 0;
}

static inline void query_t_attrs(struct batch *b, struct slice rest, uint32_t event)
{
	uint32_t first = (uint32_t)b->attr_n;

	while (rest.p && rest.n) {
		struct slice word = slice_cut(&rest, ' ');

		if (slice_starts(word, SLICE("kind=")))
			b->events[event].kind = query_t_kind(slice_from(word, 5));
		else if (word.n)
			query_t_attr(b, word);
	}
	b->events[event].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
}

static inline void query_t_row(struct batch *b, struct slice rest)
{
	struct slice type = slice_cut(&rest, ' '), who = SLICE(""), name = SLICE("");
	struct event e = {.format = FORMAT_NATIVE};
	struct event_place place = {0};
	int64_t value = 0;

	e.trace_id = trace_of((uint32_t)query_t_u64(&rest));
	if (slice_eq(type, SLICE("span"))) {
		e.type = EVENT_SPAN;
		e.format = FORMAT_OTLP;
		e.id1 = query_t_u64(&rest);
		e.id2 = query_t_u64(&rest);
		who = slice_cut(&rest, ' ');
		name = slice_cut(&rest, ' ');
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		e.end_ns = QUERY_T0 + query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("point"))) {
		e.type = EVENT_POINT;
		e.format = FORMAT_OTLP;
		e.id1 = query_t_u64(&rest);
		who = slice_cut(&rest, ' ');
		name = slice_cut(&rest, ' ');
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("link"))) {
		e.type = EVENT_LINK;
		e.format = FORMAT_OTLP;
		e.id1 = query_t_u64(&rest);
		e.id2 = query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("unit"))) {
		e.type = EVENT_UNIT;
		e.id1 = place.unit = query_t_u64(&rest);
		e.id2 = query_t_u64(&rest);
		who = slice_cut(&rest, ' ');
		name = slice_cut(&rest, ' ');
	} else if (slice_eq(type, SLICE("begin"))) {
		e.type = EVENT_BEGIN;
		e.id1 = query_t_u64(&rest);
		e.id2 = query_t_u64(&rest);
		who = slice_cut(&rest, ' ');
		name = slice_cut(&rest, ' ');
		place.unit = query_t_u64(&rest);
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		place.seq = query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("end"))) {
		e.type = EVENT_END;
		e.id1 = query_t_u64(&rest);
		place.unit = query_t_u64(&rest);
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		place.seq = query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("at"))) {
		e.type = EVENT_POINT;
		e.id1 = query_t_u64(&rest);
		place.unit = query_t_u64(&rest);
		name = slice_cut(&rest, ' ');
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		place.seq = query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("edge"))) {
		e.type = EVENT_EDGE;
		e.id1 = query_t_u64(&rest);
		e.id2 = query_t_u64(&rest);
		name = slice_cut(&rest, ' ');
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		e.end_ns = QUERY_T0 + query_t_u64(&rest);
	} else if (slice_eq(type, SLICE("counter"))) {
		e.type = EVENT_COUNTER;
		e.id1 = query_t_u64(&rest);
		who = slice_cut(&rest, ' ');
		name = slice_cut(&rest, ' ');
		e.time_ns = QUERY_T0 + query_t_u64(&rest);
		value = (int64_t)query_t_u64(&rest);
	} else {
		fail_msg("no such row: %.*s", SLICE_ARG(type));
	}
	e.resource = UINT32_MAX;
	for (size_t i = 0; who.n == 0 && i < b->event_n; i++) /* of its block */
		if (b->events[i].id1 == e.id1 && trace_id_eq(b->events[i].trace_id, e.trace_id))
			e.resource = b->events[i].resource;
	if (e.resource == UINT32_MAX)
		e.resource = query_t_resource(b, who);
	e.name = batch_string(b, name);
	*batch_event(b) = e;
	batch_place(b, (uint32_t)b->event_n - 1, place);
	query_t_attrs(b, rest, (uint32_t)b->event_n - 1);
	if (e.type == EVENT_LINK)
		batch_extra(b, (uint32_t)b->event_n - 1)->link_trace = e.trace_id;
	if (e.type == EVENT_COUNTER)
		batch_extra(b, (uint32_t)b->event_n - 1)->body = batch_int(b, value);
}

static inline struct batch *query_t_batch(const char *text)
{
	struct batch *b = batch_new(0);
	struct slice rest = slice_cstr(text);

	assert_non_null(b);
	batch_scope(b);
	b->owner = batch_string(b, SLICE("local"));
	b->received_ns = (int64_t)QUERY_T0;
	while (rest.p) {
		struct slice one = slice_trim(slice_cut(&rest, '\n'));

		if (one.n && one.p[0] != '#')
			query_t_row(b, one);
	}
	return sealed(b);
}

/* --- a store --- */

static inline void query_t_open(struct query_t *t, const char *text, bool flush)
{
	folder_fresh(t->folder);
	t->store = engine_at(t->folder, (struct engine_options){0});
	if (text)
		assert_int_equal(put(t->store, query_t_batch(text)), 0);
	if (flush)
		assert_int_equal(engine_flush(t->store), 0);
}

static inline void query_t_close(struct query_t *t)
{
	store_close(t->store);
	folder_remove(t->folder);
}

/* --- results as text --- */

struct query_text {
	struct buffer out;
	char **lines; /* of the result at hand: sorted, unless the query does */
	size_t n, capacity;
	bool keep_order;
	struct query_stats stats;
	struct error error;
};

static inline int query_t_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void query_t_flush(struct query_text *t)
{
	if (!t->keep_order && t->n > 1)
		qsort(t->lines, t->n, sizeof(char *), query_t_cmp);
	for (size_t i = 0; i < t->n; i++) {
		buffer_printf(&t->out, "%s\n", t->lines[i]);
		free(t->lines[i]);
	}
	t->n = 0;
}

static inline int query_t_begin(void *context, size_t result, struct slice name,
				const struct query_column *columns, size_t n)
{
	struct query_text *t = context;

	(void)name;
	query_t_flush(t);
	if (result > 0)
		buffer_text(&t->out, "--\n");
	for (size_t i = 0; i < n; i++)
		buffer_printf(&t->out, "%s%.*s", i ? " | " : "", SLICE_ARG(columns[i].name));
	buffer_text(&t->out, "\n");
	return 0;
}

static inline int query_t_one(void *context, const struct value *values, const double *plus_minus,
			      size_t n)
{
	struct query_text *t = context;
	struct buffer line = {0};
	struct arena arena = {0};

	(void)plus_minus;
	for (size_t i = 0; i < n; i++) {
		struct value v = values[i];

		/* Times count from the fixture's second, so that people can read them. */
		if (v.type == V_TIME)
			v = value_int(v.i - (int64_t)QUERY_T0);
		buffer_printf(&line, "%s%.*s", i ? " | " : "",
			      SLICE_ARG(value_is_nil(v) ? SLICE("nil") : value_format(&arena, v)));
	}
	if (t->n == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 16;
		t->lines = realloc(t->lines, t->capacity * sizeof(char *));
		assert_non_null(t->lines);
	}
	t->lines[t->n++] = strdup(buffer_cstr(&line));
	buffer_done(&line);
	arena_done(&arena);
	return 0;
}

static inline void query_text_done(struct query_text *t)
{
	query_t_flush(t);
	buffer_done(&t->out);
	free(t->lines);
}

/* Runs a text; the outcome of query_run(), or of query_prepare() with diagnostics in `out`. */
static inline int query_t_run(struct query_t *q, const char *text, unsigned rules_off,
			      unsigned threads, struct query_text *t)
{
	struct query_prepare prepare = {.text = slice_cstr(text), .rules_off = rules_off};
	struct query_run run = {.begin = query_t_begin,
				.row = query_t_one,
				.context = t,
				.threads = threads,
				.files = true,
				.files_at = q->folder,
				.now_ns = (int64_t)QUERY_T0 + 1000000000};
	struct arena arena = {0};
	struct diags diags;
	struct query *query = NULL;
	struct snapshot snapshot;
	int r;

	diags_init(&diags, &arena);
	r = query_prepare(&prepare, &diags, &query);
	if (r < 0) {
		diags_format(&diags, prepare.text, &t->out);
		arena_done(&arena);
		return r;
	}
	assert_int_equal(store_snapshot(q->store, &snapshot), 0);
	run.snapshot = &snapshot;
	r = query_run(query, &run, &t->stats, &t->error);
	query_t_flush(t);
	snapshot_done(&snapshot);
	query_free(query);
	arena_done(&arena);
	return r;
}

#endif
