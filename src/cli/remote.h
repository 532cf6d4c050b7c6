/* cli/remote.h - asking a server: addresses, tokens, timeouts, and what its refusals mean. */
#ifndef CAUSET_CLI_REMOTE_H
#define CAUSET_CLI_REMOTE_H

#include "cli/cli.h"
#include "http/client.h"

struct remote {
	struct cli *cli;
	struct http_client *client;
	const char *authorization; /* a whole header, or NULL */
	int64_t deadline_ns;       /* monotonic; 0: none */
};

/* EXIT_OK, or an exit code after having said why (a token file that cannot be read). */
int remote_open(struct cli *cli, struct remote *ret_remote);
void remote_done(struct remote *r);

/* GETs base + path and what `query` holds ("?a=b", or empty).  With `write` the answer is handed
 * over piece by piece, else it is in ret_answer->body (http_answer_done()).  EXIT_OK; EXIT_NOTHING
 * for a 404; otherwise an exit code after having said what went wrong and what to try. */
int remote_get(struct remote *r, const char *base, const char *path, const struct buffer *query,
	       int (*write)(void *context, struct slice piece), void *context,
	       struct http_answer *ret_answer);

/* One call, whatever the answer's status: 0, or an exit code after having said why there was none.
 * Adds the token and what is left of the time. */
int remote_call(struct remote *r, struct http_call *call, const char *type,
		struct http_answer *ret_answer);

/* The server's address with a path, and behind it a name, percent-encoded where it must be; NULL:
 * none.  In the command's arena; NULL when out of memory. */
char *remote_url(struct cli *cli, const char *path, const char *name);

/* DELETEs remote_url(path, name).  EXIT_OK, or an exit code after having said why not. */
int remote_delete(struct remote *r, const char *path, const char *name);

/* Says why there was no answer (what http_client_call() returned), and gives its exit code. */
int remote_no_answer(struct remote *r, int code, const struct error *error);

/* Says what a refusal (status 400 and above) means, and gives its exit code. */
int remote_refused(struct remote *r, const char *url, const struct http_answer *answer);

/* Appends ?name=value or &name=value, percent-encoded. */
void query_add(struct buffer *query, const char *name, struct slice value);

/* Calls each() with every element of the array `name` in an object, as JSON text.  0, what each()
 * returned other than 0, or -EBADMSG. */
int items_each(struct slice body, const char *name, int (*each)(void *context, struct slice item),
	       void *context);

/* The text or number at `name` of an object; false when it is not there.  Text is unescaped into
 * the arena. */
bool item_text(struct slice object, const char *name, struct arena *arena, struct slice *ret_text);
bool item_u64(struct slice object, const char *name, uint64_t *ret_value);

#endif
