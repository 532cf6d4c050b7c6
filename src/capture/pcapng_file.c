/* capture/pcapng_file.c - blocks of type u32 · length u32 · body · length u32, padded to 4 bytes.
 *
 *   0a0d0d0a  section head: byte-order magic, versions, section length, options; forgets interfaces
 *   1         interface: link u16 · reserved u16 · snaplen u32 · options
 *   2         (obsolete) packet: interface u16 · drops u16 · time u64 · captured u32 · wire u32
 *   3         simple packet: wire u32 · bytes; of interface 0, without a time
 *   6         enhanced packet: interface u32 · time high u32 · low u32 · captured u32 · wire u32
 *
 * Every other block is passed over, whatever its length, without being held in memory. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "capture/packet_reader_int.h"

#define SECTION_BLOCK  0x0a0d0d0a
#define MAX_INTERFACES 65536
#define MAX_OPTIONS    1000
#define MAX_BLOCK_HELD (PACKET_MAX_BYTES + 65536) /* a packet and its options */
#define MICROSECONDS   1000000

enum { INTERFACE_BLOCK = 1, OLD_PACKET_BLOCK = 2, SIMPLE_BLOCK = 3, PACKET_BLOCK = 6 };
enum { OPTION_END = 0, OPTION_TSRESOL = 9, OPTION_TSOFFSET = 14 };

/* if_tsresol: 10^-v, or 2^-v when the top bit is set. */
static uint64_t resolution(uint8_t v)
{
	uint64_t units = 1;

	if (v & 0x80)
		return (v & 0x7f) < 63 ? UINT64_C(1) << (v & 0x7f) : 0;
	if (v > 18)
		return 0;
	while (v--)
		units *= 10;
	return units;
}

static int64_t time_of(const struct packet_interface *i, uint64_t ticks)
{
	int64_t seconds = (int64_t)(ticks / i->units) + i->offset_seconds;
	uint64_t rest = ticks % i->units;

	/* Beyond the year 2262 nanoseconds do not fit. */
	if (seconds > INT64_MAX / 1000000000 - 1 || seconds < 0)
		return 0;
	return seconds * 1000000000 +
	       (int64_t)((__uint128_t)rest * UINT64_C(1000000000) / i->units);
}

static int interface_block(struct packet_reader *r, const uint8_t *body, size_t n,
			   struct error *error)
{
	struct packet_interface i = {.units = MICROSECONDS};
	size_t at = 8;

	if (n < 8)
		return packet_reader_damaged(r, error, "an interface block is too short");
	if (r->interface_n >= MAX_INTERFACES)
		return packet_reader_damaged(r, error, "more than 65536 interfaces");
	i.link = packet_reader_u16(r, body);
	i.snap = packet_reader_u32(r, body + 4);
	for (int k = 0; k < MAX_OPTIONS && at + 4 <= n; k++) {
		uint16_t code = packet_reader_u16(r, body + at);
		size_t length = packet_reader_u16(r, body + at + 2);

		if (code == OPTION_END || at + 4 + length > n)
			break;
		if (code == OPTION_TSRESOL && length >= 1)
			i.units = resolution(body[at + 4]);
		if (code == OPTION_TSOFFSET && length >= 8)
			i.offset_seconds =
				(int64_t)((uint64_t)packet_reader_u32(
						  r, body + at + (r->swapped ? 4 : 8))
						  << 32 |
					  packet_reader_u32(r, body + at + (r->swapped ? 8 : 4)));
		at += 4 + (length + 3) / 4 * 4;
	}
	if (i.units == 0)
		return packet_reader_damaged(r, error, "an interface's clock has no resolution");
	if (i.offset_seconds > INT64_MAX / 4000000000 || i.offset_seconds < -INT64_MAX / 4000000000)
		return packet_reader_damaged(r, error, "an interface's clock offset is absurd");
	if (!vec_reserve(&r->interfaces, &r->interface_capacity, r->interface_n + 1, sizeof(i)))
		return error_set(error, -ENOMEM, "out of memory");
	r->interfaces[r->interface_n++] = i;
	return 0;
}

