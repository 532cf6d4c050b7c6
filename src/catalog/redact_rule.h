/* catalog/redact_rule.h - which attributes must not be stored as they came.
 *
 * A rule names owners and keys by glob (core/glob.h), optionally values by a POSIX extended regular
 * expression, and says what happens to an attribute that matches all of them.  Rules are tried in
 * order of making; the first that matches decides.  Applying them is ingest/redact.c. */
#ifndef CAUSET_CATALOG_REDACT_RULE_H
#define CAUSET_CATALOG_REDACT_RULE_H

#include <regex.h>

#include "catalog/catalog.h"
#include "core/slice.h"

#define REDACT_MAX_RULES         1000
#define REDACT_MAX_GLOB_CHARS    256
#define REDACT_MAX_PATTERN_CHARS 1024

enum redact_action {
	REDACT_DROP = 1, /* the attribute is not stored */
	REDACT_HASH = 2, /* its value is replaced by a keyed hash: equal stays equal */
};

/* Where the attribute stands. */
enum redact_level {
	REDACT_ANY = 0,
	REDACT_RESOURCE = 1,
	REDACT_SCOPE = 2,
	REDACT_BLOCK = 3, /* spans, and with them their events and links */
};

struct redact_rule {
	int64_t id;
	const char *owner; /* glob; "*" is everybody */
	const char *key;   /* glob over the key, dotted for nested values: "user.address.*" */
	const char *value; /* regular expression found anywhere in the value's text, or NULL: any */
	enum redact_action action;
	enum redact_level level;
	int64_t created_ns;
};

/* Compiles a value pattern.  It sees bytes, whatever the process's locale: text that is not UTF-8
 * must not slip past a `.`.  For regfree().  -EINVAL with the reason, -ENOMEM. */
int redact_pattern_compile(const char *pattern, regex_t *ret_compiled, struct error *e);

/* Is the rule one that could be added?  -EINVAL with the reason: empty or too long globs, a pattern
 * that is no regular expression (the position is named by what regcomp says), one with
 * back-references (matching those can take exponential time). */
int redact_rule_check(const struct redact_rule *rule, struct error *e);

/* Adds it; id and created_ns are not read.  `by` goes to the audit log. */
int redact_rule_add(struct catalog *cat, const struct redact_rule *rule, const char *by,
		    int64_t *ret_id, struct error *e);

/* Every rule in order, until `each` returns other than 0, which is then returned.  Texts are valid
 * during the call.  The callback must not use the catalogue. */
int redact_rule_list(struct catalog *cat,
		     int (*each)(void *context, const struct redact_rule *rule), void *context,
		     struct error *e);

/* -ENOENT when there is no such rule. */
int redact_rule_remove(struct catalog *cat, int64_t id, const char *by, struct error *e);

/* "drop", "hash"; "any", "resource", "scope", "block".  -EINVAL naming the word otherwise. */
int redact_action_parse(struct slice text, enum redact_action *ret_action, struct error *e);
int redact_level_parse(struct slice text, enum redact_level *ret_level, struct error *e);
const char *redact_action_name(enum redact_action action);
const char *redact_level_name(enum redact_level level);

#endif
