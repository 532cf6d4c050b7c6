/* wire/pieces.c - writing many rows piece by piece. */
#include "wire/pieces.h"

#include "base/cleanup.h"

/* Does the row belong to the one before it? */
static bool goes_on(const struct pieces *p, size_t at)
{
	uint8_t type = event_get(p->refs[at])->type;

	return p->refs[at].batch == p->refs[at - 1].batch &&
	       (type == EVENT_POINT || type == EVENT_LINK);
}

static void piece_put(struct pieces *p, size_t end, struct buffer *out)
{
	size_t before = out->n;

	p->codec->encode(p->refs + p->at, end - p->at, out);
	p->at = end;
	if (p->codec->frame == FRAME_VALUES && out->n > before)
		buffer_byte(out, '\n');
}

bool pieces_next(struct pieces *p, struct buffer *out)
{
	size_t start = out->n;

	if (p->done)
		return false;
	if (!p->codec->appends) {
		piece_put(p, p->n, out); /* none at all is a document, too */
		p->done = true;
		return true;
	}
	while (p->at < p->n && out->n - start < PIECE_BYTES && !out->failed) {
		size_t end = MIN(p->n, p->at + PIECE_ROWS);

		while (end < p->n && goes_on(p, end))
			end++;
		piece_put(p, end, out);
	}
	p->done = p->at >= p->n;
	return out->n > start;
}
