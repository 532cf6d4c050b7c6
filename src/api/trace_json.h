/* api/trace_json.h - the modelled trace as JSON, piece by piece.  The form is docs/format/api.md.
 */
#ifndef CAUSET_API_TRACE_JSON_H
#define CAUSET_API_TRACE_JSON_H

#include "model/critical_path.h"
#include "model/trace.h"
#include "wire/json_writer.h"

#define TRACE_JSON_PIECE ((size_t)128 << 10)

struct trace_json {
	const struct trace *trace;
	const struct critical_path *path; /* or NULL: left out */
	struct json_writer w;
	size_t section, at;
};

static inline struct trace_json trace_json_of(const struct trace *t,
					      const struct critical_path *path)
{
	return (struct trace_json){.trace = t, .path = path};
}

/* Appends about TRACE_JSON_PIECE bytes more; false when everything was given before. */
bool trace_json_next(struct trace_json *j, struct buffer *out);

/* An attribute as {"key":…,"type":…,"value":…}. */
void attr_json(struct json_writer *w, const struct batch *b, const struct attr *a);

/* Its value alone. */
void attr_json_value(struct json_writer *w, const struct batch *b, const struct attr *a);

#endif
