/* segment/column_restart.c - places in a block of classes by context where decoding may begin.
 *
 *   restarts   varint restarts (at most 32), then for each:
 *              - varint values since the one before, divided by 4
 *              - varint words, varint escapes, varint bits since then
 *              - u32 state × 4
 *
 * They stand in front of the classes, so that a reader knows which contexts it needs before it has
 * decoded anything.  Who decodes all values verifies them on the way. */
#include <errno.h>

#include "segment/column_int.h"

void column_codec_restarts(struct column_codec *c, const uint32_t *at, uint32_t n)
{
	uint32_t last = 0;

	c->restart_n = 0;
	for (uint32_t i = 0; i < n && c->restart_n < COLUMN_RESTARTS; i++) {
		uint32_t value = (at[i] + COLUMN_STATES - 1) / COLUMN_STATES * COLUMN_STATES;

		if (value - last < COLUMN_RESTART_LEAST)
			continue;
		c->restarts[c->restart_n++] = (struct column_restart){.at = last = value};
	}
}

void column_restarts_bits(struct column_codec *c, const uint8_t *classes, size_t n)
{
	uint64_t bits = 0;
	size_t at = 0;

	while (c->restart_n > 0 && c->restarts[c->restart_n - 1].at >= n)
		c->restart_n--;
	for (uint32_t i = 0; i < c->restart_n; i++) {
		for (; at < c->restarts[i].at; at++)
			bits += c->classes[classes[at]].bits;
		c->restarts[i].bits = bits;
	}
}

void column_restarts_write(const struct column_codec *c, size_t place, struct buffer *out)
{
	struct column_restart last = {0};
	size_t from = out->n, size;
	char *room;

	column_write_varint(out, c->restart_n);
	for (uint32_t i = 0; i < c->restart_n; i++) {
		const struct column_restart *r = &c->restarts[i];

		column_write_varint(out, (r->at - last.at) / COLUMN_STATES);
		column_write_varint(out, r->words - last.words);
		column_write_varint(out, r->escapes - last.escapes);
		column_write_varint(out, r->bits - last.bits);
		buffer_append(out, r->states, sizeof(r->states));
		last = *r;
	}
	/* They were not known before what they stand in front of was written. */
	size = out->n - from;
	room = buffer_reserve(out, size);
	if (!room || out->failed)
		return;
	memcpy(out->p + out->n, out->p + from, size);
	memmove(out->p + place + size, out->p + place, from - place);
	memcpy(out->p + place, out->p + out->n, size);
}

int column_restarts_read(struct column_reader *r, enum column_form form, size_t n,
			 struct column_restarts *ret)
{
	struct column_restart last = {0};
	uint64_t count, values, words, escapes, bits;

	ret->rows[0] = last; /* the start of the block; its states stand before the words */
	ret->n = 1;
	if (form != COLUMN_LOGC_AT && form != COLUMN_LOGM_AT)
		return 0;
	if (!column_read_varint(r, &count) || count > COLUMN_RESTARTS)
		return -EBADMSG;
	ret->n = (uint32_t)count + 1;
	for (uint32_t i = 1; i <= count; i++) {
		struct column_reader states;

		if (!column_read_varint(r, &values) || !column_read_varint(r, &words) ||
		    !column_read_varint(r, &escapes) || !column_read_varint(r, &bits) ||
		    !column_read_block(r, sizeof(last.states), &states) || values == 0 ||
		    values > n / COLUMN_STATES || words > n || escapes > n ||
		    bits > (uint64_t)n * 64)
			return -EBADMSG;
		last.at += (uint32_t)values * COLUMN_STATES;
		last.words += (uint32_t)words;
		last.escapes += (uint32_t)escapes;
		last.bits += bits;
		memcpy(last.states, states.p, sizeof(last.states));
		if (last.at >= n || last.words > n || last.escapes > n)
			return -EBADMSG;
		ret->rows[i] = last;
	}
	return 0;
}

uint32_t column_restarts_find(const struct column_restarts *r, size_t value)
{
	uint32_t i = r->n - 1;

	while (i > 0 && r->rows[i].at > value)
		i--;
	return i;
}

size_t column_contexts_from(struct slice block, size_t n, size_t value)
{
	struct column_reader r = column_reader_of(block);
	struct column_restarts restarts;
	uint64_t factor;
	uint8_t form;

	if (!column_read_byte(&r, &form))
		return 0;
	if (form == COLUMN_SCALED &&
	    (!column_read_varint(&r, &factor) || !column_read_byte(&r, &form)))
		return 0;
	if (!form_by_context(form) || n > COLUMN_MAX_VALUES ||
	    column_restarts_read(&r, form, n, &restarts) < 0)
		return 0;
	return restarts.rows[column_restarts_find(&restarts, value)].at;
}
