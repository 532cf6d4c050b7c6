/* ingest/receipt.h - the answer to a request that was taken: what was kept, and what was not. */
#ifndef CAUSET_INGEST_RECEIPT_H
#define CAUSET_INGEST_RECEIPT_H

#include "ingest/forms.h"

/* OTLP and native: Export…Response with partial_success where rows were rejected, in the request's
 * own form.  Zipkin: 202. */
void receipt_give(struct http_request *req, enum ingest_kind kind, const struct ingest_form *form,
		  const struct decode_tally *tally);

#endif
