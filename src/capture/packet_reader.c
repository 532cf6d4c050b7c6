/* capture/packet_reader.c - the window over the file, and which of the two formats it is. */
#include "capture/packet_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/packet_reader_int.h"

int packet_reader_fill(struct packet_reader *r, size_t need, struct error *error)
{
	size_t left = r->n - r->at;

	if (left >= need)
		return 1;
	if (!r->read)
		return 0;
	if (r->at > 0) {
		memmove(r->memory, r->memory + r->at, left);
		r->offset += r->at;
		r->at = 0;
		r->n = left;
	}
	while (r->n < need && !r->at_end) {
		ssize_t got =
			r->read(r->context, r->memory + r->n, PACKET_WINDOW_BYTES - r->n, error);

		if (got < 0)
			return (int)got;
		r->at_end = got == 0;
		r->n += (size_t)got;
	}
	return r->n >= need;
}

int packet_reader_damaged(const struct packet_reader *r, struct error *error, const char *what)
{
	return error_at(error, -EBADMSG, r->offset + r->at, "the capture is damaged: %s", what);
}

static bool is_pcap(const uint8_t *p)
{
	uint32_t magic = load_le32(p);

	return magic == 0xa1b2c3d4 || magic == 0xd4c3b2a1 || magic == 0xa1b23c4d ||
	       magic == 0x4d3cb2a1;
}

static bool is_pcapng(const uint8_t *p)
{
	return load_le32(p) == 0x0a0d0d0a;
}

bool packet_reader_knows(struct slice first)
{
	const uint8_t *p = (const uint8_t *)first.p;

	return first.n >= 4 && (is_pcap(p) || is_pcapng(p));
}

static int open_format(struct packet_reader *r, struct error *error)
{
	int full = packet_reader_need(r, 4, error);

	if (full < 0)
		return full;
	if (full && is_pcap(packet_reader_here(r)))
		return pcap_open(r, error);
	if (full && is_pcapng(packet_reader_here(r)))
		return pcapng_open(r, error);
	return error_set(error, -ENOTSUP, "this is neither pcap nor pcapng");
}

int packet_reader_open(struct packet_reader *r, packet_read *read, void *context,
		       struct error *error)
{
	int code;

	*r = (struct packet_reader){.read = read, .context = context};
	r->memory = malloc(PACKET_WINDOW_BYTES);
	if (!r->memory)
		return error_set(error, -ENOMEM, "out of memory");
	r->window = (const uint8_t *)r->memory;
	code = open_format(r, error);
	if (code < 0)
		packet_reader_done(r);
	return code;
}

int packet_reader_open_bytes(struct packet_reader *r, struct slice bytes, struct error *error)
{
	int code;

	*r = (struct packet_reader){.window = (const uint8_t *)bytes.p, .n = bytes.n};
	code = open_format(r, error);
	if (code < 0)
		packet_reader_done(r);
	return code;
}

void packet_reader_done(struct packet_reader *r)
{
	free(r->memory);
	free(r->interfaces);
	r->memory = NULL;
	r->interfaces = NULL;
	r->interface_n = r->interface_capacity = 0;
	r->at = r->n = 0;
	r->at_end = true;
}

int packet_reader_next(struct packet_reader *r, struct packet *ret_packet, struct error *error)
{
	int code = r->format == PACKET_PCAP ? pcap_next(r, ret_packet, error)
					    : pcapng_next(r, ret_packet, error);

	if (code == 1) {
		r->packets++;
		r->bytes += ret_packet->n;
	}
	return code;
}
