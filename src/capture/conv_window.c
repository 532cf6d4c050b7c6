/* capture/conv_window.c - bytes of one direction that a parser has not consumed yet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/conv_int.h"

#define FIRST_WINDOW 512

/* Room for `n` bytes, at most CONV_MAX_WINDOW, in a window; what is in it stays. */
static int reserve(struct conv *c, struct conv_half *h, size_t n)
{
	size_t capacity = h->capacity ? h->capacity : FIRST_WINDOW;
	uint8_t *window;

	if (n <= h->capacity)
		return 0;
	while (capacity < n)
		capacity *= 2;
	window = realloc(h->window, capacity);
	if (!window)
		return -ENOMEM;
	c->shared->memory += capacity - h->capacity;
	h->window = window;
	h->capacity = (uint32_t)capacity;
	return 0;
}

int window_keep(struct conv *c, struct conv_half *h, struct slice rest)
{
	if (rest.n > h->capacity) { /* then it is not in the window */
		int r = reserve(c, h, rest.n);

		if (r < 0)
			return r;
	}
	if (rest.n > 0)
		memmove(h->window, rest.p, rest.n);
	h->n = (uint32_t)rest.n;
	return 0;
}

int window_append(struct conv *c, struct conv_half *h, struct slice bytes)
{
	int r;

	if (h->n + bytes.n > CONV_MAX_WINDOW)
		return -EBADMSG;
	r = reserve(c, h, h->n + bytes.n);
	if (r < 0)
		return r;
	if (bytes.n > 0)
		memcpy(h->window + h->n, bytes.p, bytes.n);
	h->n += (uint32_t)bytes.n;
	return 0;
}

void window_free(struct conv *c, struct conv_half *h)
{
	c->shared->memory -= h->capacity;
	free(h->window);
	h->window = NULL;
	h->n = h->capacity = 0;
}
