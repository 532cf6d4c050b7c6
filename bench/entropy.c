/* bench/entropy.c - how many bits a set of spans holds, column by column. */
#include "bench/entropy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

#define UUID_TEXT    36
#define SEED         7  /* of hashes that stand for values */
#define NEAR_UUIDS   8  /* of a trace, that a UUID may be told by */
#define FAR_BITS     13 /* to name one that was seen in another trace */
#define DECIMAL_MOST 18

/* Symbols with what is known when each is read. */
struct symbols {
	uint64_t *pairs, *contexts;
	size_t n, pair_capacity, context_capacity;
	double plain_bits; /* that no model makes smaller */
};

struct column {
	char name[80];
	uint64_t hash;
	struct symbols values; /* as they are */
	struct symbols sizes;  /* numbers: their classes */
	bool numbers;
};

struct row {
	struct batch *batch;
	uint32_t index;
	uint32_t arrival;
};

struct entropy {
	struct batch **batches;
	size_t batch_n, batch_capacity;
	struct row *rows;
	size_t row_n, row_capacity;
	struct column *columns;
	size_t column_n, column_capacity;
	struct map by_name;
	uint64_t *uuids;
	size_t uuid_n, uuid_capacity;
	struct map seen; /* UUIDs of earlier traces, by their place in uuids */
	struct entropy_column *answer;
	size_t spans, traces;
	bool failed;
};

struct entropy *entropy_new(void)
{
	struct entropy *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	map_init(&e->by_name);
	map_init(&e->seen);
	return e;
}

struct entropy *entropy_free(struct entropy *e)
{
	if (!e)
		return NULL;
	for (size_t i = 0; i < e->batch_n; i++)
		batch_unref(e->batches[i]);
	for (size_t i = 0; i < e->column_n; i++) {
		free(e->columns[i].values.pairs);
		free(e->columns[i].values.contexts);
		free(e->columns[i].sizes.pairs);
		free(e->columns[i].sizes.contexts);
	}
	free(e->batches);
	free(e->rows);
	free(e->columns);
	free(e->uuids);
	free(e->answer);
	map_done(&e->by_name);
	map_done(&e->seen);
	free(e);
	return NULL;
}

int entropy_add(struct entropy *e, struct batch *b)
{
	if (!vec_reserve(&e->batches, &e->batch_capacity, e->batch_n + 1, sizeof(*e->batches)) ||
	    !vec_reserve(&e->rows, &e->row_capacity, e->row_n + b->event_n, sizeof(*e->rows)))
		return -ENOMEM;
	e->batches[e->batch_n++] = batch_ref(b);
	for (uint32_t i = 0; i < b->event_n; i++) {
		e->rows[e->row_n] = (struct row){b, i, (uint32_t)e->row_n};
		e->row_n++;
	}
	return 0;
}

/* --- columns of symbols --- */

static void put(struct entropy *e, struct symbols *s, uint64_t context, uint64_t symbol)
{
	if (!vec_reserve(&s->pairs, &s->pair_capacity, s->n + 1, sizeof(*s->pairs)) ||
	    !vec_reserve(&s->contexts, &s->context_capacity, s->n + 1, sizeof(*s->contexts))) {
		e->failed = true;
		return;
	}
	s->pairs[s->n] = hash_u64(symbol, context);
	s->contexts[s->n++] = context;
}

static void put_number(struct entropy *e, struct symbols *s, uint64_t context, int64_t number)
{
	uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
	unsigned bits = magnitude ? 64 - (unsigned)__builtin_clzll(magnitude) : 0;

	put(e, s, context, bits << 1 | (number < 0));
	s->plain_bits += bits ? bits - 1 : 0;
}

static bool is_column(const void *context, uint32_t value, const void *key)
{
	return ((const struct entropy *)context)->columns[value].hash == *(const uint64_t *)key;
}

static struct column *column_named(struct entropy *e, const char *kind, struct slice name)
{
	uint64_t hash = hash_bytes(name.p, name.n, hash_bytes(kind, strlen(kind), SEED));
	uint32_t at = map_get(&e->by_name, hash, is_column, e, &hash);

