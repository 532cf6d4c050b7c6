/* capture/conv_names.c - names of operations, and the truth some systems put on the wire. */
#include <ctype.h>
#include <string.h>

#include "capture/conv.h"
#include "capture/conv_int.h"

#define MAX_NAME       120
#define MAX_OPERATIONS 4096
#define MAX_VERBS      8192 /* and operations */
#define MAX_TAGS       (8u << 20)
#define MAX_TAG_BYTES  128
#define MAX_SEARCHED   4096 /* bytes of a request */

/* Ids in paths make every request an operation of its own: 17, 3f2a…, long words with digits. */
static bool is_id(struct slice segment)
{
	size_t digits = 0, hex = 0;

	for (size_t i = 0; i < segment.n; i++) {
		digits += isdigit((unsigned char)segment.p[i]) != 0;
		hex += isxdigit((unsigned char)segment.p[i]) || segment.p[i] == '-';
	}
	return digits > 0 &&
	       (digits * 2 > segment.n || (hex == segment.n && segment.n >= 8) || segment.n >= 20);
}

static size_t put(char *out, size_t at, struct slice text)
{
	for (size_t i = 0; i < text.n && at < MAX_NAME; i++) {
		unsigned char ch = (unsigned char)text.p[i];

		out[at++] = ch > ' ' && ch < 0x7f ? (char)ch : '_';
	}
	return at;
}

uint32_t conv_operation(struct conv *c, struct slice verb, struct slice path)
{
	struct names *operations = c->shared->operations;
	char name[MAX_NAME];
	size_t verb_n = put(name, 0, verb), n = verb_n;
	uint32_t number;

	for (size_t i = 0; i < path.n; i++) /* what comes behind is data */
		if (path.p[i] == '?' || path.p[i] == '#')
			path.n = i;
	if (path.n > 0 && n > 0)
		n = put(name, n, SLICE(":"));
	while (path.n > 0) {
		struct slice segment = slice_cut(&path, '/');

		n = put(name, n, is_id(segment) ? SLICE("*") : segment);
		if (path.p)
			n = put(name, n, SLICE("/"));
	}
	if (n == 0)
		return NAMES_NONE;
	number = names_find(operations, slice_of(name, n));
	if (number != NAMES_NONE)
		return number;
	if (operations->n >= MAX_OPERATIONS)
		n = verb_n;
	if (n == 0 || operations->n >= MAX_VERBS ||
	    names_intern(operations, slice_of(name, n), &number) < 0)
		return NAMES_NONE;
	return number;
}

void conv_tag(struct conv *c, struct open_call *call, struct slice key, struct slice value)
{
	struct conv_shared *s = c->shared;

	if (s->tag_header.n == 0 || !slice_eq_nocase(key, s->tag_header) || value.n == 0 ||
	    value.n > MAX_TAG_BYTES || s->tags.n >= MAX_TAGS)
		return;
	names_intern(&s->tags, value, &call->tag); /* out of memory: no tag */
}

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '-' || ch == '_';
}

void conv_search(struct conv *c, struct open_call *call, struct slice request)
{
	size_t at = 0;

	if (c->shared->tag_header.n == 0)
		return;
	request = slice_first(request, MAX_SEARCHED);
	while (at < request.n && call->tag == NAMES_NONE) {
		size_t from = at;

		while (at < request.n && is_word(request.p[at]))
			at++;
		if (at > from + 3)
			call->tag =
				names_find(&c->shared->tags, slice_of(request.p + from, at - from));
		at += at == from;
	}
}
