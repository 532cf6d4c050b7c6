/* ingest/redact.h - attributes that must not be stored are dropped or hashed before anything is.
 *
 * The catalogue's redaction rules (catalog/redact_rule.h), compiled, applied to what a decoder made
 * of a request.  Afterwards the batch does not hold the text of what was redacted: not in an
 * attribute, not in its dictionary, not in what decoding left behind. */
#ifndef CAUSET_INGEST_REDACT_H
#define CAUSET_INGEST_REDACT_H

#include "catalog/catalog.h"
#include "model/batch.h"

/* What a hashed value becomes: "causet:hash:" and 16 hex digits of HMAC-SHA256 under the
 * catalogue's secret.  Equal values of any key and owner give equal hashes, so they can still be
 * joined and counted; a number hashes like its decimal text. */
#define REDACT_HASH_PREFIX "causet:hash:"

struct redact_count {
	uint64_t dropped, hashed; /* values: an array's elements count one by one */
};

/* Follows the catalogue: a rule added or removed, here or by another process, counts for batches
 * about CATALOG_POLL_NS later.  Any thread, internally locked. */
struct redact;

/* Compiles the rules; the catalogue must outlive it.  Fails rather than start with fewer rules than
 * there are. */
int redact_new(struct catalog *cat, struct redact **ret_redact, struct error *e);
struct redact *redact_free(struct redact *r);

static inline void redact_freep(struct redact **r)
{
	redact_free(*r);
}

/* Applies the rules for the batch's owner (batch->owner must be set) to every attribute: of
 * resources, scopes, spans, points, links, logs and other events, of values nested in them (by
 * dotted path: "user.address.zip"), and to log bodies (key "body"; a body that is a list of pairs
 * also by their own keys).  Where something is redacted *batch is replaced by a new, unsealed one
 * and the old is released; otherwise it is not touched, sealed or not.  Without rules this is one
 * comparison.
 *
 * What the batch keeps as undecoded protobuf (values with fields we do not know) is redacted whole
 * when a rule could concern something in it.
 *
 * Adds to *count (may be NULL).  On a negative errno (-ENOMEM, -E2BIG) *batch is as it was and must
 * not be stored. */
int redact_batch(struct redact *r, struct batch **batch, struct redact_count *count);

#endif
