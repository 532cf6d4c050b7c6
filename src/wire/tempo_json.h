/* wire/tempo_json.h - spans in the JSON that Tempo answers: OTLP's messages in protobuf's own JSON
 * mapping, so ids are base64 and enums are names.  (OTLP's JSON is wire/otlp_json.h.) */
#ifndef CAUSET_WIRE_TEMPO_JSON_H
#define CAUSET_WIRE_TEMPO_JSON_H

#include "model/batch.h"
#include "wire/json_writer.h"

/* The SPAN, POINT and LINK rows of `refs` as a list under `name`, inside an object that the caller
 * has begun.  A span's points and links must stand right behind it. */
void tempo_json_put_traces(struct json_writer *w, const char *name, const struct event_ref *refs,
			   size_t n);

#endif
