/* ingest/redact_batch.c - a batch without what the redaction rules forbid.
 *
 * Redacting in place would leave the text behind: the dictionary is append-only, and decoding may
 * have interned what no row refers to (rejected rows, values that turned out to be undecodable). So
 * a batch in which a rule matches is copied row by row into a new one, which then holds exactly
 * what was copied; and a batch in which none does is only looked at. */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/cleanup.h"
#include "ingest/redact_int.h"

#define MAX_DEPTH     128 /* of nested values; decoders stop long before */
#define HASH_BYTES    8
#define HASH_TEXT     (sizeof(REDACT_HASH_PREFIX) - 1 + 2 * HASH_BYTES)
#define BYTES_PER_ROW 480

/* A field added to one of these must be looked at here: is it text that is to be copied? */
_Static_assert(sizeof(struct event) == 88, "copy_event() knows every field");
_Static_assert(sizeof(struct event_place) == 16, "copy_event() knows every field");
_Static_assert(sizeof(struct event_extra) == 64, "copy_extra() knows every field");
_Static_assert(sizeof(struct resource) == 32, "copy_resources() knows every field");
_Static_assert(sizeof(struct scope) == 32, "copy_scopes() knows every field");

struct copy {
	struct redact_match m;
	const struct batch *from;
	struct batch *to;
	struct redact_count *count;
	uint32_t *codes; /* new code per old one; 0: not copied yet */
};

static void copy_done(struct copy *c)
{
	batch_unref(c->to);
	redact_match_done(&c->m);
}

/* --- hashing --- */

