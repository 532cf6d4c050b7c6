/* http/h1_parse.c - the head of an HTTP/1 request: bytes in, slices out. */
#include "http/h1_parse.h"

#define MAX_EMPTY_LINES_BEFORE 4
#define MAX_METHOD             32

enum { TOKEN = 1, VALUE = 2, TARGET = 4 };

/* What each byte may be part of (RFC 9110 §5.6.2 tokens, §5.5 field values; RFC 3986 for targets,
 * with the few unwise characters browsers leave as they are). */
static const uint8_t classes[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = TOKEN | VALUE | TARGET,
	['"'] = VALUE | TARGET,
	['#'] = TOKEN | VALUE,
	['$' ... '\''] = TOKEN | VALUE | TARGET,
	['(' ... ')'] = VALUE | TARGET,
	['*' ... '+'] = TOKEN | VALUE | TARGET,
	[','] = VALUE | TARGET,
	['-' ... '.'] = TOKEN | VALUE | TARGET,
	['/'] = VALUE | TARGET,
	['0' ... '9'] = TOKEN | VALUE | TARGET,
	[':' ... '@'] = VALUE | TARGET,
	['A' ... 'Z'] = TOKEN | VALUE | TARGET,
	['[' ... ']'] = VALUE | TARGET,
	['^' ... 'z'] = TOKEN | VALUE | TARGET,
	['{'] = VALUE | TARGET,
	['|'] = TOKEN | VALUE | TARGET,
	['}'] = VALUE | TARGET,
	['~'] = TOKEN | VALUE | TARGET,
	[0x80 ... 0xff] = VALUE,
};

bool h1_is_token_char(unsigned char c)
{
	return classes[c] & TOKEN;
}

static bool all(struct slice s, uint8_t kind)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(classes[(unsigned char)s.p[i]] & kind))
			return false;
	return true;
}

static int64_t fail(struct h1_error *error, int status, const char *text)
{
	*error = (struct h1_error){status, text};
	return -1;
}

/* Moves the scan to the end of the head: 1 found (*ret_end is behind the empty line), 0 not yet,
 * -1 a line that does not end in CRLF. */
static int scan_head(struct slice in, size_t start, struct h1_scan *scan, size_t *ret_end)
{
	if (scan->line < start)
		*scan = (struct h1_scan){start, start};
	while (scan->seen < in.n) {
		const char *lf = memchr(in.p + scan->seen, '\n', in.n - scan->seen);
		size_t at;

		if (!lf) {
			scan->seen = in.n;
			return 0;
		}
		at = (size_t)(lf - in.p);
		if (at == scan->line || in.p[at - 1] != '\r')
			return -1;
		if (at == scan->line + 1) {
			*ret_end = at + 1;
			return 1;
		}
		scan->line = scan->seen = at + 1;
	}
	return 0;
}

/* "GET /x HTTP/1.1" */
static int parse_request_line(struct slice line, struct h1_head *head, struct h1_error *error)
{
	struct slice rest = line, version;

	head->method = slice_cut(&rest, ' ');
	if (head->method.n == 0 || head->method.n > MAX_METHOD || !all(head->method, TOKEN))
		return (int)fail(error, 400, "the request line does not start with a method");
	head->target = slice_cut(&rest, ' ');
	if (head->target.n == 0 || !all(head->target, TARGET))
		return (int)fail(error, 400, "the request target has characters it may not have");
	version = rest;
	if (version.n != 8 || memcmp(version.p, "HTTP/", 5) != 0 || version.p[6] != '.' ||
	    version.p[5] < '0' || version.p[5] > '9' || version.p[7] < '0' || version.p[7] > '9')
		return (int)fail(error, 400, "the request line does not end with an HTTP version");
	if (version.p[5] != '1')
		return (int)fail(error, 505, "only HTTP/1.0, HTTP/1.1 and HTTP/2 are spoken here");
	head->version = version.p[7] == '0' ? 10 : 11;
	return 0;
}

/* Brings "http://host/path" to "/path" and refuses what is neither a path nor "OPTIONS *". */
static int parse_target(struct h1_head *head, struct h1_error *error)
{
	struct slice t = head->target;
	size_t scheme;
	const char *slash;

	if (t.p[0] == '/')
		return 0;
	if (t.n == 1 && t.p[0] == '*' && slice_eq(head->method, SLICE("OPTIONS")))
		return 0;
	if (slice_eq(head->method, SLICE("CONNECT")))
		return (int)fail(error, 501, "this is not a proxy");
	if (slice_eq_nocase(slice_first(t, 7), SLICE("http://")))
		scheme = 7;
	else if (slice_eq_nocase(slice_first(t, 8), SLICE("https://")))
		scheme = 8;
	else
		return (int)fail(error, 400, "the request target is not a path");
	t = slice_from(t, scheme);
	slash = t.n ? memchr(t.p, '/', t.n) : NULL;
	if (!slash || slash == t.p)
		return (int)fail(error, 400, "the request target has no host or no path");
	head->authority = slice_of(t.p, (size_t)(slash - t.p));
	head->target = slice_from(t, head->authority.n);
	return 0;
}

static bool has_member(struct slice list, struct slice member)
{
	while (list.p)
		if (slice_eq_nocase(slice_trim(slice_cut(&list, ',')), member))
			return true;
	return false;
}

