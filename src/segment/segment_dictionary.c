/* segment/segment_dictionary.c - what a segment knows by number: strings, sources, resources,
 * scopes.
 *
 * A resource is known again by its words: its plain fields and attributes in segment codes, nested
 * values by the code of their packed form. */
#include "segment/segment_dictionary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/packed_value.h"
#include "segment/segment_int.h"

_Static_assert(DICTIONARY_RECENT == 1 << 6, "the top six bits of a hash");

#define LINE         64
#define FETCHED_MOST ((size_t)64 << 10) /* bytes of text of a batch */
/* Strings of a new batch that are looked at, and how many of them must be the segment's for all to
 * be looked up at once. */
#define SAMPLE       16
#define SAMPLE_KNOWN 12
#define AT_ONCE      16 /* strings whose places in the table are waited for together */
/* What the tables have room for at first: most segments have some thousand strings, and a table
 * that is no larger than it must be stays in the processor's caches. */
#define TABLES_HINT ((size_t)16 << 10)

enum { WORDS_RESOURCE, WORDS_SCOPE, WORDS_SOURCE };

int dictionary_init(struct dictionary *d)
{
	*d = (struct dictionary){.tables = batch_new(TABLES_HINT)};
	map_init(&d->by_words);
	map_init(&d->by_batch);
	return d->tables ? 0 : -ENOMEM;
}

static void remap_done(struct remap *r)
{
	batch_unref(r->batch);
	free(r->strings);
}

void dictionary_done(struct dictionary *d)
{
	for (size_t i = 0; i < d->remap_n; i++)
		remap_done(&d->remaps[i]);
	free(d->remaps);
	free(d->sources);
	free(d->resource_source);
	free(d->words);
	free(d->known);
	free(d->key);
	buffer_done(&d->packed);
	map_done(&d->by_words);
	map_done(&d->by_batch);
	batch_unref(d->tables);
	*d = (struct dictionary){0};
}

static void fail(struct dictionary *d, int error)
{
	if (d->failed == 0)
		d->failed = error;
}

int dictionary_failed(const struct dictionary *d)
{
	if (d->failed || d->tables->failed)
		return d->failed ? d->failed : d->tables->failed;
	return d->tables->strings > SEGMENT_MOST_STRINGS ? -E2BIG : 0;
}

/* --- batches --- */

static bool remap_is(const void *context, uint32_t value, const void *key)
{
	return ((const struct dictionary *)context)->remaps[value].batch == key;
}

static uint32_t source_number(struct dictionary *d, const struct batch *b);

/* Can WIDE bytes be read from the string's first one on? */
static inline bool is_wide(const struct batch *b, uint32_t code)
{
	return b->offset[code] + (size_t)WIDE <= b->text_n;
}

/* Short strings, as nearly all are: the others are left to those who need them. */
static inline bool is_short(const struct batch *b, uint32_t code)
{
	return b->offset[code + 1] - b->offset[code] - 1 < WIDE && is_wide(b, code);
}

/* Looks n short strings up, which are waited for together. */
static void look_up(const struct dictionary *d, struct remap *r, const uint32_t *codes, uint32_t n)
{
	const struct batch *b = r->batch, *t = d->tables;
	uint32_t hashes[AT_ONCE];

	for (uint32_t i = 0; i < n; i++) {
		struct slice text = batch_text(b, codes[i]);

		hashes[i] = (uint32_t)(wide_hash(text.p, text.n, t->seed) >> 32);
		__builtin_prefetch(&t->slots[hashes[i] & (t->slot_n - 1)]);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct slice text = batch_text(b, codes[i]);
		size_t at = hashes[i] & (t->slot_n - 1);
		uint32_t code;

		for (; (code = t->slots[at].code) != 0; at = (at + 1) & (t->slot_n - 1))
			if (t->slots[at].hash == hashes[i] &&
			    t->offset[code + 1] - t->offset[code] == text.n &&
			    wide_equal(t->text + t->offset[code], text.p, wide_mask(text.n)))
				break;
		r->strings[codes[i]] = code;
	}
}

