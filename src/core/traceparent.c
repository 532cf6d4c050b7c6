/* core/traceparent.c - W3C Trace Context's `traceparent` header. */
#include "core/traceparent.h"

#include <errno.h>

#define VERSION_AT 0
#define TRACE_AT   3
#define PARENT_AT  36
#define FLAGS_AT   53

static struct slice part(struct slice s, size_t at, size_t n)
{
	return slice_of(s.p + at, n);
}

/* hex_decode takes either case; this header does not. */
static bool has_upper_case(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= 'A' && s.p[i] <= 'Z')
			return true;
	return false;
}

static int check_version(struct slice s, uint8_t version)
{
	if (version == 0xff)
		return -EINVAL;
	if (s.n == TRACEPARENT_CHARS)
		return 0;
	return version != 0 && s.p[TRACEPARENT_CHARS] == '-' ? 0 : -EINVAL;
}

int traceparent_parse(struct slice text, struct traceparent *ret_traceparent)
{
	struct slice s = slice_trim(text);
	struct traceparent t;
	uint8_t parent[8];

	if (s.n < TRACEPARENT_CHARS || s.p[TRACE_AT - 1] != '-' || s.p[PARENT_AT - 1] != '-' ||
	    s.p[FLAGS_AT - 1] != '-' || has_upper_case(slice_first(s, TRACEPARENT_CHARS)))
		return -EINVAL;
	if (hex_decode(part(s, VERSION_AT, 2), &t.version, 1) < 0 ||
	    hex_decode(part(s, TRACE_AT, TRACE_ID_HEX), t.trace.b, sizeof(t.trace.b)) < 0 ||
	    hex_decode(part(s, PARENT_AT, SPAN_ID_HEX), parent, sizeof(parent)) < 0 ||
	    hex_decode(part(s, FLAGS_AT, 2), &t.flags, 1) < 0)
		return -EINVAL;
	t.parent = load_be64(parent);
	if (check_version(s, t.version) < 0 || trace_id_is_zero(t.trace) || t.parent == 0)
		return -EINVAL;
	*ret_traceparent = t;
	return 0;
}

void traceparent_format(const struct traceparent *t, char out[TRACEPARENT_CHARS + 1])
{
	uint8_t flags = t->flags & TRACEPARENT_KNOWN_FLAGS;
	uint8_t parent[8];

	store_be64(parent, t->parent);
	memcpy(out, "00-", TRACE_AT);
	hex_encode(t->trace.b, sizeof(t->trace.b), out + TRACE_AT);
	out[PARENT_AT - 1] = '-';
	hex_encode(parent, sizeof(parent), out + PARENT_AT);
	out[FLAGS_AT - 1] = '-';
	hex_encode(&flags, 1, out + FLAGS_AT);
	out[TRACEPARENT_CHARS] = '\0';
}
