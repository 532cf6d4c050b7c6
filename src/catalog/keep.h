/* catalog/keep.h - the share of traces that the server keeps of those it is sent. */
#ifndef CAUSET_CATALOG_KEEP_H
#define CAUSET_CATALOG_KEEP_H

#include "catalog/catalog.h"

/* The threshold of sampling/second.h: 0 keeps everything, which is how a catalogue begins. */
int keep_get(struct catalog *cat, uint64_t *ret_threshold, struct error *e);

/* `by` goes to the audit log, with the share. */
int keep_set(struct catalog *cat, uint64_t threshold, double share, const char *by,
	     struct error *e);

#endif
