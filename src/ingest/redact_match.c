/* ingest/redact_match.c - which redaction rule applies to a value, and whether any does in a batch.
 *
 *   - rules are tried in their order; owner, level and key must match
 *   - a rule without a value pattern takes the whole value, nested or not
 *   - a rule with one is asked of single values only: inside arrays under the array's path, inside
 *     lists of pairs under the dotted path
 *   - undecoded protobuf may hold anything, so a rule whose key matches it, or could match
 * something inside it, takes it whole
 *
 * Spans of one program repeat each other, so what is found out about a key or a string is
 * remembered by its dictionary code. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/glob.h"
#include "ingest/redact_int.h"

#define LEVELS               4
#define BODY_KEY             "body"
#define MAX_REMEMBERED_BYTES (16 << 20) /* of verdicts on strings, in one batch */

enum verdict { VERDICT_NONE, VERDICT_NO, VERDICT_YES };

/* What is known of a key at a level. */
enum key_bits {
	KEY_LOOKED_AT = 1 << 0,
	KEY_MATCHES = 1 << 1, /* some rule's key matches it */
	KEY_EXTENDS = 1 << 2, /* some rule's key could match something nested in it */
};

static bool level_applies(const struct redact_compiled *rule, enum redact_level level)
{
	return rule->level == REDACT_ANY || rule->level == level;
}

struct slice redact_value_text(const struct batch *b, const struct attr *a,
			       char scalar[REDACT_SCALAR_CHARS])
{
	switch (a->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_RAW:
	case VALUE_RAW_PAIR:
		return batch_text(b, a->string);
	case VALUE_BOOL:
		return a->word ? SLICE("true") : SLICE("false");
	case VALUE_INT:
		snprintf(scalar, REDACT_SCALAR_CHARS, "%" PRId64, attr_integer(b, a));
		return slice_cstr(scalar);
	case VALUE_DOUBLE:
		snprintf(scalar, REDACT_SCALAR_CHARS, "%.17g", attr_number(b, a));
		return slice_cstr(scalar);
	default:
		return SLICE("");
	}
}

/* The text is copied to have a NUL behind it: REG_STARTEND needs none, but sanitizers look for it,
 * and a NUL inside the text must not end it. */
static bool pattern_found(struct redact_match *m, const struct redact_compiled *rule,
			  struct slice text)
{
	regmatch_t bounds = {.rm_so = 0, .rm_eo = (regoff_t)text.n};
	const char *with_nul;

	buffer_clear(&m->scratch);
	buffer_slice(&m->scratch, text);
	with_nul = buffer_cstr(&m->scratch);
	/* Anything but a clear "no", such as out of memory, is taken for a match. */
	return m->scratch.failed ||
	       regexec(&rule->value, with_nul, 0, &bounds, REG_STARTEND) != REG_NOMATCH;
}

