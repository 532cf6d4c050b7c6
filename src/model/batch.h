/* model/batch.h - what one request brought: events and everything they refer to, in plain arrays.
 *
 * A batch is built by a decoder (one thread), sealed, and from then on immutable and shared by
 * reference count: the store keeps it, queries read it, exports write it out again.  It depends on
 * nothing outside itself, so it can go into a log or to another machine as it is.
 *
 * Every distinct string (and byte string) is kept once, in `text`; string i lies at
 * text[offset[i]] … text[offset[i + 1]].  Code 0 is the empty string.
 *
 * Building never fails half-way: when memory runs out or a limit is passed, `failed` is set to a
 * negative errno, further calls do nothing harmful, and batch_seal() returns it. */
#ifndef CAUSET_MODEL_BATCH_H
#define CAUSET_MODEL_BATCH_H

#include "core/wide.h"
#include "model/event.h"

/* Strings that one batch may have: their codes are keys of attributes. */
#define BATCH_STRINGS_MOST ((size_t)1 << ATTR_KEY_BITS)

/* The sender's side of things, once per group of events. */
struct resource {
	struct attr_range attrs;
	uint32_t dropped_attributes;
	uint32_t schema_url;    /* dictionary codes: */
	uint32_t unknown;       /* of the Resource message */
	uint32_t unknown_group; /* of the ResourceSpans or ResourceLogs message */
	struct attr entities;   /* entity references: EMPTY, or an ARRAY of KVLISTs with OTLP JSON's
				   keys */
};

struct scope {
	uint32_t name, version, schema_url;
	struct attr_range attrs;
	uint32_t dropped_attributes;
	uint32_t unknown;       /* of the InstrumentationScope message */
	uint32_t unknown_group; /* of the ScopeSpans or ScopeLogs message */
};

struct interner_slot {
	uint32_t hash;
	uint32_t code; /* 0 means free: the empty string is never looked up */
};

struct batch {
	_Atomic uint32_t refs;
	int failed;

	char *text;
	uint32_t *offset; /* strings + 1 of them */
	size_t strings, text_n;
	struct event *events;
	size_t event_n;
	struct event_place *places; /* of events[i]; none if no event has one */
	size_t place_n;             /* 0 or event_n; fewer while it is built: the last have none */
	struct attr *attrs;
	size_t attr_n;
	struct attr *nested; /* children of arrays and kvlists */
	size_t nested_n;
	uint64_t *wides; /* values of attributes that do not fit into them */
	size_t wide_n;
	struct event_extra *extras; /* [0] is all zero */
	size_t extra_n;
	struct resource *resources;
	size_t resource_n;
	struct scope *scopes;
	size_t scope_n;

	uint32_t owner;  /* dictionary code: whose token wrote it; "local" without authentication */
	uint32_t sender; /* dictionary code: the peer's address, "" when read from a file */
	int64_t received_ns;
	/* Of this server's own sampling, on the way in and when old traces are thinned: every trace
	 * here passed it (sampling/second.h).  0: none was dropped. */
	uint64_t kept_threshold;

	/* Only while it is built. */
	size_t text_capacity, offset_capacity, event_capacity, place_capacity, attr_capacity,
		nested_capacity, wide_capacity, extra_capacity, resource_capacity, scope_capacity;
	struct interner_slot *slots;
	size_t slot_n; /* a power of two */
	uint64_t seed;

	/* Instead, and never built or sealed again: memory in which all arrays lie, which others
	 * may share, for batches that are loaded as they are … */
	struct pages *pages;
	/* … or a block (base/blocks.h) in which they lie in the order of the log's records (events,
	 * places, attrs, nested, wides, extras, resources, scopes, offset, text), each padded with
	 * zeros to a multiple of 8. */
	void *block;
};

/* An empty batch with one reference.  `bytes_hint` is the size of the encoded input, from which
 * first sizes are guessed; 0 if unknown.  NULL when out of memory. */
struct batch *batch_new(size_t bytes_hint);

/* Ends building: frees what only building needs and gives back spare memory.  Returns 0 or the
 * sticky error. */
int batch_seal(struct batch *b);

/* The same for one that will be kept for a while: moves its arrays together, into one block from
 * there.  Without memory for it they stay where they are. */
