/* ingest/forms.h - the forms each kind of request may come in, in one table. */
#ifndef CAUSET_INGEST_FORMS_H
#define CAUSET_INGEST_FORMS_H

#include "ingest/ingest.h"
#include "wire/decode.h"

struct ingest_form {
	enum ingest_kind kind;
	const char *content_type; /* as we name it */
	bool protobuf;
	unsigned shrink; /* how many times larger than protobuf: for guessing sizes */
	int (*decode)(struct slice bytes, struct batch *batch, struct decode_tally *tally,
		      struct error *error);
};

/* The form of a request by its content type (gRPC is protobuf); NULL when it has none of ours. */
const struct ingest_form *ingest_form_find(enum ingest_kind kind, const struct http_request *req);

/* "application/x-protobuf or application/json" */
const char *ingest_form_types(enum ingest_kind kind);

#endif
