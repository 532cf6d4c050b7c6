/* api/tool.c - one call of a tool: arguments in, rows gathered, a page of them out.
 *
 * Rows are JSON text, gathered whole (within TOOL_ROWS_MOST and TOOL_KEPT_MOST) before the first
 * page is cut, so that the answer can say how many there are. */
#include "api/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "api/tool_int.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "base/rng.h"
#include "base/suggest.h"

/* Parts of a kept answer: why it is not all; what every page says if there is room; the rows, with
 * the name of their list as head. */
enum { PART_INCOMPLETE, PART_TAIL, PART_ROWS, PARTS };

#define PAGE_OVERHEAD   160 /* bytes of "returned", "truncated", "next" and punctuation */
#define ID_BYTES        64  /* "tool:NAME:" and 32 hex digits */
#define ROW_ALONE_BYTES 200 /* what is said in place of a row that is too large */
#define OMITTED_BYTES   80  /* what is said in place of members that are too large */
#define INCOMPLETE_MOST 240

const struct tool *tool_find(struct slice name, const char **ret_near)
{
	struct suggestion near = suggestion_for(slice_first(name, SUGGEST_MAX_CHARS + 1));

	for (const struct tool *t = tools; t->name; t++) {
		if (slice_eq(name, slice_cstr(t->name)))
			return t;
		suggestion_offer(&near, t->name);
	}
	*ret_near = near.best;
	return NULL;
}

int tool_fail(struct tool_call *call, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buffer_vprintf(&call->why, format, args);
	va_end(args);
	return code;
}

const struct tool_value *tool_value(const struct tool_call *call, const char *name)
{
	static const struct tool_value none;

	for (size_t i = 0; call->tool->params[i].name; i++)
		if (strcmp(call->tool->params[i].name, name) == 0)
			return &call->values[i];
	return &none;
}

int tool_window(struct tool_call *call, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	int64_t from = tool_value(call, "start")->number, to = tool_value(call, "end")->number;

	if (from < 0 || to < 0)
		return tool_fail(call, -EINVAL, "start and end lie behind 1970");
	if (from && to && from >= to)
		return tool_fail(call, -EINVAL, "start must be before end");
	*ret_from_ns = from;
	*ret_to_ns = to;
	return 0;
}

bool tool_cancelled(const struct tool_call *call)
{
	return call->cancel && atomic_load(call->cancel);
}

/* --- rows --- */

void tool_row(struct tool_call *call)
{
	buffer_clear(&call->row);
	call->w = json_write(&call->row);
	json_begin_object(&call->w);
}

static int full(struct tool_call *call)
{
	if (!call->incomplete)
		call->incomplete = "there are more rows than one answer may have: ask for less "
				   "time, or with a narrower condition";
	return 1;
}

int tool_row_end(struct tool_call *call)
{
	json_end_object(&call->w);
	if (call->row.failed || query_answer_add(&call->answer, buffer_get(&call->row)) < 0)
		return tool_fail(call, -ENOMEM, "out of memory");
	if (tool_cancelled(call))
		return tool_fail(call, -ECANCELED, "cancelled");
	if (call->answer.results[PART_ROWS].n >= TOOL_ROWS_MOST ||
	    call->answer.bytes >= TOOL_KEPT_MOST)
		return full(call);
	return 0;
}

struct json_writer tool_head(struct tool_call *call)
{
	return (struct json_writer){.out = &call->head, .comma = call->head.n > 0};
}

/* --- members --- */