struct blocks;
int batch_seal_in(struct batch *b, struct blocks *blocks);

struct batch *batch_ref(struct batch *b);
/* Any thread; frees with the last reference.  Accepts NULL, returns NULL. */
struct batch *batch_unref(struct batch *b);

static inline void batch_unrefp(struct batch **b)
{
	batch_unref(*b);
}

/* Bytes of memory a sealed batch holds. */
size_t batch_bytes(const struct batch *b);

/* Bytes of its arrays, each padded to a multiple of 8: of its block, and in the log. */
size_t batch_arrays_bytes(const struct batch *b);

/* Every index and range of the batch lies inside it: for tests, fuzzers and debug builds. */
bool batch_check(const struct batch *b);

static inline struct slice batch_text(const struct batch *b, uint32_t code)
{
	return slice_of(b->text + b->offset[code], b->offset[code + 1] - b->offset[code]);
}

/* --- building --- */

/* Slow paths of the inline functions below. */
uint32_t batch_string_add(struct batch *b, struct slice s, uint32_t hash);
bool batch_grow_events(struct batch *b);
bool batch_grow_attrs(struct batch *b);
uint32_t batch_wide(struct batch *b, uint64_t bits);

/* Are two runs of n bytes equal?  Inline for the short strings that dictionaries are full of: both
 * ends are compared first, as overlapping words, and differ nearly always if anything does. */