/* Remembered per rule and string: spans of one program repeat each other's values. */
static bool value_matches(struct redact_match *m, size_t at, const struct attr *a)
{
	const struct redact_compiled *rule = &m->rules->rules[at];
	char scalar[REDACT_SCALAR_CHARS];
	bool found;

	if (!rule->has_value)
		return true;
	if (a->type != VALUE_STRING)
		return pattern_found(m, rule, redact_value_text(m->from, a, scalar));
	if (!m->values[at] && m->arena.bytes + m->from->strings <= MAX_REMEMBERED_BYTES)
		m->values[at] = arena_zalloc(&m->arena, m->from->strings, 1);
	if (m->values[at] && m->values[at][a->string] != VERDICT_NONE)
		return m->values[at][a->string] == VERDICT_YES;
	found = pattern_found(m, rule, batch_text(m->from, a->string));
	if (m->values[at])
		m->values[at][a->string] = found ? VERDICT_YES : VERDICT_NO;
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

static bool rule_takes(struct redact_match *m, size_t at, const struct attr *a, struct slice path)
{
	struct slice key = slice_cstr(m->rules->rules[at].key);

	if (redact_undecoded(a))
		return glob_match(key, path) || could_be_inside(key, path);
	if (!glob_match(key, path))
		return false;
	if (redact_nested(a))
		return !m->rules->rules[at].has_value;
	return value_matches(m, at, a);
}

const struct redact_compiled *redact_match_find(struct redact_match *m, const struct attr *a,
						enum redact_level level)
{
	struct slice path = buffer_get(&m->path);

	for (size_t i = 0; i < m->rules->n; i++)
		if (m->active[i] && level_applies(&m->rules->rules[i], level) &&
		    rule_takes(m, i, a, path))
			return &m->rules->rules[i];
	return NULL;
}

static uint8_t key_look_up(struct redact_match *m, uint32_t key, enum redact_level level)
{
	uint8_t *known = &m->keys[(size_t)level * m->from->strings + key];
	struct slice text = batch_text(m->from, key);

	if (*known)
		return *known;
	*known = KEY_LOOKED_AT;
	for (size_t i = 0; i < m->rules->n; i++) {
		struct slice glob = slice_cstr(m->rules->rules[i].key);

		if (!m->active[i] || !level_applies(&m->rules->rules[i], level))
			continue;
		if (glob_match(glob, text))
			*known |= KEY_MATCHES;
		if (could_be_inside(glob, text))
			*known |= KEY_EXTENDS;
	}
	return *known;
}

bool redact_match_key(struct redact_match *m, const struct attr *a, enum redact_level level)
{
	uint8_t known = key_look_up(m, a->key, level);

	return known &
	       (redact_nested(a) || redact_undecoded(a) ? KEY_MATCHES | KEY_EXTENDS : KEY_MATCHES);
}

const struct redact_compiled *redact_match_find_body(struct redact_match *m,
						     const struct attr *body)
{
	redact_match_path(m, SLICE(BODY_KEY));
	if (!redact_undecoded(body))
		return redact_match_find(m, body, REDACT_BLOCK);
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->active[i] && level_applies(&m->rules->rules[i], REDACT_BLOCK))
			return &m->rules->rules[i];
	return NULL;
}

/* Nested and undecoded values under a key that matters are left to copying to decide. */
static bool attr_concerned(struct redact_match *m, const struct attr *a, enum redact_level level)
{
	if (!redact_match_key(m, a, level))
		return false;
	if (redact_nested(a) || redact_undecoded(a))
		return true;
	redact_match_path(m, batch_text(m->from, a->key));
	return m->path.failed || redact_match_find(m, a, level) != NULL;
}

static bool range_concerned(struct redact_match *m, struct attr_range range,
			    enum redact_level level)
{
	for (uint32_t i = 0; i < range.count; i++)
		if (attr_concerned(m, &m->from->attrs[range.first + i], level))
			return true;
	return false;
}

static bool body_concerned(struct redact_match *m, const struct event *e)
{
	const struct attr *body = &batch_extra_get(m->from, e)->body;

	if (e->type != EVENT_LOG || e->extra == 0)
		return false;
	return redact_nested(body) || redact_match_find_body(m, body) != NULL || m->path.failed;
}

bool redact_match_any(struct redact_match *m)
{
	const struct batch *b = m->from;

	for (size_t i = 0; i < b->resource_n; i++)
		if (range_concerned(m, b->resources[i].attrs, REDACT_RESOURCE))
			return true;
	for (size_t i = 0; i < b->scope_n; i++)
		if (range_concerned(m, b->scopes[i].attrs, REDACT_SCOPE))
			return true;
	for (size_t i = 0; i < b->event_n; i++)
		if (range_concerned(m, b->events[i].attrs, REDACT_BLOCK) ||
		    body_concerned(m, &b->events[i]))
			return true;
	return false;
}

/* Which rules are for this owner?  False when none is. */
static bool choose_rules(struct redact_match *m)
{
	struct slice owner = batch_text(m->from, m->from->owner);
	bool any = false;

	for (size_t i = 0; i < m->rules->n; i++) {
		m->active[i] = glob_match(slice_cstr(m->rules->rules[i].owner), owner);
		any |= m->active[i];
	}
	return any;
}

int redact_match_init(struct redact_match *m, const struct redact_rules *rules,
		      const struct batch *from)
{
	*m = (struct redact_match){.rules = rules, .from = from};
	m->active = arena_zalloc(&m->arena, rules->n, sizeof(*m->active));
	m->keys = arena_zalloc(&m->arena, from->strings, LEVELS);
	m->values = arena_zalloc(&m->arena, rules->n, sizeof(*m->values));
	if (!m->active || !m->keys || !m->values)
		return -ENOMEM;
	return choose_rules(m);
}

void redact_match_done(struct redact_match *m)
{
	arena_done(&m->arena);
	buffer_done(&m->path);
	buffer_done(&m->scratch);
}
