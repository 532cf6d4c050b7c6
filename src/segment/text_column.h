/* segment/text_column.h - a column of texts: repeated ones once, UUIDs and numbers cut out.
 *
 * A text becomes a template and what was cut out of it: a UUID (lower-case, canonical) leaves one
 * byte behind and is kept as 16 bytes in a table that all columns of a group share, so that a
 * session's id standing in five attributes of many rows is kept once; a text that is a canonical
 * decimal number is kept as a number.  Format: docs/format/segment.md, "Columns of text". */
#ifndef CAUSET_SEGMENT_TEXT_COLUMN_H
#define CAUSET_SEGMENT_TEXT_COLUMN_H

#include "base/map.h"
#include "segment/column.h"

#define UUID_BYTES 16
#define UUID_TEXT  36

/* The UUIDs of a group.  One thread. */
struct uuid_table {
	uint8_t (*ids)[UUID_BYTES];
	size_t n, capacity;
	struct map by_id;
};

void uuid_table_init(struct uuid_table *t);
void uuid_table_clear(struct uuid_table *t);
void uuid_table_done(struct uuid_table *t);

/* Does a UUID stand in the text? */
bool text_has_uuid(struct slice text);

/* Scratch memory of the encoder; one thread.  All zero is a good one. */
struct text_encoder {
	struct buffer templates;
	uint32_t *offset, *codes, *kinds;
	int64_t *refs, *numbers;
	size_t offset_capacity, code_capacity, kind_capacity, ref_capacity, number_capacity;
	struct map by_text;
	bool started;
	size_t template_n, ref_n, number_n; /* of the texts that were cut last, … */
	uint64_t base;                      /* … and the UUIDs that were there before */
};

void text_encoder_done(struct text_encoder *e);

/* What the encoder saw. */
struct text_column_facts {
	size_t templates;
	bool cut; /* some UUID or number was cut out */
};

/* Takes n texts apart.  They are borrowed until they are written, or others are cut.  -ENOMEM. */
int text_column_cut(struct text_encoder *e, struct uuid_table *uuids, const struct slice *texts,
		    size_t n, struct text_column_facts *ret_facts);

/* Appends the block of the n texts that were cut last.  -ENOMEM. */
int text_column_write(struct text_encoder *e, struct column_codec *codec, size_t n,
		      struct buffer *out);

/* A template of these; value i is made from template e->codes[i]. */
static inline struct slice text_template(const struct text_encoder *e, size_t i)
{
	return slice_of(e->templates.p + e->offset[i], e->offset[i + 1] - e->offset[i]);
}

/* Decoded: value i is text codes[i]; text j is text[offset[j]] … text[offset[j + 1]]. */
struct text_column {
	uint32_t *codes;
	uint32_t *offset;
	struct buffer text;
	uint32_t text_n;
	size_t code_capacity, offset_capacity;
};

/* Does the block hold codes of the segment's dictionary instead?  Then they are decoded by
 * text_column_codes(). */
static inline bool text_column_is_codes(struct slice block)
{
	return block.n > 0 && block.p[0] == 0;
}

/* The codes of values first … first + count - 1 of n, each below `below`. */
int text_column_codes(struct column_codec *codec, struct slice block, size_t n, size_t first,
		      size_t count, uint32_t below, struct text_column *column);

/* Decodes texts first … first + count - 1 of a block of n; *column is used again, so it must be all
 * zero at first.  At most `limit` bytes of text.  -EBADMSG, -ENOMEM. */
int text_column_decode(struct column_codec *codec, struct slice block, size_t n, size_t first,
		       size_t count, const uint8_t (*uuids)[UUID_BYTES], size_t uuid_n,
		       size_t limit, struct text_column *column);

/* Which of n texts equal `text`: how many, and their places, ascending, in `found`, which has room
 * for n.  What cannot be one of them is not put together.  *room is memory like *column above; its
 * content is lost.  `uuids` may be NULL where no UUID stands in the text.  -EBADMSG, -ENOMEM. */
int text_column_find(struct column_codec *codec, struct slice block, size_t n,
		     const uint8_t (*uuids)[UUID_BYTES], size_t uuid_n, size_t limit,
		     struct slice text, struct text_column *room, uint32_t *found);
void text_column_done(struct text_column *column);

static inline struct slice text_column_get(const struct text_column *c, size_t i)
{
	uint32_t code = c->codes[i];

	return slice_of(c->text.p + c->offset[code], c->offset[code + 1] - c->offset[code]);
}

#endif
