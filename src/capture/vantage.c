/* capture/vantage.c - where captures were taken, told by what is in them. */
#include "capture/vantage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "infer/names.h"

/* The nodes that are an end of every message of a file so far: two, one, none. */
struct ends {
	uint32_t a, b;
	bool seen; /* any message */
};

static void narrow(struct ends *e, const struct message *m)
{
	if (!e->seen) {
		*e = (struct ends){m->sender, m->receiver, true};
		return;
	}
	if (e->a != m->sender && e->a != m->receiver)
		e->a = NAMES_NONE;
	if (e->b != m->sender && e->b != m->receiver)
		e->b = NAMES_NONE;
}

static bool is_taken(const struct ends *ends, size_t n, uint32_t node)
{
	for (size_t i = 0; i < n; i++)
		if (ends[i].a == node && ends[i].b == NAMES_NONE)
			return true;
	return false;
}

/* Puts what is certain into `a`; pairs are decided as long as that decides others. */
static bool resolve(struct ends *ends, size_t n)
{
	size_t left = 0, before;

	for (size_t i = 0; i < n; i++) {
		if (ends[i].a == NAMES_NONE) {
			ends[i].a = ends[i].b;
			ends[i].b = NAMES_NONE;
		}
		if (!ends[i].seen || ends[i].a == NAMES_NONE)
			return false;
		left += ends[i].b != NAMES_NONE;
	}
	do {
		before = left;
		for (size_t i = 0; i < n; i++) {
			struct ends *e = &ends[i];
			bool a, b;

			if (e->b == NAMES_NONE)
				continue;
			a = is_taken(ends, n, e->a);
			b = is_taken(ends, n, e->b);
			if (a == b)
				continue;
			if (a)
				e->a = e->b;
			e->b = NAMES_NONE;
			left--;
		}
	} while (left > 0 && left < before);
	return left == 0;
}

int vantage_mark(struct message *messages, size_t n, size_t file_n, uint32_t *ret_nodes)
{
	_cleanup_(freep)
	struct ends *ends = NULL;

	if (file_n == 0 || file_n > VANTAGE_MAX_FILES)
		return 0;
	ends = calloc(file_n, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (messages[i].file >= file_n || messages[i].sight != MESSAGE_SEEN ||
		    messages[i].sender == messages[i].receiver)
			return 0;
		narrow(&ends[messages[i].file], &messages[i]);
	}
	if (!resolve(ends, file_n))
		return 0;
	for (size_t i = 0; i < n; i++)
		messages[i].sight = messages[i].sender == ends[messages[i].file].a ? MESSAGE_SENT
										   : MESSAGE_RECV;
	for (size_t i = 0; i < file_n && ret_nodes; i++)
		ret_nodes[i] = ends[i].a;
	return 1;
}
