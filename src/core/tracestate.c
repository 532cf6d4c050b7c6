/* core/tracestate.c - W3C Trace Context's `tracestate` header, and OpenTelemetry's member in it.
 *
 * Grammar of the Recommendation (level 1), with level 2's one relaxation that simple keys may start
 * with a digit:
 *
 *   key    simple 1…256, or tenant 1…241 "@" system 1…14; [a-z0-9] first ([a-z] for the system),
 * then also _ - * / value  1…256 of 0x20…0x7e without , and =, not ending in a blank */
#include "core/tracestate.h"

#include <errno.h>

#define MAX_TENANT_CHARS 241
#define MAX_SYSTEM_CHARS 14
#define LONG_MEMBER      128

static bool lower_alpha(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool decimal(char c)
{
	return c >= '0' && c <= '9';
}

static bool key_part(struct slice s, size_t max, bool digit_first)
{
	if (s.n == 0 || s.n > max)
		return false;
	if (!lower_alpha(s.p[0]) && !(digit_first && decimal(s.p[0])))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		char c = s.p[i];

		if (!lower_alpha(c) && !decimal(c) && c != '_' && c != '-' && c != '*' && c != '/')
			return false;
	}
	return true;
}

static bool key_valid(struct slice key)
{
	struct slice system = key, tenant = slice_cut(&system, '@');

	if (!system.p)
		return key_part(key, TRACESTATE_MAX_KEY_CHARS, true);
	return key_part(tenant, MAX_TENANT_CHARS, true) &&
	       key_part(system, MAX_SYSTEM_CHARS, false);
}

static bool value_valid(struct slice value)
{
	if (value.n == 0 || value.n > TRACESTATE_MAX_VALUE_CHARS || value.p[value.n - 1] == ' ')
		return false;
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] < 0x20 || value.p[i] > 0x7e || value.p[i] == ',' ||
		    value.p[i] == '=')
			return false;
	return true;
}

static size_t find(const struct tracestate *t, struct slice key)
{
	size_t i = 0;

	while (i < t->n && !slice_eq(t->members[i].key, key))
		i++;
	return i;
}

int tracestate_parse(struct tracestate *t, struct slice header)
{
	struct slice rest = header;

	while (rest.p) {
		struct slice value = slice_trim(slice_cut(&rest, ',')), key;

		if (value.n == 0)
			continue;
		key = slice_cut(&value, '=');
		if (!value.p || !key_valid(key) || !value_valid(value)) {
			t->n = 0;
			return -EINVAL;
		}
		if (find(t, key) < t->n)
			continue;
		if (t->n == TRACESTATE_MAX_MEMBERS) {
			t->n = 0;
			return -E2BIG;
		}
		t->members[t->n++] = (struct tracestate_member){key, value};
	}
	return 0;
}

struct slice tracestate_get(const struct tracestate *t, struct slice key)
{
	size_t i = find(t, key);

	return i < t->n ? t->members[i].value : slice_of(NULL, 0);
}

void tracestate_remove(struct tracestate *t, struct slice key)
{
	size_t i = find(t, key);

	if (i == t->n)
		return;
	t->n--;
	memmove(&t->members[i], &t->members[i + 1], (t->n - i) * sizeof(t->members[0]));
}

int tracestate_set(struct tracestate *t, struct slice key, struct slice value)
{
	if (!key_valid(key) || !value_valid(value))
		return -EINVAL;
	tracestate_remove(t, key);
	if (t->n == TRACESTATE_MAX_MEMBERS)
		t->n--;
	memmove(&t->members[1], &t->members[0], t->n * sizeof(t->members[0]));
	t->members[0] = (struct tracestate_member){key, value};
	t->n++;
	return 0;
}

static size_t member_chars(const struct tracestate_member *m)
{
	return m->key.n + 1 + m->value.n;
}

/* Bit i: member i is written. */
static uint32_t choose(const struct tracestate *t, size_t capacity)
{
	uint32_t kept = 0;
	size_t total = 0, left = t->n;

	for (size_t i = 0; i < t->n; i++) {
		kept |= 1u << i;
		total += member_chars(&t->members[i]) + 1;
	}
	/* `total` counts a comma behind every member, the last one's too many. */
	for (size_t i = t->n; i-- > 0 && left && total - 1 > capacity;) {
		if (member_chars(&t->members[i]) <= LONG_MEMBER)
			continue;
		kept &= ~(1u << i);
		total -= member_chars(&t->members[i]) + 1;
		left--;
	}
	for (size_t i = t->n; i-- > 0 && left && total - 1 > capacity;) {
		if (!(kept & 1u << i))
			continue;
		kept &= ~(1u << i);
		total -= member_chars(&t->members[i]) + 1;
		left--;
	}
	return kept;
}

static char *put(char *to, struct slice s)
{
	memcpy(to, s.p, s.n);
	return to + s.n;
}

size_t tracestate_format(const struct tracestate *t, char *out, size_t capacity)
{
	uint32_t kept = choose(t, capacity);
	char *to = out;

	for (size_t i = 0; i < t->n; i++) {
		if (!(kept & 1u << i))
			continue;
		if (to != out)
			*to++ = ',';
		to = put(to, t->members[i].key);
		*to++ = '=';
		to = put(to, t->members[i].value);
	}
	return (size_t)(to - out);
}

struct slice ot_get(struct slice member, struct slice key)
{
	struct slice rest = member;

	while (rest.p) {
		struct slice value = slice_cut(&rest, ';'), name = slice_cut(&value, ':');

		if (value.p && slice_eq(name, key))
			return value;
	}
	return slice_of(NULL, 0);
}

static bool ot_key_valid(struct slice key)
{
	if (key.n == 0 || !lower_alpha(key.p[0]))
		return false;
	for (size_t i = 1; i < key.n; i++)
		if (!lower_alpha(key.p[i]) && !decimal(key.p[i]))
			return false;
	return true;
}

static bool ot_value_valid(struct slice value)
{
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (!lower_alpha((char)(c | 0x20)) && !decimal(c) && c != '.' && c != '_' &&
		    c != '-')
			return false;
	}
	return true;
}

/* Appends "name:value", or what stands there verbatim when value.p is NULL. */
static int ot_put(char out[TRACESTATE_MAX_VALUE_CHARS], size_t *n, struct slice name,
		  struct slice value)
{
	size_t need = (*n ? 1 : 0) + name.n + (value.p ? 1 + value.n : 0);
	char *to = out + *n;

	if (*n + need > TRACESTATE_MAX_VALUE_CHARS)
		return -ENOBUFS;
	if (*n)
		*to++ = ';';
	to = put(to, name);
	if (value.p) {
		*to++ = ':';
		put(to, value);
	}
	*n += need;
	return 0;
}

int ot_set(struct slice member, struct slice key, struct slice value,
	   char out[TRACESTATE_MAX_VALUE_CHARS])
{
	struct slice rest = member;
	bool done = !value.p;
	size_t n = 0;
	int r = 0;

	if (!ot_key_valid(key) || (value.p && !ot_value_valid(value)))
		return -EINVAL;
	while (rest.p && r == 0) {
		struct slice whole = slice_cut(&rest, ';'), old = whole,
			     name = slice_cut(&old, ':');

		if (whole.n == 0)
			continue;
		if (!slice_eq(name, key)) {
			r = ot_put(out, &n, whole, slice_of(NULL, 0));
		} else if (!done) {
			r = ot_put(out, &n, key, value);
			done = true;
		}
	}
	if (r == 0 && !done)
		r = ot_put(out, &n, key, value);
	return r < 0 ? r : (int)n;
}