/* Nested values as bytes: type, length or number, content; so that different values differ. */
static int flatten(struct copy *c, const struct attr *a, int depth)
{
	struct value_range children = attr_children(c->from, a);
	char scalar[REDACT_SCALAR_CHARS];
	struct slice text;

	if (depth > MAX_DEPTH)
		return -E2BIG;
	buffer_printf(&c->m.scratch, "%d:", a->type);
	if (!redact_nested(a)) {
		text = redact_value_text(c->from, a, scalar);
		buffer_printf(&c->m.scratch, "%zu:", text.n);
		buffer_slice(&c->m.scratch, text);
		return 0;
	}
	buffer_printf(&c->m.scratch, "%" PRIu32 ":", children.count);
	for (uint32_t i = 0; i < children.count; i++) {
		const struct attr *child = &c->from->nested[children.first + i];
		struct slice key = batch_text(c->from, child->key);
		int r;

		buffer_printf(&c->m.scratch, "%zu:", key.n);
		buffer_slice(&c->m.scratch, key);
		r = flatten(c, child, depth + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int hash_text(struct copy *c, struct slice plain, char out[HASH_TEXT])
{
	uint8_t mac[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!HMAC(EVP_sha256(), c->m.rules->secret, sizeof(c->m.rules->secret),
		  (const unsigned char *)(plain.p ? plain.p : ""), plain.n, mac, &n) ||
	    n < HASH_BYTES)
		return -EIO;
	memcpy(out, REDACT_HASH_PREFIX, sizeof(REDACT_HASH_PREFIX) - 1);
	hex_encode(mac, HASH_BYTES, out + sizeof(REDACT_HASH_PREFIX) - 1);
	return 0;
}

static int hash_value(struct copy *c, const struct attr *a, struct attr *out)
{
	char scalar[REDACT_SCALAR_CHARS], text[HASH_TEXT];
	struct slice plain;
	int r;

	if (redact_nested(a)) {
		buffer_clear(&c->m.scratch);
		r = flatten(c, a, 0);
		if (r < 0)
			return r;
		if (c->m.scratch.failed)
			return -ENOMEM;
		plain = buffer_get(&c->m.scratch);
	} else {
		plain = redact_value_text(c->from, a, scalar);
	}
	r = hash_text(c, plain, text);
	if (r < 0)
		return r;
	out->type = VALUE_STRING;
	out->string = batch_string(c->to, slice_of(text, sizeof(text)));
	c->count->hashed++;
	return 0;
}

/* --- copying --- */

static uint32_t copy_code(struct copy *c, uint32_t code)
{
	if (code != 0 && c->codes[code] == 0)
		c->codes[code] = batch_string(c->to, batch_text(c->from, code));
	return c->codes[code];
}

/* How a value is being looked at. */
struct scan {
	enum redact_level level;
	bool look; /* a rule could match it or something in it, and c->m.path says where it stands
		    */
	int depth; /* the path of what is nested at depth 0 starts with its own key */
};

static int copy_value(struct copy *c, const struct attr *a, struct scan scan, struct attr *out);

/* The children that stay lie side by side; the places of the others remain empty at the end. */
static int copy_children(struct copy *c, const struct attr *a, struct scan scan, struct attr *out)
{
	struct value_range children = attr_children(c->from, a);
	uint32_t first = batch_nested(c->to, children.count), kept = 0;
	size_t path_n = c->m.path.n;

	if (c->to->failed)
		return c->to->failed;
	scan.depth++;
	for (uint32_t i = 0; i < children.count; i++) {
		const struct attr *child = &c->from->nested[children.first + i];
		struct attr copied;
		int r;

		if (scan.look && a->type == VALUE_KVLIST) {
			if (scan.depth > 0)
				buffer_byte(&c->m.path, '.');
			buffer_slice(&c->m.path, batch_text(c->from, child->key));
		}
		r = copy_value(c, child, scan, &copied);
		if (r < 0)
			return r;
		c->m.path.n = path_n;
		if (r > 0)
			c->to->nested[first + kept++] = copied;
	}
	out->word = batch_list(c->to, a->type, (struct value_range){first, kept}).word;
	return 1;
}

/* What the rule, if there is one, leaves of a value.  1: in *out; 0: dropped. */
static int copy_ruled(struct copy *c, const struct attr *a, const struct redact_compiled *rule,
		      struct scan scan, struct attr *out)
{
	int r;

	if (rule && rule->action == REDACT_DROP) {
		c->count->dropped++;
		return 0;
	}
	*out = (struct attr){.key = copy_code(c, a->key), .type = a->type};
	if (rule) {
		r = hash_value(c, a, out);
		return r < 0 ? r : 1;
	}
	if (redact_nested(a))
		return copy_children(c, a, scan, out);
	if (a->type == VALUE_STRING || a->type == VALUE_BYTES || redact_undecoded(a))
		out->string = copy_code(c, a->string);
	else
		out->word = batch_word(c->to, attr_bits(c->from, a));
	return 1;
}

static int copy_value(struct copy *c, const struct attr *a, struct scan scan, struct attr *out)
{
	if (scan.depth > MAX_DEPTH)
		return -E2BIG;
	if (c->m.path.failed)
		return -ENOMEM;
	return copy_ruled(c, a, scan.look ? redact_match_find(&c->m, a, scan.level) : NULL, scan,
			  out);
}

static int copy_attrs(struct copy *c, struct attr_range *range, enum redact_level level)
{
	struct attr_range copied = {(uint32_t)c->to->attr_n, 0};

	for (uint32_t i = 0; i < range->count; i++) {
		const struct attr *a = &c->from->attrs[range->first + i];
		bool look = redact_match_key(&c->m, a, level);
		struct attr out;
		int r;

		if (look)
			redact_match_path(&c->m, batch_text(c->from, a->key));
		r = copy_value(c, a, (struct scan){level, look, 0}, &out);
		if (r < 0)
			return r;
		if (r > 0) {
			batch_attr(c->to, out);
			copied.count++;
		}
	}
	*range = copied;
	return 0;
}

/* As copy_value(), with what is dropped left empty: there is always a body. */
static int copy_body(struct copy *c, const struct attr *body, struct attr *out)
{
	const struct redact_compiled *rule = redact_match_find_body(&c->m, body);
	struct scan scan = {REDACT_BLOCK, redact_nested(body), 0};
	int r;

	if (c->m.path.failed)
		return -ENOMEM;
	if (body->type == VALUE_KVLIST) {
		buffer_clear(&c->m.path);
		scan.depth = -1;
	}
	r = copy_ruled(c, body, rule, scan, out);
	if (r == 0)
		*out = (struct attr){0};
	return r;
}

static int copy_extra(struct copy *c, const struct event *old, uint32_t at)
{
	struct event_extra x = c->from->extras[old->extra], *to;
	struct attr body = {0};
	int r;

	/* A counter's value is a number somebody measures, not an attribute. */
	r = old->type == EVENT_LOG
		    ? copy_body(c, &x.body, &body)
		    : copy_value(c, &x.body, (struct scan){REDACT_BLOCK, false, 0}, &body);
	if (r < 0)
		return r;
	x.body = body;
	x.trace_state = copy_code(c, x.trace_state);
	x.status_message = copy_code(c, x.status_message);
	x.severity_text = copy_code(c, x.severity_text);
	x.unknown = copy_code(c, x.unknown);
	x.unknown_status = copy_code(c, x.unknown_status);
	to = batch_extra(c->to, at);
	if (!c->to->failed)
		*to = x;
	return 0;
}

static int copy_event(struct copy *c, const struct event *old)
{
	struct event e = *old, *to;
	uint32_t at = (uint32_t)c->to->event_n;
	int r = copy_attrs(c, &e.attrs, REDACT_BLOCK);

	if (r < 0)
		return r;
	e.name = copy_code(c, e.name);
	e.extra = 0;
	to = batch_event(c->to);
	if (c->to->failed)
		return c->to->failed;
	*to = e;
	batch_place(c->to, at, batch_place_get(c->from, (size_t)(old - c->from->events)));
	return old->extra ? copy_extra(c, old, at) : 0;
}

static int copy_resources(struct copy *c)
{
	for (size_t i = 0; i < c->from->resource_n; i++) {
		struct resource r = c->from->resources[i];
		struct attr entities;
		uint32_t at;
		int error = copy_attrs(c, &r.attrs, REDACT_RESOURCE);

		if (error == 0)
			error = copy_value(c, &r.entities, (struct scan){REDACT_RESOURCE, false, 0},
					   &entities);
		if (error < 0)
			return error;
		r.entities = entities;
		r.schema_url = copy_code(c, r.schema_url);
		r.unknown = copy_code(c, r.unknown);
		r.unknown_group = copy_code(c, r.unknown_group);
		at = batch_resource(c->to);
		if (c->to->failed)
			return c->to->failed;
		c->to->resources[at] = r;
	}
	return 0;
}

static int copy_scopes(struct copy *c)
{
	for (size_t i = 0; i < c->from->scope_n; i++) {
		struct scope s = c->from->scopes[i];
		uint32_t at;
		int error = copy_attrs(c, &s.attrs, REDACT_SCOPE);

		if (error < 0)
			return error;
		s.name = copy_code(c, s.name);
		s.version = copy_code(c, s.version);
		s.schema_url = copy_code(c, s.schema_url);
		s.unknown = copy_code(c, s.unknown);
		s.unknown_group = copy_code(c, s.unknown_group);
		at = batch_scope(c->to);
		if (c->to->failed)
			return c->to->failed;
		c->to->scopes[at] = s;
	}
	return 0;
}

static int copy_all(struct copy *c)
{
	int r;

	c->to = batch_new(c->from->event_n * BYTES_PER_ROW);
	c->codes = arena_zalloc(&c->m.arena, c->from->strings, sizeof(*c->codes));
	if (!c->to || !c->codes)
		return -ENOMEM;
	c->to->owner = copy_code(c, c->from->owner);
	c->to->sender = copy_code(c, c->from->sender);
	c->to->received_ns = c->from->received_ns;
	c->to->kept_threshold = c->from->kept_threshold;
	if ((r = copy_resources(c)) < 0 || (r = copy_scopes(c)) < 0)
		return r;
	for (size_t i = 0; i < c->from->event_n; i++) {
		r = copy_event(c, &c->from->events[i]);
		if (r < 0)
			return r;
	}
	return c->to->failed;
}

int redact_rules_apply(const struct redact_rules *rules, const struct batch *from,
		       struct batch **ret_batch, struct redact_count *count)
{
	_cleanup_(copy_done)
	struct copy c = {.from = from, .count = count};
	int r;

	*ret_batch = NULL;
	if (from->failed)
		return from->failed;
	r = redact_match_init(&c.m, rules, from);
	if (r <= 0 || !redact_match_any(&c.m))
		return r < 0 ? r : 0;
	r = copy_all(&c);
	if (r < 0)
		return r;
	/* A nested value was looked at in vain. */
	if (count->dropped == 0 && count->hashed == 0)
		return 0;
	*ret_batch = TAKE_PTR(c.to);
	return 0;
}
