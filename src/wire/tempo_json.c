/* wire/tempo_json.c - spans in the JSON that Tempo answers. */
#include "wire/tempo_json.h"

#include "base/cleanup.h"
#include "wire/otlp_json_put.h"

static void put_id(struct json_writer *w, const char *name, const uint8_t *bytes, size_t n)
{
	json_put_name(w, name);
	json_put_base64(w, slice_of(bytes, n));
}

/* The name of an enum's value; a number that has none stands as it is. */
static void put_enum(struct json_writer *w, const char *name, int32_t value,
		     const char *const *names, size_t n)
{
	if (value == 0)
		return;
	json_put_name(w, name);
	if (value > 0 && (size_t)value < n)
		json_put_cstr(w, names[value]);
	else
		json_put_i64(w, value);
}

static void put_kind(struct json_writer *w, int32_t kind)
{
	static const char *const names[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
					    "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
					    "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};

	put_enum(w, "kind", kind, names, ARRAY_SIZE(names));
}

/* There even where it says nothing. */
static void put_whole_status(struct json_writer *w, const struct batch *b, const struct event *e)
{
	static const char *const names[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
					    "STATUS_CODE_ERROR"};

	json_put_name(w, "status");
	json_begin_object(w);
	put_text(w, "message", b, batch_extra_get(b, e)->status_message);
	put_enum(w, "code", e->status, names, ARRAY_SIZE(names));
	json_end_object(w);
}

static size_t put_span(struct json_writer *w, const struct event_ref *refs, size_t n)
{
	static const struct otlp_json_style style = {put_id, put_kind, put_whole_status};

	return otlp_json_put_span(w, &style, refs, n);
}

void tempo_json_put_traces(struct json_writer *w, const char *name, const struct event_ref *refs,
			   size_t n)
{
	const struct otlp_json_request request = {name, "scopeSpans", "spans", otlp_json_is_span,
						  put_span};

	otlp_json_put_groups(w, &request, refs, n);
}
