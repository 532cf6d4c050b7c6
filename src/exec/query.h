/* exec/query.h - the way in: a text of the language in, rows out.
 *
 *   query_prepare()   text → checked → plan → rewritten; diagnostics in either case
 *   query_run()       plan → rows, one result after the other, on all cores
 *   query_explain()   plan → text
 *
 * A text may hold several statements.  Each query without a name gives a result; if all have names,
 * the last one does; the others are there to be referred to.
 *
 * A prepared query is read only: any number of threads may run it. */
#ifndef CAUSET_EXEC_QUERY_H
#define CAUSET_EXEC_QUERY_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/error.h"
#include "exec/value.h"
#include "lang/check.h"
#include "lang/plan.h"
#include "store/view.h"

/* Rules of the optimiser, each of which can be left out: answers stay the same. */
enum query_rule {
	RULE_PROJECTION = 1 << 0,  /* Table 3: Π through the happened-before join; dead columns */
	RULE_SELECTION = 1 << 1,   /* Table 3: σ through the happened-before join, into sources */
	RULE_AGGREGATION = 1 << 2, /* Table 3: A and GA through it, on either side */
	RULE_TOP_N = 1 << 3,       /* Limit behind OrderBy keeps so many rows */
	RULE_PRUNE = 1 << 4,       /* traces without a possible member are not looked at */
	RULE_COLUMNS = 1 << 5,     /* the column path, and light views of traces */
	RULE_TOTALS = 1 << 6,      /* whole segments by their totals */
	RULES_ALL = (1 << 7) - 1
};

#define QUERY_DEFAULT_MEMORY ((size_t)1 << 30)
#define QUERY_DEFAULT_TIME   (60 * 1000000000LL)
#define QUERY_PROMPT_NS      (100 * 1000000LL) /* what is done by then is a light query */

struct query_prepare {
	struct slice text;
	enum lang_dialect dialect;
	struct check_options check; /* names of the catalogue, what `Over range` is relative to */
	unsigned rules_off;         /* of enum query_rule */
};

struct query;

/* 0, or -EINVAL when the text is wrong: diagnostics say what; they are filled in any case and lie
 * in the caller's arena.  -ENOMEM. */
int query_prepare(const struct query_prepare *prepare, struct diags *diags,
		  struct query **ret_query);

/* NULL-safe; returns NULL. */
struct query *query_free(struct query *q);

static inline void query_freep(struct query **q)
{
	query_free(*q);
}

/* How many results it gives; the plan of one. */
size_t query_results(const struct query *q);
const struct plan *query_plan(const struct query *q, size_t result);

struct query_column {
	struct slice name;
	enum plan_type type; /* PLAN_ANY: each value says */
	bool series;         /* belongs to a series: rows come in order of `time` by group */
};

/* What was wrong, or is to be known about the answer: codes as lang/diag.h has them. */
struct query_warning {
	enum diag_code code;
	char text[200];
};

#define QUERY_MAX_WARNINGS 8

struct query_stats {
	uint64_t traces, rows;             /* looked at */
	uint64_t traces_pruned;            /* ruled out without being looked at */
	uint64_t segments, segments_total; /* so far; for progress */
	uint64_t tuples_packed;            /* happened-before joins: what live would have carried */
	uint64_t rows_out;
	size_t memory_peak;
	bool estimated; /* some trace looked at stands for more than itself */
	bool truncated; /* the limit of rows was reached: there are more */
	struct query_warning warnings[QUERY_MAX_WARNINGS];
	size_t warning_n;
};

/* A file that came with a query. */
struct query_file {
	struct slice name, bytes;
};

struct query_run {
	const struct snapshot *snapshot;
	/* Only these traces are looked at, by whoever knows that no other can answer; NULL: all.
	 * For queries whose rows are those of single traces. */
	const struct trace_id *only;
	size_t only_n;
	/* With `only` and one thread: each trace that is looked at by its rows, before it is, with
	 * all of them; they are good during the call.  Anything but 0 ends the run and is returned.
	 * May be NULL. */
	int (*trace)(void *context, struct trace_id id, const struct event_ref *refs, size_t n);
	int64_t now_ns;          /* wall clock: what `last 1h` and rates are relative to */
	struct plan_range range; /* where the text says none; 0, 0: everything */
	int64_t step_ns;         /* of series where the text says none; 0: a good one is chosen */

	/* compare() gives, instead of shares and what follows from them, the spans of the selection
	 * and of the rest at each step: attribute, value, how many, how many, when. */
	bool compare_steps;

	unsigned threads;    /* 0: as many as there are cores */
	size_t memory_bytes; /* 0: QUERY_DEFAULT_MEMORY */
	int64_t time_ns;     /* of the wall; 0: QUERY_DEFAULT_TIME */
	uint64_t rows_most;  /* of each result; 0: no limit */
	/* What csv("…") reads, by name; then, */
	const struct query_file *sent;
	size_t sent_n;
	bool files;           /* files of this machine, if it may */
	const char *files_at; /* relative names are below this folder; NULL: the current one */
	const _Atomic bool *cancel; /* set by another thread; may be NULL */
	/* Unless the calling thread holds a leash (base/leash.h): after QUERY_PROMPT_NS its
	 * threads, the calling one included, have the least priority there is, for good:
	 * budget_give_way().
	 */
	bool gives_way;

	/* Called on the thread that called query_run(), in this order for each result.  Anything
	 * but 0 ends the run and is returned. */
	int (*begin)(void *context, size_t result, struct slice name,
		     const struct query_column *columns, size_t n);
	/* `plus_minus` is NULL, or has for each value half the width of its 95 % interval; 0 where
	 * it is exact.  Good during the call. */
	int (*row)(void *context, const struct value *values, const double *plus_minus, size_t n);
	/* About every 100 ms; may be NULL. */
	int (*progress)(void *context, const struct query_stats *stats);
	void *context;
};

/* 0, what a callback returned, or
 *   -ECANCELED  cancelled
 *   -ETIMEDOUT  over its time          the error says what to change
 *   -ENOSPC     over its memory        likewise
 *   -EPERM      a file, where files are not allowed
 *   -EINVAL     can only be seen when it runs: a CSV file without the column
 *   -ENOMEM, -EBADMSG (a damaged segment), others from the store.
 * Statistics are filled in any case. */
int query_run(const struct query *q, const struct query_run *run, struct query_stats *ret_stats,
	      struct error *error);

/* The plan of each result as text; with `live`, the advice for each tracepoint and what cannot run
 * live, with the cheapest legal rewrite.  -ENOMEM. */
int query_explain(const struct query *q, bool live, struct buffer *out);

#endif
