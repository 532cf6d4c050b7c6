/* wire/split.c - cutting a file into requests. */
#include "wire/split.h"

#include <errno.h>

#include "wire/protobuf.h"

static ssize_t finish(struct split *s, size_t n)
{
	*s = (struct split){.frame = s->frame};
	return (ssize_t)n;
}

static ssize_t too_long(struct error *error)
{
	return error_set(error, -E2BIG, "a single value or group of more than %zu MiB",
			 SPLIT_VALUE_MAX >> 20);
}

/* Only brackets and quotes are looked at; whether it is JSON is the decoder's business.  What is no
 * object, array or string ends with the line. */
static ssize_t next_value(struct split *s, struct slice window, bool at_end, struct error *error)
{
	for (; s->scanned < window.n; s->scanned++) {
		char c = window.p[s->scanned];

		if (s->in_string) {
			if (s->escaped)
				s->escaped = false;
			else if (c == '\\')
				s->escaped = true;
			else if (c == '"')
				s->in_string = false;
			continue;
		}
		switch (c) {
		case '"':
			s->begun = s->in_string = true;
			break;
		case '{':
		case '[':
			s->begun = true;
			s->depth++;
			break;
		case '}':
		case ']':
			s->begun = true;
			if (s->depth <= 1)
				return finish(s, s->scanned + 1);
			s->depth--;
			break;
		case '\n':
			if (s->begun && s->depth == 0)
				return finish(s, s->scanned + 1);
			break;
		case ' ':
		case '\t':
		case '\r':
			break;
		default:
			s->begun = true;
		}
	}
	if (at_end)
		return s->begun ? finish(s, window.n) : 0;
	return window.n > SPLIT_VALUE_MAX ? too_long(error) : 0;
}

/* Where no field could be read: 1 if more bytes may help, 0 if nothing does, -1 if it is too long.
 */
static int field_state(struct slice rest)
{
	struct pb_reader r = pb_open(rest);
	uint64_t tag, n = 0;

	if (!pb_varint(&r, &tag))
		return rest.n < VARINT_MAX;
	if (tag >> 3 == 0 || tag >> 32 != 0)
		return 0;
	switch (tag & 7) {
	case PB_VARINT:
		return (size_t)(r.end - r.at) < VARINT_MAX;
	case PB_BYTES:
		if (!pb_varint(&r, &n))
			return (size_t)(r.end - r.at) < VARINT_MAX;
		return n > SPLIT_VALUE_MAX ? -1 : 1;
	case PB_FIXED64:
	case PB_FIXED32:
		return 1;
	default:
		return 0;
	}
}

static ssize_t next_fields(struct split *s, struct slice window, bool at_end, struct error *error)
{
	struct pb_reader r = pb_open(slice_from(window, s->scanned));
	struct pb_field f;
	struct slice rest;
	int state;

	while (s->scanned < SPLIT_FIELDS_AIM && pb_next(&r, &f))
		s->scanned = (size_t)((const char *)r.at - window.p);
	rest = slice_from(window, s->scanned);
	if (s->scanned >= SPLIT_FIELDS_AIM)
		return finish(s, s->scanned);
	if (at_end) /* with what does not make a field, if anything: the decoder says where */
		return finish(s, window.n);
	if (s->scanned > 0 && rest.n > SPLIT_FIELDS_AIM)
		return finish(s, s->scanned); /* a large field follows: not both at once */
	state = rest.n == 0 ? 1 : field_state(rest);
	if (state == 0)
		return finish(s, window.n);
	return state < 0 ? too_long(error) : 0;
}

ssize_t split_next(struct split *s, struct slice window, bool at_end, struct error *error)
{
	return s->frame == FRAME_VALUES ? next_value(s, window, at_end, error)
					: next_fields(s, window, at_end, error);
}
