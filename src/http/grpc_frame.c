/* http/grpc_frame.c - gRPC's own small formats: the message frame, the timeout, the status text. */
#include "http/grpc_frame.h"

#include <errno.h>

#include "http/grpc.h"

#define MAX_MESSAGE        4096 /* of a status; clients limit all headers to 8 or 16 KiB */
#define MAX_TIMEOUT_DIGITS 8

int grpc_frame_head(struct slice in, struct grpc_frame *ret_frame)
{
	const unsigned char *p = (const unsigned char *)in.p;

	if (in.n >= 1 && p[0] > 1)
		return -EBADMSG;
	if (in.n < GRPC_FRAME_HEAD)
		return 0;
	ret_frame->compressed = p[0];
	ret_frame->length = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	return 1;
}

void grpc_frame_append(struct buffer *out, struct slice message)
{
	char head[GRPC_FRAME_HEAD] = {0, (char)(message.n >> 24), (char)(message.n >> 16),
				      (char)(message.n >> 8), (char)message.n};

	if (message.n > UINT32_MAX) {
		out->failed = true;
		return;
	}
	buffer_append(out, head, sizeof(head));
	buffer_slice(out, message);
}

int grpc_timeout_parse(struct slice text, int64_t *ret_ns)
{
	static const struct {
		char unit;
		int64_t ns;
	} units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
		     {'m', 1000000},       {'u', 1000},        {'n', 1}};
	uint64_t value;

	if (text.n < 2 || text.n > MAX_TIMEOUT_DIGITS + 1 ||
	    slice_parse_u64(slice_first(text, text.n - 1), &value) < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text.p[text.n - 1] != units[i].unit)
			continue;
		if (__builtin_mul_overflow((int64_t)value, units[i].ns, ret_ns))
			*ret_ns = INT64_MAX;
		return 0;
	}
	return -EINVAL;
}

struct slice grpc_message_encode(struct arena *arena, struct slice text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *out;
	size_t n = 0;

	text = slice_first(text, MAX_MESSAGE);
	out = arena_alloc(arena, text.n * 3 + 1);
	if (!out)
		return slice_of(NULL, 0);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c >= 0x20 && c <= 0x7e && c != '%') {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = digits[c >> 4];
			out[n++] = digits[c & 15];
		}
	}
	return slice_of(out, n);
}

struct slice grpc_binary_encode(struct arena *arena, struct slice bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)bytes.p;
	char *out = arena_alloc(arena, bytes.n / 3 * 4 + 4);
	size_t n = 0;

	if (!out)
		return slice_of(NULL, 0);
	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0);

		out[n++] = digits[v >> 18];
		out[n++] = digits[v >> 12 & 63];
		if (left > 1)
			out[n++] = digits[v >> 6 & 63];
		if (left > 2)
			out[n++] = digits[v & 63];
	}
	return slice_of(out, n);
}

int grpc_status_of_http(int http_status)
{
	switch (http_status) {
	case 400:
	case 422:
		return GRPC_INVALID_ARGUMENT;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
	case 421:
		return GRPC_PERMISSION_DENIED;
	case 404:
	case 405:
	case 415:
	case 501:
		return GRPC_UNIMPLEMENTED;
	case 408:
	case 504:
		return GRPC_DEADLINE_EXCEEDED;
	case 409:
		return GRPC_ABORTED;
	case 413:
	case 431:
		return GRPC_RESOURCE_EXHAUSTED;
	case 429:
	case 502:
	case 503:
		return GRPC_UNAVAILABLE;
	case 499:
		return GRPC_CANCELLED;
	}
	return http_status >= 500 ? GRPC_INTERNAL : GRPC_UNKNOWN;
}
