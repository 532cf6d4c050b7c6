/* ingest/redact_batch.c - a batch without what the redaction rules forbid.
 *
 * Redacting in place would leave the text behind: the dictionary is append-only, and decoding may
 * have interned what no row refers to (rejected rows, values that turned out to be undecodable). So
 * a batch in which a rule matches is copied row by row into a new one, which then holds exactly
 * what was copied; and a batch in which none does is only looked at, by codes, each distinct key
 * once.
 *
 * Which rule applies to a value:
 *   - rules are tried in their order; owner, level and key must match
 *   - a rule without a value pattern takes the whole value, nested or not
 *   - a rule with one is asked of single values only: inside arrays under the array's path, inside
 *     lists of pairs under the dotted path
 *   - undecoded protobuf may hold anything, so a rule whose key matches it, or could match
 * something inside it, takes it whole */
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "core/glob.h"
#include "ingest/redact_int.h"

#define MAX_DEPTH     128 /* of nested values; decoders stop long before */
#define HASH_BYTES    8
#define HASH_TEXT     (sizeof(REDACT_HASH_PREFIX) - 1 + 2 * HASH_BYTES)
#define SCALAR_CHARS  40
#define LEVELS        4
#define BODY_KEY      "body"
#define BYTES_PER_ROW 480

/* A field added to one of these must be looked at here: is it text that is to be copied? */
_Static_assert(sizeof(struct event) == 104, "copy_event() knows every field");
_Static_assert(sizeof(struct event_extra) == 72, "copy_extra() knows every field");
_Static_assert(sizeof(struct resource) == 40, "copy_resources() knows every field");
_Static_assert(sizeof(struct scope) == 32, "copy_scopes() knows every field");

enum verdict { VERDICT_NONE, VERDICT_NO, VERDICT_YES };

/* What is known of a key at a level. */
enum key_bits {
	KEY_LOOKED_AT = 1 << 0,
	KEY_MATCHES = 1 << 1, /* some rule's key matches it */
	KEY_EXTENDS = 1 << 2, /* some rule's key could match something nested in it */
};

struct copy {
	const struct redact_rules *rules;
	const struct batch *from;
	struct batch *to;
	struct redact_count *count;
	bool *active;       /* per rule: it is for this batch's owner */
	uint8_t *keys;      /* enum key_bits per level and code */
	uint8_t **values;   /* enum verdict per rule with a pattern and code; made on first use */
	uint32_t *codes;    /* new code per old one; 0: not copied yet */
	struct buffer path; /* dotted, of the value at hand */
	struct buffer scratch; /* bytes of a value, to be matched or hashed */
};

static void copy_done(struct copy *c)
{
	batch_unref(c->to);
	free(c->active);
	free(c->keys);
	for (size_t i = 0; c->values && i < c->rules->n; i++)
		free(c->values[i]);
	free(c->values);
	free(c->codes);
	buffer_done(&c->path);
	buffer_done(&c->scratch);
}

static bool level_applies(const struct redact_compiled *rule, enum redact_level level)
{
	return rule->level == REDACT_ANY || rule->level == level;
}

static bool container(const struct attr *a)
{
	return a->type == VALUE_ARRAY || a->type == VALUE_KVLIST;
}

static bool undecoded(const struct attr *a)
{
	return a->type == VALUE_RAW || a->type == VALUE_RAW_PAIR;
}

/* Text of a single value, for patterns and for hashing.  Numbers are written into `scalar`. */
static struct slice value_text(const struct batch *b, const struct attr *a,
			       char scalar[SCALAR_CHARS])
{
	switch (a->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		return batch_text(b, a->string);
	case VALUE_BOOL:
		return a->boolean ? SLICE("true") : SLICE("false");
	case VALUE_INT:
		snprintf(scalar, SCALAR_CHARS, "%" PRId64, a->integer);
		return slice_cstr(scalar);
	case VALUE_DOUBLE:
		snprintf(scalar, SCALAR_CHARS, "%.17g", a->number);
		return slice_cstr(scalar);
	default:
		return SLICE("");
	}
}

/* The text is copied to have a NUL behind it: REG_STARTEND needs none, but sanitizers look for it,
 * and a NUL inside the text must not end it. */
