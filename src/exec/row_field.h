/* exec/row_field.h - fields and attributes of a span that stand in its own row.
 *
 * Times are raw, as they were sent: a begin nobody said is nil, so is the end of what is running,
 * and a duration is never negative. */
#ifndef CAUSET_EXEC_ROW_FIELD_H
#define CAUSET_EXEC_ROW_FIELD_H

#include "exec/value.h"
#include "lang/plan.h"
#include "model/batch.h"

/* Can row_field() answer it?  FIELD and ATTR of the element itself; others need its trace. */
bool row_field_known(const struct plan_expr *e);

/* What the row says.  Lists, ids and the like are made in the arena; other texts are the batch's.
 * `tracepoint` is the name under which the source was asked for.  Nil when out of memory. */
struct value row_field(struct event_ref ref, const struct plan_expr *e, struct slice tracepoint,
		       struct arena *arena);

/* Fields made of resources: what the row's own columns need not be asked for.  `sender` as the
 * batch has it. */
struct value resource_field(const struct batch *b, const struct resource *resource,
			    struct slice sender, enum plan_field field, struct arena *arena);

/* An attribute of the resource or of the scope; nil. */
struct value range_attr(const struct batch *b, struct attr_range range, struct slice key,
			struct arena *arena);

/* Times as fields show them. */
struct value time_value(uint64_t ns);
struct value duration_value(uint64_t begin_ns, uint64_t end_ns);
struct value span_id_value(uint64_t id, struct arena *arena);
struct value trace_id_value(struct trace_id id, struct arena *arena);
/* trace id, '/', span id */
struct value element_value(struct trace_id id, uint64_t span, struct arena *arena);

#endif
