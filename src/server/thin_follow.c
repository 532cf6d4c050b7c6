/* server/thin_follow.c - the catalogue's rules for thinning reach the store while it runs. */
#include "server/thin_follow.h"

#include <errno.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "catalog/thin_rule.h"
#include "store/engine.h"

_Static_assert(THIN_RULE_MAX <= THIN_MAX_RULES && THIN_RULE_MAX_ATTRIBUTES <= THIN_MAX_ATTRIBUTES,
	       "what the catalogue takes the store must take");

struct reading {
	struct arena arena;
	struct thin_rule rows[THIN_MAX_RULES];
	size_t n;
};

/* "key" or "key=value", one a line. */
static int attributes_read(struct reading *r, const char *text, struct thin_rule *rule)
{
	struct thin_attribute *attributes =
		arena_zalloc(&r->arena, THIN_MAX_ATTRIBUTES, sizeof(*attributes));
	struct slice rest = arena_dup(&r->arena, slice_cstr(text));
	size_t n = 0;

	if (!attributes || !rest.p)
		return -ENOMEM;
	while (rest.n > 0 && n < THIN_MAX_ATTRIBUTES) {
		struct slice line = slice_cut(&rest, '\n');

		attributes[n].key = slice_cut(&line, '=');
		attributes[n].value = line.p ? line : slice_of("", 0);
		n++;
	}
	rule->attributes = attributes;
	rule->attribute_n = n;
	return 0;
}

static int rule_read(void *context, const struct thin_rule_row *row)
{
	struct reading *r = context;
	struct thin_rule *rule = &r->rows[r->n];

	if (r->n == THIN_MAX_RULES)
		return -E2BIG;
	*rule = (struct thin_rule){
		.after_ns = row->after_ns,
		.threshold = row->threshold,
		.errors = row->errors,
		.slow = row->slow,
		.rare = (uint64_t)row->rare,
	};
	r->n++;
	return attributes_read(r, row->attributes, rule);
}

int thin_follow(struct catalog *cat, struct store *store, uint64_t *generation, struct error *error)
{
	uint64_t now = catalog_generation(cat);
	struct reading reading = {0};
	struct thin_rules rules = {.rows = reading.rows};
	int r;

	if (now == *generation && *generation != 0)
		return 0;
	r = thin_rule_list(cat, rule_read, &reading, error);
	if (r == 0) {
		rules.n = reading.n;
		r = engine_set_thinning(store, &rules, error);
	}
	arena_done(&reading.arena);
	if (r == 0)
		*generation = now;
	return r;
}
