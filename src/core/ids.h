/* core/ids.h - trace and span ids: bytes inside, hex at the edges. */
#ifndef CAUSET_CORE_IDS_H
#define CAUSET_CORE_IDS_H

#include "core/slice.h"

#define TRACE_ID_HEX 32
#define SPAN_ID_HEX  16

/* 16 bytes in wire order.  All zero means "none". */
struct trace_id {
	uint8_t b[16];
};

/* A span, block, unit or edge id: the 8 wire bytes read as one big-endian number, so that equal
 * means equal and hex is "%016lx".  0 means "none". */
typedef uint64_t span_id_t;

static inline uint64_t load_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static inline void store_be64(void *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

static inline bool trace_id_eq(struct trace_id a, struct trace_id b)
{
	return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}

static inline bool trace_id_is_zero(struct trace_id id)
{
	uint64_t w[2];

	memcpy(w, id.b, sizeof(w));
	return (w[0] | w[1]) == 0;
}

/* 1 to 32 hex digits in either case, left-padded with zeros (tools drop leading zeros).
 * -EINVAL on other bytes, other lengths and the all-zero id. */
int trace_id_parse(struct slice hex, struct trace_id *ret_id);

/* 1 to 16 hex digits.  -EINVAL as above; zero is refused. */
int span_id_parse(struct slice hex, span_id_t *ret_id);

/* Exactly `n` bytes from 2n hex digits in either case; -EINVAL otherwise. */
int hex_decode(struct slice hex, void *out, size_t n);

/* 2n lower-case digits, no NUL. */
void hex_encode(const void *bytes, size_t n, char *out);

/* Writes the digits and a NUL. */
void trace_id_format(struct trace_id id, char out[TRACE_ID_HEX + 1]);
void span_id_format(span_id_t id, char out[SPAN_ID_HEX + 1]);

#endif
