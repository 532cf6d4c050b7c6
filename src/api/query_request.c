/* api/query_request.c - what POST /api/query is asked. */
#include "api/query_request.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "wire/json_reader.h"

/* One field on its way in. */
struct field {
	struct json_reader *r;
	struct query_request *q;
	struct arena *arena;
	struct error *error;
	const char *name;
	int64_t now_ns;
};

static int wrong(const struct field *f, const char *wanted)
{
	return error_set(f->error, -EINVAL, "%s is %s", f->name, wanted);
}

static int keep_text(struct field *f, struct json_string s, struct slice *ret_text)
{
	struct buffer scratch = {0};
	int r = 0;

	*ret_text = arena_dup(f->arena, json_text(s, &scratch));
	if (!ret_text->p || scratch.failed)
		r = -ENOMEM;
	buffer_done(&scratch);
	return r;
}

static int text_of(struct field *f, struct slice *ret_text)
{
	struct json_string s;

	if (json_peek(f->r) != JSON_STRING || !json_string(f->r, &s))
		return wrong(f, "a text");
	return keep_text(f, s, ret_text);
}

static int flag_of(struct field *f, bool *ret_flag)
{
	if (json_peek(f->r) != JSON_BOOL || !json_bool(f->r, ret_flag))
		return wrong(f, "true or false");
	return 0;
}

/* A text, or a number that is taken as one. */
static int text_or_number(struct field *f, struct slice *ret_text)
{
	if (json_peek(f->r) == JSON_NUMBER && json_number(f->r, ret_text))
		return 0;
	return text_of(f, ret_text);
}

static int moment_of(struct field *f, int64_t *ret_ns)
{
	struct slice text;
	int r = text_or_number(f, &text);

	if (r == 0 && moment_parse(text, f->now_ns, ret_ns) < 0)
		r = wrong(f, "a moment: RFC 3339, a number since 1970, or relative as \"-1h\"");
	return r;
}

static int duration_of(struct field *f, int64_t *ret_ns)
{
	struct slice text;
	int r = text_of(f, &text);

	if (r == 0 && (duration_parse(text, ret_ns) < 0 || *ret_ns <= 0))
		r = wrong(f, "a duration above 0, as \"30s\"");
	return r;
}

static int on_query(struct field *f)
{
	return text_of(f, &f->q->text);
}

static int on_dialect(struct field *f)
{
	struct slice text;
	int r = text_of(f, &text);

	if (r < 0)
		return r;
	if (slice_eq(text, SLICE("traceql")))
		f->q->dialect = DIALECT_TRACEQL;
	else if (!slice_eq(text, SLICE("causetql")))
		return wrong(f, "\"causetql\" or \"traceql\"");
	return 0;
}

static int on_explain(struct field *f)
{
	return flag_of(f, &f->q->explain);
}

static int on_live(struct field *f)
{
	return flag_of(f, &f->q->live);
}

static int on_limit(struct field *f)
{
	f->q->limited = true;
	if (json_peek(f->r) != JSON_NUMBER || !json_u64(f->r, &f->q->limit) || f->q->limit == 0)
		return wrong(f, "a number above 0");
	return 0;
}

static int on_cursor(struct field *f)
{
	int r = text_of(f, &f->q->cursor);

	return r == 0 && (f->q->cursor.n == 0 || f->q->cursor.n > QUERY_CURSOR_CHARS)
		       ? wrong(f, "what an earlier answer gave")
		       : r;
}

static bool is_id(struct slice id)
{
	if (id.n == 0 || id.n > QUERY_ID_CHARS)
		return false;
	for (size_t i = 0; i < id.n; i++) {
		char c = id.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_'))
			return false;
	}
	return true;
}

static int on_id(struct field *f)
{
	int r = text_of(f, &f->q->id);

	return r == 0 && !is_id(f->q->id) ? wrong(f, "1 to 64 letters, digits, - and _") : r;
}

static int on_start(struct field *f)
{
	return moment_of(f, &f->q->range.from_ns);
}

static int on_end(struct field *f)
{
	return moment_of(f, &f->q->range.to_ns);
}

static int on_step(struct field *f)
{
	return duration_of(f, &f->q->step_ns);
}

static int on_timeout(struct field *f)
{
	return duration_of(f, &f->q->time_ns);
}

static int on_memory(struct field *f)
{
	struct slice text;
	int64_t bytes = 0;
	int r = text_or_number(f, &text);

	if (r == 0 && (size_parse(text, &bytes) < 0 || bytes <= 0))
		r = wrong(f, "a size, as \"64MiB\"");
	f->q->memory_bytes = (size_t)bytes;
	return r;
}