/* Where most strings of a batch are the segment's already, all that are so are looked up when it
 * comes, one behind the other as they lie in memory. */
static void look_all_up(const struct dictionary *d, struct remap *r)
{
	const struct batch *b = r->batch;
	uint32_t codes[AT_ONCE], n = 0, step = (uint32_t)(b->strings / (SAMPLE + 1)), known = 0;

	if (step == 0 || d->tables->failed)
		return;
	for (uint32_t i = 1; i <= SAMPLE; i++)
		known += dictionary_known(d, r, i * step) != 0;
	if (known < SAMPLE_KNOWN)
		return;
	for (uint32_t i = 1; i < b->strings; i++) {
		if (!is_short(b, i) || r->strings[i])
			continue;
		codes[n++] = i;
		if (n == AT_ONCE) {
			look_up(d, r, codes, n);
			n = 0;
		}
	}
	look_up(d, r, codes, n);
}

uint32_t dictionary_remap_slow(struct dictionary *d, const struct batch *b)
{
	uint64_t hash = hash_u64((uint64_t)(uintptr_t)b, d->by_batch.seed);
	uint32_t at = map_get(&d->by_batch, hash, remap_is, d, b);
	struct remap r = {.batch = (struct batch *)(uintptr_t)b};

	if (at != MAP_NONE)
		return at;
	r.strings = calloc(b->strings + b->resource_n + b->scope_n, sizeof(*r.strings));
	if (!r.strings ||
	    !vec_reserve(&d->remaps, &d->remap_capacity, d->remap_n + 1, sizeof(*d->remaps)) ||
	    !map_put(&d->by_batch, hash, (uint32_t)d->remap_n)) {
		free(r.strings);
		fail(d, -ENOMEM);
		return MAP_NONE;
	}
	r.resources = r.strings + b->strings;
	r.scopes = r.resources + b->resource_n;
	/* Most texts are looked at soon, if only once, and lie in memory that nobody has touched
	 * for a while. */
	for (size_t i = 0; i < MIN(b->text_n, FETCHED_MOST); i += LINE)
		__builtin_prefetch(b->text + i, 0, 2);
	for (size_t i = 0; i < b->strings; i++)
		r.longest = MAX(r.longest, b->offset[i + 1] - b->offset[i]);
	r.average = (uint32_t)(b->text_n / (b->event_n + 1));
	r.source = source_number(d, b);
	look_all_up(d, &r);
	batch_ref(r.batch);
	d->remaps[d->remap_n] = r;
	return (uint32_t)d->remap_n++;
}

void dictionary_forget(struct dictionary *d, uint32_t since)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->remap_n; i++) {
		if (d->remaps[i].used < since)
			remap_done(&d->remaps[i]);
		else
			d->remaps[kept++] = d->remaps[i];
	}
	if (kept == d->remap_n)
		return;
	d->remap_n = kept;
	memset(d->recent, 0, sizeof(d->recent));
	map_clear(&d->by_batch);
	for (size_t i = 0; i < kept; i++)
		/* As many as before fit: this cannot fail. */
		map_put(&d->by_batch,
			hash_u64((uint64_t)(uintptr_t)d->remaps[i].batch, d->by_batch.seed),
			(uint32_t)i);
}

uint32_t dictionary_string_slow(struct dictionary *d, struct remap *r, uint32_t code)
{
	struct slice text = batch_text(r->batch, code);

	if (d->tables->failed)
		return 0;
	return r->strings[code] = is_wide(r->batch, code) ? batch_string_wide(d->tables, text)
							  : batch_string(d->tables, text);
}

