/* catalog/token.h - bearer tokens: who is asking, and what may they do.
 *
 * A token is `causet_` and 256 random bits in base64url.  Its text is shown once, when it is made;
 * the catalogue keeps only its SHA-256.  A slow password hash would buy nothing: those exist
 * because people choose guessable secrets, and 2^256 equally likely tokens cannot be searched at
 * any speed, while every request would pay for it.
 *
 * A token's owner is the name that what it writes belongs to.  Several tokens may share an owner,
 * so that one can be replaced by the next without a gap. */
#ifndef CAUSET_CATALOG_TOKEN_H
#define CAUSET_CATALOG_TOKEN_H

#include "catalog/catalog.h"
#include "catalog/role.h"
#include "core/slice.h"

#define TOKEN_PREFIX     "causet_"
#define TOKEN_TEXT_CHARS (sizeof(TOKEN_PREFIX) - 1 + 43)
#define OWNER_MAX_CHARS  64

/* Who "local" is: everybody, where authentication is off. */
#define OWNER_LOCAL "local"

struct token_spec {
	const char *owner;  /* a letter, then letters, digits and . _ - @ up to OWNER_MAX_CHARS */
	unsigned roles;     /* at least one */
	int64_t expires_ns; /* wall clock; 0 is never */
	const char *by;     /* who makes it, for the audit log */
};

struct token_info {
	int64_t id;
	const char *owner; /* valid during the callback */
	unsigned roles;
	int64_t created_ns;
	int64_t expires_ns; /* 0: never */
	int64_t used_ns;    /* 0: never; up to TOKEN_USED_GRAIN_NS behind */
};

struct token_identity {
	int64_t id;
	unsigned roles;
	char owner[OWNER_MAX_CHARS + 1];
};

/* Last-used times are written this often at most, not with every request. */
#define TOKEN_USED_GRAIN_NS (60 * NS_PER_S)

/* Makes a token; its text goes to ret_text with a NUL behind it.  -EINVAL with the reason for a bad
 * name, no roles, or an expiry already past. */
int token_add(struct catalog *cat, const struct token_spec *spec,
	      char ret_text[TOKEN_TEXT_CHARS + 1], int64_t *ret_id, struct error *e);

/* Calls `each` for every token in order of making, until it returns other than 0, which is then
 * returned.  The callback must not use the catalogue. */
int token_list(struct catalog *cat, int (*each)(void *context, const struct token_info *token),
	       void *context, struct error *e);

/* Ends one token by its number ("3"), or all tokens of an owner by name.  Returns how many, or
 * -ENOENT when there is none.  In force at once in this process, within CATALOG_POLL_NS in others.
 */
int token_revoke(struct catalog *cat, const char *name_or_id, const char *by, struct error *e);

/* Who bears this token?  -EACCES for anything that is no token of ours, -EKEYEXPIRED past its
 * expiry.  One SHA-256 and a look into memory; the stored hash is compared in constant time. */
int token_check(struct catalog *cat, struct slice text, struct token_identity *ret_identity);

/* How many tokens there are, expired ones included. */
size_t token_count(struct catalog *cat);

/* Is this a name an owner may have?  -EINVAL with the reason otherwise. */
int owner_check(const char *name, struct error *e);

#endif
