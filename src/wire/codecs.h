/* wire/codecs.h - the formats we read and write, in one table, for import, export and ingest.
 *
 * A new format is a pair of functions and one row in codecs.c. */
#ifndef CAUSET_WIRE_CODECS_H
#define CAUSET_WIRE_CODECS_H

#include "base/buffer.h"
#include "wire/decode.h"

/* How the requests in a file of this format are told apart (wire/split.h). */
enum codec_frame {
	FRAME_FIELDS, /* protobuf: can be cut between any two fields */
	FRAME_VALUES, /* JSON values one behind the other, usually one a line */
};

struct codec {
	const char *name;         /* what the user calls it: "otlp-json" */
	const char *title;        /* for lists and help */
	const char *content_type; /* of a request or answer in this format */
	const char *extensions;   /* ends of file names without the dot, separated by blanks; the
				     first is what export uses */
	enum codec_frame frame;
	/* Two encodings one behind the other are a file that can be read again.  (With a line feed
	 * between them where frame is FRAME_VALUES.) */
	bool appends;
	/* Holds every row as it is.  The others know only spans (and logs): begin and end must be
	 * joined first. */
	bool all_rows;

	/* As described in wire/decode.h. */
	int (*decode)(struct slice bytes, struct batch *batch, struct decode_tally *tally,
		      struct error *error);
	/* Appends the rows that the format can hold; others are passed over. */
	void (*encode)(const struct event_ref *refs, size_t n, struct buffer *out);
};

/* All of them, in the order in which help lists them. */
const struct codec *codec_list(size_t *ret_n);

/* By name, where "-json" may be left out if nothing else is called so; NULL when there is none. */
const struct codec *codec_find(struct slice name);

/* Recognises a file by its first bytes (give a few kilobytes, decompressed) and, where they leave
 * it open, by its name (which may be empty; .gz and .zst do not count).  NULL when neither helps.
 */
const struct codec *codec_sniff(struct slice head, struct slice file_name);

#endif
