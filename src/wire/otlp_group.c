/* wire/otlp_group.c - the shape all OTLP requests share: decoding. */
#include "wire/otlp_group.h"

#include <errno.h>

/* How many members a resource may refer to by key: entity keys are few, this is a bound on
 * hostility. */
#define ENTITY_KEYS_MAX 100000

/* Strings that come again are as many as a request is long, about; and the table of them is cleared
 * for each, which must not cost a small one more than its spans. */
#define RECENTS_FIRST    256
#define RECENT_PER_BYTES 32
#define PAIRS_FIRST      64

static uint32_t count_fields(struct slice bytes, uint32_t tag)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	uint32_t n = 0;

	while (pb_next(&r, &f))
		n += f.tag == tag;
	return n;
}

static void entity_keys(struct otlp_decoder *d, struct slice bytes, uint32_t tag, struct slice key,
			struct attr *out)
{
	struct batch *b = d->batch;
	uint32_t n = count_fields(bytes, tag), i = 0;
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	uint32_t first = batch_nested(b, n);

	*out = batch_list(b, VALUE_ARRAY, (struct value_range){first, n});
	out->key = batch_string(b, key);
	if (b->failed)
		return;
	while (i < n && pb_next(&r, &f)) {
		if (f.tag != tag)
			continue;
		b->nested[first + i++] =
			(struct attr){.type = VALUE_STRING, .string = batch_string(b, f.bytes)};
	}
}

/* An EntityRef becomes the kvlist that OTLP JSON shows; one with fields we do not know is kept as
 * its bytes (VALUE_RAW). */
static int decode_entity(struct otlp_decoder *d, struct slice bytes, uint32_t slot)
{
	struct batch *b = d->batch;
	struct slice schema_url = {0}, type = {0};
	struct pb_reader r = pb_open(bytes);
	struct attr keys = {0}, about = {0};
	struct pb_field f;
	bool known = true;
	uint32_t first;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			schema_url = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			type = f.bytes;
		else if (f.tag != PB_TAG(3, PB_BYTES) && f.tag != PB_TAG(4, PB_BYTES))
			known = false;
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "Resource.entity_refs");
	if (!known) {
		b->nested[slot] =
			(struct attr){.type = VALUE_RAW, .string = batch_string(b, bytes)};
		return 0;
	}
	entity_keys(d, bytes, PB_TAG(3, PB_BYTES), SLICE("idKeys"), &keys);
	entity_keys(d, bytes, PB_TAG(4, PB_BYTES), SLICE("descriptionKeys"), &about);
	first = batch_nested(b, 4);
	if (b->failed)
		return b->failed;
	b->nested[first] = (struct attr){.key = batch_string(b, SLICE("schemaUrl")),
					 .type = VALUE_STRING,
					 .string = batch_string(b, schema_url)};
	b->nested[first + 1] = (struct attr){.key = batch_string(b, SLICE("type")),
					     .type = VALUE_STRING,
					     .string = batch_string(b, type)};
	b->nested[first + 2] = keys;
	b->nested[first + 3] = about;
	b->nested[slot] = batch_list(b, VALUE_KVLIST, (struct value_range){first, 4});
	return 0;
}

static int decode_entities(struct otlp_decoder *d, struct slice bytes, struct resource *out)
{
	const uint32_t tag = PB_TAG(3, PB_BYTES);
	uint32_t n = count_fields(bytes, tag), i = 0;
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	uint32_t first;
	int error;

	if (n == 0)
		return 0;
	first = batch_nested(d->batch, n);
	out->entities = batch_list(d->batch, VALUE_ARRAY, (struct value_range){first, n});
	if (d->batch->failed)
		return d->batch->failed;
	while (pb_next(&r, &f)) {
		if (f.tag != tag)
			continue;
		error = decode_entity(d, f.bytes, first + i++);
		if (error < 0)
			return error;
	}
	return 0;
}

static int decode_resource(struct otlp_decoder *d, struct slice bytes, struct resource *out)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &out->attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(2, PB_VARINT):
			out->dropped_attributes = (uint32_t)f.value;
			break;
		case PB_TAG(3, PB_BYTES):
			break; /* below */
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	if (r.bad)
		return otlp_malformed(d, r.bad, "a resource");
	out->unknown = otlp_unknown_take(d);
	return decode_entities(d, bytes, out);
}

