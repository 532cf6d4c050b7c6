/* http/request_query.c - the query of a URL: pairs, percent-decoded. */
#include <errno.h>

#include "http/request.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes into the arena; without anything to decode the input itself is the result. */
static int decode_with(struct arena *arena, struct slice in, bool plus, struct slice *ret_out)
{
	char *out;
	size_t n = 0;

	if (in.n == 0 || (!memchr(in.p, '%', in.n) && !memchr(in.p, '+', in.n))) {
		*ret_out = slice_of(in.p ? in.p : "", in.n);
		return 0;
	}
	out = arena_alloc(arena, in.n);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < in.n; i++) {
		if (plus && in.p[i] == '+') {
			out[n++] = ' ';
		} else if (in.p[i] != '%') {
			out[n++] = in.p[i];
		} else {
			int high = i + 2 < in.n ? hex(in.p[i + 1]) : -1;
			int low = i + 2 < in.n ? hex(in.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			out[n++] = (char)(high << 4 | low);
			i += 2;
		}
	}
	*ret_out = slice_of(out, n);
	return 0;
}

static int decode(struct arena *arena, struct slice in, struct slice *ret_out)
{
	return decode_with(arena, in, true, ret_out);
}

int http_path_decode(struct http_request *req, struct slice part, struct slice *ret_text)
{
	return decode_with(&req->arena, part, false, ret_text);
}

/* Raw pair at *at: true while there is one. */
static bool next_raw(struct slice query, size_t *at, struct slice *name, struct slice *value)
{
	while (*at < query.n) {
		struct slice rest = slice_from(query, *at);
		struct slice pair = slice_cut(&rest, '&');

		*at += pair.n + 1;
		if (pair.n == 0)
			continue;
		*value = pair;
		*name = slice_cut(value, '=');
		return true;
	}
	return false;
}

int http_query_next(struct http_request *req, size_t *at, struct slice *ret_name,
		    struct slice *ret_value)
{
	struct slice name, value;
	int r;

	if (!next_raw(req->query, at, &name, &value))
		return 0;
	r = decode(&req->arena, name, ret_name);
	if (r == 0)
		r = decode(&req->arena, value, ret_value);
	return r < 0 ? r : 1;
}

int http_query_get(struct http_request *req, const char *name, struct slice *ret_value)
{
	struct slice raw_name, value, decoded;
	size_t at = 0;
	int r;

	while (next_raw(req->query, &at, &raw_name, &value)) {
		r = decode(&req->arena, raw_name, &decoded);
		if (r < 0)
			return r;
		if (!slice_eq(decoded, slice_cstr(name)))
			continue;
		r = decode(&req->arena, value, ret_value);
		return r < 0 ? r : 1;
	}
	return 0;
}
