/* store/store.h - where batches go and answers come from, whatever keeps them.
 *
 * One interface, several engines: the plain one in memory (store/memory.h), which stays as the
 * reference the others are tested against.  Any thread may call anything here; what a reader gets
 * is its own snapshot and does not change under it. */
#ifndef CAUSET_STORE_STORE_H
#define CAUSET_STORE_STORE_H

#include "model/event_set.h"

struct store;

/* How far a named reader of the feed has come: it has seen everything up to `seq`. */
struct store_cursor {
	struct slice name; /* 1 to 64 of A-Z a-z 0-9 . _ - */
	uint64_t seq;      /* STORE_CURSOR_GONE: forget it */
};

#define STORE_CURSOR_GONE UINT64_MAX

/* One batch on its way in.  The caller owns this record and keeps it until `done` is called:
 * exactly once, on any thread, perhaps before store_append() returns. */
struct store_append {
	struct batch *batch; /* sealed; the reference goes to the store.  NULL: only cursors */
	/* What makes the request the same request (store_hash_seed()): kept with the batch, so that
	 * it is known after a restart too. */
	uint8_t body_hash[16];
	bool has_body_hash;
	/* Committed in one step with the batch; borrowed until `done`. */
	const struct store_cursor *cursors;
	size_t cursor_n;
	/* 0: acknowledged, as durable as the engine promises.  -ENOBUFS: full, try later.  Other
	 * negative errno: could not be kept, try again later. */
	void (*done)(struct store_append *append, int result);

	/* The engine's, from store_append() to `done`. */
	struct store_append *next;
	struct run_list *runs;
	uint64_t seq, checksum;
	size_t bytes;
};

/* Distinct strings that one batch may have: a segment has an end, and a batch is in one.  -E2BIG.
 */
#define STORE_BATCH_STRINGS ((size_t)4 << 20)

void store_append(struct store *s, struct store_append *append);

typedef void store_recent_fn(void *context, const uint8_t body_hash[16], int64_t received_ns);

/* Calls `each` for the body hash of every batch that was kept at `since_ns` (wall clock) or later,
 * in this run or an earlier one, as far as the engine remembers. */
int store_recent(struct store *s, int64_t since_ns, store_recent_fn *each, void *context);

/* Body hashes are made with this seed: drawn at random for a new store, the same after a restart as
 * long as it remembers hashes. */
uint64_t store_hash_seed(struct store *s);

#define STORE_TRACE_ROWS ((size_t)2 << 20) /* events of a trace that may be asked for at once */

/* Every event of one trace.  -ENOENT when there is none, -E2BIG when there are too many: read it in
 * parts; -ENOMEM. */
int store_trace(struct store *s, struct trace_id id, struct event_set *ret_set);

/* The same a part at a time, for a trace of any size: what is in memory does not depend on it.  All
 * parts are of the moment when the first was asked for.  One thread at a time. */
struct store_parts {
	struct store *store;
	struct trace_id id;
	uint64_t skip; /* rows to be left out first; set before the first is asked for */
	void *inside;  /* the engine's */
};

void store_parts_init(struct store_parts *p, struct store *s, struct trace_id id);
void store_parts_done(struct store_parts *p);

/* 1 and some rows (event_set_done()), in order of arrival; about `most` of them, at least one.  0
 * behind the last; a trace that is not there has none.  Negative errno. */
int store_parts_next(struct store_parts *p, size_t most, struct event_set *ret_set);

/* Ties are settled by newer starts, then by smaller ids, so an order is the same every time. */
enum store_order { STORE_NEWEST, STORE_SLOWEST };

/* What a search asks for; an empty or zero field asks nothing. */
struct store_query {
	struct slice service;   /* some span has this service … */
	bool unnamed;           /* … or none: it was not said, or is empty … */
	struct slice operation; /* … and this name (the same span) */
	struct slice owner;
	const struct store_tag {
		struct slice key,
			value; /* the same span has it, on itself or its resource, as text */
	} * tags;
	size_t tag_n;
	/* … and takes so long, by its own row; 0: no bound. */
	int64_t span_min_ns, span_max_ns;
	bool errors;             /* some span failed */
	int64_t min_duration_ns; /* of the trace; 0: no bound */
	int64_t max_duration_ns;
	int64_t from_ns, to_ns; /* the trace starts in [from, to); 0: no bound */
	/* Only traces in part `part` of `parts`, by a hash of their ids: the parts are disjoint,
	 * about equal, and together everything.  parts 0: all. */
	uint32_t part, parts;
	size_t limit; /* 0: 20 */
	/* Of what is found only id, start and duration are wanted; the rest may be left out. */
	bool keys;
	enum store_order order;
	/* Keyset paging: only traces that sort behind this one. */
	bool after;
	int64_t after_start_ns, after_duration_ns;
	struct trace_id after_id;
};

