/* ingest/redact_int.h - compiled rules: made by redact.c, matched by redact_match.c, applied by
 * redact_batch.c. */
#ifndef CAUSET_INGEST_REDACT_INT_H
#define CAUSET_INGEST_REDACT_INT_H

#include <regex.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buffer.h"
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

/* The rules at work on one batch.  One thread. */
struct redact_match {
	const struct redact_rules *rules;
	const struct batch *from;
	struct arena arena; /* of the tables below */
	bool *active;       /* per rule: it is for this batch's owner */
	uint8_t *keys;      /* what is known per level and key code */
	uint8_t **values;   /* per rule with a pattern: what is known per string code, or NULL */
	struct buffer path; /* dotted, of the value at hand; whoever descends appends to it */
	struct buffer scratch;
};

/* 1: some rule is for this owner; 0: none; -ENOMEM.  Needs redact_match_done() in any case. */
int redact_match_init(struct redact_match *m, const struct redact_rules *rules,
		      const struct batch *from);
void redact_match_done(struct redact_match *m);

/* Could a rule match anything in the batch?  True when in doubt: nested values are left to whoever
 * descends into them. */
bool redact_match_any(struct redact_match *m);

/* Could a rule match this attribute, or something nested in it?  By its key alone. */
bool redact_match_key(struct redact_match *m, const struct attr *a, enum redact_level level);

/* The rule for the value at m->path, or NULL.  Means nothing after m->path has failed. */
const struct redact_compiled *redact_match_find(struct redact_match *m, const struct attr *a,
						enum redact_level level);

/* The rule for a log's body.  It has no key: "body" stands for it, and the pairs of one that is a
 * list have their own; so an undecoded body could hold what any rule is about. */
const struct redact_compiled *redact_match_find_body(struct redact_match *m,
						     const struct attr *body);

static inline void redact_match_path(struct redact_match *m, struct slice text)
{
	buffer_clear(&m->path);
	buffer_slice(&m->path, text);
}

static inline bool redact_nested(const struct attr *a)
{
	return a->type == VALUE_ARRAY || a->type == VALUE_KVLIST;
}

static inline bool redact_undecoded(const struct attr *a)
{
	return a->type == VALUE_RAW || a->type == VALUE_RAW_PAIR;
}

#define REDACT_SCALAR_CHARS 40

/* Text of a single value, for patterns and for hashing.  Numbers are written into `scalar`. */
struct slice redact_value_text(const struct batch *b, const struct attr *a,
			       char scalar[REDACT_SCALAR_CHARS]);

/* The batch without what the rules forbid, unsealed, in *ret_batch; or NULL there when they forbid
 * nothing in it. */
int redact_rules_apply(const struct redact_rules *rules, const struct batch *from,
		       struct batch **ret_batch, struct redact_count *count);

#endif
