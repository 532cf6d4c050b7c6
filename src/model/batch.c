/* model/batch.c - what one request brought: events and everything they refer to, in plain arrays.
 *
 * First sizes are guessed from the encoded size, so that an ordinary request grows nothing: a span
 * of OTLP takes some 480 bytes with ten attributes, of which a third of the text is new. */
#include "model/batch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/blocks.h"
#include "base/cleanup.h"
#include "base/pages.h"
#include "base/rng.h"
#include "base/vec.h"

#define HINT_BYTES_PER_EVENT  300
#define HINT_BYTES_PER_ATTR   40
#define HINT_BYTES_PER_STRING 160
#define SLOTS_FIRST           256
#define SLOTS_MOST            (BATCH_STRINGS_MOST * 2)
#define TEXT_MOST             ((size_t)UINT32_MAX - 1) /* offsets are 32 bits */

static void fail(struct batch *b, int error)
{
	if (b->failed == 0)
		b->failed = error;
}

static inline bool reserve(struct batch *b, void *array, size_t *capacity, size_t need, size_t size)
{
	if (need <= *capacity)
		return true;
	if (need >= UINT32_MAX || !vec_reserve(array, capacity, need, size)) {
		fail(b, need >= UINT32_MAX ? -E2BIG : -ENOMEM);
		return false;
	}
	return true;
}

struct batch *batch_new(size_t hint)
{
	struct batch *b = calloc(1, sizeof(*b));
	size_t strings = hint / HINT_BYTES_PER_STRING + 16;

	if (!b)
		return NULL;
	b->refs = 1;
	b->seed = rng_process_seed();
	b->slot_n = SLOTS_FIRST;
	/* At most a quarter full, if the guess is right: most of what is looked up is new, and
	 * finding its slot taken costs a wrong guess of the processor. */
	while (b->slot_n < strings * 4 && b->slot_n < SLOTS_MOST)
		b->slot_n *= 2;
	b->slots = calloc(b->slot_n, sizeof(*b->slots));
	if (!b->slots ||
	    !reserve(b, &b->offset, &b->offset_capacity, strings, sizeof(*b->offset)) ||
	    !reserve(b, &b->text, &b->text_capacity, hint / 6 + 64, 1) ||
	    !reserve(b, &b->events, &b->event_capacity, hint / HINT_BYTES_PER_EVENT + 1,
		     sizeof(*b->events)) ||
	    !reserve(b, &b->attrs, &b->attr_capacity, hint / HINT_BYTES_PER_ATTR + 1,
		     sizeof(*b->attrs)) ||
	    !reserve(b, &b->extras, &b->extra_capacity, 1, sizeof(*b->extras)) ||
	    !reserve(b, &b->resources, &b->resource_capacity, 1, sizeof(*b->resources)) ||
	    !reserve(b, &b->scopes, &b->scope_capacity, 1, sizeof(*b->scopes)))
		return batch_unref(b);
	b->offset[0] = b->offset[1] = 0; /* code 0: the empty string */
	b->strings = 1;
	b->extras[0] = (struct event_extra){0};
	b->extra_n = 1;
	return b;
}