void tool_put_cut(struct json_writer *w, struct slice text, size_t most)
{
	_cleanup_(buffer_done)
	struct buffer cut = {0};
	size_t n = most;

	if (text.n <= most) {
		json_put_string(w, text);
		return;
	}
	while (n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--; /* not inside a character */
	buffer_append(&cut, text.p, n);
	buffer_printf(&cut, "… (%zu bytes)", text.n);
	json_put_string(w, buffer_get(&cut));
	w->out->failed |= cut.failed;
}

void tool_put_text(struct json_writer *w, const char *name, struct slice text)
{
	json_put_name(w, name);
	tool_put_cut(w, text, TOOL_TEXT_MOST);
}

void tool_put_count(struct json_writer *w, const char *name, uint64_t n)
{
	json_put_name(w, name);
	json_put_u64(w, n);
}

void tool_put_flag(struct json_writer *w, const char *name)
{
	json_put_name(w, name);
	json_put_bool(w, true);
}

void tool_put_ms(struct json_writer *w, const char *name, int64_t ns)
{
	json_put_name(w, name);
	json_put_double(w, (double)ns / 1e6);
}

void tool_put_time(struct json_writer *w, const char *name, int64_t ns)
{
	char text[QUANTITY_TEXT_BYTES];

	json_put_name(w, name);
	json_put_cstr(w, moment_format(ns, text));
}

void tool_put_trace(struct json_writer *w, const char *name, struct trace_id id)
{
	json_put_name(w, name);
	json_put_hex(w, id.b, sizeof(id.b));
}

void tool_put_span(struct json_writer *w, const char *name, uint64_t id)
{
	uint8_t bytes[8];

	store_be64(bytes, id);
	json_put_name(w, name);
	json_put_hex(w, bytes, sizeof(bytes));
}

/* --- pages --- */

struct page {
	struct tool_call *call;
	const struct buffer *head; /* NULL: not the first */
	const char *id;
	uint64_t from;
	uint64_t end; /* of this page */
	bool more;    /* rows behind it */
	bool wrong;   /* that is no answer of a tool */
};

/* How the names of this tool's kept answers begin.  Names of queries have no ':'. */
static void prefix_put(const struct tool_call *call, char out[ID_BYTES])
{
	snprintf(out, ID_BYTES, "tool:%s:", call->tool->name);
}

static uint64_t rows_asked_for(const struct tool_call *call)
{
	const struct tool_value *spans = tool_value(call, "max_spans");
	const struct tool_value *limit = tool_value(call, "limit");
	int64_t n = spans->number ? spans->number : limit->number;

	return n > 0 ? (uint64_t)n : TOOL_ROWS_MOST;
}

/* In place of a row that does not fit: nothing would ever come behind it. */
static void put_omitted(struct buffer *out, size_t n, size_t wanted)
{
	if (wanted <= TOOL_BYTES_MOST)
		buffer_printf(out,
			      "{\"omitted\":\"this row alone has %zu bytes: ask again with "
			      "max_bytes of %zu, or for less of it\"}",
			      n, wanted);
	else
		buffer_printf(out,
			      "{\"omitted\":\"this row alone has %zu bytes, more than any answer: "
			      "ask for less of it, such as fewer columns\"}",
			      n);
}

/* `whole` are the bytes besides rows of a page on which nothing is left out. */
static void put_rows(struct page *p, const struct query_answer *answer, size_t room, size_t whole)
{
	const struct query_answer_result *rows = &answer->results[PART_ROWS];
	uint64_t last = MIN((uint64_t)rows->n, p->from + rows_asked_for(p->call));
	struct buffer *out = &p->call->out;
	size_t used = 0;

	for (p->end = p->from; p->end < last; p->end++) {
		size_t begin = p->end ? rows->ends[p->end - 1] : 0;
		size_t n = rows->ends[p->end] - begin;
		bool first = p->end == p->from;

		if (used + n + 1 > room && !first)
			break;
		if (!first)
			buffer_byte(out, ',');
		if (used + n + 1 > room) {
			put_omitted(out, n, whole + MAX(n, (size_t)ROW_ALONE_BYTES) + 1);
			n = ROW_ALONE_BYTES;
		} else {
			buffer_append(out, rows->rows.p + begin, n);
		}
		used += n + 1;
	}
	p->more = p->end < rows->n;
}

/* Members, or that there is no room for them; how many bytes that were, about. */
static size_t put_optional(struct buffer *out, const struct buffer *members, const char *what,
			   size_t most, size_t fixed)
{
	if (members->n == 0)
		return 0;
	buffer_byte(out, ',');
	if (fixed + members->n + OMITTED_BYTES + ROW_ALONE_BYTES <= most) {
		buffer_slice(out, buffer_get(members));
		return members->n + 1;
	}
	buffer_printf(out, "\"%s_omitted\":\"%zu bytes: ask with more max_bytes\"", what,
		      members->n);
	return OMITTED_BYTES;
}

static void page_write(void *context, const struct query_answer *answer)
{
	struct page *p = context;
	struct buffer *out = &p->call->out;
	const struct query_answer_result *rest = &answer->results[PART_INCOMPLETE];
	size_t most = (size_t)p->call->max_bytes;
	const struct buffer *head = p->head;
	size_t fixed, whole;

	p->wrong = answer->result_n != PARTS;
	if (p->wrong)
		return;
	fixed = answer->tail.n + answer->results[PART_ROWS].head.n + rest->head.n + PAGE_OVERHEAD;
	whole = fixed + answer->results[PART_TAIL].head.n + (head ? head->n : 0);
	buffer_byte(out, '{');
	buffer_slice(out, buffer_get(&answer->tail));
	fixed += put_optional(out, &answer->results[PART_TAIL].head, "columns", most, fixed);
	if (head)
		fixed += put_optional(out, head, "overview", most, fixed);
	buffer_printf(out, ",\"%.*s\":[", SLICE_ARG(buffer_get(&answer->results[PART_ROWS].head)));
	put_rows(p, answer, most > fixed ? most - fixed : 0, whole + OMITTED_BYTES);
	buffer_printf(out, "],\"returned\":%llu,\"truncated\":%s",
		      (unsigned long long)(p->end - p->from),
		      p->more || rest->head.n ? "true" : "false");
	if (p->more)
		buffer_printf(out, ",\"next\":\"%s.%llu\"", p->id, (unsigned long long)p->end);
	if (!p->more && rest->head.n) {
		struct json_writer w = {.out = out, .comma = true};

		json_put_name(&w, "incomplete");
		json_put_string(&w, buffer_get(&rest->head));
	}
	buffer_byte(out, '}');
}

/* "tool:NAME:ID.123" of an earlier page of the same tool. */
static int page_turn(struct tool_call *call)
{
	struct page page = {.call = call};
	struct slice rest = call->cursor, id = slice_cut(&rest, '.');
	char name[ID_BYTES], prefix[ID_BYTES];
	int r = -ENOENT;

	prefix_put(call, prefix);
	snprintf(name, sizeof(name), "%.*s", SLICE_ARG(slice_first(id, sizeof(name) - 1)));
	page.id = name;
	if (slice_starts(id, slice_cstr(prefix)) && id.n < sizeof(name) && rest.p &&
	    slice_parse_u64(rest, &page.from) == 0)
		r = query_pages_read(call->house->pages, call->owner, id, page_write, &page);
	if (r < 0 || page.wrong)
		return tool_fail(call, -ENOENT,
				 "this cursor leads nowhere (any more: what was found is kept for "
				 "ten minutes): call %s again without it",
				 call->tool->name);
	return 0;
}

static int answer_begin(struct tool_call *call)
{
	for (int part = 0; part < PARTS; part++)
		if (!query_answer_begin(&call->answer))
			return tool_fail(call, -ENOMEM, "out of memory");
	buffer_text(&call->answer.results[PART_ROWS].head, call->tool->rows);
	return 0;
}

/* What every page says. */
static void answer_end(struct tool_call *call)
{
	struct query_answer *a = &call->answer;
	struct json_writer w = {.out = &a->tail};

	json_put_name(&w, "summary");
	json_put_cstr(&w, call->summary);
	json_put_name(&w, "total");
	json_put_u64(&w, MAX(call->total, (uint64_t)a->results[PART_ROWS].n));
	buffer_slice(&a->results[PART_TAIL].head, buffer_get(&call->tail));
	if (call->incomplete)
		buffer_slice(&a->results[PART_INCOMPLETE].head,
			     slice_first(slice_cstr(call->incomplete), INCOMPLETE_MOST));
	a->bytes += a->tail.n + call->tail.n + a->results[PART_INCOMPLETE].head.n;
}

static int answer_page(struct tool_call *call)
{
	char prefix[ID_BYTES], id[ID_BYTES + 32];
	uint64_t random[2];
	struct page page = {.call = call, .head = &call->head, .id = id};
	int r = 0;

	rng_secret(random, sizeof(random));
	prefix_put(call, prefix);
	snprintf(id, sizeof(id), "%s%016llx%016llx", prefix, (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	answer_end(call);
	page_write(&page, &call->answer);
	if (call->out.failed || call->head.failed || call->tail.failed ||
	    call->answer.tail.failed || call->answer.results[PART_TAIL].head.failed)
		r = -ENOMEM;
	else if (page.more)
		r = query_pages_keep(call->house->pages, call->owner, id, &call->answer);
	return r < 0 ? tool_fail(call, r, "the answer could not be kept: ask for less") : 0;
}

/* Texts for what a tool did not say itself. */
static void why_fill(struct tool_call *call, int r)
{
	if (call->why.n > 0)
		return;
	if (r == -ENOMEM)
		buffer_text(&call->why, "out of memory; try again later");
	else if (r == -ECANCELED)
		buffer_text(&call->why, "cancelled");
	else if (r == -ETIMEDOUT)
		buffer_text(&call->why,
			    "stopped after the time it may take: ask for less time, or with a "
			    "narrower condition");
	else
		buffer_printf(&call->why, "%s failed: %s", call->tool->name, strerror(-r));
}

static int answer(struct tool_call *call, struct slice arguments)
{
	char role[ROLES_TEXT_BYTES];
	int r;

	if (!roles_allow(call->roles, call->tool->role)) {
		roles_format(call->tool->role, role);
		return tool_fail(call, -EACCES, "%s's token lacks the role %s, which %s needs",
				 call->owner, role, call->tool->name);
	}
	if (arguments.n > TOOL_ARGUMENTS_MOST)
		return tool_fail(call, -EINVAL, "the arguments have more than %d bytes",
				 TOOL_ARGUMENTS_MOST);
	r = tool_arguments_read(call, arguments);
	if (r < 0)
		return r;
	if (call->cursor.p)
		return page_turn(call);
	r = answer_begin(call);
	if (r == 0)
		r = call->tool->run(call);
	return r < 0 ? r : answer_page(call);
}

int tool_run(struct tool_call *call, struct slice arguments)
{
	int r = answer(call, arguments);

	if (r == 0 && call->out.failed)
		r = -ENOMEM;
	if (r < 0)
		why_fill(call, r);
	return r;
}

void tool_call_done(struct tool_call *call)
{
	buffer_done(&call->out);
	buffer_done(&call->why);
	buffer_done(&call->head);
	buffer_done(&call->tail);
	buffer_done(&call->row);
	query_answer_done(&call->answer);
	arena_done(&call->arena);
}
