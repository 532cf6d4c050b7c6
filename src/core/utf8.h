/* core/utf8.h - is this text, and where does it stop being text? */
#ifndef CAUSET_CORE_UTF8_H
#define CAUSET_CORE_UTF8_H

#include "core/slice.h"

/* Length of the longest valid prefix (RFC 3629: no surrogates, nothing overlong, nothing past
 * U+10FFFF).  Equal to s.n when all of it is valid. */
size_t utf8_valid_prefix(struct slice s);

/* Bytes of the sequence at the start of `s`, 0 if none is valid there. */
size_t utf8_sequence(struct slice s);

/* Writes 1 to 4 bytes for a code point below 0x110000; returns how many. */
size_t utf8_encode(uint32_t code_point, char out[4]);

#endif
