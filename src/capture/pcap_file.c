/* capture/pcap_file.c - the classic format.
 *
 *   file   magic u32 · major u16 · minor u16 · zone i32 · sigfigs u32 · snaplen u32 · link u32
 *   packet seconds u32 · fraction u32 · captured u32 · on the wire u32 · bytes
 *
 * The magic tells the byte order and whether fractions are micro- or nanoseconds.  The upper bits
 * of `link` may hold the length of a frame check sequence; they are not ours to interpret. */
#include <errno.h>

#include "capture/packet_reader_int.h"

#define FILE_HEAD   24
#define PACKET_HEAD 16

int pcap_open(struct packet_reader *r, struct error *error)
{
	int full = packet_reader_need(r, FILE_HEAD, error);
	const uint8_t *p;
	uint32_t magic;

	if (full < 0)
		return full;
	if (!full)
		return error_set(error, -EBADMSG, "the capture is cut off inside its head");
	p = packet_reader_here(r);
	r->format = PACKET_PCAP;
	magic = load_le32(p);
	r->swapped = magic == 0xd4c3b2a1 || magic == 0x4d3cb2a1;
	magic = packet_reader_u32(r, p);
	r->pcap.units = magic == 0xa1b23c4d ? 1000000000 : 1000000;
	r->pcap.link = packet_reader_u32(r, p + 20) & 0xffff;
	r->at += FILE_HEAD;
	return 0;
}

int pcap_next(struct packet_reader *r, struct packet *ret_packet, struct error *error)
{
	int full = packet_reader_need(r, PACKET_HEAD, error);
	uint32_t captured, fraction;
	const uint8_t *p;

	if (full < 0)
		return full;
	if (!full)
		return r->n > r->at ? packet_reader_cut(r) : 0;
	p = packet_reader_here(r);
	fraction = packet_reader_u32(r, p + 4);
	captured = packet_reader_u32(r, p + 8);
	if (captured > PACKET_MAX_BYTES)
		return packet_reader_damaged(r, error, "a packet is longer than 256 KiB");
	full = packet_reader_need(r, PACKET_HEAD + captured, error);
	if (full < 0)
		return full;
	if (!full)
		return packet_reader_cut(r);
	p = packet_reader_here(r);
	*ret_packet = (struct packet){
		.time_ns = (int64_t)packet_reader_u32(r, p) * 1000000000 +
			   (int64_t)fraction * (r->pcap.units == 1000000 ? 1000 : 1),
		.p = p + PACKET_HEAD,
		.n = captured,
		.wire_n = packet_reader_u32(r, p + 12),
		.link = r->pcap.link,
	};
	if (ret_packet->wire_n < captured)
		ret_packet->wire_n = captured;
	r->at += PACKET_HEAD + captured;
	return 1;
}
