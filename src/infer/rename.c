/* infer/rename.c - names of nodes brought together by rules. */
#include "infer/rename.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/glob.h"

#define PIECE 256 /* messages renamed at once */

struct rename *rename_new(struct names *nodes, struct message_sink sink)
{
	struct rename *r = calloc(1, sizeof(*r));

	if (r) {
		r->nodes = nodes;
		r->sink = sink;
	}
	return r;
}

struct rename *rename_free(struct rename *r)
{
	if (r)
		free(r->map);
	free(r);
	return NULL;
}

int rename_add(struct rename *r, struct slice rule, struct error *error)
{
	struct slice rest = rule, pattern = slice_cut(&rest, '=');

	if (!rest.p || pattern.n == 0 || rest.n == 0 || rest.n > NAMES_MAX_BYTES)
		return error_set(error, -EINVAL, "'%.*s' is not PATTERN=NAME",
				 (int)MIN(rule.n, (size_t)80), rule.p);
	if (r->rule_n == RENAME_MAX_RULES)
		return error_set(error, -E2BIG, "more than %d rules for names", RENAME_MAX_RULES);
	r->rules[r->rule_n++] = (struct rename_rule){pattern, rest};
	return 0;
}

static int rename_by(struct rename *r, const struct rename_rule *rule, struct slice old,
		     uint32_t *ret_node)
{
	char text[NAMES_MAX_BYTES];
	const char *colon = old.n ? memrchr(old.p, ':', old.n) : NULL;
	size_t stem = rule->name.n, tail = 0;

	if (!slice_ends(rule->name, SLICE(":*")))
		return names_intern(r->nodes, rule->name, ret_node);
	stem -= 2;
	if (colon)
		tail = (size_t)(old.p + old.n - colon);
	if (stem + tail > sizeof(text))
		return -E2BIG;
	memcpy(text, rule->name.p, stem);
	if (tail)
		memcpy(text + stem, colon, tail);
	return names_intern(r->nodes, slice_of(text, stem + tail), ret_node);
}

static int node_rename(struct rename *r, uint32_t *node)
{
	struct slice old = names_get(r->nodes, *node);
	uint32_t new = *node;
	int e = 0;

	if (*node >= r->map_n) {
		size_t n = (size_t)*node + 1;

		if (!vec_reserve(&r->map, &r->map_capacity, n, sizeof(*r->map)))
			return -ENOMEM;
		memset(r->map + r->map_n, 0xff, (n - r->map_n) * sizeof(*r->map));
		r->map_n = n;
	}
	if (r->map[*node] == NAMES_NONE) {
		for (size_t i = 0; i < r->rule_n; i++)
			if (glob_match(r->rules[i].pattern, old)) {
				e = rename_by(r, &r->rules[i], old, &new);
				break;
			}
		if (e < 0)
			return e;
		r->map[*node] = new;
	}
	*node = r->map[*node];
	return 0;
}

static int rename_put(void *context, const struct message *messages, size_t n)
{
	struct rename *r = context;
	struct message piece[PIECE];

	while (n > 0) {
		size_t m = MIN(n, (size_t)PIECE);
		int e;

		memcpy(piece, messages, m * sizeof(*messages));
		for (size_t i = 0; i < m; i++) {
			e = node_rename(r, &piece[i].sender);
			if (e == 0)
				e = node_rename(r, &piece[i].receiver);
			if (e < 0)
				return e;
		}
		e = r->sink.put(r->sink.context, piece, m);
		if (e < 0)
			return e;
		messages += m;
		n -= m;
	}
	return 0;
}

struct message_sink rename_sink(struct rename *r)
{
	return (struct message_sink){rename_put, r};
}
