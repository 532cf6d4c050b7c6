/* http/tls_int.h - TLS between the socket and the connection, through memory BIOs. */
#ifndef CAUSET_HTTP_TLS_INT_H
#define CAUSET_HTTP_TLS_INT_H

#include "http/loop_int.h"

/* A context from the three files; the error says which is bad and why. */
int tls_context_new(const char *certificate, const char *key, const char *client_ca,
		    SSL_CTX **ret_context, struct error *error);
void tls_context_free(SSL_CTX *context);

/* Gives the connection its TLS state, with the server's context of now. */
int tls_open(struct http_conn *c);
void tls_close(struct http_conn *c);

/* Encrypted bytes have come. */
void tls_received(struct http_conn *c, const char *p, size_t n);

/* Decrypts what the connection wants to read and goes on with the handshake. */
void tls_pump(struct http_conn *c);

/* Encrypts what the connection has to say, up to some records. */
void tls_encrypt(struct http_conn *c);

/* Adds the close_notify. */
void tls_shutdown(struct http_conn *c);

bool tls_is_open(const struct http_conn *c);
struct slice tls_pending(const struct http_conn *c);
void tls_sent(struct http_conn *c, size_t n);

#endif
