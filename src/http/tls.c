/* http/tls.c - TLS between the socket and the connection, through memory BIOs. */
#include "http/tls_int.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define CIPHER_HIGH ((size_t)128 << 10) /* encrypted and not sent; more is not made */
#define RECORD      ((size_t)16 << 10)
#define MAX_SUBJECT 1024

struct tls_conn {
	SSL *ssl;
	BIO *in, *out; /* the SSL's */
	struct buffer cipher;
	size_t cipher_at;
	bool open; /* handshake done */
};

static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
		       const unsigned char *in, unsigned int in_n, void *context)
{
	static const unsigned char ours[] = "\x02h2\x08http/1.1";

	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_n, ours, sizeof(ours) - 1,
				  in, in_n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

static int tls_error(struct error *error, const char *what, const char *path)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = ERR_reason_error_string(code);

	ERR_clear_error();
	return error_set(error, -EINVAL, "%s %s: %s", what, path,
			 reason ? reason : "cannot be used");
}

int tls_context_new(const char *certificate, const char *key, const char *client_ca,
		    SSL_CTX **ret_context, struct error *error)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	int r = 0;

	ERR_clear_error();
	if (!ctx)
		return error_set(error, -ENOMEM, "out of memory for TLS");
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_alpn_select_cb(ctx, select_alpn, NULL);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"causet", 6);
	if (SSL_CTX_use_certificate_chain_file(ctx, certificate) != 1)
		r = tls_error(error, "certificate", certificate);
	else if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
		 SSL_CTX_check_private_key(ctx) != 1)
		r = tls_error(error, "key", key);
	if (r == 0 && client_ca) {
		if (SSL_CTX_load_verify_locations(ctx, client_ca, NULL) != 1)
			r = tls_error(error, "client CA", client_ca);
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(client_ca));
	}
	ERR_clear_error();
	if (r < 0) {
		SSL_CTX_free(ctx);
		return r;
	}
	*ret_context = ctx;
	return 0;
}

void tls_context_free(SSL_CTX *context)
{
	SSL_CTX_free(context);
}

int tls_open(struct http_conn *c)
{
	struct http_server *server = c->loop->server;
	struct tls_conn *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	c->tls = t;
	c->is_tls = true;
	pthread_mutex_lock(&server->tls_lock);
	t->ssl = SSL_new(server->tls_context); /* takes its own reference */
	pthread_mutex_unlock(&server->tls_lock);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (!t->ssl || !t->in || !t->out) {
		BIO_free(t->in);
		BIO_free(t->out);
		SSL_free(t->ssl);
		t->ssl = NULL;
		return -ENOMEM;
	}
	BIO_set_mem_eof_return(t->in, -1);
	BIO_set_mem_eof_return(t->out, -1);
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	c->deadline_ms = c->loop->now_ms + server->limits.tls_ms;
	return 0;
}

void tls_close(struct http_conn *c)
{
	if (!c->tls)
		return;
	SSL_free(c->tls->ssl);
	buffer_done(&c->tls->cipher);
	free(c->tls);
	c->tls = NULL;
}

bool tls_is_open(const struct http_conn *c)
{
	return c->tls->open;
}

void tls_received(struct http_conn *c, const char *p, size_t n)
{
	if (BIO_write(c->tls->in, p, (int)n) != (int)n)
		c->broken = true;
}

static void tls_failed(struct http_conn *c)
{
	ERR_clear_error();
	http_count(&c->loop->server->counters.tls_failures, 1);
	/* The alert explaining it is in the output; it is sent before the close. */
	c->closing = true;
}

/* Moves what OpenSSL has written to the buffer for the socket. */
static void collect(struct http_conn *c)
{
	struct tls_conn *t = c->tls;
	size_t n = BIO_ctrl_pending(t->out);
	char *to;

	if (n == 0)
		return;
	to = buffer_reserve(&t->cipher, n);
	if (!to) {
		c->broken = true;
		return;
	}
	t->cipher.n += (size_t)BIO_read(t->out, to, (int)n);
}

static void remember_subject(struct http_conn *c)
{
	X509 *cert = SSL_get1_peer_certificate(c->tls->ssl);
	BIO *text = BIO_new(BIO_s_mem());
	char *p;
	int n;

	if (cert && text &&
	    X509_NAME_print_ex(text, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253) >= 0) {
		n = (int)MIN(BIO_ctrl_pending(text), (size_t)MAX_SUBJECT);
		p = malloc((size_t)n + 1);
		if (p)
			c->client_subject = slice_of(p, (size_t)MAX(BIO_read(text, p, n), 0));
	}
	BIO_free(text);
	X509_free(cert);
}

static void handshake(struct http_conn *c)
{
	struct tls_conn *t = c->tls;
	const unsigned char *alpn;
	unsigned int n;
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(t->ssl);
	if (r != 1) {
		if (SSL_get_error(t->ssl, r) != SSL_ERROR_WANT_READ)
			tls_failed(c);
		return;
	}
	t->open = true;
	c->deadline_ms = c->loop->now_ms + c->loop->server->limits.header_ms;
	if (SSL_get_verify_mode(t->ssl) & SSL_VERIFY_PEER)
		remember_subject(c);
	SSL_get0_alpn_selected(t->ssl, &alpn, &n);
	if (n == 2 && memcmp(alpn, "h2", 2) == 0) {
		c->protocol = CONN_H2;
		c->broken |= h2_start(c) < 0;
	}
}

void tls_pump(struct http_conn *c)
{
	struct tls_conn *t = c->tls;

	if (!t->open && !c->closing && !c->broken)
		handshake(c);
	while (t->open && conn_wants_read(c)) {
		struct iovec to = conn_read_target(c);
		int n;

		ERR_clear_error();
		n = SSL_read(t->ssl, to.iov_base, (int)MIN(to.iov_len, (size_t)1 << 30));
		if (n > 0) {
			conn_input(c, to.iov_base, (size_t)n);
			continue;
		}
		switch (SSL_get_error(t->ssl, n)) {
		case SSL_ERROR_WANT_READ:
			break;
		case SSL_ERROR_ZERO_RETURN:
			conn_eof(c);
			break;
		default:
			tls_failed(c);
			break;
		}
		break;
	}
	collect(c);
}

void tls_encrypt(struct http_conn *c)
{
	struct tls_conn *t = c->tls;
	struct iovec iov[2];

	while (t->open && !c->broken && t->cipher.n - t->cipher_at < CIPHER_HIGH &&
	       conn_output(c, iov) > 0) {
		int n;

		ERR_clear_error();
		n = SSL_write(t->ssl, iov[0].iov_base, (int)MIN(iov[0].iov_len, RECORD));
		if (n <= 0) {
			c->broken = true;
			return;
		}
		collect(c);
		conn_sent(c, (size_t)n);
	}
}

void tls_shutdown(struct http_conn *c)
{
	if (c->tls->open) {
		ERR_clear_error();
		SSL_shutdown(c->tls->ssl);
	}
	ERR_clear_error();
	collect(c);
}

struct slice tls_pending(const struct http_conn *c)
{
	return slice_from(buffer_get(&c->tls->cipher), c->tls->cipher_at);
}

void tls_sent(struct http_conn *c, size_t n)
{
	struct tls_conn *t = c->tls;

	t->cipher_at += n;
	if (t->cipher_at == t->cipher.n) {
		t->cipher_at = 0;
		buffer_clear(&t->cipher);
	}
}