static bool pattern_found(struct copy *c, const struct redact_compiled *rule, struct slice text)
{
	regmatch_t bounds = {.rm_so = 0, .rm_eo = (regoff_t)text.n};
	const char *with_nul;

	buffer_clear(&c->scratch);
	buffer_slice(&c->scratch, text);
	with_nul = buffer_cstr(&c->scratch);
	/* Anything but a clear "no", such as out of memory, is taken for a match. */
	return c->scratch.failed ||
	       regexec(&rule->value, with_nul, 0, &bounds, REG_STARTEND) != REG_NOMATCH;
}

/* Remembered per rule and string: spans of one program repeat each other's values. */
static bool value_matches(struct copy *c, size_t at, const struct attr *a)
{
	const struct redact_compiled *rule = &c->rules->rules[at];
	char scalar[SCALAR_CHARS];
	bool found;

	if (!rule->has_value)
		return true;
	if (a->type != VALUE_STRING)
		return pattern_found(c, rule, value_text(c->from, a, scalar));
	if (!c->values[at])
		c->values[at] = calloc(c->from->strings, 1);
	if (c->values[at] && c->values[at][a->string] != VERDICT_NONE)
		return c->values[at][a->string] == VERDICT_YES;
	found = pattern_found(c, rule, batch_text(c->from, a->string));
	if (c->values[at])
		c->values[at][a->string] = found ? VERDICT_YES : VERDICT_NO;
	return found;
}

static bool could_be_inside(struct slice key_glob, struct slice path)
{
	char dotted[REDACT_MAX_GLOB_CHARS + 2];

	if (path.n >= sizeof(dotted))
		return true;
	memcpy(dotted, path.p, path.n);
	dotted[path.n] = '.';
	return glob_may_extend(key_glob, slice_of(dotted, path.n + 1));
}

static bool rule_takes(struct copy *c, size_t at, const struct attr *a, struct slice path)
{
	struct slice key = slice_cstr(c->rules->rules[at].key);

	if (undecoded(a))
		return glob_match(key, path) || could_be_inside(key, path);
	if (!glob_match(key, path))
		return false;
	if (container(a))
		return !c->rules->rules[at].has_value;
	return value_matches(c, at, a);
}

/* The rule for the value at c->path, or NULL. */
static const struct redact_compiled *find_rule(struct copy *c, const struct attr *a,
					       enum redact_level level)
{
	struct slice path = buffer_get(&c->path);

	for (size_t i = 0; i < c->rules->n; i++)
		if (c->active[i] && level_applies(&c->rules->rules[i], level) &&
		    rule_takes(c, i, a, path))
			return &c->rules->rules[i];
	return NULL;
}

static uint8_t key_look_up(struct copy *c, uint32_t key, enum redact_level level)
{
	uint8_t *known = &c->keys[(size_t)level * c->from->strings + key];
	struct slice text = batch_text(c->from, key);

	if (*known)
		return *known;
	*known = KEY_LOOKED_AT;
	for (size_t i = 0; i < c->rules->n; i++) {
		struct slice glob = slice_cstr(c->rules->rules[i].key);

		if (!c->active[i] || !level_applies(&c->rules->rules[i], level))
			continue;
		if (glob_match(glob, text))
			*known |= KEY_MATCHES;
		if (could_be_inside(glob, text))
			*known |= KEY_EXTENDS;
	}
	return *known;
}

/* Could any rule match this attribute, or something nested in it?  By its key alone. */
static bool key_matters(struct copy *c, const struct attr *a, enum redact_level level)
{
	uint8_t known = key_look_up(c, a->key, level);

	return known & (container(a) || undecoded(a) ? KEY_MATCHES | KEY_EXTENDS : KEY_MATCHES);
}

static void path_set(struct copy *c, struct slice text)
{
	buffer_clear(&c->path);
	buffer_slice(&c->path, text);
}

/* --- hashing --- */

