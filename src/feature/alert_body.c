/* feature/alert_body.c - what a webhook gets: Alertmanager's form, version 4.
 *
 * One notification tells of all alerts of a rule that fire, and of those just resolved: a rule is
 * a group by its name. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "core/clock.h"
#include "core/hash.h"
#include "feature/alert_state.h"
#include "wire/json_reader.h"

#define NOT_YET "0001-01-01T00:00:00Z" /* Go's zero time: it has no end */

void alert_fingerprint(const char *labels, char ret_text[17])
{
	snprintf(ret_text, 17, "%016llx",
		 (unsigned long long)hash_bytes(labels, strlen(labels), 0x616c657274ULL));
}

static void put_time(struct json_writer *w, const char *name, int64_t ns)
{
	char text[48];
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm tm;
	size_t n = 0;

	json_put_key(w, slice_cstr(name));
	if (ns == 0 || !gmtime_r(&s, &tm)) {
		json_put_cstr(w, NOT_YET);
		return;
	}
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%03dZ", (int)(ns % NS_PER_S / NS_PER_MS));
	json_put_cstr(w, text);
}

/* --- labels --- */

struct label_set {
	struct alert_label rows[1 + 2 * ALERT_LABELS_MOST + 32];
	size_t n;
};

static bool labels_read(const char *json, struct arena *arena, struct label_set *out)
{
	struct json_reader r = json_open(slice_cstr(json));
	struct buffer scratch = {0};
	struct slice name;
	struct json_string s;

	out->n = 0;
	if (json_object(&r))
		while (json_next_name(&r, &name) && out->n < ARRAY_SIZE(out->rows)) {
			struct alert_label *l = &out->rows[out->n];

			l->name = arena_dup(arena, name);
			if (!json_string(&r, &s))
				break;
			l->value = arena_dup(arena, json_text(s, &scratch));
			if (!l->name.p || !l->value.p)
				break;
			out->n++;
		}
	buffer_done(&scratch);
	return json_finish(&r, NULL) == 0;
}

/* Keeps what both have. */
static void labels_meet(struct label_set *a, const struct label_set *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (slice_eq(a->rows[i].name, b->rows[k].name) &&
			    slice_eq(a->rows[i].value, b->rows[k].value)) {
				a->rows[n++] = a->rows[i];
				break;
			}
	a->n = n;
}

static void put_labels(struct json_writer *w, const char *name, const struct alert_label *rows,
		       size_t n)
{
	json_put_key(w, slice_cstr(name));
	json_begin_object(w);
	for (size_t i = 0; i < n; i++) {
		json_put_key(w, rows[i].name);
		json_put_string(w, rows[i].value);
	}
	json_end_object(w);
}

/* --- alerts --- */

static bool is_told(const struct alert_body *b, const struct alert_state_row *s)
{
	return s->is == ALERT_FIRING || (s->is == ALERT_RESOLVED && s->resolved_ns == b->now_ns);
}

static void put_url(struct json_writer *w, const struct alert_body *b)
{
	struct buffer url = {0};

	buffer_text(&url, b->external_url);
	buffer_text(&url, "/api/v1/alerts?name=");
	for (size_t i = 0; i < b->rule->name.n; i++)
		buffer_printf(&url, "%%%02X", (unsigned char)b->rule->name.p[i]);
	json_put_name(w, "generatorURL");
	json_put_string(w, buffer_get(&url));
	buffer_done(&url);
}

static void put_alert(struct json_writer *w, const struct alert_body *b,
		      const struct alert_state_row *s)
{
	char text[64], fingerprint[17];

	json_begin_object(w);
	json_put_name(w, "status");
	json_put_cstr(w, s->is == ALERT_FIRING ? "firing" : "resolved");
	json_put_name(w, "labels");
	json_put_json(w, slice_cstr(s->labels));
	json_put_name(w, "annotations");
	json_begin_object(w);
	for (size_t i = 0; i < b->rule->annotation_n; i++) {
		json_put_key(w, b->rule->annotations[i].name);
		json_put_string(w, b->rule->annotations[i].value);
	}
	snprintf(text, sizeof(text), "%.17g", s->value);
	json_put_name(w, "value");
	json_put_cstr(w, text);
	json_end_object(w);
	put_time(w, "startsAt", s->fired_ns);
	put_time(w, "endsAt", s->resolved_ns);
	put_url(w, b);
	alert_fingerprint(s->labels, fingerprint);
	json_put_name(w, "fingerprint");
	json_put_cstr(w, fingerprint);
	json_end_object(w);
}

static void put_group(struct json_writer *w, const struct alert_body *b)
{
	const struct alert_label name = {SLICE("alertname"), b->rule->name};
	struct buffer key = {0};

	buffer_text(&key, "{}:{alertname=\"");
	for (size_t i = 0; i < b->rule->name.n; i++) {
		if (b->rule->name.p[i] == '"' || b->rule->name.p[i] == '\\')
			buffer_byte(&key, '\\');
		buffer_byte(&key, b->rule->name.p[i]);
	}
	buffer_text(&key, "\"}");
	json_put_name(w, "groupKey");
	json_put_string(w, buffer_get(&key));
	buffer_done(&key);
	put_labels(w, "groupLabels", &name, 1);
}

void alert_body_write(const struct alert_body *b, struct arena *arena, struct buffer *out)
{
	struct json_writer w = json_write(out);
	struct label_set common = {.n = 0}, other;
	bool firing = false, first = true;

	for (size_t i = 0; i < b->states->n; i++) {
		const struct alert_state_row *s = &b->states->rows[i];

		if (!is_told(b, s))
			continue;
		firing |= s->is == ALERT_FIRING;
		if (first)
			first = !labels_read(s->labels, arena, &common);
		else if (labels_read(s->labels, arena, &other))
			labels_meet(&common, &other);
	}
	json_begin_object(&w);
	json_put_name(&w, "version");
	json_put_cstr(&w, "4");
	put_group(&w, b);
	json_put_name(&w, "truncatedAlerts");
	json_put_u64(&w, b->overflow);
	json_put_name(&w, "status");
	json_put_cstr(&w, firing ? "firing" : "resolved");
	json_put_name(&w, "receiver");
	json_put_cstr(&w, "causet");
	put_labels(&w, "commonLabels", common.rows, common.n);
	put_labels(&w, "commonAnnotations", b->rule->annotations, b->rule->annotation_n);
	json_put_name(&w, "externalURL");
	json_put_cstr(&w, b->external_url);
	json_put_name(&w, "alerts");
	json_begin_array(&w);
	for (size_t i = 0; i < b->states->n; i++)
		if (is_told(b, &b->states->rows[i]))
			put_alert(&w, b, &b->states->rows[i]);
	json_end_array(&w);
	json_end_object(&w);
}