/* {"owners.csv": "service,owner\n…"} */
static int on_files(struct field *f)
{
	struct query_file *files = arena_zalloc(f->arena, QUERY_FILES_MOST, sizeof(*files));
	struct json_string key;
	size_t n = 0;
	int r = files ? 0 : -ENOMEM;

	if (r == 0 && (json_peek(f->r) != JSON_OBJECT || !json_object(f->r)))
		return wrong(f, "an object of texts by the names csv(\"…\") has for them");
	while (r == 0 && json_next_key(f->r, &key)) {
		if (n == QUERY_FILES_MOST)
			return error_set(f->error, -EINVAL, "more than %d files", QUERY_FILES_MOST);
		r = keep_text(f, key, &files[n].name);
		if (r == 0)
			r = text_of(f, &files[n++].bytes);
	}
	f->q->files = files;
	f->q->file_n = n;
	return r;
}

static const struct {
	const char *name;
	int (*read)(struct field *f);
} fields[] = {
	{"query", on_query}, {"dialect", on_dialect}, {"explain", on_explain},
	{"live", on_live},   {"limit", on_limit},     {"cursor", on_cursor},
	{"id", on_id},       {"start", on_start},     {"end", on_end},
	{"step", on_step},   {"timeout", on_timeout}, {"memory", on_memory},
	{"files", on_files},
};

static int read_field(struct field *f, struct slice name)
{
	char text[JSON_NAME_MAX];
	struct suggestion near;

	snprintf(text, sizeof(text), "%.*s", SLICE_ARG(slice_first(name, sizeof(text) - 1)));
	near = suggestion_for(slice_cstr(text));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strcmp(text, fields[i].name) == 0) {
			f->name = fields[i].name;
			return fields[i].read(f);
		}
		suggestion_offer(&near, fields[i].name);
	}
	if (near.best)
		return error_set(f->error, -EINVAL, "there is no field '%s'; did you mean %s?",
				 text, near.best);
	return error_set(f->error, -EINVAL, "there is no field '%s'", text);
}

/* What one field alone cannot tell. */
static int check(const struct query_request *q, struct error *error)
{
	if (q->cursor.n ? q->text.n > 0 : q->text.n == 0)
		return error_set(error, -EINVAL,
				 "give either a query or the cursor of an earlier answer");
	if (q->cursor.n && (q->stream || q->explain))
		return error_set(error, -EINVAL, "a cursor leads to a page: ask for JSON");
	if (q->text.n > LANG_MAX_TEXT)
		return error_set(error, -EINVAL, "the query is longer than %d bytes",
				 LANG_MAX_TEXT);
	if (!q->stream && q->limit > QUERY_LIMIT_MOST)
		return error_set(error, -EINVAL,
				 "limit is at most %d rows a page; 'Accept: "
				 "application/x-ndjson' streams them all",
				 QUERY_LIMIT_MOST);
	if (q->range.from_ns && q->range.to_ns && q->range.from_ns >= q->range.to_ns)
		return error_set(error, -EINVAL, "start lies behind end");
	return 0;
}

static bool wants_lines(const struct http_request *req)
{
	struct slice accept = http_header_get(req, "accept");

	while (accept.n > 0) {
		struct slice one = slice_cut(&accept, ',');

		if (slice_eq_nocase(slice_trim(slice_cut(&one, ';')),
				    SLICE("application/x-ndjson")))
			return true;
	}
	return false;
}

int query_request_parse(struct http_request *req, int64_t now_ns, struct query_request *ret_request,
			struct error *error)
{
	struct query_request q = {.limit = QUERY_LIMIT, .stream = wants_lines(req)};
	struct json_reader reader = json_open(req->body);
	struct field f = {&reader, &q, &req->arena, error, "", now_ns};
	struct error why = {0};
	struct slice name;
	int r = 0;

	if (json_peek(&reader) != JSON_OBJECT || !json_object(&reader))
		return error_set(error, -EINVAL,
				 "the body is a JSON object: {\"query\": \"{ status = error }\"}");
	while (r == 0 && json_next_name(&reader, &name))
		r = read_field(&f, name);
	if (reader.bad || (r == 0 && json_finish(&reader, &why) < 0)) {
		json_finish(&reader, &why);
		return error_set(error, -EINVAL, "the body is not JSON: byte %zu: %s", why.offset,
				 why.text);
	}
	if (r == 0)
		r = check(&q, error);
	if (r == 0)
		*ret_request = q;
	return r;
}
