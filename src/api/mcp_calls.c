/* api/mcp_calls.c - calls under way, so that notifications/cancelled finds them. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/mcp.h"
#include "base/cleanup.h"

struct mcp_calls {
	pthread_mutex_t lock;
	struct {
		bool used;
		char session[MCP_SESSION_CHARS + 1];
		char id[MCP_ID_CHARS + 1]; /* as JSON */
		_Atomic bool *cancel;
	} rows[MCP_CALLS_MOST];
};

struct mcp_calls *mcp_calls_new(void)
{
	struct mcp_calls *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

struct mcp_calls *mcp_calls_free(struct mcp_calls *c)
{
	if (!c)
		return NULL;
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

/* With the lock held. */
static int find(const struct mcp_calls *c, const char *session, struct slice id)
{
	for (int i = 0; i < MCP_CALLS_MOST; i++)
		if (c->rows[i].used && strcmp(c->rows[i].session, session) == 0 &&
		    slice_eq(slice_cstr(c->rows[i].id), id))
			return i;
	return -ENOENT;
}

int mcp_calls_begin(struct mcp_calls *c, const char *session, struct slice id, _Atomic bool *cancel)
{
	int r = -EBUSY;

	pthread_mutex_lock(&c->lock);
	if (find(c, session, id) >= 0)
		r = -EEXIST;
	for (int i = 0; r == -EBUSY && i < MCP_CALLS_MOST; i++)
		if (!c->rows[i].used)
			r = i;
	if (r >= 0) {
		c->rows[r].used = true;
		c->rows[r].cancel = cancel;
		snprintf(c->rows[r].session, sizeof(c->rows[r].session), "%s", session);
		snprintf(c->rows[r].id, sizeof(c->rows[r].id), "%.*s", SLICE_ARG(id));
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

void mcp_calls_run(struct mcp_calls *c, int ticket, _Atomic bool *cancel)
{
	pthread_mutex_lock(&c->lock);
	if (atomic_load(c->rows[ticket].cancel))
		atomic_store(cancel, true);
	c->rows[ticket].cancel = cancel;
	pthread_mutex_unlock(&c->lock);
}

void mcp_calls_end(struct mcp_calls *c, int ticket)
{
	pthread_mutex_lock(&c->lock);
	c->rows[ticket].used = false;
	pthread_mutex_unlock(&c->lock);
}

void mcp_calls_cancel(struct mcp_calls *c, const char *session, const struct mcp_message *m)
{
	struct json_reader r = json_open(m->params), value;
	struct slice name, id = {0};
	int at;

	if (json_peek(&r) == JSON_OBJECT && json_object(&r))
		while (json_next_name(&r, &name)) {
			value = r;
			json_peek(&value); /* past blanks */
			json_skip(&r);
			if (slice_eq(name, SLICE("requestId")) && !r.bad)
				id = slice_trim(slice_of(value.at, (size_t)(r.at - value.at)));
		}
	if (r.bad || id.n == 0)
		return;
	pthread_mutex_lock(&c->lock);
	at = find(c, session, id);
	if (at >= 0)
		atomic_store(c->rows[at].cancel, true);
	pthread_mutex_unlock(&c->lock);
}

void mcp_calls_cancel_all(struct mcp_calls *c)
{
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < MCP_CALLS_MOST; i++)
		if (c->rows[i].used)
			atomic_store(c->rows[i].cancel, true);
	pthread_mutex_unlock(&c->lock);
}