uint32_t dictionary_known_slow(const struct dictionary *d, struct remap *r, uint32_t code)
{
	struct slice text = batch_text(r->batch, code);

	if (d->tables->failed)
		return 0;
	return r->strings[code] = is_wide(r->batch, code) ? batch_string_find_wide(d->tables, text)
							  : batch_string_find(d->tables, text);
}

/* --- resources and scopes --- */

static void word(struct dictionary *d, uint64_t value)
{
	if (!vec_reserve(&d->key, &d->key_capacity, d->key_n + 1, sizeof(*d->key)))
		fail(d, -ENOMEM);
	else
		d->key[d->key_n++] = value;
}

static void word_string(struct dictionary *d, struct remap *r, uint32_t code)
{
	word(d, dictionary_string(d, r, code));
}

/* Two words: key and type, value. */
static void word_attr(struct dictionary *d, struct remap *r, const struct attr *a)
{
	word(d, (uint64_t)dictionary_string(d, r, a->key) << 8 | a->type);
	if (value_is_nested(a->type)) {
		buffer_clear(&d->packed);
		packed_value_put(r->batch, a, &d->packed);
		if (d->packed.failed)
			fail(d, -ENOMEM);
		else
			word(d, batch_string(d->tables, buffer_get(&d->packed)));
	} else if (value_is_text(a->type))
		word_string(d, r, a->string);
	else
		word(d, a->type == VALUE_EMPTY ? 0 : attr_bits(r->batch, a));
}

static void word_attrs(struct dictionary *d, struct remap *r, struct attr_range range)
{
	for (uint32_t i = 0; i < range.count; i++)
		word_attr(d, r, &r->batch->attrs[range.first + i]);
}

struct words {
	const uint64_t *words;
	size_t n;
};

static bool words_are(const void *context, uint32_t value, const void *key)
{
	const struct dictionary *d = context;
	const struct known *k = &d->known[value];
	const struct words *w = key;

	return k->n == w->n && memcmp(d->words + k->first, w->words, w->n * sizeof(*w->words)) == 0;
}

/* What has the words of d->key, or a new entry whose number is to be set. */
static struct known *known_get(struct dictionary *d, bool *ret_new)
{
	struct words key = {d->key, d->key_n};
	uint64_t hash =
		wide_hash_bytes((const char *)d->key, d->key_n * sizeof(*d->key), d->by_words.seed);
	uint32_t at = map_get(&d->by_words, hash, words_are, d, &key);

	*ret_new = at == MAP_NONE;
	if (at != MAP_NONE)
		return &d->known[at];
	if (!vec_reserve(&d->known, &d->known_capacity, d->known_n + 1, sizeof(*d->known)) ||
	    !vec_reserve(&d->words, &d->word_capacity, d->word_n + d->key_n, sizeof(*d->words)) ||
	    !map_put(&d->by_words, hash, (uint32_t)d->known_n)) {
		fail(d, -ENOMEM);
		return NULL;
	}
	memcpy(d->words + d->word_n, d->key, d->key_n * sizeof(*d->key));
	d->known[d->known_n] = (struct known){d->word_n, (uint32_t)d->key_n, 0};
	d->word_n += d->key_n;
	return &d->known[d->known_n++];
}

static uint32_t source_number(struct dictionary *d, const struct batch *b)
{
	struct source s = {batch_string(d->tables, batch_text(b, b->owner)),
			   batch_string(d->tables, batch_text(b, b->sender)), b->kept_threshold};
	struct known *k;
	bool is_new;

	d->key_n = 0;
	word(d, WORDS_SOURCE);
	word(d, s.owner);
	word(d, s.sender);
	word(d, s.kept_threshold);
	k = dictionary_failed(d) ? NULL : known_get(d, &is_new);
	if (!k)
		return 0;
	if (is_new) {
		if (!vec_reserve(&d->sources, &d->source_capacity, d->source_n + 1,
				 sizeof(*d->sources))) {
			fail(d, -ENOMEM);
			return 0;
		}
		k->number = (uint32_t)d->source_n;
		d->sources[d->source_n++] = s;
	}
	return k->number;
}