/* Is the trace in the part that the query asks for?  The hash has nothing to do with those that
 * traces are sampled by, so parts are equal among sampled traces, too. */
static inline bool store_query_has_part(const struct store_query *q, struct trace_id id)
{
	uint64_t hash;

	if (q->parts <= 1)
		return true;
	hash = (load_be64(id.b) ^ load_be64(id.b + 8) * 0x9e3779b97f4a7c15ULL) *
	       0xd6e8feb86659fd93ULL;
	return (hash >> 32) % q->parts == q->part;
}

/* One trace of a search's answer.  Texts lie in the answer's arena. */
struct trace_summary {
	struct trace_id id;
	struct slice root_service,
		root_name;                  /* of the earliest span without a parent in the trace */
	int64_t start_ns, duration_ns;      /* of all spans; raw times */
	uint64_t spans, errors, unfinished; /* of a trace of more than 131,072 events, what came
					       again is counted again */
	struct slice *services;             /* sorted */
	size_t service_n;
};

struct trace_list {
	struct trace_summary *rows; /* in the order of the query */
	size_t n;
	bool more; /* there are further rows behind the last */
	struct arena *arena;
};

/* Searches.  The answer must be given back with trace_list_done().  -ENOMEM. */
int store_find(struct store *s, const struct store_query *query, struct trace_list *ret_list);
void trace_list_done(struct trace_list *list);

struct service_summary {
	struct slice name;
	uint64_t spans, errors;
	struct slice *operations; /* sorted */
	uint32_t *kinds;          /* of each: a bit for every enum span_kind its spans have */
	size_t operation_n;
};

struct service_list {
	struct service_summary *rows; /* sorted by name */
	size_t n;
	struct arena *arena;
};

int store_services(struct store *s, struct service_list *ret_list);
void service_list_done(struct service_list *list);

/* What one operation of one service costs.  Spans are counted as they are stored, not weighted by
 * how they were sampled. */
struct operation_summary {
	struct slice service, name;
	uint64_t spans, errors;
	/* Of the spans that have ended; wrong by at most one part in 64 (store/octaves.h). */
	uint64_t p50_ns, p90_ns, p99_ns;
	uint64_t max_ns;
};

struct operation_list {
	struct operation_summary *rows; /* sorted by service, then by name */
	size_t n;
	struct arena *arena;
};

int store_operations(struct store *s, struct operation_list *ret_list);
void operation_list_done(struct operation_list *list);

/* One span as store_spans() shows it.  Texts are good during the call. */
struct span_seen {
	struct trace_id trace_id;
	span_id_t id;
	struct slice service, name;
	uint64_t time_ns, duration_ns; /* raw; the duration of a span that has ended */
	bool ended;
	int32_t kind, status; /* enum span_kind, enum span_status; others as they came */
	/* Of its parent, where the trace has it.  The server's side of an id that both sides have
	 * (Zipkin) has the client's side as its parent. */
	bool has_parent;
	struct slice parent_service;
	int32_t parent_kind;
	uint64_t parent_duration_ns;
	size_t parent; /* where it is among the spans of its trace, if has_parent */

	span_id_t parent_id; /* as it came; 0: none */
	bool shared;         /* the server's side of an id that both sides have */
	uint8_t format;      /* enum event_format */
	uint16_t bits;       /* enum event_bits */
	/* The first text of each of the walk's keys, p is NULL where there is none. */
	const struct slice *texts;
};

#define WALK_KEYS_MOST 16

struct store_walk {
	int64_t from_ns, to_ns; /* traces that start in [from, to); 0: no bound */
	/* Attributes of spans that are wanted, at most WALK_KEYS_MOST. */
	const struct slice *keys;
	size_t key_n;
	/* One of both; anything but 0 ends the walk and is returned.  The spans of a trace come by
	 * id, the caller's side first. */
	int (*span)(void *context, const struct span_seen *span);
	int (*trace)(void *context, const struct span_seen *spans, size_t n);
	void *context;
};

/* Shows every span of the traces in a window once, however often it came, in any order.  A call
 * takes as long as there is data in the window: for workers. */
