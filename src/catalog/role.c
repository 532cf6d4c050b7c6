/* catalog/role.c - what the bearer of a token may do. */
#include "catalog/role.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_ROLE_WORDS 16

static const struct {
	const char *name;
	unsigned bits;
} roles_table[] = {
	{"ingest", ROLE_INGEST}, {"read", ROLE_READ}, {"query", ROLE_QUERY},
	{"admin", ROLE_ADMIN},   {"all", ROLE_ALL}, /* last: accepted, never printed */
};

static unsigned role_bits(struct slice word)
{
	for (size_t i = 0; i < ARRAY_SIZE(roles_table); i++)
		if (slice_eq(word, slice_cstr(roles_table[i].name)))
			return roles_table[i].bits;
	return 0;
}

int roles_parse(struct slice text, unsigned *ret_roles, struct error *e)
{
	struct slice rest = text;
	unsigned roles = 0;

	for (int words = 0; rest.p && words < MAX_ROLE_WORDS; words++) {
		struct slice word = slice_trim(slice_cut(&rest, ','));
		unsigned bits = role_bits(word);

		if (!bits)
			return error_set(e, -EINVAL,
					 "'%.*s' is not a role: choose from ingest, read, query, "
					 "admin, or all",
					 SLICE_ARG(slice_first(word, 40)));
		roles |= bits;
	}
	if (rest.p || !roles)
		return error_set(e, -EINVAL, rest.p ? "too many roles" : "no role is named");
	*ret_roles = roles;
	return 0;
}

void roles_format(unsigned roles, char out[ROLES_TEXT_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(roles_table) - 1; i++) {
		size_t length = strlen(roles_table[i].name);

		if (!(roles & roles_table[i].bits))
			continue;
		if (n)
			out[n++] = ',';
		memcpy(out + n, roles_table[i].name, length);
		n += length;
	}
	out[n] = '\0';
}
