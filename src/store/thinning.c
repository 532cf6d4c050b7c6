/* store/thinning.c - the rules for thinning as an engine holds them. */
#include "store/thinning.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"

struct thinning {
	_Atomic uint32_t refs;
	struct arena arena; /* everything the rules refer to */
	struct thin_rule *rows;
	uint64_t *marks; /* one a rule */
	size_t n;
};

struct thinning *thinning_ref(struct thinning *t)
{
	if (t)
		atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

struct thinning *thinning_unref(struct thinning *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	arena_done(&t->arena);
	free(t);
	return NULL;
}

static void thinning_unrefp(struct thinning **t)
{
	thinning_unref(*t);
}

static void put_text(struct buffer *out, struct slice text)
{
	buffer_append(out, &text.n, sizeof(text.n));
	buffer_slice(out, text);
}

/* A number for what a rule says; kept in manifests, so it must not change from run to run. */
static uint64_t mark_of(const struct thin_rule *rule, struct buffer *room)
{
	uint64_t words[] = {(uint64_t)rule->after_ns, rule->threshold, rule->errors, 0, rule->rare};
	uint64_t mark;

	memcpy(&words[3], &rule->slow, sizeof(rule->slow));
	buffer_clear(room);
	buffer_append(room, words, sizeof(words));
	for (size_t i = 0; i < rule->attribute_n; i++) {
		put_text(room, rule->attributes[i].key);
		put_text(room, rule->attributes[i].value);
	}
	mark = XXH3_64bits(room->p, room->n);
	return mark ? mark : 1;
}

static bool rule_copy(struct thinning *t, const struct thin_rule *from, struct thin_rule *to)
{
	struct thin_attribute *attributes =
		arena_zalloc(&t->arena, from->attribute_n + 1, sizeof(*attributes));

	if (!attributes)
		return false;
	for (size_t i = 0; i < from->attribute_n; i++) {
		attributes[i].key = arena_dup(&t->arena, from->attributes[i].key);
		attributes[i].value = arena_dup(&t->arena, from->attributes[i].value);
		if (!attributes[i].key.p || !attributes[i].value.p)
			return false;
	}
	*to = *from;
	to->attributes = attributes;
	return true;
}

int thinning_new(const struct thin_rules *rules, struct thinning **ret_thinning,
		 struct error *error)
{
	_cleanup_(thinning_unrefp)
	struct thinning *t = NULL;
	_cleanup_(buffer_done)
	struct buffer room = {0};
	int r = rules ? thin_rules_check(rules, error) : 0;

	if (r < 0)
		return r;
	if (!rules || rules->n == 0) {
		*ret_thinning = NULL;
		return 0;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return error_set(error, -ENOMEM, "out of memory");
	t->refs = 1;
	t->n = rules->n;
	t->rows = arena_zalloc(&t->arena, t->n, sizeof(*t->rows));
	t->marks = arena_zalloc(&t->arena, t->n, sizeof(*t->marks));
	for (size_t i = 0; i < t->n; i++) {
		if (!t->rows || !t->marks || !rule_copy(t, &rules->rows[i], &t->rows[i]))
			return error_set(error, -ENOMEM, "out of memory");
		t->marks[i] = mark_of(&t->rows[i], &room);
	}
	if (room.failed)
		return error_set(error, -ENOMEM, "out of memory");
	*ret_thinning = TAKE_PTR(t);
	return 0;
}

const struct thin_rule *thinning_rule(const struct thinning *t, int64_t received_ns, int64_t now_ns,
				      uint64_t *ret_mark)
{
	const struct thin_rule *found = NULL;

	for (size_t i = 0; t && i < t->n; i++)
		if (now_ns - received_ns >= t->rows[i].after_ns) {
			found = &t->rows[i];
			*ret_mark = t->marks[i];
		}
	return found;
}