	if (at != MAP_NONE)
		return &e->columns[at];
	if (!vec_reserve(&e->columns, &e->column_capacity, e->column_n + 1, sizeof(*e->columns)) ||
	    !map_put(&e->by_name, hash, (uint32_t)e->column_n))
		return NULL;
	e->columns[e->column_n] = (struct column){.hash = hash};
	snprintf(e->columns[e->column_n].name, sizeof(e->columns[0].name), "%s%s%.*s", kind,
		 name.n ? " " : "", (int)(name.n < 60 ? name.n : 60), name.p ? name.p : "");
	return &e->columns[e->column_n++];
}

static struct column *column(struct entropy *e, const char *kind)
{
	struct column *c = column_named(e, kind, SLICE(""));
	static struct column nowhere;

	if (!c)
		e->failed = true;
	return c ? c : &nowhere;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Bits of all symbols if each takes what its frequency deserves. */
static double bits_of(uint64_t *symbols, size_t n)
{
	double bits = 0;

	qsort(symbols, n, sizeof(*symbols), by_number);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && symbols[j] == symbols[i]; j++)
			;
		bits += (double)(j - i) * log2((double)n / (double)(j - i));
	}
	return bits;
}

static double bytes_of(struct symbols *s)
{
	double bits = s->n ? bits_of(s->pairs, s->n) - bits_of(s->contexts, s->n) : 0;

	return (bits + s->plain_bits) / 8;
}

/* --- strings --- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_uuid(const char *p)
{
	for (int i = 0; i < UUID_TEXT; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? p[i] != '-' : !is_hex(p[i]))
			return false;
	}
	return true;
}

static bool is_seen(const void *context, uint32_t value, const void *key)
{
	return ((const struct entropy *)context)->uuids[value] == *(const uint64_t *)key;
}

/* The UUIDs a trace has named last. */
struct near_uuids {
	uint64_t hash[NEAR_UUIDS];
	size_t n;
};

static void name_uuid(struct entropy *e, struct near_uuids *near, const char *p)
{
	struct column *references = column(e, "uuid reference");
	uint64_t hash = hash_bytes(p, UUID_TEXT, SEED);
	size_t at;

	for (at = 0; at < near->n && near->hash[at] != hash; at++)
		;
	if (at < near->n) {
		put(e, &references->values, 0, at);
		memmove(near->hash + 1, near->hash, at * sizeof(hash));
		near->hash[0] = hash;
		return;
	}
	if (map_get(&e->seen, hash, is_seen, e, &hash) != MAP_NONE) {
		put(e, &references->values, 0, 100);
		references->values.plain_bits += FAR_BITS;
	} else {
		put(e, &references->values, 0, 101);
		column(e, "uuid")->values.plain_bits += 128;
		column(e, "uuid")->values.n++;
		if (!vec_reserve(&e->uuids, &e->uuid_capacity, e->uuid_n + 1, sizeof(hash)) ||
		    !map_put(&e->seen, hash, (uint32_t)e->uuid_n))
			e->failed = true;
		else
			e->uuids[e->uuid_n++] = hash;
	}
	near->n += near->n < NEAR_UUIDS;
	memmove(near->hash + 1, near->hash, (near->n - 1) * sizeof(hash));
	near->hash[0] = hash;
}

/* A hash of the text with its UUIDs cut out, which are counted apart. */
static uint64_t template_of(struct entropy *e, struct near_uuids *near, struct slice s)
{
	uint64_t hash = SEED;
	size_t from = 0;

	for (size_t i = 0; i + UUID_TEXT <= s.n; i++)
		if (s.p[i + 8] == '-' && is_uuid(s.p + i)) {
			name_uuid(e, near, s.p + i);
			hash = hash_bytes(s.p + from, i - from, hash);
			i += UUID_TEXT - 1;
			from = i + 1;
		}
	return hash_bytes(s.p + from, s.n - from, hash);
}

static bool is_decimal(struct slice s, int64_t *ret_number)
{
	uint64_t number;

	if (s.n == 0 || s.n > DECIMAL_MOST || (s.n > 1 && s.p[0] == '0') ||
	    slice_parse_u64(s, &number) < 0)
		return false;
	*ret_number = (int64_t)number;
	return true;
}

/* --- rows --- */

