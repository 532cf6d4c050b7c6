/* catalog/audit.h - who changed what in the catalogue, and when.  Rows are added with the change
 * they tell of, in one transaction, and never changed or removed: triggers in the schema refuse. */
#ifndef CAUSET_CATALOG_AUDIT_H
#define CAUSET_CATALOG_AUDIT_H

#include "catalog/catalog.h"

struct audit_entry {
	int64_t id;
	int64_t at_ns;
	const char *who;    /* an owner, or a person at the command line */
	const char *action; /* "token.add", "token.revoke", "redact.add", "redact.remove" */
	const char *detail; /* one line for people; never a secret */
};

/* Calls `each` for every entry with an id above `after`, oldest first, until it returns other than
 * 0, which is then returned.  Texts are valid during the call.  The callback must not use the
 * catalogue. */
int audit_list(struct catalog *cat, int64_t after,
	       int (*each)(void *context, const struct audit_entry *entry), void *context,
	       struct error *e);

#endif
