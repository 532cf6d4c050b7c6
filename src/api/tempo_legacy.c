/* api/tempo_legacy.c - the older form of Tempo's search as TraceQL. */
#include "api/tempo_legacy.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/quantity.h"
#include "wire/protobuf.h"

#define TAGS_MOST TEMPO_LEGACY_TAGS
#define MS_MOST   ((uint64_t)1 << 40)

static void put_quoted(struct buffer *out, struct slice text)
{
	buffer_byte(out, '"');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			buffer_byte(out, '\\');
		buffer_byte(out, text.p[i]);
	}
	buffer_byte(out, '"');
}

static bool is_number(struct slice s)
{
	size_t i = s.n > 1 && s.p[0] == '-';

	for (; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0 && s.n < 19 && s.p[s.n - 1] != '-';
}

/* Tags are texts, but what they are compared with has a type. */
static void put_tag(struct buffer *out, struct slice key, struct slice value)
{
	static const struct {
		const char *tag, *field;
		bool keyword;
	} fields[] = {
		{"name", "name", false},
		{"root.name", "rootName", false},
		{"root.service.name", "rootServiceName", false},
		{"status.code", "status", true},
	};

	buffer_text(out, out->n ? " && { " : "{ ");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!slice_eq(key, slice_cstr(fields[i].tag)))
			continue;
		buffer_printf(out, "%s = ", fields[i].field);
		if (fields[i].keyword)
			buffer_slice(out, value);
		else
			put_quoted(out, value);
		buffer_text(out, " }");
		return;
	}
	buffer_byte(out, '.');
	put_quoted(out, key);
	buffer_text(out, " = ");
	put_quoted(out, value);
	if (is_number(value) || slice_eq(value, SLICE("true")) || slice_eq(value, SLICE("false"))) {
		buffer_text(out, " || .");
		put_quoted(out, key);
		buffer_text(out, " = ");
		buffer_slice(out, value);
	}
	buffer_text(out, " }");
}

/* logfmt: a=b "c d"="e \"f" … */
static bool word_read(struct slice *rest, struct arena *arena, char end, struct slice *ret_word)
{
	char *word = arena_alloc(arena, rest->n + 1);
	bool quoted = rest->n && rest->p[0] == '"';
	size_t n = 0, i = quoted;

	if (!word)
		return false;
	for (; i < rest->n; i++) {
		if (quoted ? rest->p[i] == '"' : rest->p[i] == ' ' || rest->p[i] == end)
			break;
		if (quoted && rest->p[i] == '\\' && i + 1 < rest->n)
			i++;
		word[n++] = rest->p[i];
	}
	if (quoted && i++ == rest->n)
		return false;
	*ret_word = slice_of(word, n);
	*rest = slice_of(rest->p + i, rest->n - i);
	return true;
}

static int tags_read(struct http_request *req, struct slice tags, struct buffer *out)
{
	size_t n = 0;

	for (tags = slice_trim(tags); tags.n; tags = slice_trim(tags)) {
		struct slice key, value;

		if (++n > TAGS_MOST || !word_read(&tags, &req->arena, '=', &key) || key.n == 0 ||
		    tags.n == 0 || tags.p[0] != '=')
			return -EINVAL;
		tags = slice_of(tags.p + 1, tags.n - 1);
		if (!word_read(&tags, &req->arena, ' ', &value))
			return -EINVAL;
		put_tag(out, key, value);
	}
	return 0;
}

static void bound_put(struct buffer *out, const char *op, int64_t ns)
{
	buffer_printf(out, "%s{ traceDuration %s %lldns }", out->n ? " && " : "", op,
		      (long long)ns);
}

static bool bound_read(struct http_request *req, const char *name, const char *op,
		       struct buffer *out, int64_t *ret_ns)
{
	struct slice text;
	int64_t ns;
	int r = http_query_get(req, name, &text);

	if (r == 0 || (r > 0 && text.n == 0))
		return true;
	if (r < 0 || duration_parse(text, &ns) < 0 || ns < 0) {
		http_reply_text(req, 400, "invalid %s: a duration such as 100ms is wanted", name);
		return false;
	}
	if (ns > 0) /* 0 is no bound */
		bound_put(out, op, ns);
	*ret_ns = ns;
	return true;
}

static int tag_read(struct slice entry, struct buffer *out)
{
	struct pb_reader r = pb_open(entry);
	struct slice key = {0}, value = {0};
	struct pb_field f;

	while (pb_next(&r, &f)) {
		if (f.tag == PB_TAG(1, PB_BYTES))
			key = f.bytes;
		else if (f.tag == PB_TAG(2, PB_BYTES))
			value = f.bytes;
	}
	if (r.bad || key.n == 0)
		return -EINVAL;
	put_tag(out, key, value);
	return 0;
}

int tempo_legacy_text(const struct tempo_legacy *legacy, struct arena *arena,
		      struct slice *ret_text, struct error *error)
{
	struct buffer out = {0};
	struct slice text = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < legacy->n; i++)
		r = tag_read(legacy->tags[i], &out);
	if (r < 0) {
		buffer_done(&out);
		return error_set(error, r, "a tag without a key");
	}
	if (legacy->min_ms)
		bound_put(&out, ">=", (int64_t)MIN(legacy->min_ms, MS_MOST) * 1000000);
	if (legacy->max_ms)
		bound_put(&out, "<=", (int64_t)MIN(legacy->max_ms, MS_MOST) * 1000000);
	if (out.n == 0)
		buffer_text(&out, "{}");
	if (!out.failed)
		text = arena_dup(arena, buffer_get(&out));
	buffer_done(&out);
	if (!text.p)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

bool tempo_legacy_read(struct http_request *req, struct slice *ret_text)
{
	struct buffer out = {0};
	struct slice tags;
	int64_t least = 0, most = 0;
	int r = http_query_get(req, "tags", &tags);
	bool fine = true;

	if (r > 0)
		r = tags_read(req, tags, &out);
	if (r < 0) {
		http_reply_text(req, 400, "invalid tags: logfmt is wanted, such as a=b c=\"d e\"");
		fine = false;
	}
	fine = fine && bound_read(req, "minDuration", ">=", &out, &least) &&
	       bound_read(req, "maxDuration", "<=", &out, &most);
	if (fine && most > 0 && least > most) {
		http_reply_text(req, 400, "invalid maxDuration: must be greater than minDuration");
		fine = false;
	}
	if (fine) {
		if (out.n == 0)
			buffer_text(&out, "{}");
		*ret_text =
			out.failed ? slice_of(NULL, 0) : arena_dup(&req->arena, buffer_get(&out));
		if (!ret_text->p) {
			api_fail_errno(req, -ENOMEM);
			fine = false;
		}
	}
	buffer_done(&out);
	return fine;
}
