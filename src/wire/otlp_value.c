/* wire/otlp_value.c - decoding OTLP's attributes from protobuf, whatever their shape.  Most do not
 * come here: otlp_attrs.c knows the usual ones at sight. */
#include "wire/otlp_value.h"

#include <errno.h>

static int decode_any(struct otlp_decoder *d, struct slice bytes, struct attr *out, int depth);

int otlp_malformed(struct otlp_decoder *d, const uint8_t *where, const char *what)
{
	size_t offset = (size_t)((const char *)where - d->body.p);

	return error_at(d->error, -EBADMSG, offset, "malformed protobuf in %s at byte %zu", what,
			offset);
}

void otlp_unknown_keep(struct otlp_decoder *d, struct slice whole)
{
	buffer_slice(&d->unknown, whole);
}

uint32_t otlp_unknown_code(struct otlp_decoder *d)
{
	uint32_t code;

	if (d->unknown.failed && d->batch->failed == 0)
		d->batch->failed = -ENOMEM;
	if (d->unknown.n == 0)
		return 0;
	code = batch_string(d->batch, buffer_get(&d->unknown));
	buffer_clear(&d->unknown);
	return code;
}

/* Finds key and value; false when the pair holds something else besides. */
static bool split_pair(struct slice bytes, struct slice *ret_key, struct slice *ret_value,
		       const uint8_t **ret_bad)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	bool known = true;

	*ret_key = *ret_value = slice_of(NULL, 0);
	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			*ret_key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES) && !ret_value->p)
			*ret_value = f.bytes;
		else
			known = false; /* a second value would have to be merged: keep it as it is,
					  too */
	}
	*ret_bad = r.bad;
	return known;
}

int otlp_pair_decode(struct otlp_decoder *d, struct slice bytes, struct attr *out, int depth)
{
	struct slice key, value;
	const uint8_t *bad;
	bool known = split_pair(bytes, &key, &value, &bad);

	if (bad)
		return otlp_malformed(d, bad, "an attribute");
	*out = (struct attr){.key = batch_string(d->batch, key)};
	if (!known) {
		out->type = VALUE_RAW_PAIR;
		out->string = batch_string(d->batch, bytes);
		return 0;
	}
	return decode_any(d, value, out, depth);
}

/* Children of an ArrayValue or KeyValueList: counted first, so that they lie side by side. */
static int decode_children(struct otlp_decoder *d, struct slice bytes, struct attr *out, int depth,
			   bool *ret_known)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	struct pb_field f;
	uint32_t count = 0, first;
	int error;

	while (pb_next(&r, &f)) {
		if (f.tag != PB_TAG(1, PB_BYTES))
			*ret_known = false;
		count++;
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "an attribute's list");
	if (!*ret_known)
		return 0;
	if (depth >= DECODE_DEPTH_MAX)
		return error_at(d->error, -EBADMSG, (size_t)(bytes.p - d->body.p),
				"attribute value is nested deeper than %d levels at byte %zu",
				DECODE_DEPTH_MAX, (size_t)(bytes.p - d->body.p));
	first = batch_nested(b, count);
	out->word = batch_list(b, out->type, (struct value_range){first, count}).word;
	if (b->failed)
		return b->failed;
	r = pb_open(bytes);
	for (uint32_t i = 0; pb_next(&r, &f); i++) {
		struct attr child = {0};

		error = out->type == VALUE_KVLIST ? otlp_pair_decode(d, f.bytes, &child, depth + 1)
						  : decode_any(d, f.bytes, &child, depth + 1);
		if (error < 0)
			return error;
		b->nested[first + i] = child;
	}
	return 0;
}

/* The one field of an AnyValue.  *ret_known is set to false when it is none of ours. */
static int decode_one(struct otlp_decoder *d, const struct pb_field *f, struct attr *out, int depth,
		      bool *ret_known)
{
	switch (f->tag) {
	case PB_TAG(1, PB_BYTES):
	case PB_TAG(7, PB_BYTES):
		out->type = f->tag == PB_TAG(1, PB_BYTES) ? VALUE_STRING : VALUE_BYTES;
		out->string = batch_string(d->batch, f->bytes);
		return 0;
	case PB_TAG(2, PB_VARINT):
		out->type = VALUE_BOOL;
		out->word = f->value != 0;
		return 0;
	case PB_TAG(3, PB_VARINT):
		out->type = VALUE_INT;
		out->word = batch_word(d->batch, f->value);
		return 0;
	case PB_TAG(4, PB_FIXED64):
		out->type = VALUE_DOUBLE;
		out->word = batch_word(d->batch, f->value);
		return 0;
	case PB_TAG(5, PB_BYTES):
	case PB_TAG(6, PB_BYTES):
		out->type = f->tag == PB_TAG(5, PB_BYTES) ? VALUE_ARRAY : VALUE_KVLIST;
		return decode_children(d, f->bytes, out, depth, ret_known);
	default:
		*ret_known = false;
		return 0;
	}
}

/* Several fields are a newer version's or would have to be merged: kept as they are, and not looked
 * into, or every level of nesting would keep its own copy of what lies below. */
static int decode_any(struct otlp_decoder *d, struct slice bytes, struct attr *out, int depth)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	bool known = true;
	int error;

	out->type = VALUE_EMPTY;
	out->word = 0;
	if (pb_next(&r, &f) && r.at == r.end) {
		error = decode_one(d, &f, out, depth, &known);
		if (error < 0)
			return error;
	} else if (!r.bad && bytes.n > 0) {
		known = false;
		while (pb_next(&r, &f))
			;
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "an attribute's value");
	if (!known) {
		out->type = VALUE_RAW;
		out->string = batch_string(d->batch, bytes);
	}
	return 0;
}

int otlp_value_decode(struct otlp_decoder *d, struct slice bytes, struct attr *ret_value)
{
	*ret_value = (struct attr){0};
	return decode_any(d, bytes, ret_value, 0);
}

int otlp_status_decode(struct otlp_decoder *d, struct slice bytes, struct event *e,
		       struct event_extra *x)
{
	struct pb_reader r = pb_open(bytes);
	struct buffer outer = d->unknown; /* of the message around it: set aside */
	struct pb_field f;

	d->unknown = (struct buffer){0};
	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(2, PB_BYTES):
			x->status_message = batch_string(d->batch, f.bytes);
			break;
		case PB_TAG(3, PB_VARINT):
			e->status = (int32_t)f.value;
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	x->unknown_status = otlp_unknown_take(d);
	buffer_done(&d->unknown);
	d->unknown = outer;
	return r.bad ? otlp_malformed(d, r.bad, "a status") : 0;
}
