/* base/option.c - a setting's value: reading, checking, keeping it with its origin. */
#include "base/option.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"

#define CHOICES_TEXT_BYTES 160

size_t option_count(const struct option *table)
{
	size_t n = 0;

	while (table && table[n].name)
		n++;
	return n;
}

const struct option *option_find(const struct option *table, struct slice name)
{
	for (const struct option *o = table; o && o->name; o++)
		if (slice_eq(name, slice_cstr(o->name)))
			return o;
	return NULL;
}

static void *slot_of(const struct option_set *set, const struct option *o)
{
	return (char *)set->values + o->offset;
}

static int put_bool(bool *slot, struct slice value, const char *source, struct error *error)
{
	static const struct {
		struct slice word;
		bool value;
	} words[] = {{SLICE("on"), true},  {SLICE("off"), false}, {SLICE("true"), true},
		     {SLICE("no"), false}, {SLICE("yes"), true},  {SLICE("false"), false},
		     {SLICE("1"), true},   {SLICE("0"), false}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (slice_eq_nocase(value, words[i].word)) {
			*slot = words[i].value;
			return 0;
		}
	return error_set(error, -EINVAL, "%s: '%.*s' is neither on nor off", source,
			 SLICE_ARG(value));
}

static int put_choice(const struct option *o, int64_t *slot, struct slice value, const char *source,
		      struct error *error)
{
	char all[CHOICES_TEXT_BYTES];
	size_t n = 0;

	for (int i = 0; o->choices[i]; i++) {
		if (slice_eq_nocase(value, slice_cstr(o->choices[i]))) {
			*slot = i;
			return 0;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
				      o->choices[i]);
		if (n >= sizeof(all))
			n = sizeof(all) - 1;
	}
	return error_set(error, -EINVAL, "%s: '%.*s' is not one of %s", source, SLICE_ARG(value),
			 all);
}

static int parse_i64(struct slice value, int64_t *ret)
{
	bool negative = value.n > 0 && value.p[0] == '-';
	uint64_t u;
	int r = slice_parse_u64(negative ? slice_from(value, 1) : value, &u);

	if (r < 0)
		return r;
	if (u > INT64_MAX)
		return -ERANGE;
	*ret = negative ? -(int64_t)u : (int64_t)u;
	return 0;
}

/* One number of some unit: how it is parsed, what it is called when it is wrong. */
static int parse_quantity(enum option_type type, struct slice value, int64_t *ret,
			  const char **ret_wanted)
{
	switch (type) {
	case OPTION_SIZE:
		*ret_wanted = "a size such as 64MiB";
		return size_parse(value, ret);
	case OPTION_DURATION:
		*ret_wanted = "a duration such as 30s or 5m";
		return duration_parse(value, ret);
	case OPTION_PORT:
		*ret_wanted = "a port (0 to 65535, 0 lets the kernel choose) or off";
		if (slice_eq_nocase(value, SLICE("off"))) {
			*ret = OPTION_OFF;
			return 0;
		}
		return parse_i64(value, ret);
	default:
		*ret_wanted = "a whole number";
		return parse_i64(value, ret);
	}
}

static void bound_format(enum option_type type, int64_t value, char out[QUANTITY_TEXT_BYTES])
{
	if (type == OPTION_SIZE)
		size_format((uint64_t)value, out);
	else if (type == OPTION_DURATION)
		duration_format(value, out);
	else
		snprintf(out, QUANTITY_TEXT_BYTES, "%lld", (long long)value);
}

static int put_quantity(const struct option *o, int64_t *slot, struct slice value,
			const char *source, struct error *error)
{
	char low[QUANTITY_TEXT_BYTES], high[QUANTITY_TEXT_BYTES];
	const char *wanted;
	int64_t number;
	int r = parse_quantity(o->type, value, &number, &wanted);

	if (r < 0 || (o->type == OPTION_PORT && (number < OPTION_OFF || number > 65535)) ||
	    (o->type == OPTION_PORT && number == OPTION_OFF && value.n > 0 && value.p[0] == '-'))
		return error_set(error, r < 0 ? r : -ERANGE, "%s: '%.*s' is not %s", source,
				 SLICE_ARG(value), wanted);
	if ((o->min != 0 || o->max != 0) && (number < o->min || number > o->max)) {
		bound_format(o->type, o->min, low);
		bound_format(o->type, o->max, high);
		return error_set(error, -ERANGE, "%s: %.*s is not between %s and %s", source,
				 SLICE_ARG(value), low, high);
	}
	*slot = number;
	return 0;
}

/* Adds the items of a comma-separated text to a list. */
static int put_list(struct option_set *set, struct option_list *slot, struct slice value,
		    bool whole, const char *source, struct error *error)
{
	struct slice rest = value, counted = value;
	const char **items;
	size_t n = slot->n, more = 1;

	while (!whole && slice_cut(&counted, ',').p && counted.p)
		more++;
	if (n + more > OPTION_MAX_ITEMS)
		return error_set(error, -E2BIG, "%s: more than %d items", source, OPTION_MAX_ITEMS);
	items = arena_zalloc(set->arena, n + more + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	if (n > 0)
		memcpy(items, slot->items, n * sizeof(*items));
	while (rest.p) {
		struct slice item = whole ? rest : slice_trim(slice_cut(&rest, ','));

		if (whole)
			rest = slice_of(NULL, 0);

		if (item.n == 0)
			continue;
		items[n] = arena_dup(set->arena, item).p;
		if (!items[n++])
			return -ENOMEM;
	}
	slot->items = n > 0 ? items : NULL;
	slot->n = n;
	return 0;
}

static int put_value(struct option_set *set, const struct option *o, struct slice value, bool more,
		     const char *source, struct error *error)
{
	void *slot = slot_of(set, o);

	switch (o->type) {
	case OPTION_BOOL:
		return put_bool(slot, value, source, error);
	case OPTION_STRING: {
		const char *text = arena_dup(set->arena, value).p;

		if (!text)
			return -ENOMEM;
		memcpy(slot, &text, sizeof(text));
		return 0;
	}
	case OPTION_CHOICE:
		return put_choice(o, slot, value, source, error);
	case OPTION_LIST:
		if (!more)
			*(struct option_list *)slot = (struct option_list){0};
		return put_list(set, slot, value, o->whole, source, error);
	default:
		return put_quantity(o, slot, value, source, error);
	}
}

int option_put(struct option_set *set, const struct option *o, struct slice value,
	       enum option_rank rank, const char *source, struct error *error)
{
	struct option_origin *origin = &set->origins[o - set->table];
	bool more = o->type == OPTION_LIST && origin->rank == rank && origin->text;
	const char *text;
	int r;

	if (origin->rank > rank)
		return 0;
	if (value.n > 0 && memchr(value.p, 0, value.n))
		return error_set(error, -EINVAL, "%s: a NUL byte in the value", source);
	r = put_value(set, o, value, more, source, error);
	if (r == -ENOMEM)
		return error_set(error, r, "%s: out of memory", source);
	if (r < 0)
		return r;
	text = more ? arena_printf(set->arena, "%s, %.*s", origin->text, SLICE_ARG(value))
		    : arena_dup(set->arena, value).p;
	source = arena_dup(set->arena, slice_cstr(source)).p;
	if (!text || !source)
		return error_set(error, -ENOMEM, "out of memory");
	*origin = (struct option_origin){rank, source, text};
	return 0;
}

int option_set_init(struct option_set *set, const struct option *table, void *values,
		    struct arena *arena)
{
	size_t n = option_count(table);

	*set = (struct option_set){.table = table, .n = n, .values = values, .arena = arena};
	set->origins = arena_zalloc(arena, n ? n : 1, sizeof(*set->origins));
	if (!set->origins)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r;

		set->origins[i].source = "default";
		if (!table[i].fallback)
			continue;
		r = option_put(set, &table[i], slice_cstr(table[i].fallback), OPTION_DEFAULT,
			       "default", NULL);
		if (r == -ENOMEM)
			return r;
		assert(r == 0);
	}
	return 0;
}