/* Nested values as bytes: type, length or number, content; so that different values differ. */
static int flatten(struct copy *c, const struct attr *a, int depth)
{
	char scalar[SCALAR_CHARS];
	struct slice text;

	if (depth > MAX_DEPTH)
		return -E2BIG;
	buffer_printf(&c->scratch, "%d:", a->type);
	if (!container(a)) {
		text = value_text(c->from, a, scalar);
		buffer_printf(&c->scratch, "%zu:", text.n);
		buffer_slice(&c->scratch, text);
		return 0;
	}
	buffer_printf(&c->scratch, "%" PRIu32 ":", a->children.count);
	for (uint32_t i = 0; i < a->children.count; i++) {
		const struct attr *child = &c->from->nested[a->children.first + i];
		struct slice key = batch_text(c->from, child->key);
		int r;

		buffer_printf(&c->scratch, "%zu:", key.n);
		buffer_slice(&c->scratch, key);
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

	if (!HMAC(EVP_sha256(), c->rules->secret, sizeof(c->rules->secret),
		  (const unsigned char *)(plain.p ? plain.p : ""), plain.n, mac, &n) ||
	    n < HASH_BYTES)
		return -EIO;
	memcpy(out, REDACT_HASH_PREFIX, sizeof(REDACT_HASH_PREFIX) - 1);
	hex_encode(mac, HASH_BYTES, out + sizeof(REDACT_HASH_PREFIX) - 1);
	return 0;
}

static int hash_value(struct copy *c, const struct attr *a, struct attr *out)
{
	char scalar[SCALAR_CHARS], text[HASH_TEXT];
	struct slice plain;
	int r;

	if (container(a)) {
		buffer_clear(&c->scratch);
		r = flatten(c, a, 0);
		if (r < 0)
			return r;
		if (c->scratch.failed)
			return -ENOMEM;
		plain = buffer_get(&c->scratch);
	} else {
		plain = value_text(c->from, a, scalar);
	}
	r = hash_text(c, plain, text);
	if (r < 0)
		return r;
	out->type = VALUE_STRING;
	out->bits = 0;
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
	bool look; /* a rule could match it or something in it, and c->path says where it stands */
	int depth; /* the path of what is nested at depth 0 starts with its own key */
};

static int copy_value(struct copy *c, const struct attr *a, struct scan scan, struct attr *out);

/* The children that stay lie side by side; the places of the others remain empty at the end. */
static int copy_children(struct copy *c, const struct attr *a, struct scan scan, struct attr *out)
{
	uint32_t first = batch_nested(c->to, a->children.count), kept = 0;
	size_t path_n = c->path.n;

	if (c->to->failed)
		return c->to->failed;
	scan.depth++;
	for (uint32_t i = 0; i < a->children.count; i++) {
		const struct attr *child = &c->from->nested[a->children.first + i];
		struct attr copied;
		int r;

		if (scan.look && a->type == VALUE_KVLIST) {
			if (scan.depth > 0)
				buffer_byte(&c->path, '.');
			buffer_slice(&c->path, batch_text(c->from, child->key));
		}
		r = copy_value(c, child, scan, &copied);
		if (r < 0)
			return r;
		c->path.n = path_n;
		if (r > 0)
			c->to->nested[first + kept++] = copied;
	}
	out->children = (struct value_range){first, kept};
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
	*out = (struct attr){.key = copy_code(c, a->key), .type = a->type, .bits = a->bits};
	if (rule) {
		r = hash_value(c, a, out);
		return r < 0 ? r : 1;
	}
	if (container(a))
		return copy_children(c, a, scan, out);
	if (a->type == VALUE_STRING || a->type == VALUE_BYTES || undecoded(a)) {
		out->bits = 0;
		out->string = copy_code(c, a->string);
	}
	return 1;
}

static int copy_value(struct copy *c, const struct attr *a, struct scan scan, struct attr *out)
{
	if (scan.depth > MAX_DEPTH)
		return -E2BIG;
	if (c->path.failed)
		return -ENOMEM;
	return copy_ruled(c, a, scan.look ? find_rule(c, a, scan.level) : NULL, scan, out);
}

static int copy_attrs(struct copy *c, struct attr_range *range, enum redact_level level)
{
	struct attr_range copied = {(uint32_t)c->to->attr_n, 0};

	for (uint32_t i = 0; i < range->count; i++) {
		const struct attr *a = &c->from->attrs[range->first + i];
		bool look = key_matters(c, a, level);
		struct attr out;
		int r;

		if (look)
			path_set(c, batch_text(c->from, a->key));
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

/* A body has no key: "body" stands for it, and the pairs of one that is a list have their own.  So
 * an undecoded body could hold what any rule is about. */
static const struct redact_compiled *find_body_rule(struct copy *c, const struct attr *body)
{
	path_set(c, SLICE(BODY_KEY));
	if (!undecoded(body))
		return find_rule(c, body, REDACT_BLOCK);
	for (size_t i = 0; i < c->rules->n; i++)
		if (c->active[i] && level_applies(&c->rules->rules[i], REDACT_BLOCK))
			return &c->rules->rules[i];
	return NULL;
}

/* As copy_value(), with what is dropped left empty: there is always a body. */
static int copy_body(struct copy *c, const struct attr *body, struct attr *out)
{
	const struct redact_compiled *rule = find_body_rule(c, body);
	struct scan scan = {REDACT_BLOCK, container(body), 0};
	int r;

	if (body->type == VALUE_KVLIST) {
		buffer_clear(&c->path);
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
	c->codes = calloc(c->from->strings, sizeof(*c->codes));
	if (!c->to || !c->codes)
		return -ENOMEM;
	c->to->owner = copy_code(c, c->from->owner);
	c->to->sender = copy_code(c, c->from->sender);
	c->to->received_ns = c->from->received_ns;
	if ((r = copy_resources(c)) < 0 || (r = copy_scopes(c)) < 0)
		return r;
	for (size_t i = 0; i < c->from->event_n; i++) {
		r = copy_event(c, &c->from->events[i]);
		if (r < 0)
			return r;
	}
	return c->to->failed;
}

/* --- looking --- */

/* Nested and undecoded values under a key that matters are left to copying to decide. */
static bool attr_concerned(struct copy *c, const struct attr *a, enum redact_level level)
{
	if (!key_matters(c, a, level))
		return false;
	if (container(a) || undecoded(a))
		return true;
	path_set(c, batch_text(c->from, a->key));
	return find_rule(c, a, level) != NULL;
}

static bool range_concerned(struct copy *c, struct attr_range range, enum redact_level level)
{
	for (uint32_t i = 0; i < range.count; i++)
		if (attr_concerned(c, &c->from->attrs[range.first + i], level))
			return true;
	return false;
}

static bool body_concerned(struct copy *c, const struct event *e)
{
	const struct attr *body = &batch_extra_get(c->from, e)->body;

	if (e->type != EVENT_LOG || e->extra == 0)
		return false;
	return container(body) || find_body_rule(c, body) != NULL;
}

static bool batch_concerned(struct copy *c)
{
	const struct batch *b = c->from;

	for (size_t i = 0; i < b->resource_n; i++)
		if (range_concerned(c, b->resources[i].attrs, REDACT_RESOURCE))
			return true;
	for (size_t i = 0; i < b->scope_n; i++)
		if (range_concerned(c, b->scopes[i].attrs, REDACT_SCOPE))
			return true;
	for (size_t i = 0; i < b->event_n; i++)
		if (range_concerned(c, b->events[i].attrs, REDACT_BLOCK) ||
		    body_concerned(c, &b->events[i]))
			return true;
	return false;
}

/* Which rules are for this owner?  False when none is. */
static bool choose_rules(struct copy *c)
{
	struct slice owner = batch_text(c->from, c->from->owner);
	bool any = false;

	for (size_t i = 0; i < c->rules->n; i++) {
		c->active[i] = glob_match(slice_cstr(c->rules->rules[i].owner), owner);
		any |= c->active[i];
	}
	return any;
}

int redact_rules_apply(const struct redact_rules *rules, const struct batch *from,
		       struct batch **ret_batch, struct redact_count *count)
{
	_cleanup_(copy_done)
	struct copy c = {.rules = rules, .from = from, .count = count};
	int r;

	*ret_batch = NULL;
	if (from->failed)
		return from->failed;
	c.active = calloc(rules->n + 1, sizeof(*c.active));
	if (!c.active)
		return -ENOMEM;
	if (!choose_rules(&c))
		return 0;
	c.keys = calloc(from->strings, LEVELS);
	c.values = calloc(rules->n, sizeof(*c.values));
	if (!c.keys || !c.values)
		return -ENOMEM;
	if (!batch_concerned(&c))
		return c.path.failed ? -ENOMEM : 0;
	r = copy_all(&c);
	if (r < 0)
		return r;
	/* A nested value was looked at in vain. */
	if (count->dropped == 0 && count->hashed == 0)
		return 0;
	*ret_batch = TAKE_PTR(c.to);
	return 0;
}
