/* catalog/token_int.h - what making and checking tokens share. */
#ifndef CAUSET_CATALOG_TOKEN_INT_H
#define CAUSET_CATALOG_TOKEN_INT_H

#include <stdint.h>

#include "core/slice.h"

#define TOKEN_HASH_BYTES 32

/* SHA-256 of the token's text.  Of the text, not of the decoded bits: base64url has spare bits at
 * the end, and only the one spelling we gave out shall be accepted. */
int token_hash(struct slice text, uint8_t ret_hash[TOKEN_HASH_BYTES]);

#endif
