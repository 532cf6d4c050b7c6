/* api/tool.h - questions that a program with little room asks: a language model, or a script.
 *
 * A tool takes a flat JSON object, checked against its table of parameters, and answers one JSON
 * object that never has more bytes than were asked for:
 *
 *   {"summary":"…", …, "spans":[…], "returned":20, "total":5312, "truncated":true, "next":"…"}
 *
 * What does not fit is kept for a while (api/query_pages.h) and read with `cursor`: pages are of
 * one moment, and turning one runs nothing again.  Tools only read.  They know neither HTTP nor
 * MCP: api/tool_post.c, api/mcp.c and `causet mcp` call them alike. */
#ifndef CAUSET_API_TOOL_H
#define CAUSET_API_TOOL_H

#include <stdatomic.h>

#include "api/query_pages.h"
#include "base/arena.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "catalog/role.h"
#include "store/store.h"
#include "wire/json_writer.h"

#define TOOL_ARGUMENTS_MOST 262144            /* bytes of one call's arguments */
#define TOOL_BYTES          16384             /* of an answer when nobody says */
#define TOOL_BYTES_LEAST    2048              /* what may be asked for */
#define TOOL_BYTES_MOST     1048576           /* … */
#define TOOL_ROWS_MOST      10000             /* rows of one answer, all its pages together */
#define TOOL_KEPT_MOST      ((size_t)8 << 20) /* bytes of them */
#define TOOL_TEXT_MOST      400               /* bytes of one text in a row */
#define TOOL_PARAMS_MOST    14
#define TOOL_TEXTS_MOST     64 /* of one list */
#define TOOL_SUMMARY_BYTES  400

enum tool_type {
	TOOL_TEXT = 1,
	TOOL_TEXTS, /* an array of them, or one */
	TOOL_NUMBER,
	TOOL_FLAG,
	TOOL_CHOICE,
	TOOL_MOMENT,   /* RFC 3339, a number since 1970, or "-1h" */
	TOOL_DURATION, /* "250ms" */
	TOOL_TRACE,    /* hex digits, or a traceparent */
	TOOL_SPAN,
};

struct tool_param {
	const char *name; /* NULL: the end */
	enum tool_type type;
	const char *doc;
	bool required;
	int64_t fallback, least, most; /* of a number */
	const char *const *choices;    /* NULL-terminated; the first is the fallback */
};

struct tool_call;

struct tool {
	const char *name, *title, *doc;
	enum role role;
	const char *rows; /* what the list of its answers is called */
	struct tool_param params[TOOL_PARAMS_MOST];
	/* 0, or a negative errno after tool_fail(). */
	int (*run)(struct tool_call *call);
};

/* Ends with a row without a name. */
extern const struct tool tools[];

/* The tool of that name, or NULL with the nearest known one in *ret_near (or NULL). */
const struct tool *tool_find(struct slice name, const char **ret_near);

/* What every call of one server, or of one program, looks at.  Borrowed. */
struct tool_house {
	struct store *store;
	struct catalog *catalog; /* NULL: there is none, or */
	const char *catalog_why; /* … why it cannot be read */
	struct query_pages *pages;
	int64_t time_ns; /* of a query; 0: exec's own */
	size_t memory_bytes;
};

struct tool_value {
	bool given;
	struct slice text;
	struct slice *texts;
	size_t text_n;
	int64_t number; /* TOOL_CHOICE: which */
	bool flag;
	struct trace_id trace;
	uint64_t span;
};

/* One call on its way.  One thread. */
struct tool_call {
	const struct tool_house *house;
	const struct tool *tool;
	const char *owner;
	unsigned roles;
	const _Atomic bool *cancel; /* may be NULL */
	int64_t now_ns;

	struct buffer out; /* the answer: a JSON object */
	struct buffer why; /* after a failure: a sentence that names the way out */

	/* For the tool. */
	struct arena arena;
	struct tool_value values[TOOL_PARAMS_MOST];
	struct buffer head; /* members of the first page alone: `"a":1,"b":2`; by tool_head() */
	struct buffer tail; /* members of every page */
	char summary[TOOL_SUMMARY_BYTES];
	uint64_t total;         /* rows there are; 0: as many as were put */
	const char *incomplete; /* why there are more than `total`, and what to ask instead */
	struct json_writer w;   /* of the row at hand */

	/* tool.c's own. */
	struct buffer row;
	struct query_answer answer;
	int64_t max_bytes;
	struct slice cursor;
};

/* Answers: call->out, or a negative errno and call->why.  The caller has set house, tool, owner,
 * roles, cancel and now_ns, and frees with tool_call_done() in any case.
 *   -EINVAL the arguments, -ENOENT not there (or a cursor not any more), -EACCES the role,
 *   -ECANCELED, -ETIMEDOUT, -ENOSPC over its memory, -E2BIG, -EOPNOTSUPP, -ENOMEM, others. */
int tool_run(struct tool_call *call, struct slice arguments);
void tool_call_done(struct tool_call *call);

/* {"type":"object","properties":…}: what the arguments must be, and what answers are. */
void tool_input_schema(const struct tool *tool, struct json_writer *w);
void tool_output_schema(const struct tool *tool, struct json_writer *w);

/* --- for tools --- */

/* Keeps the sentence and returns `code`. */
int tool_fail(struct tool_call *call, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The argument of that name; never NULL. */
const struct tool_value *tool_value(const struct tool_call *call, const char *name);

/* [start, end) of the arguments; 0: no bound.  -EINVAL when they are the wrong way round. */
int tool_window(struct tool_call *call, int64_t *ret_from_ns, int64_t *ret_to_ns);

/* Begins a row, an object; its members go to call->w.  tool_row_end() gives 0, 1 when no further
 * row will be kept (call->incomplete is then set unless it was), or -ENOMEM. */
void tool_row(struct tool_call *call);
int tool_row_end(struct tool_call *call);

/* A writer for members of the first page. */
struct json_writer tool_head(struct tool_call *call);

bool tool_cancelled(const struct tool_call *call);

/* Members.  Texts longer than TOOL_TEXT_MOST are cut and say so. */
void tool_put_text(struct json_writer *w, const char *name, struct slice text);
void tool_put_cut(struct json_writer *w, struct slice text, size_t most);
void tool_put_count(struct json_writer *w, const char *name, uint64_t n);
void tool_put_flag(struct json_writer *w, const char *name); /* true */
void tool_put_ms(struct json_writer *w, const char *name, int64_t ns);
void tool_put_time(struct json_writer *w, const char *name, int64_t ns);
void tool_put_trace(struct json_writer *w, const char *name, struct trace_id id);
void tool_put_span(struct json_writer *w, const char *name, uint64_t id);

#endif