struct seen {
	bool host, length, coding, close, keep;
};

/* The headers that decide where the body ends and what becomes of the connection. */
static int understand(struct http_header h, struct h1_head *head, struct seen *seen,
		      struct h1_error *error)
{
	uint64_t length;

	switch (h.name.n) {
	case 4:
		if (!slice_eq_nocase(h.name, SLICE("Host")))
			return 0;
		if (seen->host)
			return (int)fail(error, 400, "more than one Host header");
		seen->host = true;
		if (!all(h.value, TARGET))
			return (int)fail(error, 400,
					 "the Host header has characters it may not have");
		if (!head->authority.p)
			head->authority = h.value;
		return 0;
	case 6:
		if (!slice_eq_nocase(h.name, SLICE("Expect")))
			return 0;
		if (!slice_eq_nocase(h.value, SLICE("100-continue")))
			return (int)fail(error, 417, "only 100-continue can be expected");
		head->expect_continue = head->version == 11;
		return 0;
	case 10:
		if (!slice_eq_nocase(h.name, SLICE("Connection")))
			return 0;
		seen->close |= has_member(h.value, SLICE("close"));
		seen->keep |= has_member(h.value, SLICE("keep-alive"));
		return 0;
	case 14:
		if (!slice_eq_nocase(h.name, SLICE("Content-Length")))
			return 0;
		if (slice_parse_u64(h.value, &length) < 0 || length > INT64_MAX)
			return (int)fail(error, 400, "the Content-Length is not a number");
		if (seen->length && head->content_length != (int64_t)length)
			return (int)fail(error, 400, "two different Content-Length headers");
		seen->length = true;
		head->content_length = (int64_t)length;
		return 0;
	case 17:
		if (!slice_eq_nocase(h.name, SLICE("Transfer-Encoding")))
			return 0;
		if (seen->coding)
			return (int)fail(error, 400, "more than one Transfer-Encoding header");
		if (!slice_eq_nocase(h.value, SLICE("chunked")))
			return (int)fail(error, 501, "the only known Transfer-Encoding is chunked");
		if (head->version == 10)
			return (int)fail(error, 400, "Transfer-Encoding in an HTTP/1.0 request");
		seen->coding = true;
		head->chunked = true;
		return 0;
	}
	return 0;
}

static int parse_header(struct slice line, struct http_header *h, struct h1_error *error)
{
	const char *colon;

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return (int)fail(error, 400, "a header is folded over two lines");
	colon = memchr(line.p, ':', line.n);
	if (!colon)
		return (int)fail(error, 400, "a header has no colon");
	h->name = slice_of(line.p, (size_t)(colon - line.p));
	if (h->name.n == 0 || !all(h->name, TOKEN))
		return (int)fail(error, 400, "a header's name has characters it may not have");
	h->value = slice_of(colon + 1, line.n - h->name.n - 1);
	if (!all(h->value, VALUE))
		return (int)fail(error, 400, "a header's value has characters it may not have");
	h->value = slice_trim(h->value);
	return 0;
}

/* The next line without its CRLF; scan_head() has seen that every line has one. */
static struct slice next_line(struct slice in, size_t *at)
{
	const char *lf = memchr(in.p + *at, '\n', in.n - *at);
	struct slice line = slice_of(in.p + *at, (size_t)(lf - in.p) - 1 - *at);

	*at += line.n + 2;
	return line;
}

int64_t h1_parse(struct slice in, struct h1_scan *scan, size_t max_bytes,
		 struct http_header *headers, size_t max_count, struct h1_head *ret_head,
		 struct h1_error *error)
{
	struct h1_head head = {.content_length = -1};
	struct slice all_in = in, line;
	struct seen seen = {0};
	size_t start = 0, end = 0, at;
	int r;

	while (start + 1 < in.n && in.p[start] == '\r' && in.p[start + 1] == '\n')
		if ((start += 2) > 2 * MAX_EMPTY_LINES_BEFORE)
			return fail(error, 400, "empty lines instead of a request");
	if (start < in.n && in.p[start] != '\r' && !(classes[(unsigned char)in.p[start]] & TOKEN))
		return fail(error, 400, "this is not an HTTP request (TLS on a port without it?)");
	in = slice_first(all_in, start + max_bytes);
	r = scan_head(in, start, scan, &end);
	if (r < 0)
		return fail(error, 400, "a line of the head does not end in CRLF");
	if (r == 0)
		return in.n < start + max_bytes
			       ? 0
			       : fail(error, 431, "the request line and headers are too long");

	at = start;
	line = next_line(in, &at);
	if (parse_request_line(line, &head, error) < 0 || parse_target(&head, error) < 0)
		return -1;
	while (line = next_line(in, &at), line.n > 0) {
		if (head.count == max_count)
			return fail(error, 431, "too many headers");
		if (parse_header(line, &headers[head.count], error) < 0 ||
		    understand(headers[head.count], &head, &seen, error) < 0)
			return -1;
		head.count++;
	}

	if (head.chunked && seen.length)
		return fail(error, 400, "both Content-Length and Transfer-Encoding");
	if (!seen.host && head.version == 11)
		return fail(error, 400, "an HTTP/1.1 request without a Host header");
	head.keep_alive = !seen.close && (head.version == 11 || seen.keep);
	*ret_head = head;
	return (int64_t)end;
}
