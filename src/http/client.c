/* http/client.c - a small blocking HTTP client on libcurl, for the command line. */
#include "http/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define DEFAULT_CONNECT_MS 10000
#define DEFAULT_STALL_MS   60000
#define DEFAULT_MAX_BODY   ((size_t)1 << 30)
#define MAX_FAILURE        ((size_t)64 << 10) /* of what a failure's body is kept */

struct http_client {
	CURL *curl;
	char *ca, *certificate, *key;
	int connect_ms, stall_ms;
};

/* What the callbacks of one call need. */
struct transfer {
	const struct http_call *call;
	struct http_answer *answer;
	CURL *curl;
	size_t max_body;
	int stopped; /* what a callback returned, or -EFBIG; ends the call */
};

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

int http_client_new(const struct http_client_options *o, struct http_client **ret_client,
		    struct error *error)
{
	struct http_client *c = calloc(1, sizeof(*c));

	if (!c)
		return error_set(error, -ENOMEM, "out of memory");
	c->connect_ms = o->connect_ms > 0 ? o->connect_ms : DEFAULT_CONNECT_MS;
	c->stall_ms = o->stall_ms > 0 ? o->stall_ms : DEFAULT_STALL_MS;
	c->curl = curl_easy_init();
	if (!c->curl || copy(o->ca, &c->ca) < 0 || copy(o->certificate, &c->certificate) < 0 ||
	    copy(o->key, &c->key) < 0) {
		http_client_free(c);
		return error_set(error, -ENOMEM, "out of memory");
	}
	*ret_client = c;
	return 0;
}

struct http_client *http_client_free(struct http_client *c)
{
	if (c) {
		curl_easy_cleanup(c->curl);
		free(c->ca);
		free(c->certificate);
		free(c->key);
		free(c);
	}
	return NULL;
}

void http_answer_done(struct http_answer *answer)
{
	buffer_done(&answer->body);
}

static size_t on_read(char *to, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	int64_t n = t->call->read(t->call->context, to, size * count);

	if (n < 0) {
		t->stopped = (int)n;
		return CURL_READFUNC_ABORT;
	}
	return (size_t)n;
}

static size_t on_write(char *from, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	struct slice piece = slice_of(from, size * count);
	struct buffer *body = &t->answer->body;
	long status = 0;
	bool failure;

	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	failure = status < 200 || status > 299;
	if (t->call->write && !failure) {
		t->stopped = t->call->write(t->call->context, piece);
		return t->stopped < 0 ? 0 : piece.n;
	}
	if (failure) {
		buffer_slice(body, slice_first(piece, MAX_FAILURE - MIN(body->n, MAX_FAILURE)));
	} else if (piece.n > t->max_body - MIN(body->n, t->max_body)) {
		t->stopped = -EFBIG;
		return 0;
	} else {
		buffer_slice(body, piece);
	}
	if (body->failed) {
		t->stopped = -ENOMEM;
		return 0;
	}
	return piece.n;
}

/* Anything but 0 ends the transfer. */
static int on_progress(void *context, curl_off_t total_in, curl_off_t in, curl_off_t total_out,
		       curl_off_t out)
{
	struct transfer *t = context;

	if (!atomic_load(t->call->cancel))
		return 0;
	t->stopped = -ECANCELED;
	return 1;
}

/* The body that goes out, if there is one. */
static void set_body(CURL *curl, const struct http_call *call, struct transfer *t)
{
	const char *method = call->method ? call->method : "GET";

	if (call->read) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
		curl_easy_setopt(curl, CURLOPT_READDATA, t);
	} else if (call->body.n || strcmp(method, "POST") == 0) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.n);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body.p ? call->body.p : "");
	}
	if (strcmp(method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_options(struct http_client *c, const struct http_call *call, char *why)
{
	CURL *curl = c->curl;

	curl_easy_reset(curl); /* connections stay */
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_URL, call->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "causet/" CAUSET_VERSION);
	curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)(c->stall_ms + 999) / 1000);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)MAX(call->timeout_ms, 0));
	curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
	curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10);
	if (c->ca)
		curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca);
	if (c->certificate)
		curl_easy_setopt(curl, CURLOPT_SSLCERT, c->certificate);
	if (c->key)
		curl_easy_setopt(curl, CURLOPT_SSLKEY, c->key);
}

static int code_of(CURLcode r, const struct transfer *t)
{
	if (t->stopped < 0)
		return t->stopped;
	switch (r) {
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return -EINVAL;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return -EACCES;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return -ECONNRESET;
	default:
		return -EPROTO;
	}
}

static int add_headers(const char *const *headers, struct curl_slist **list)
{
	for (; headers && *headers; headers++) {
		struct curl_slist *longer = curl_slist_append(*list, *headers);

		if (!longer)
			return -ENOMEM;
		*list = longer;
	}
	return 0;
}

static void free_headers(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

static void describe(CURL *curl, struct http_answer *answer)
{
	curl_off_t retry = 0;
	char *type = NULL;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry);
	answer->status = (int)status;
	answer->retry_after_s = (int)MIN(retry, (curl_off_t)INT32_MAX);
	if (type)
		strncpy(answer->content_type, type, sizeof(answer->content_type) - 1);
}

int http_client_call(struct http_client *c, const struct http_call *call,
		     struct http_answer *ret_answer, struct error *error)
{
	_cleanup_(free_headers)
	struct curl_slist *headers = NULL;
	_cleanup_(http_answer_done)
	struct http_answer answer = {0};
	char why[CURL_ERROR_SIZE] = "";
	struct transfer t = {.call = call,
			     .answer = &answer,
			     .curl = c->curl,
			     .max_body = call->max_body ? call->max_body : DEFAULT_MAX_BODY};
	CURLcode r;

	set_options(c, call, why);
	set_body(c->curl, call, &t);
	if (add_headers(call->headers, &headers) < 0)
		return error_set(error, -ENOMEM, "out of memory");
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_write);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &t);
	if (call->cancel) {
		curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
		curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, &t);
		curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
	}
	r = curl_easy_perform(c->curl);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, NULL);
	if (t.stopped == -EFBIG)
		return error_set(error, -EFBIG, "%s: the answer is larger than %zu bytes (limit)",
				 call->url, t.max_body);
	if (t.stopped < 0)
		return error_set(error, t.stopped, "%s: %s", call->url, strerror(-t.stopped));
	describe(c->curl, &answer);
	/* A server that refuses a body early and closes: its answer counts, not the broken pipe. */
	if (r != CURLE_OK && !(r == CURLE_SEND_ERROR && answer.status >= 400))
		return error_set(error, code_of(r, &t), "%s: %s", call->url,
				 why[0] ? why : curl_easy_strerror(r));
	*ret_answer = answer;
	answer = (struct http_answer){0};
	return 0;
}