static inline bool bytes_equal(const char *a, const char *b, size_t n)
{
	if (n >= 8) {
		if (hash_load64(a) != hash_load64(b) ||
		    hash_load64(a + n - 8) != hash_load64(b + n - 8))
			return false;
		for (size_t i = 8; i + 8 < n; i += 8)
			if (hash_load64(a + i) != hash_load64(b + i))
				return false;
		return true;
	}
	if (n >= 4)
		return hash_load32(a) == hash_load32(b) &&
		       hash_load32(a + n - 4) == hash_load32(b + n - 4);
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The same for copying: what the compiler makes of memcpy() with an unknown length is made for long
 * ones. */
static inline void bytes_copy(char *to, const char *from, size_t n)
{
	if (n >= 16) {
		for (size_t i = 0; i + 16 <= n; i += 16)
			memcpy(to + i, from + i, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else if (n >= 8) {
		memcpy(to, from, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}

/* The code of a string, added if it is new.  The bytes are copied. */
static inline uint32_t batch_string(struct batch *b, struct slice s)
{
	uint32_t hash;

	if (s.n == 0)
		return 0;
	hash = (uint32_t)(wide_hash_bytes(s.p, s.n, b->seed) >> 32);
	for (size_t at = hash & (b->slot_n - 1);; at = (at + 1) & (b->slot_n - 1)) {
		struct interner_slot *slot = &b->slots[at];
		uint32_t from, code = slot->code;

		if (code == 0) {
			/* Half full, or out of room: the long way. */
			if (b->strings * 2 >= b->slot_n ||
			    b->text_capacity - b->text_n < s.n + WIDE ||
			    b->offset_capacity - b->strings < 2)
				return batch_string_add(b, s, hash);
			code = (uint32_t)b->strings++;
			*slot = (struct interner_slot){hash, code};
			bytes_copy(b->text + b->text_n, s.p, s.n);
			b->text_n += s.n;
			b->offset[code + 1] = (uint32_t)b->text_n;
			return code;
		}
		if (slot->hash != hash)
			continue;
		from = b->offset[code];
		if (b->offset[code + 1] - from == s.n && bytes_equal(b->text + from, s.p, s.n))
			return code;
	}
}

/* The same without adding it: 0 if the batch does not have the string.  It is being built. */
static inline uint32_t batch_string_find(const struct batch *b, struct slice s)
{
	uint32_t hash, code = 0;

	if (s.n == 0)
		return 0;
	hash = (uint32_t)(wide_hash_bytes(s.p, s.n, b->seed) >> 32);
	for (size_t at = hash & (b->slot_n - 1); (code = b->slots[at].code) != 0;
	     at = (at + 1) & (b->slot_n - 1)) {
		uint32_t from = b->offset[code];

		if (b->slots[at].hash == hash && b->offset[code + 1] - from == s.n &&
		    bytes_equal(b->text + from, s.p, s.n))
			break;
	}
	return code;
}

/* The code of a string as above, faster, where WIDE bytes can be read from s.p on. */
static inline uint32_t batch_string_wide(struct batch *b, struct slice s)
{
	uint32_t hash;

	if (s.n - 1 >= WIDE)
		return batch_string(b, s);
	hash = (uint32_t)(wide_hash(s.p, s.n, b->seed) >> 32);
	for (size_t at = hash & (b->slot_n - 1);; at = (at + 1) & (b->slot_n - 1)) {
		struct interner_slot *slot = &b->slots[at];
		uint32_t from, code = slot->code;

		if (code == 0) {
			if (b->strings * 2 >= b->slot_n ||
			    b->text_capacity - b->text_n < s.n + WIDE ||
			    b->offset_capacity - b->strings < 2)
				return batch_string_add(b, s, hash);
			code = (uint32_t)b->strings++;
			*slot = (struct interner_slot){hash, code};
			memcpy(b->text + b->text_n, s.p, WIDE);
			b->text_n += s.n;
			b->offset[code + 1] = (uint32_t)b->text_n;
			return code;
		}
		if (slot->hash != hash)
			continue;
		from = b->offset[code];
		if (b->offset[code + 1] - from == s.n &&
		    wide_equal(b->text + from, s.p, wide_mask(s.n)))
			return code;
	}
}

/* And that without adding it. */
static inline uint32_t batch_string_find_wide(const struct batch *b, struct slice s)
{
	uint32_t hash, code;

	if (s.n - 1 >= WIDE)
		return batch_string_find(b, s);
	hash = (uint32_t)(wide_hash(s.p, s.n, b->seed) >> 32);
	for (size_t at = hash & (b->slot_n - 1); (code = b->slots[at].code) != 0;
	     at = (at + 1) & (b->slot_n - 1)) {
		uint32_t from = b->offset[code];

		if (b->slots[at].hash == hash && b->offset[code + 1] - from == s.n &&
		    wide_equal(b->text + from, s.p, wide_mask(s.n)))
			break;
	}
	return code;
}

/* Appends a cleared row.  The pointer is good until the next call; never NULL (after a failure it
 * is a row nobody reads). */
static inline struct event *batch_event(struct batch *b)
{
	struct event *e;

	if (__builtin_expect(b->event_n == b->event_capacity, 0) && !batch_grow_events(b))
		b->event_n--;
	e = &b->events[b->event_n++];
	memset(e, 0, sizeof(*e));
	return e;
}

/* Appends an attribute to the pool.  An event's attributes must be appended one after the other:
 * { b->attr_n before, how many }.  Value helpers below. */
static inline void batch_attr(struct batch *b, struct attr a)
{
	if (__builtin_expect(b->attr_n == b->attr_capacity, 0) && !batch_grow_attrs(b))
		return;
	b->attrs[b->attr_n++] = a;
}

/* The same, not cleared and filled in place, all of it: the pointer is good until the next
 * attribute is added, and never NULL (after a failure it is one that nobody reads). */
static inline struct attr *batch_attr_room(struct batch *b)
{
	if (__builtin_expect(b->attr_n == b->attr_capacity, 0) && !batch_grow_attrs(b))
		b->attr_n--;
	return &b->attrs[b->attr_n++];
}

/* The same, cleared. */
static inline struct attr *batch_attr_next(struct batch *b)
{
	struct attr *a = batch_attr_room(b);

	*a = (struct attr){0};
	return a;
}

/* The word of an attribute with this value: what attr_bits() gives back. */
static inline uint32_t batch_word(struct batch *b, uint64_t bits)
{
	return __builtin_expect(bits < ATTR_WIDE, 1) ? (uint32_t)bits : batch_wide(b, bits);
}

/* Values without a key, for attributes in this batch. */
static inline struct attr batch_int(struct batch *b, int64_t value)
{
	return (struct attr){.type = VALUE_INT, .word = batch_word(b, (uint64_t)value)};
}

static inline struct attr batch_double(struct batch *b, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (struct attr){.type = VALUE_DOUBLE, .word = batch_word(b, bits)};
}

/* ARRAY or KVLIST. */
static inline struct attr batch_list(struct batch *b, enum value_type type,
				     struct value_range children)
{
	uint64_t bits = (uint64_t)children.count << 32 | children.first;

	return (struct attr){.type = type, .word = batch_word(b, bits)};
}

void batch_attr_string(struct batch *b, struct slice key, struct slice value);
void batch_attr_int(struct batch *b, struct slice key, int64_t value);
void batch_attr_bool(struct batch *b, struct slice key, bool value);
void batch_attr_double(struct batch *b, struct slice key, double value);

/* Reserves `count` cleared children in the nested pool and returns the first's index; fill them
 * through b->nested.  After a failure nothing is reserved: check b->failed before filling. */
uint32_t batch_nested(struct batch *b, uint32_t count);

/* Says where an event happened.  Not said, it happened nowhere in particular: {0, 0}. */
void batch_place(struct batch *b, uint32_t event_index, struct event_place place);

/* The extra of an event, created on first use.  Good until the next call; never NULL. */
struct event_extra *batch_extra(struct batch *b, uint32_t event_index);

/* Appends, and returns the index.  Fill through b->resources / b->scopes. */
uint32_t batch_resource(struct batch *b);
uint32_t batch_scope(struct batch *b);

/* Takes events with their places, attributes, nested values, extras, resources and scopes back to
 * an earlier state (for a row that turns out to be unacceptable).  Strings and wide values stay:
 * decoders remember attributes with them. */
struct batch_mark {
	size_t event_n, attr_n, nested_n, extra_n, resource_n, scope_n;
};
static inline struct batch_mark batch_mark(const struct batch *b)
{
	return (struct batch_mark){b->event_n, b->attr_n,     b->nested_n,
				   b->extra_n, b->resource_n, b->scope_n};
}
void batch_rewind(struct batch *b, struct batch_mark mark);

/* --- reading --- */

/* The value of an attribute: equal values of a type have equal bits, but for nested ones. */
static inline uint64_t attr_bits(const struct batch *b, const struct attr *a)
{
	return a->word & ATTR_WIDE ? b->wides[a->word - ATTR_WIDE] : a->word;
}

/* INT */
static inline int64_t attr_integer(const struct batch *b, const struct attr *a)
{
	return (int64_t)attr_bits(b, a);
}

/* DOUBLE */
static inline double attr_number(const struct batch *b, const struct attr *a)
{
	uint64_t bits = attr_bits(b, a);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* ARRAY, KVLIST: in b->nested.  Others have none. */
static inline struct value_range attr_children(const struct batch *b, const struct attr *a)
{
	uint64_t bits = a->type == VALUE_ARRAY || a->type == VALUE_KVLIST ? attr_bits(b, a) : 0;

	return (struct value_range){(uint32_t)bits, (uint32_t)(bits >> 32)};
}

/* The attribute with this key in a range of b->attrs, or NULL.  The last one wins if it stands
 * there twice. */
const struct attr *batch_attr_find(const struct batch *b, struct attr_range range,
				   struct slice key);

/* The string value of that attribute, or an empty slice when there is none or it is no string. */
struct slice batch_attr_text(const struct batch *b, struct attr_range range, struct slice key);

static inline const struct event_extra *batch_extra_get(const struct batch *b,
							const struct event *e)
{
	return &b->extras[e->extra];
}

static inline struct event_place batch_place_get(const struct batch *b, size_t event_index)
{
	return event_index < b->place_n ? b->places[event_index] : (struct event_place){0, 0};
}

/* One event wherever it lies.  Readers get arrays of these; rows of a batch stay in their order, so
 * a span's points and links stand right behind it. */
struct event_ref {
	const struct batch *batch;
	uint32_t index; /* into batch->events */
};

static inline const struct event *event_get(struct event_ref ref)
{
	return &ref.batch->events[ref.index];
}

static inline struct event_place event_place(struct event_ref ref)
{
	return batch_place_get(ref.batch, ref.index);
}

/* The resource's service.name, or an empty slice. */
struct slice batch_service(const struct batch *b, const struct event *e);

#endif