struct batch *batch_ref(struct batch *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

static void arrays_free(struct batch *b)
{
	free(b->text);
	free(b->offset);
	free(b->events);
	free(b->places);
	free(b->attrs);
	free(b->nested);
	free(b->wides);
	free(b->extras);
	free(b->resources);
	free(b->scopes);
	free(b->slots);
}

struct batch *batch_unref(struct batch *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	if (b->pages)
		pages_unref(b->pages);
	else if (b->block)
		blocks_free(b->block);
	else
		arrays_free(b);
	free(b);
	return NULL;
}

/* Gives back what an array has to spare; keeps the old one if that fails. */
static void shrink(void *array, size_t *capacity, size_t n, size_t size)
{
	void *p, *smaller;

	if (*capacity - n <= *capacity / 8)
		return;
	memcpy(&p, array, sizeof(p));
	smaller = realloc(p, n ? n * size : 1);
	if (!smaller)
		return;
	memcpy(array, &smaller, sizeof(smaller));
	*capacity = n;
}

/* The first n events have places, {0, 0} where none was said. */
static bool places_reach(struct batch *b, size_t n)
{
	if (!reserve(b, &b->places, &b->place_capacity, n, sizeof(*b->places)))
		return false;
	memset(b->places + b->place_n, 0, (n - b->place_n) * sizeof(*b->places));
	b->place_n = n;
	return true;
}

int batch_seal(struct batch *b)
{
	free(b->slots);
	b->slots = NULL;
	b->slot_n = 0;
	if (b->failed || (b->place_n && !places_reach(b, b->event_n)))
		return b->failed;
	shrink(&b->text, &b->text_capacity, b->text_n, 1);
	shrink(&b->offset, &b->offset_capacity, b->strings + 1, sizeof(*b->offset));
	shrink(&b->events, &b->event_capacity, b->event_n, sizeof(*b->events));
	shrink(&b->places, &b->place_capacity, b->place_n, sizeof(*b->places));
	shrink(&b->attrs, &b->attr_capacity, b->attr_n, sizeof(*b->attrs));
	shrink(&b->nested, &b->nested_capacity, b->nested_n, sizeof(*b->nested));
	shrink(&b->wides, &b->wide_capacity, b->wide_n, sizeof(*b->wides));
	shrink(&b->extras, &b->extra_capacity, b->extra_n, sizeof(*b->extras));
	shrink(&b->resources, &b->resource_capacity, b->resource_n, sizeof(*b->resources));
	shrink(&b->scopes, &b->scope_capacity, b->scope_n, sizeof(*b->scopes));
	return 0;
}

static size_t padded(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t batch_arrays_bytes(const struct batch *b)
{
	return padded(b->event_n * sizeof(*b->events)) + padded(b->place_n * sizeof(*b->places)) +
	       padded(b->attr_n * sizeof(*b->attrs)) + padded(b->nested_n * sizeof(*b->nested)) +
	       padded(b->wide_n * sizeof(*b->wides)) + padded(b->extra_n * sizeof(*b->extras)) +
	       padded(b->resource_n * sizeof(*b->resources)) +
	       padded(b->scope_n * sizeof(*b->scopes)) +
	       padded((b->strings + 1) * sizeof(*b->offset)) + padded(b->text_n);
}

/* Puts n bytes at *at and moves it on. */
static void *move(char **at, const void *from, size_t n)
{
	char *to = *at;

	if (n)
		memcpy(to, from, n);
	memset(to + n, 0, padded(n) - n);
	*at = to + padded(n);
	return to;
}

int batch_seal_in(struct batch *b, struct blocks *blocks)
{
	struct batch old;
	char *at;

	if (b->failed || (b->place_n && !places_reach(b, b->event_n)))
		return batch_seal(b);
	old = *b;
	at = b->block = blocks_take(blocks, batch_arrays_bytes(b));
	if (!at)
		return batch_seal(b);
	b->events = move(&at, old.events, b->event_n * sizeof(*b->events));
	b->places = move(&at, old.places, b->place_n * sizeof(*b->places));
	b->attrs = move(&at, old.attrs, b->attr_n * sizeof(*b->attrs));
	b->nested = move(&at, old.nested, b->nested_n * sizeof(*b->nested));
	b->wides = move(&at, old.wides, b->wide_n * sizeof(*b->wides));
	b->extras = move(&at, old.extras, b->extra_n * sizeof(*b->extras));
	b->resources = move(&at, old.resources, b->resource_n * sizeof(*b->resources));
	b->scopes = move(&at, old.scopes, b->scope_n * sizeof(*b->scopes));
	b->offset = move(&at, old.offset, (b->strings + 1) * sizeof(*b->offset));
	b->text = move(&at, old.text, b->text_n);
	b->event_capacity = b->event_n;
	b->place_capacity = b->place_n;
	b->attr_capacity = b->attr_n;
	b->nested_capacity = b->nested_n;
	b->wide_capacity = b->wide_n;
	b->extra_capacity = b->extra_n;
	b->resource_capacity = b->resource_n;
	b->scope_capacity = b->scope_n;
	b->offset_capacity = b->strings + 1;
	b->text_capacity = b->text_n;
	b->slots = NULL;
	b->slot_n = 0;
	arrays_free(&old);
	return 0;
}

size_t batch_bytes(const struct batch *b)
{
	return sizeof(*b) + b->text_capacity + b->offset_capacity * sizeof(*b->offset) +
	       b->event_capacity * sizeof(*b->events) + b->place_capacity * sizeof(*b->places) +
	       b->attr_capacity * sizeof(*b->attrs) + b->nested_capacity * sizeof(*b->nested) +
	       b->wide_capacity * sizeof(*b->wides) + b->extra_capacity * sizeof(*b->extras) +
	       b->resource_capacity * sizeof(*b->resources) +
	       b->scope_capacity * sizeof(*b->scopes);
}

static bool grow_slots(struct batch *b)
{
	size_t n = b->slot_n * 2;
	struct interner_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < b->slot_n; i++) {
		struct interner_slot slot = b->slots[i];
		size_t at = slot.hash & (n - 1);

		if (slot.code == 0)
			continue;
		while (slots[at].code != 0)
			at = (at + 1) & (n - 1);
		slots[at] = slot;
	}
	free(b->slots);
	b->slots = slots;
	b->slot_n = n;
	return true;
}

uint32_t batch_string_add(struct batch *b, struct slice s, uint32_t hash)
{
	uint32_t code = (uint32_t)b->strings;
	size_t at;

	if (b->failed)
		return 0;
	/* With so many strings the slots are half full, and every new one comes here. */
	if (b->strings >= BATCH_STRINGS_MOST || s.n > TEXT_MOST - WIDE - b->text_n) {
		fail(b, -E2BIG);
		return 0;
	}
	if (!reserve(b, &b->text, &b->text_capacity, b->text_n + s.n + WIDE, 1) ||
	    !reserve(b, &b->offset, &b->offset_capacity, b->strings + 2, sizeof(*b->offset)))
		return 0;
	if (b->strings * 2 >= b->slot_n && !grow_slots(b)) {
		fail(b, -ENOMEM);
		return 0;
	}
	for (at = hash & (b->slot_n - 1); b->slots[at].code != 0; at = (at + 1) & (b->slot_n - 1))
		;
	b->slots[at] = (struct interner_slot){hash, code};
	memcpy(b->text + b->text_n, s.p, s.n);
	b->text_n += s.n;
	b->offset[code + 1] = (uint32_t)b->text_n;
	b->strings++;
	return code;
}

bool batch_grow_events(struct batch *b)
{
	return reserve(b, &b->events, &b->event_capacity, b->event_n + 1, sizeof(*b->events));
}

bool batch_grow_attrs(struct batch *b)
{
	return reserve(b, &b->attrs, &b->attr_capacity, b->attr_n + 1, sizeof(*b->attrs));
}

uint32_t batch_wide(struct batch *b, uint64_t bits)
{
	if (b->wide_n == ATTR_WIDE) {
		fail(b, -E2BIG);
		return 0;
	}
	if (!reserve(b, &b->wides, &b->wide_capacity, b->wide_n + 1, sizeof(*b->wides)))
		return 0;
	b->wides[b->wide_n] = bits;
	return (uint32_t)b->wide_n++ | ATTR_WIDE;
}

static void attr_add(struct batch *b, struct slice key, struct attr a)
{
	a.key = batch_string(b, key);
	batch_attr(b, a);
}

void batch_attr_string(struct batch *b, struct slice key, struct slice value)
{
	uint32_t code = batch_string(b, key);

	batch_attr(b, (struct attr){
			      .key = code, .type = VALUE_STRING, .string = batch_string(b, value)});
}

void batch_attr_int(struct batch *b, struct slice key, int64_t value)
{
	attr_add(b, key, batch_int(b, value));
}

void batch_attr_bool(struct batch *b, struct slice key, bool value)
{
	attr_add(b, key, (struct attr){.type = VALUE_BOOL, .word = value});
}

void batch_attr_double(struct batch *b, struct slice key, double value)
{
	attr_add(b, key, batch_double(b, value));
}

uint32_t batch_nested(struct batch *b, uint32_t count)
{
	uint32_t first = (uint32_t)b->nested_n;

	if (!reserve(b, &b->nested, &b->nested_capacity, b->nested_n + count, sizeof(*b->nested)))
		return 0;
	if (count)
		memset(b->nested + first, 0, count * sizeof(*b->nested));
	b->nested_n += count;
	return first;
}

void batch_place(struct batch *b, uint32_t event_index, struct event_place place)
{
	if (b->failed) /* the row may not be there */
		return;
	if (event_index >= b->place_n) {
		if ((place.unit == 0 && place.seq == 0) || !places_reach(b, event_index + 1))
			return;
	}
	b->places[event_index] = place;
}

struct event_extra *batch_extra(struct batch *b, uint32_t event_index)
{
	struct event *e;

	if (b->failed)
		return &b->extras[0]; /* nobody reads it any more, and the row may not be there */
	e = &b->events[event_index];
	if (e->extra == 0) {
		if (!reserve(b, &b->extras, &b->extra_capacity, b->extra_n + 1, sizeof(*b->extras)))
			return &b->extras[0];
		b->extras[b->extra_n] = (struct event_extra){0};
		e->extra = (uint32_t)b->extra_n++;
	}
	return &b->extras[e->extra];
}

uint32_t batch_resource(struct batch *b)
{
	if (!reserve(b, &b->resources, &b->resource_capacity, b->resource_n + 1,
		     sizeof(*b->resources)))
		return 0;
	b->resources[b->resource_n] = (struct resource){0};
	return (uint32_t)b->resource_n++;
}

uint32_t batch_scope(struct batch *b)
{
	if (!reserve(b, &b->scopes, &b->scope_capacity, b->scope_n + 1, sizeof(*b->scopes)))
		return 0;
	b->scopes[b->scope_n] = (struct scope){0};
	return (uint32_t)b->scope_n++;
}

void batch_rewind(struct batch *b, struct batch_mark mark)
{
	b->event_n = mark.event_n;
	b->place_n = MIN(b->place_n, mark.event_n);
	b->attr_n = mark.attr_n;
	b->nested_n = mark.nested_n;
	b->extra_n = mark.extra_n;
	b->resource_n = mark.resource_n;
	b->scope_n = mark.scope_n;
}

const struct attr *batch_attr_find(const struct batch *b, struct attr_range range, struct slice key)
{
	for (uint32_t i = range.count; i-- > 0;) {
		const struct attr *a = &b->attrs[range.first + i];

		if (slice_eq(batch_text(b, a->key), key))
			return a;
	}
	return NULL;
}

struct slice batch_attr_text(const struct batch *b, struct attr_range range, struct slice key)
{
	const struct attr *a = batch_attr_find(b, range, key);

	return a && a->type == VALUE_STRING ? batch_text(b, a->string) : slice_of(NULL, 0);
}

struct slice batch_service(const struct batch *b, const struct event *e)
{
	return batch_attr_text(b, b->resources[e->resource].attrs, SLICE("service.name"));
}