static uint64_t nested_hash(const struct batch *b, const struct attr *a, int depth)
{
	struct value_range children = attr_children(b, a);
	uint64_t hash = a->type;

	if (depth > 8)
		return hash;
	if (a->type != VALUE_ARRAY && a->type != VALUE_KVLIST) {
		struct slice s = batch_text(b, a->type == VALUE_STRING ? a->string : 0);

		return a->type == VALUE_STRING ? hash_bytes(s.p, s.n, hash)
					       : hash_u64(attr_bits(b, a), hash);
	}
	for (uint32_t i = 0; i < children.count; i++)
		hash = hash_u64(nested_hash(b, &b->nested[children.first + i], depth + 1), hash);
	return hash;
}

static void add_attribute(struct entropy *e, const struct batch *b, const struct attr *a,
			  uint64_t operation, struct near_uuids *near)
{
	struct column *c = column_named(e, "attribute", batch_text(b, a->key));
	int64_t number = 0;
	uint64_t value;

	if (!c) {
		e->failed = true;
		return;
	}
	if (a->type == VALUE_STRING) {
		size_t place = (size_t)(c - e->columns);
		struct slice s = batch_text(b, a->string);

		c->numbers |= is_decimal(s, &number);
		value = template_of(e, near, s);
		c = &e->columns[place]; /* the array may have moved */
	} else if (a->type == VALUE_INT) {
		number = attr_integer(b, a);
		value = hash_u64(attr_bits(b, a), VALUE_INT);
		c->numbers = true;
	} else {
		value = nested_hash(b, a, 0);
	}
	put(e, &c->values, operation, value);
	put_number(e, &c->sizes, operation, number);
}

static uint64_t text_hash(struct slice s, uint64_t seed)
{
	return hash_bytes(s.p, s.n, seed);
}

/* Type, service and name: what people call the operation. */
static uint64_t operation_of(const struct batch *b, const struct event *e)
{
	return text_hash(batch_text(b, e->name),
			 text_hash(batch_service(b, e), (uint64_t)e->type << 8 | (uint8_t)e->kind));
}

static uint64_t keys_of(const struct batch *b, const struct event *e)
{
	uint64_t hash = SEED;

	for (uint32_t i = 0; i < e->attrs.count; i++) {
		const struct attr *a = &b->attrs[e->attrs.first + i];

		hash = text_hash(batch_text(b, a->key), hash ^ a->type);
	}
	return hash;
}

static uint64_t resource_of(const struct batch *b, const struct event *e)
{
	const struct resource *r = &b->resources[e->resource];
	uint64_t hash = SEED;

	for (uint32_t i = 0; i < r->attrs.count; i++) {
		const struct attr *a = &b->attrs[r->attrs.first + i];

		hash = text_hash(batch_text(b, a->key), hash ^ nested_hash(b, a, 0));
	}
	return hash;
}

static const struct event *row_event(const struct row *r)
{
	return &r->batch->events[r->index];
}

static void add_parent(struct entropy *e, const struct row *rows, size_t n, size_t at,
		       uint64_t operation, uint64_t *ret_start)
{
	const struct event *row = row_event(&rows[at]);

	if (row->id2 == 0) {
		put(e, &column(e, "parent, as distance")->values, operation, 0);
		return;
	}
	for (size_t k = 0; k < n; k++) {
		const struct event *other = row_event(&rows[k]);

		if (other->type == EVENT_SPAN && other->id1 == row->id2) {
			put(e, &column(e, "parent, as distance")->values, operation,
			    (uint64_t)((int64_t)k - (int64_t)at));
			*ret_start = other->time_ns;
			return;
		}
	}
	put(e, &column(e, "parent, as distance")->values, operation, UINT64_MAX / 2);
	column(e, "parent outside the trace")->values.plain_bits += 64;
	column(e, "parent outside the trace")->values.n++;
}

