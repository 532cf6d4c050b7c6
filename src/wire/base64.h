/* wire/base64.h - bytes as text, RFC 4648. */
#ifndef CAUSET_WIRE_BASE64_H
#define CAUSET_WIRE_BASE64_H

#include "base/buffer.h"

/* Characters for n bytes, padding included. */
static inline size_t base64_size(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* Writes base64_size(bytes.n) characters, padded, no NUL. */
void base64_encode(struct slice bytes, char *out);

/* Appends what the text stands for.  Both alphabets (+/ and -_), with or without padding; anything
 * else is -EINVAL and appends nothing.  -ENOMEM when the buffer cannot grow. */
int base64_decode(struct slice text, struct buffer *out);

#endif