int store_spans(struct store *s, const struct store_walk *walk);

/* Everything there is, of one moment, in pages that do not depend on how much it is.  A trace is in
 * one page, whole, unless it is a giant: those come last, each in pages one behind the other.  One
 * thread at a time. */
struct store_bulk {
	struct store *store;
	void *inside;
};

void store_bulk_init(struct store_bulk *bulk, struct store *s);
void store_bulk_done(struct store_bulk *bulk);

/* 1 and some rows (event_set_done()); 0 behind the last; a negative errno. */
int store_bulk_next(struct store_bulk *bulk, struct event_set *ret_set);

/* Everything there is at once, for small stores.  In the order of arrival as far as the engine
 * still knows it; the rows of a trace are in any case.  -E2BIG when it is too much to be held at
 * once: read the feed instead. */
int store_all(struct store *s, struct event_set *ret_set);

/* --- the feed: everything that was acknowledged, once, to whoever needs to see all of it --- */

/* A reader of the feed.  One thread at a time. */
struct store_feed {
	struct store *store;
	uint64_t cursor; /* everything up to this batch has been given */
	void *inside;    /* the engine's, in the middle of something */
};

/* What comes next. */
struct feed_page {
	struct event_set set;
	/* Commit this together with what was made of the rows.  In the middle of a segment it is
	 * the same as before: reading again from there gives these rows again. */
	uint64_t cursor;
	/* Some of the rows may have been given before the cursor: the store no longer knows which
	 * batch they came in.  Rows say who they are; take them as updates. */
	bool again;
};

/* The number of the newest batch that was acknowledged: a feed that begins here gives what comes
 * from now on. */
uint64_t store_feed_end(struct store *s);

/* Begins behind a cursor: 0 is everything there is. */
void store_feed_init(struct store_feed *f, struct store *s, uint64_t after);
void store_feed_done(struct store_feed *f);

/* 1 and some rows (event_set_done()), in the order of batches or, from segments, of traces; 0 when
 * there is nothing more at the moment; a negative errno. */
int store_feed_next(struct store_feed *f, struct feed_page *ret_page);

/* Commits cursors (with what else is waiting, in one sync) and returns when that is durable.  To
 * commit in one step with a batch, give them along with it: store_append. */
int store_commit(struct store *s, const struct store_cursor *cursors, size_t n);

/* Where a named cursor stands.  -ENOENT. */
int store_cursor_get(struct store *s, struct slice name, uint64_t *ret_seq);

/* Why an append was refused. */
enum store_refusal {
	REFUSED_MEMORY, /* too much that is not in segments yet */
	REFUSED_QUEUE,  /* too much waits for the log */
	REFUSED_DISK,   /* the disk is full, or fails */
	STORE_REFUSALS
};

const char *store_refusal_name(enum store_refusal refusal);

/* What became of the traces that compaction has looked at under a rule for thinning. */
enum thinned {
	THINNED_ERROR,     /* stays: it failed, */
	THINNED_SLOW,      /* it was slow for its operation, */
	THINNED_RARE,      /* its shape is rare, */
	THINNED_CHOSEN,    /* it has a chosen attribute, */
	THINNED_SAMPLED,   /* it is in the share of the rest; */
	THINNED_UNTOUCHED, /* it is not whole in the segments at hand, or too large to judge */
	THINNED_DROPPED,
	THIN_FATES
};

const char *thinned_name(enum thinned fate);

struct store_stats {
	/* What there is.  Numbers of traces count a trace once for each part of the store it has a
	 * piece in. */
	uint64_t batches, events, spans, traces;
	uint64_t bytes, bytes_limit;      /* of memory */
	uint64_t refused[STORE_REFUSALS]; /* appends */

	/* Of an engine with a disk. */
	bool durable;
	uint64_t segments, segment_bytes; /* bytes of their files */
	uint64_t log_files, log_bytes;    /* live */
	uint64_t log_records, log_written_bytes, log_syncs, log_failures;
	uint64_t flushes, flush_failures, flushed_events, flushed_bytes;
	uint64_t compactions, compaction_failures, compacted_events, compacted_bytes;
	uint64_t removed_segments, removed_events, removed_bytes; /* by retention */
	uint64_t damaged;             /* files or blocks that could not be read */
	uint64_t thinned[THIN_FATES]; /* traces */
};

struct store_stats store_stats(struct store *s);

/* NULL-safe; returns NULL.  No call may be under way. */
struct store *store_close(struct store *s);

#endif
