/* wire/sniff.c - which format is this file?
 *
 * JSON is told by its keys at the top.  Protobuf says nothing about itself, but the formats differ
 * in their first byte (native requests use field 12, the others 1) and in what lies below:
 *
 *   OTLP    1: group { 1: resource, 2: scope group { 2: member }, 3: schema }, nothing above 3
 *   Zipkin  1: span { 1: trace id of 8 or 16 bytes, 3: id of 8 bytes, … up to 13 }
 *
 * and among OTLP's members a span has its trace id in field 1, a log record its time. */
#include "wire/codecs.h"
#include "wire/json_reader.h"
#include "wire/protobuf.h"

/* The next field.  Of a message or text that is cut off at the end of what we were given, the part
 * that is there. */
static bool peek_next(struct pb_reader *r, struct pb_field *f)
{
	const uint8_t *start = r->at;
	uint64_t tag, n;

	if (pb_next(r, f))
		return true;
	if (!r->bad)
		return false;
	r->at = start;
	r->bad = NULL;
	if (!pb_varint(r, &tag) || (tag & 7) != PB_BYTES || tag >> 32 != 0 || tag >> 3 == 0 ||
	    !pb_varint(r, &n) || n <= (uint64_t)(r->end - r->at))
		return false;
	f->tag = (uint32_t)tag;
	f->bytes = slice_of(r->at, (size_t)(r->end - r->at));
	f->start = start;
	r->at = r->end;
	return true;
}

/* The first field with this number, if it is a message. */
static bool peek_find(struct slice message, uint32_t number, struct slice *ret_bytes)
{
	struct pb_reader r = pb_open(message);
	struct pb_field f;

	while (peek_next(&r, &f))
		if (f.tag == PB_TAG(number, PB_BYTES)) {
			*ret_bytes = f.bytes;
			return true;
		}
	return false;
}

static bool is_zipkin_span(struct slice message)
{
	struct pb_reader r = pb_open(message);
	struct pb_field f;
	unsigned others = 0;
	bool id = false;

	while (peek_next(&r, &f)) {
		switch (f.tag) {
		case PB_TAG(1, PB_BYTES):
			if (f.bytes.n != 8 && f.bytes.n != 16)
				return false;
			break;
		case PB_TAG(3, PB_BYTES):
			id = f.bytes.n == 8;
			break;
		default:
			others += f.tag >> 3 > 3 && f.tag >> 3 <= 13;
		}
	}
	return id && others > 0;
}

static bool is_log_group(struct slice group)
{
	struct slice scope, member, id;

	return peek_find(group, 2, &scope) && peek_find(scope, 2, &member) &&
	       !peek_find(member, 1, &id);
}

static const char *sniff_protobuf(struct slice head)
{
	struct pb_reader r = pb_open(head);
	struct pb_field f;

	if (!peek_next(&r, &f))
		return NULL;
	if (f.tag == PB_TAG(12, PB_BYTES))
		return "events";
	if (f.tag != PB_TAG(1, PB_BYTES))
		return NULL;
	if (is_zipkin_span(f.bytes))
		return "zipkin-proto";
	return is_log_group(f.bytes) ? "otlp-logs" : "otlp";
}

static const char *sniff_object(struct json_reader *r)
{
	static const struct {
		struct slice key;
		const char *codec;
	} keys[] = {
		{{"resourceSpans", 13}, "otlp-json"},
		{{"resource_spans", 14}, "otlp-json"},
		{{"resourceLogs", 12}, "otlp-json"},
		{{"resource_logs", 13}, "otlp-json"},
		{{"resourceEvents", 14}, "events-json"},
		{{"resource_events", 15}, "events-json"},
		{{"data", 4}, "jaeger-json"},
		{{"traceID", 7}, "jaeger-json"},
		{{"spans", 5}, "jaeger-json"},
		{{"processes", 9}, "jaeger-json"},
		{{"traceId", 7}, "zipkin-json"},
	};
	struct slice name;

	json_object(r);
	while (json_next_name(r, &name)) {
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (slice_eq(name, keys[i].key))
				return keys[i].codec;
		json_skip(r);
	}
	return NULL;
}

static const char *sniff_json(struct slice head)
{
	struct json_reader r = json_open(head);
	enum json_type type = json_peek(&r);

	const char *found = NULL;

	if (type == JSON_OBJECT)
		return sniff_object(&r);
	if (type != JSON_ARRAY)
		return NULL;
	/* A list of spans is Zipkin's, a list of traces Jaeger's. */
	json_array(&r);
	if (json_next_item(&r) && json_peek(&r) == JSON_OBJECT)
		found = sniff_object(&r);
	return found ? found : "zipkin-json";
}

/* The longest ending counts: zipkin.json is more than json. */
static const struct codec *sniff_name(struct slice file)
{
	size_t n, longest = 0;
	const struct codec *codecs = codec_list(&n), *best = NULL;

	if (slice_ends(file, SLICE(".gz")))
		file.n -= 3;
	else if (slice_ends(file, SLICE(".zst")))
		file.n -= 4;
	for (size_t i = 0; i < n; i++) {
		struct slice rest = slice_cstr(codecs[i].extensions);

		while (rest.p) {
			struct slice end = slice_cut(&rest, ' ');

			if (end.n > longest && file.n > end.n && slice_ends(file, end) &&
			    file.p[file.n - end.n - 1] == '.') {
				best = &codecs[i];
				longest = end.n;
			}
		}
	}
	return best;
}

const struct codec *codec_sniff(struct slice head, struct slice file_name)
{
	const char *name = sniff_json(head);
	const struct codec *codec;

	if (!name)
		name = sniff_protobuf(head);
	codec = name ? codec_find(slice_cstr(name)) : NULL;
	return codec ? codec : sniff_name(file_name);
}