/* The attribute as the tables keep it, from its two words. */
static struct attr attr_from(struct dictionary *d, const uint64_t *w)
{
	struct attr a = {.type = (uint8_t)w[0]};

	if (!value_is_nested(a.type))
		a.word = batch_word(d->tables, w[1]);
	else { /* cannot be damaged: packed just now */
		buffer_clear(&d->packed);
		buffer_slice(&d->packed, batch_text(d->tables, (uint32_t)w[1]));
		if (d->packed.failed || packed_value_get(buffer_get(&d->packed), d->tables, &a) < 0)
			fail(d, -ENOMEM);
	}
	a.key = (uint32_t)(w[0] >> 8);
	return a;
}

static struct attr_range attrs_from(struct dictionary *d, size_t first, uint32_t count)
{
	struct attr_range range = {(uint32_t)d->tables->attr_n, count};

	for (uint32_t i = 0; i < count; i++)
		batch_attr(d->tables, attr_from(d, d->key + first + 2 * i));
	return range;
}

uint32_t dictionary_resource_slow(struct dictionary *d, struct remap *r, uint32_t resource)
{
	const struct resource *from = &r->batch->resources[resource];
	struct known *k;
	bool is_new;

	d->key_n = 0;
	word(d, (uint64_t)r->source << 8 | WORDS_RESOURCE);
	word(d, from->dropped_attributes);
	word_string(d, r, from->schema_url);
	word_string(d, r, from->unknown);
	word_string(d, r, from->unknown_group);
	word_attr(d, r, &from->entities);
	word_attrs(d, r, from->attrs);
	if (dictionary_failed(d))
		return 0;
	k = known_get(d, &is_new);
	if (!k)
		return 0;
	if (is_new) {
		struct resource to = {.dropped_attributes = from->dropped_attributes,
				      .schema_url = (uint32_t)d->key[2],
				      .unknown = (uint32_t)d->key[3],
				      .unknown_group = (uint32_t)d->key[4],
				      .entities = attr_from(d, d->key + 5),
				      .attrs = attrs_from(d, 7, from->attrs.count)};

		k->number = batch_resource(d->tables);
		if (d->tables->failed ||
		    !vec_reserve(&d->resource_source, &d->resource_source_capacity,
				 (size_t)k->number + 1, sizeof(*d->resource_source))) {
			fail(d, -ENOMEM);
			return 0;
		}
		d->tables->resources[k->number] = to;
		d->resource_source[k->number] = r->source;
	}
	r->resources[resource] = k->number + 1;
	return k->number;
}

uint32_t dictionary_scope_slow(struct dictionary *d, struct remap *r, uint32_t scope)
{
	const struct scope *from = &r->batch->scopes[scope];
	struct known *k;
	bool is_new;

	d->key_n = 0;
	word(d, WORDS_SCOPE);
	word(d, from->dropped_attributes);
	word_string(d, r, from->name);
	word_string(d, r, from->version);
	word_string(d, r, from->schema_url);
	word_string(d, r, from->unknown);
	word_string(d, r, from->unknown_group);
	word_attrs(d, r, from->attrs);
	if (dictionary_failed(d))
		return 0;
	k = known_get(d, &is_new);
	if (!k)
		return 0;
	if (is_new) {
		struct scope to = {.name = (uint32_t)d->key[2],
				   .version = (uint32_t)d->key[3],
				   .schema_url = (uint32_t)d->key[4],
				   .dropped_attributes = from->dropped_attributes,
				   .unknown = (uint32_t)d->key[5],
				   .unknown_group = (uint32_t)d->key[6],
				   .attrs = attrs_from(d, 7, from->attrs.count)};

		k->number = batch_scope(d->tables);
		if (d->tables->failed)
			return 0;
		d->tables->scopes[k->number] = to;
	}
	r->scopes[scope] = k->number + 1;
	return k->number;
}
