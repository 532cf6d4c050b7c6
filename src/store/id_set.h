/* store/id_set.h - trace ids, each once: what a search or a scan has seen to already. */
#ifndef CAUSET_STORE_ID_SET_H
#define CAUSET_STORE_ID_SET_H

#include "base/map.h"
#include "core/ids.h"

struct id_set {
	struct trace_id *ids;
	size_t n, capacity;
	struct map map;
};

void id_set_init(struct id_set *s);
void id_set_done(struct id_set *s);

/* 1: it is new.  0: it was there.  -ENOMEM. */
int id_set_add(struct id_set *s, struct trace_id id);

bool id_set_has(const struct id_set *s, struct trace_id id);

#endif