static void add_row(struct entropy *e, const struct row *rows, size_t n, size_t at, uint64_t before,
		    uint64_t operation, struct near_uuids *near)
{
	const struct batch *b = rows[at].batch;
	const struct event *row = row_event(&rows[at]);
	uint64_t relative = at ? row_event(&rows[at - 1])->time_ns : row->time_ns;
	const struct scope *scope = &b->scopes[row->scope];

	put(e, &column(e, "operation")->values, before, operation);
	put(e, &column(e, "resource")->values, operation, resource_of(b, row));
	put(e, &column(e, "scope")->values, operation,
	    text_hash(batch_text(b, scope->name), text_hash(batch_text(b, scope->version), SEED)));
	put(e, &column(e, "status, flags")->values, operation,
	    (uint64_t)(uint32_t)row->status << 32 | row->flags);
	put(e, &column(e, "which attributes")->values, operation, keys_of(b, row));
	if (row->type == EVENT_SPAN) {
		column(e, "span id")->values.plain_bits += 64;
		column(e, "span id")->values.n++;
		add_parent(e, rows, n, at, operation, &relative);
		put_number(e, &column(e, "start")->values, operation,
			   (int64_t)(row->time_ns - relative));
		put_number(e, &column(e, "duration")->values, operation,
			   (int64_t)(row->end_ns - row->time_ns));
		e->spans++;
	} else {
		put_number(e, &column(e, "time of points")->values, operation,
			   (int64_t)(row->time_ns - relative));
	}
	for (uint32_t i = 0; i < row->attrs.count; i++)
		add_attribute(e, b, &b->attrs[row->attrs.first + i], operation, near);
}

static int by_trace(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int c = memcmp(row_event(x)->trace_id.b, row_event(y)->trace_id.b, sizeof(struct trace_id));

	return c ? c : x->arrival < y->arrival ? -1 : 1;
}

static void add_traces(struct entropy *e, uint64_t *starts)
{
	for (size_t i = 0, j; i < e->row_n; i = j) {
		struct near_uuids near = {.n = 0};
		uint64_t before = 0;

		for (j = i; j < e->row_n && trace_id_eq(row_event(&e->rows[i])->trace_id,
							row_event(&e->rows[j])->trace_id);
		     j++)
			;
		column(e, "trace id")->values.plain_bits += 128;
		column(e, "trace id")->values.n++;
		starts[e->traces++] = row_event(&e->rows[i])->time_ns;
		for (size_t k = i; k < j; k++) {
			uint64_t operation = operation_of(e->rows[k].batch, row_event(&e->rows[k]));

			add_row(e, e->rows + i, j - i, k - i, before, operation, &near);
			before = operation;
		}
		put(e, &column(e, "operation")->values, before, 0); /* the trace ends */
	}
}

static int by_bytes(const void *a, const void *b)
{
	double x = ((const struct entropy_column *)a)->bytes,
	       y = ((const struct entropy_column *)b)->bytes;

	return x > y ? -1 : x < y;
}

int entropy_compute(struct entropy *e, const struct entropy_column **ret_columns, size_t *ret_n)
{
	_cleanup_(freep)
	uint64_t *starts = calloc(e->row_n + 1, sizeof(*starts));

	if (!starts)
		return -ENOMEM;
	qsort(e->rows, e->row_n, sizeof(*e->rows), by_trace);
	add_traces(e, starts);
	qsort(starts, e->traces, sizeof(*starts), by_number);
	for (size_t i = 1; i < e->traces; i++)
		put_number(e, &column(e, "start of traces")->values, 0,
			   (int64_t)(starts[i] - starts[i - 1]));
	e->answer = calloc(e->column_n + 1, sizeof(*e->answer));
	if (!e->answer || e->failed)
		return -ENOMEM;
	for (size_t i = 0; i < e->column_n; i++) {
		struct column *c = &e->columns[i];
		bool plain = c->values.pairs == NULL;
		double bytes = plain ? c->values.plain_bits / 8 : bytes_of(&c->values);

		if (c->numbers)
			bytes = fmin(bytes, bytes_of(&c->sizes));
		e->answer[i].values = (double)c->values.n;
		e->answer[i].bytes = bytes;
		memcpy(e->answer[i].name, c->name, sizeof(c->name));
	}
	qsort(e->answer, e->column_n, sizeof(*e->answer), by_bytes);
	*ret_columns = e->answer;
	*ret_n = e->column_n;
	return 0;
}

size_t entropy_spans(const struct entropy *e)
{
	return e->spans;
}

size_t entropy_traces(const struct entropy *e)
{
	return e->traces;
}