/* Reads a section's head; the reader stands at its first byte. */
static int section(struct packet_reader *r, struct error *error)
{
	int full = packet_reader_need(r, 28, error);
	const uint8_t *p;
	uint32_t magic;

	if (full < 0)
		return full;
	if (!full)
		return error_set(error, -EBADMSG, "the capture is cut off inside its head");
	p = packet_reader_here(r);
	magic = load_le32(p + 8);
	if (magic != 0x1a2b3c4d && magic != 0x4d3c2b1a)
		return packet_reader_damaged(r, error, "a section has no byte-order magic");
	r->swapped = magic == 0x4d3c2b1a;
	if (packet_reader_u16(r, p + 12) != 1)
		return packet_reader_damaged(r, error, "an unknown version of pcapng");
	r->interface_n = 0;
	return 0;
}

int pcapng_open(struct packet_reader *r, struct error *error)
{
	r->format = PACKET_PCAPNG;
	return section(r, error); /* and is read again, as a block, by the first pcapng_next() */
}

static int packet_block(struct packet_reader *r, uint32_t type, const uint8_t *body, size_t n,
			struct packet *ret, struct error *error)
{
	const struct packet_interface *i;
	size_t head = type == SIMPLE_BLOCK ? 4 : 20;
	uint32_t index = 0, captured;

	if (n < head)
		return packet_reader_damaged(r, error, "a packet block is too short");
	if (type == PACKET_BLOCK)
		index = packet_reader_u32(r, body);
	else if (type == OLD_PACKET_BLOCK)
		index = packet_reader_u16(r, body);
	if (index >= r->interface_n)
		return packet_reader_damaged(r, error, "a packet of an interface never described");
	i = &r->interfaces[index];
	if (type == SIMPLE_BLOCK) {
		ret->wire_n = packet_reader_u32(r, body);
		captured = (uint32_t)MIN((size_t)ret->wire_n, n - head);
		if (i->snap && captured > i->snap)
			captured = i->snap;
		ret->time_ns = r->last_ns;
	} else {
		ret->time_ns = time_of(i, (uint64_t)packet_reader_u32(r, body + 4) << 32 |
						  packet_reader_u32(r, body + 8));
		captured = packet_reader_u32(r, body + 12);
		ret->wire_n = MAX(captured, packet_reader_u32(r, body + 16));
		r->last_ns = ret->time_ns;
	}
	if (captured > n - head || captured > PACKET_MAX_BYTES)
		return packet_reader_damaged(r, error, "a packet is longer than its block");
	ret->p = body + head;
	ret->n = captured;
	ret->link = i->link;
	return 1;
}

/* Moves behind a block of `length` bytes that may be longer than the window. */
static int pass(struct packet_reader *r, size_t length, struct error *error)
{
	while (length > 0) {
		int full = packet_reader_need(r, 1, error);
		size_t step;

		if (full <= 0)
			return full < 0 ? full : packet_reader_cut(r);
		step = MIN(length, r->n - r->at);
		r->at += step;
		length -= step;
	}
	return 1;
}

int pcapng_next(struct packet_reader *r, struct packet *ret_packet, struct error *error)
{
	for (;;) {
		int full = packet_reader_need(r, 12, error);
		uint32_t type, length;
		const uint8_t *p;

		if (full <= 0)
			return full < 0 ? full : r->n > r->at ? packet_reader_cut(r) : 0;
		p = packet_reader_here(r);
		if (load_le32(p) == SECTION_BLOCK) {
			int code = section(r, error);

			if (code < 0)
				return code;
			p = packet_reader_here(r);
		}
		type = packet_reader_u32(r, p);
		length = packet_reader_u32(r, p + 4);
		if (length < 12 || length % 4)
			return packet_reader_damaged(r, error, "a block has an impossible length");
		if (type != INTERFACE_BLOCK && type != OLD_PACKET_BLOCK && type != SIMPLE_BLOCK &&
		    type != PACKET_BLOCK) {
			r->skipped++;
			full = pass(r, length, error);
			if (full <= 0)
				return full;
			continue;
		}
		if (length > MAX_BLOCK_HELD)
			return packet_reader_damaged(r, error, "a block is longer than 320 KiB");
		full = packet_reader_need(r, length, error);
		if (full <= 0)
			return full < 0 ? full : packet_reader_cut(r);
		p = packet_reader_here(r);
		if (type == INTERFACE_BLOCK)
			full = interface_block(r, p + 8, length - 12, error);
		else
			full = packet_block(r, type, p + 8, length - 12, ret_packet, error);
		if (full < 0)
			return full;
		r->at += length;
		if (type != INTERFACE_BLOCK)
			return 1;
	}
}
