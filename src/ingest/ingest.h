/* ingest/ingest.h - the way in: a request's body becomes a batch, is redacted, and goes to the
 * store.
 *
 * Acknowledged means that the store has it, as durable as its engine promises.  Over the limit is
 * an honest retryable answer.  Nothing is dropped silently: every row that is not kept is counted
 * by cause and told to the sender where its protocol has a place for it. */
#ifndef CAUSET_INGEST_INGEST_H
#define CAUSET_INGEST_INGEST_H

#include <stdatomic.h>

#include "catalog/catalog.h"
#include "http/request.h"
#include "store/store.h"

struct ingest;

/* What is posted.  The form (protobuf, JSON) is told by the content type. */
enum ingest_kind {
	INGEST_TRACES,  /* OTLP */
	INGEST_LOGS,    /* OTLP: records of a trace become its points */
	INGEST_METRICS, /* OTLP: refused by partial_success, so that a collector's pipeline goes on
			 */
	INGEST_EVENTS,  /* docs/format/events.proto */
	INGEST_ZIPKIN,
	INGEST_KINDS
};

struct ingest_options {
	struct store *store;     /* both must outlive it */
	struct catalog *catalog; /* for redaction rules; NULL: none */
	int64_t repeat_ns;       /* how long a body is remembered; 0: not at all */
	/* Answers a failure in the form this client reads; called at most once per request. */
	void (*fail)(struct http_request *req, int status, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
};

/* Only ever added to.  Any thread. */
struct ingest_counters {
	struct {
		_Atomic uint64_t requests;
		_Atomic uint64_t bytes;     /* decompressed */
		_Atomic uint64_t accepted;  /* spans, log records, events */
		_Atomic uint64_t rejected;  /* the same, refused one by one */
		_Atomic uint64_t malformed; /* requests that could not be read */
		_Atomic uint64_t
			repeated;         /* requests seen before: acknowledged, not stored again */
		_Atomic uint64_t refused; /* requests the store had no room for */
		_Atomic uint64_t failed;  /* requests the store could not keep */
	} kinds[INGEST_KINDS];
	_Atomic uint64_t sampled_out; /* events of traces the second sampling does not keep */
	_Atomic uint64_t attributes_dropped, attributes_hashed; /* by redaction rules */
};

int ingest_open(const struct ingest_options *options, struct ingest **ret_ingest,
		struct error *error);
struct ingest *ingest_close(struct ingest *ingest);

/* Takes a request's body and answers the request, now or when the store has acknowledged.  `owner`
 * is whose it is; copied.  On the request's loop thread. */
void ingest_take(struct ingest *ingest, struct http_request *req, const char *owner,
		 enum ingest_kind kind);

/* Gives memory back that a rush of requests has left behind: for a quiet moment. */
void ingest_tidy(struct ingest *ingest);

const struct ingest_counters *ingest_counters(const struct ingest *ingest);

/* "traces", for a metric's label. */
const char *ingest_kind_name(enum ingest_kind kind);

#endif
