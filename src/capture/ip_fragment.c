/* capture/ip_fragment.c - IP packets that came in pieces.
 *
 * Pieces start at multiples of 8 bytes and, but for the last, are multiples of 8 long: a bitmap
 * of 8-byte units says what is there. */
#include "capture/ip_fragment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNITS ((FRAGMENT_MAX + 8) / 8)
#define BYTES (FRAGMENT_MAX + 1 + (UNITS + 7) / 8)

void ip_fragments_done(struct ip_fragments *f)
{
	for (int i = 0; i < FRAGMENT_SLOTS; i++) {
		free(f->slots[i].bytes);
		f->slots[i] = (struct fragment_slot){0};
	}
}

static struct fragment_slot *slot_of(struct ip_fragments *f, const struct ip_packet *p,
				     int64_t time_ns)
{
	struct fragment_slot *best = &f->slots[0];

	for (int i = 0; i < FRAGMENT_SLOTS; i++) {
		struct fragment_slot *s = &f->slots[i];

		if (s->used && time_ns - s->first_ns > FRAGMENT_WAIT_NS) {
			s->used = false;
			f->given_up++;
		}
		if (s->used && s->id == p->fragment_id && s->protocol == p->protocol &&
		    ip_equal(s->from, p->from) && ip_equal(s->to, p->to))
			return s;
		if (best->used && (!s->used || s->first_ns < best->first_ns))
			best = s;
	}
	if (best->used)
		f->given_up++;
	if (!best->bytes && !(best->bytes = malloc(BYTES)))
		return NULL;
	memset(best->bytes + FRAGMENT_MAX + 1, 0, BYTES - FRAGMENT_MAX - 1);
	*best = (struct fragment_slot){.from = p->from,
				       .to = p->to,
				       .id = p->fragment_id,
				       .protocol = p->protocol,
				       .used = true,
				       .first_ns = time_ns,
				       .bytes = best->bytes};
	return best;
}

/* Copies the units that are not there yet. */
static void put(struct fragment_slot *s, const struct ip_packet *p)
{
	uint8_t *map = s->bytes + FRAGMENT_MAX + 1;

	for (uint32_t at = 0; at < p->n; at += 8) {
		uint32_t offset = p->fragment_offset + at, unit = offset / 8;
		uint32_t n = MIN(p->n - at, 8u);

		if (map[unit / 8] & 1 << unit % 8)
			continue;
		map[unit / 8] |= (uint8_t)(1 << unit % 8);
		memcpy(s->bytes + offset, p->p + at, n);
		s->got += n;
	}
}

int ip_fragments_add(struct ip_fragments *f, const struct ip_packet *piece, int64_t time_ns,
		     struct ip_packet *ret_whole)
{
	struct fragment_slot *s;

	/* A piece that the capture cut cannot be joined, nor one that is too long or no multiple
	 * of 8: its packet is given up by waiting. */
	if (piece->n != piece->wire_n || piece->n == 0 ||
	    (uint32_t)piece->fragment_offset + piece->n > FRAGMENT_MAX ||
	    (piece->fragment_more && piece->n % 8))
		return 0;
	s = slot_of(f, piece, time_ns);
	if (!s)
		return -ENOMEM;
	put(s, piece);
	if (!piece->fragment_more)
		s->total = piece->fragment_offset + piece->n;
	if (s->total == 0 || s->got < s->total)
		return 0;
	s->used = false;
	f->whole++;
	*ret_whole = (struct ip_packet){.from = s->from,
					.to = s->to,
					.protocol = s->protocol,
					.p = s->bytes,
					.n = s->total,
					.wire_n = s->total};
	return 1;
}