static int decode_scope(struct otlp_decoder *d, struct slice bytes, struct scope *out)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;

	while (pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			out->name = batch_string(d->batch, f.bytes);
			break;
		case PB_TAG(2, PB_BYTES):
			out->version = batch_string(d->batch, f.bytes);
			break;
		case PB_TAG(3, PB_BYTES):
			r.at = otlp_attrs_decode(d, f.start, r.end, &out->attrs.count);
			if (!r.at)
				return d->failed;
			break;
		case PB_TAG(4, PB_VARINT):
			out->dropped_attributes = (uint32_t)f.value;
			break;
		default:
			otlp_unknown_keep(d, pb_whole(&r, &f));
		}
	}
	out->unknown = otlp_unknown_take(d);
	return r.bad ? otlp_malformed(d, r.bad, "a scope") : 0;
}

/* A head that comes in pieces adds to its attributes, which must stay side by side. */
static void gather_attrs(struct batch *b, struct attr_range *attrs)
{
	if (attrs->first + attrs->count == b->attr_n)
		return;
	for (uint32_t i = 0, from = attrs->first; i < attrs->count; i++)
		batch_attr(b, b->attrs[from + i]);
	attrs->first = (uint32_t)b->attr_n - attrs->count;
}

/* Ends a group: what was not known of it, and whether its bytes were whole. */
static int finish_group(struct otlp_decoder *d, struct buffer *unknown, int error,
			const uint8_t *bad, uint32_t *ret_unknown)
{
	if (error == 0) {
		if (unknown->failed)
			error = -ENOMEM;
		else
			*ret_unknown = batch_string(d->batch, buffer_get(unknown));
	}
	buffer_done(unknown);
	return error == 0 && bad ? otlp_malformed(d, bad, "a group of a resource or scope") : error;
}

static bool same_scope(const struct scope *a, const struct scope *b)
{
	return a->name == b->name && a->version == b->version && a->schema_url == b->schema_url &&
	       a->attrs.count == 0 && b->attrs.count == 0 &&
	       a->dropped_attributes == b->dropped_attributes && a->unknown == b->unknown &&
	       a->unknown_group == b->unknown_group;
}

/* The last scope, of the rows from `first` on, may be one of those before it. */
static void join_scope(struct batch *b, uint32_t index, size_t first)
{
	for (uint32_t i = index; i-- > 0 && index - i <= OTLP_HEADS;) {
		if (!same_scope(&b->scopes[i], &b->scopes[index]))
			continue;
		for (size_t k = first; k < b->event_n; k++)
			b->events[k].scope = i;
		b->scope_n--;
		return;
	}
}

/* In one pass, for a second one would fetch the bytes of every span twice: the scope has its place
 * before its members refer to it, and is filled whenever its parts come. */
static int decode_scope_group(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			      otlp_member_decode *member)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	uint32_t index = batch_scope(b);
	size_t first = b->event_n;
	struct buffer unknown = {0};
	struct pb_field f;
	int error = b->failed;

	if (error < 0)
		return error;
	b->scopes[index].attrs.first = (uint32_t)b->attr_n;
	while (error == 0 && pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			gather_attrs(b, &b->scopes[index].attrs);
			error = decode_scope(d, f.bytes, &b->scopes[index]);
			break;
		case PB_TAG(2, PB_BYTES):
			error = member(d, f.bytes, resource, index);
			break;
		case PB_TAG(3, PB_BYTES):
			b->scopes[index].schema_url = batch_string(b, f.bytes);
			break;
		default:
			buffer_slice(&unknown, pb_whole(&r, &f));
		}
	}
	error = finish_group(d, &unknown, error, r.bad, &b->scopes[index].unknown_group);
	if (error == 0 && b->failed == 0)
		join_scope(b, index, first);
	return error;
}

/* What a group says besides its scopes, if that is one resource and at most its schema. */
static bool group_head(struct slice bytes, struct otlp_head *ret_head)
{
	struct otlp_head head = {.index = 0};
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	unsigned resources = 0, schemas = 0;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES)) {
			head.resource = f.bytes;
			resources++;
		} else if (f.tag == PB_TAG(3, PB_BYTES)) {
			head.schema_url = f.bytes;
			schemas++;
		} else if (f.tag != PB_TAG(2, PB_BYTES)) {
			return false;
		}
	}
	*ret_head = head;
	return !r.bad && resources == 1 && schemas <= 1;
}

/* The same as one before, byte by byte. */
static bool head_known(const struct otlp_decoder *d, struct otlp_head *head)
{
	for (size_t i = 0; i < d->head_n && i < OTLP_HEADS; i++) {
		const struct otlp_head *h = &d->heads[i];

		if (slice_eq(h->resource, head->resource) &&
		    slice_eq(h->schema_url, head->schema_url)) {
			head->index = h->index;
			return true;
		}
	}
	return false;
}

