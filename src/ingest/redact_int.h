/* ingest/redact_int.h - compiled rules: made by redact.c, applied by redact_batch.c. */
#ifndef CAUSET_INGEST_REDACT_INT_H
#define CAUSET_INGEST_REDACT_INT_H

#include <regex.h>
#include <stdatomic.h>

#include "catalog/redact_rule.h"
#include "ingest/redact.h"

struct redact_compiled {
	char *owner, *key;
	bool has_value;
	regex_t value; /* compiled when has_value */
	enum redact_action action;
	enum redact_level level;
};

/* Immutable once made; shared by reference count. */
struct redact_rules {
	_Atomic uint32_t refs;
	struct redact_compiled *rules;
	size_t n, capacity;
	uint8_t secret[CATALOG_SECRET_BYTES];
};

/* The batch without what the rules forbid, unsealed, in *ret_batch; or NULL there when they forbid
 * nothing in it. */
int redact_rules_apply(const struct redact_rules *rules, const struct batch *from,
		       struct batch **ret_batch, struct redact_count *count);

#endif
