/* catalog/role.h - what the bearer of a token may do. */
#ifndef CAUSET_CATALOG_ROLE_H
#define CAUSET_CATALOG_ROLE_H

#include "base/error.h"
#include "core/slice.h"

enum role {
	ROLE_INGEST = 1 << 0, /* send events */
	ROLE_READ = 1 << 1,   /* look at traces, services, metrics */
	ROLE_QUERY = 1 << 2,  /* run queries */
	ROLE_ADMIN = 1 << 3,  /* change what the catalogue holds, and everything above */
};

#define ROLE_ALL         (ROLE_INGEST | ROLE_READ | ROLE_QUERY | ROLE_ADMIN)
#define ROLES_TEXT_BYTES 32 /* "ingest,read,query,admin" and a NUL fit */

/* May a bearer of these roles do what needs `needed`?  An admin could make a token with any role,
 * so admin implies the others; nothing else implies anything. */
static inline bool roles_allow(unsigned roles, enum role needed)
{
	return (roles & ((unsigned)needed | ROLE_ADMIN)) != 0;
}

/* "ingest,read" or "all", blanks around names ignored.  -EINVAL, naming the word, on anything else
 * and on an empty list. */
int roles_parse(struct slice text, unsigned *ret_roles, struct error *e);

/* The same form, in the order of the enum; bits that are no role are left out. */
void roles_format(unsigned roles, char out[ROLES_TEXT_BYTES]);

#endif