/* Only the members of a group whose head is known. */
static int decode_scopes(struct otlp_decoder *d, struct slice bytes, uint32_t resource,
			 otlp_member_decode *member)
{
	struct pb_reader r = pb_open(bytes);
	struct pb_field f;
	int error = 0;

	while (error == 0 && pb_next(&r, &f))
		if (f.tag == PB_TAG(2, PB_BYTES))
			error = decode_scope_group(d, f.bytes, resource, member);
	return error;
}

static int decode_resource_group(struct otlp_decoder *d, struct slice bytes,
				 otlp_member_decode *member)
{
	struct pb_reader r = pb_open(bytes);
	struct batch *b = d->batch;
	struct buffer unknown = {0};
	struct otlp_head head;
	struct pb_field f;
	bool plain = group_head(bytes, &head);
	uint32_t index;
	int error;

	if (plain && head_known(d, &head))
		return decode_scopes(d, bytes, head.index, member);
	index = batch_resource(b);
	error = b->failed;
	if (error < 0)
		return error;
	if (plain) {
		head.index = index;
		d->heads[d->head_n++ % OTLP_HEADS] = head;
	}
	b->resources[index].attrs.first = (uint32_t)b->attr_n;
	while (error == 0 && pb_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			gather_attrs(b, &b->resources[index].attrs);
			error = decode_resource(d, f.bytes, &b->resources[index]);
			break;
		case PB_TAG(2, PB_BYTES):
			error = decode_scope_group(d, f.bytes, index, member);
			break;
		case PB_TAG(3, PB_BYTES):
			b->resources[index].schema_url = batch_string(b, f.bytes);
			break;
		default:
			buffer_slice(&unknown, pb_whole(&r, &f));
		}
	}
	return finish_group(d, &unknown, error, r.bad, &b->resources[index].unknown_group);
}

void otlp_pairs_clear(struct otlp_decoder *d, size_t most)
{
	size_t n = PAIRS_FIRST;

	while (n < OTLP_PAIRS && n < most)
		n *= 2;
	memset(d->pairs, 0, n * sizeof(*d->pairs));
	d->pair_shift = (unsigned)__builtin_clzll(n) + 1;
}

/* Sets the tables of recent strings and attributes up, in memory for OTLP_RECENTS and OTLP_PAIRS.
 */
static void recents_init(struct otlp_decoder *d, uint32_t *recents, struct otlp_pair *pairs)
{
	size_t n = RECENTS_FIRST;

	while (n < OTLP_RECENTS && n < d->body.n / RECENT_PER_BYTES)
		n *= 2;
	memset(recents, 0, n * sizeof(*recents));
	d->recent = recents;
	d->recent_shift = (unsigned)__builtin_clzll(n) + 1;
	d->pairs = pairs;
	otlp_pairs_clear(d, PAIRS_FIRST);
	d->pairs_pay = d->body.n <= UINT32_MAX;
}

int otlp_groups_decode(struct slice body, uint32_t number, struct batch *batch,
		       struct decode_tally *tally, struct error *error, otlp_member_decode *member)
{
	struct otlp_guess guesses[OTLP_GUESSES]; /* not cleared: d.known says which are set */
	uint32_t recents[OTLP_RECENTS];
	struct otlp_pair pairs[OTLP_PAIRS];
	struct otlp_decoder d = {.batch = batch,
				 .body = body,
				 .tally = tally,
				 .error = error,
				 .guesses = guesses,
				 .nothing = {.n = UINT8_MAX}};
	struct pb_reader r = pb_open(body);
	struct pb_field f;
	int result = 0;

	recents_init(&d, recents, pairs);
	d.wide_end = body.n > OTLP_PAIR_MAX + WIDE ? r.end - (OTLP_PAIR_MAX + WIDE) : r.at;
	d.lost[0] = d.lost[1] = &d.nothing;
	for (size_t i = 0; i < OTLP_STARTS; i++)
		d.starts[i][0] = d.starts[i][1] = &d.nothing;
	while (result == 0 && pb_next(&r, &f))
		if (f.tag == PB_TAG(number, PB_BYTES))
			result = decode_resource_group(&d, f.bytes, member);
	if (result == 0 && r.bad)
		result = otlp_malformed(&d, r.bad, "the request");
	if (result == 0 && batch->failed)
		result = batch->failed;
	if (result == -ENOMEM || result == -E2BIG)
		error_set(error, result,
			  result == -ENOMEM ? "out of memory" : "the request is too large");
	buffer_done(&d.unknown);
	return result;
}
