/* http/reply_gzip.c - a whole answer is compressed for a client that asks for it. */
#include "base/cleanup.h"
#include "http/loop_int.h"

#define LEAST ((size_t)1400)     /* less fits one packet anyway */
#define MOST  ((size_t)32 << 20) /* more should have been a stream */
#define LEVEL 3

/* "gzip, deflate;q=0.5": gzip or * is named and not with q=0. */
bool reply_accepts_gzip(struct slice list)
{
	while (list.p) {
		struct slice item = slice_cut(&list, ',');
		struct slice name = slice_trim(slice_cut(&item, ';'));
		struct slice q = slice_trim(item);

		if (!slice_eq_nocase(name, SLICE("gzip")) && !slice_eq(name, SLICE("*")))
			continue;
		/* q=0, q=0.0, q=0.000 */
		if (q.n >= 3 && slice_eq_nocase(slice_first(q, 3), SLICE("q=0"))) {
			bool zero = true;

			for (size_t i = 3; i < q.n; i++)
				zero &= q.p[i] == '.' || q.p[i] == '0';
			if (zero)
				continue;
		}
		return true;
	}
	return false;
}

static bool is_text(struct slice type)
{
	static const struct slice kinds[] = {
		SLICE("text/"),
		SLICE("application/json"),
		SLICE("application/javascript"),
		SLICE("application/x-ndjson"),
		SLICE("application/openmetrics-text"),
		SLICE("image/svg+xml"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (slice_eq_nocase(slice_first(type, kinds[i].n), kinds[i]))
			return true;
	return false;
}

void reply_compress(struct http_exchange *x)
{
	bool on_loop = pthread_equal(pthread_self(), x->loop->self);
	struct buffer packed = {0};
	struct coder *coder;

	if (x->req.is_grpc || x->status != 200 || x->reply.n < LEAST || x->reply.n > MOST ||
	    !is_text(x->content_type))
		return;
	for (struct reply_header *h = x->reply_headers; h; h = h->next)
		if (slice_eq_nocase(h->name, SLICE("content-encoding")))
			return; /* the handler has done it */
	http_reply_header(&x->req, "Vary", SLICE("Accept-Encoding"));
	if (!reply_accepts_gzip(http_header_get(&x->req, "accept-encoding")))
		return;
	coder = on_loop ? x->loop->coder : coder_new();
	if (coder && coder_gzip(coder, x->reply, LEVEL, &packed) == 0 && packed.n < x->reply.n &&
	    http_reply_header(&x->req, "Content-Encoding", SLICE("gzip")) == 0) {
		buffer_done(&x->reply_owned);
		x->reply_owned = packed;
		x->reply = buffer_get(&packed);
	} else {
		buffer_done(&packed);
	}
	if (!on_loop)
		coder_free(coder);
}
