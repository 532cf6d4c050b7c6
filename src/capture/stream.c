/* capture/stream.c - one direction of a TCP connection.
 *
 *            next                  held pieces, in order
 *   …given ▸│    hole    │█████│  hole  │███│
 *
 * A piece is a copy of a segment's bytes (packets do not outlive their window). */
#include "capture/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct stream_piece {
	struct stream_piece *next;
	uint32_t seq, n, wire_n;
	int64_t time_ns;
	char bytes[];
};

static int32_t distance(uint32_t from, uint32_t to)
{
	return (int32_t)(to - from);
}

static void piece_drop(struct stream *s, const struct stream_out *out)
{
	struct stream_piece *piece = s->held;

	s->held = piece->next;
	s->held_n--;
	s->held_bytes -= piece->n;
	*out->memory -= sizeof(*piece) + piece->n;
	free(piece);
}

void stream_done(struct stream *s, const struct stream_out *out)
{
	while (s->held)
		piece_drop(s, out);
}

void stream_start(struct stream *s, uint32_t first)
{
	s->started = true;
	s->next = first;
}

/* Gives the new part of a segment that begins at or before `next`. */
static int give(struct stream *s, uint32_t seq, struct slice bytes, uint32_t wire_n,
		int64_t time_ns, const struct stream_out *out)
{
	int32_t old = distance(seq, s->next);
	uint32_t fresh;
	int r = 0;

	if (old >= (int32_t)wire_n)
		return 0;
	fresh = wire_n - (uint32_t)old;
	bytes = slice_from(bytes, (size_t)old);
	s->next += fresh;
	if (bytes.n > 0)
		r = out->data(out->context, bytes, time_ns);
	if (r == 0 && fresh > bytes.n)
		r = out->gap(out->context, fresh - bytes.n, time_ns);
	return r;
}

/* Gives the pieces that have become next. */
static int drain(struct stream *s, const struct stream_out *out)
{
	int r = 0;

	while (r == 0 && s->held && distance(s->held->seq, s->next) >= 0) {
		struct stream_piece *p = s->held;

		r = give(s, p->seq, slice_of(p->bytes, p->n), p->wire_n, p->time_ns, out);
		piece_drop(s, out);
	}
	if (s->has_fin && distance(s->fin, s->next) >= 0)
		s->finished = true;
	return r;
}

/* The hole before the first piece will not be filled. */
static int skip_hole(struct stream *s, int64_t time_ns, const struct stream_out *out)
{
	uint32_t hole = s->held->seq - s->next;
	int r = out->gap(out->context, hole, time_ns);

	s->next = s->held->seq;
	return r < 0 ? r : drain(s, out);
}

static int hold(struct stream *s, const struct stream_segment *g, const struct stream_out *out)
{
	struct stream_piece **at = &s->held, *piece;

	while (*at && distance((*at)->seq, g->seq) > 0)
		at = &(*at)->next;
	if (*at && (*at)->seq == g->seq && (*at)->wire_n >= g->wire_n) {
		++*out->repeated;
		return 0;
	}
	piece = malloc(sizeof(*piece) + g->bytes.n);
	if (!piece)
		return -ENOMEM;
	*piece = (struct stream_piece){.next = *at,
				       .seq = g->seq,
				       .n = (uint32_t)g->bytes.n,
				       .wire_n = g->wire_n,
				       .time_ns = g->time_ns};
	memcpy(piece->bytes, g->bytes.p, g->bytes.n);
	*at = piece;
	s->held_n++;
	s->held_bytes += piece->n;
	*out->memory += sizeof(*piece) + piece->n;
	++*out->reordered;
	return 0;
}

/* Holes that nobody will fill any more. */
static int give_up(struct stream *s, int64_t time_ns, const struct stream_out *out)
{
	int r = 0;

	while (r == 0 && s->held) {
		bool known = s->has_ack && distance(s->held->seq, s->acked) > 0;

		if (!known && s->held_bytes <= STREAM_MAX_HELD && s->held_n <= STREAM_MAX_PIECES &&
		    time_ns - s->held->time_ns < STREAM_MAX_WAIT_NS)
			break;
		r = skip_hole(s, time_ns, out);
	}
	return r;
}

int stream_segment(struct stream *s, const struct stream_segment *g, const struct stream_out *out)
{
	int32_t ahead;
	int r = 0;

	if (!s->started)
		stream_start(s, g->seq);
	if (g->fin) {
		s->has_fin = true;
		s->fin = g->seq + g->wire_n;
	}
	ahead = distance(s->next, g->seq);
	if (g->wire_n > 0) {
		if (ahead <= 0 && -(int64_t)ahead >= (int64_t)g->wire_n)
			++*out->repeated;
		else if (ahead <= 0)
			r = give(s, g->seq, g->bytes, g->wire_n, g->time_ns, out);
		else
			r = hold(s, g, out);
	}
	if (r == 0)
		r = drain(s, out);
	return r < 0 || !s->held ? r : give_up(s, g->time_ns, out);
}

int stream_ack(struct stream *s, uint32_t ack, int64_t time_ns, const struct stream_out *out)
{
	if (!s->started)
		return 0;
	if (!s->has_ack || distance(s->acked, ack) > 0) {
		s->acked = ack;
		s->has_ack = true;
	}
	return s->held ? give_up(s, time_ns, out) : 0;
}

int stream_flush(struct stream *s, int64_t time_ns, const struct stream_out *out)
{
	int r = 0;

	while (r == 0 && s->held)
		r = skip_hole(s, time_ns, out);
	return r;
}
