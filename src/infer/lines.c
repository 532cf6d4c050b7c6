/* infer/lines.c - text in pieces, given on line by line. */
#include "infer/lines.h"

#include <errno.h>

#include "base/cleanup.h"

void lines_done(struct lines *l)
{
	buffer_done(&l->carry);
}

static int give(struct lines *l, struct slice line)
{
	bool cut = line.n > LINES_MAX_BYTES;

	l->n++;
	return l->take(l->context, slice_first(line, LINES_MAX_BYTES), cut);
}

int lines_feed(struct lines *l, struct slice text)
{
	while (text.n > 0) {
		const char *newline = memchr(text.p, '\n', text.n);
		struct slice line = slice_of(text.p, newline ? (size_t)(newline - text.p) : text.n);
		int r;

		text = slice_from(text, line.n + (newline != NULL));
		if (!newline || l->carry.n > 0) {
			size_t room = LINES_MAX_BYTES + 1 - l->carry.n;

			buffer_append(&l->carry, line.p, MIN(line.n, room));
			if (l->carry.failed)
				return -ENOMEM;
			line = buffer_get(&l->carry);
		}
		if (!newline)
			return 0;
		r = give(l, line);
		if (r < 0)
			return r;
		buffer_clear(&l->carry);
	}
	return 0;
}

int lines_finish(struct lines *l)
{
	int r = l->carry.n > 0 ? give(l, buffer_get(&l->carry)) : 0;

	buffer_clear(&l->carry);
	return r;
}
