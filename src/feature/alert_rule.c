/* feature/alert_rule.c - a standing rule: read, checked and written. */
#include "feature/alert_rule.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "catalog/alert.h"
#include "core/clock.h"
#include "exec/query.h"
#include "exec/tracepoint_names.h"
#include "wire/json_reader.h"

#define OVER_DEFAULT   (300 * NS_PER_S)
#define EVERY_DEFAULT  (60 * NS_PER_S)
#define DELAY_DEFAULT  (10 * NS_PER_S)
#define REPEAT_DEFAULT (4 * 3600 * NS_PER_S)
#define DAY_NS         (86400 * NS_PER_S)
#define URL_MOST       2048

static const char *const relations[] = {
	[VALUE_EQ] = "==", [VALUE_NE] = "!=", [VALUE_LT] = "<",
	[VALUE_LE] = "<=", [VALUE_GT] = ">",  [VALUE_GE] = ">=",
};

const char *alert_relation_name(enum value_relation when)
{
	return relations[when];
}

bool alert_rule_holds(const struct alert_rule *rule, double value)
{
	if (isnan(value))
		return false;
	switch (rule->when) {
	case VALUE_EQ:
		return value == rule->threshold;
	case VALUE_NE:
		return value != rule->threshold;
	case VALUE_LT:
		return value < rule->threshold;
	case VALUE_LE:
		return value <= rule->threshold;
	case VALUE_GT:
		return value > rule->threshold;
	default:
		return value >= rule->threshold;
	}
}

/* --- reading --- */

enum field {
	NAME,
	QUERY,
	DIALECT,
	VALUE,
	WHEN,
	THRESHOLD,
	OVER,
	FOR,
	EVERY,
	DELAY,
	REPEAT,
	WEBHOOK,
	LABELS,
	ANNOTATIONS,
};

static const char *const names[] = {"name",      "query",   "dialect", "value",       "when",
				    "threshold", "over",    "for",     "every",       "delay",
				    "repeat",    "webhook", "labels",  "annotations", NULL};

struct reading {
	struct json_reader r;
	struct arena *arena;
	struct buffer scratch;
	struct alert_rule *rule;
	struct error *error;
};

static int wrong(struct reading *x, const char *field, const char *why)
{
	return error_set(x->error, -EINVAL, "\"%s\" %s", field, why);
}

static int read_text(struct reading *x, const char *field, struct slice *ret_text)
{
	struct json_string s;

	if (json_peek(&x->r) != JSON_STRING || !json_string(&x->r, &s))
		return wrong(x, field, "is a text");
	*ret_text = arena_dup(x->arena, json_text(s, &x->scratch));
	if (!ret_text->p)
		return -ENOMEM;
	return memchr(ret_text->p, '\0', ret_text->n) ? wrong(x, field, "has a zero byte in it")
						      : 0;
}

static int read_duration(struct reading *x, const char *field, int64_t least, int64_t most,
			 int64_t *ret_ns)
{
	struct slice text;
	int r = read_text(x, field, &text);

	if (r < 0)
		return r;
	if (duration_parse(text, ret_ns) < 0 || *ret_ns < least || *ret_ns > most) {
		char low[QUANTITY_TEXT_BYTES], high[QUANTITY_TEXT_BYTES];

		return error_set(x->error, -EINVAL, "\"%s\" is a duration from %s to %s", field,
				 duration_format(least, low), duration_format(most, high));
	}
	return 0;
}

/* A number, or a duration: durations are compared in nanoseconds. */
static int read_threshold(struct reading *x)
{
	struct slice text;
	int64_t ns;
	int r;

	if (json_peek(&x->r) == JSON_NUMBER)
		return json_double(&x->r, &x->rule->threshold) && isfinite(x->rule->threshold)
			       ? 0
			       : wrong(x, "threshold", "is a number, or a duration");
	r = read_text(x, "threshold", &text);
	if (r < 0)
		return r;
	if (duration_parse(text, &ns) < 0)
		return wrong(x, "threshold", "is a number, or a duration such as \"500ms\"");
	x->rule->threshold = (double)ns;
	x->rule->threshold_text = text;
	return 0;
}

static int read_when(struct reading *x)
{
	struct slice text;
	int r = read_text(x, "when", &text);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(relations); i++)
		if (slice_eq(text, slice_cstr(relations[i]))) {
			x->rule->when = (enum value_relation)i;
			return 0;
		}
	return wrong(x, "when", "is one of > >= < <= == !=");
}

static int read_dialect(struct reading *x)
{
	struct slice text;
	int r = read_text(x, "dialect", &text);

	if (r < 0)
		return r;
	if (slice_eq(text, SLICE("traceql")))
		x->rule->dialect = DIALECT_TRACEQL;
	else if (!slice_eq(text, SLICE("causetql")))
		return wrong(x, "dialect", "is causetql or traceql");
	return 0;
}

/* Prometheus' names: letters, digits, '_', no digit first. */
static bool is_label_name(struct slice name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_')
			return false;
	return name.n > 0 && name.n <= 128 && !isdigit((unsigned char)name.p[0]);
}

static int read_labels(struct reading *x, const char *field, struct alert_label *labels,
		       size_t *ret_n)
{
	struct slice name;

	*ret_n = 0;
	if (json_peek(&x->r) != JSON_OBJECT || !json_object(&x->r))
		return wrong(x, field, "is an object of texts");
	while (json_next_name(&x->r, &name)) {
		struct alert_label *l = &labels[*ret_n];
		int r;

		if (*ret_n == ALERT_LABELS_MOST)
			return wrong(x, field, "has more than 32 members");
		if (!is_label_name(name))
			return wrong(x, field,
				     "has names of letters, digits and _, with no digit first");
		l->name = arena_dup(x->arena, name);
		r = l->name.p ? read_text(x, field, &l->value) : -ENOMEM;
		if (r < 0)
			return r;
		if (l->value.n > ALERT_LABEL_BYTES)
			return wrong(x, field, "has a value of more than 1024 bytes");
		++*ret_n;
	}
	return 0;
}

static int read_field(struct reading *x, enum field field)
{
	struct alert_rule *rule = x->rule;

	switch (field) {
	case NAME:
		return read_text(x, "name", &rule->name);
	case QUERY:
		return read_text(x, "query", &rule->query);
	case DIALECT:
		return read_dialect(x);
	case VALUE:
		return read_text(x, "value", &rule->column);
	case WHEN:
		return read_when(x);
	case THRESHOLD:
		return read_threshold(x);
	case OVER:
		return read_duration(x, "over", NS_PER_S, 31 * DAY_NS, &rule->over_ns);
	case FOR:
		return read_duration(x, "for", 0, 31 * DAY_NS, &rule->for_ns);
	case EVERY:
		return read_duration(x, "every", NS_PER_S, DAY_NS, &rule->every_ns);
	case DELAY:
		return read_duration(x, "delay", 0, DAY_NS, &rule->delay_ns);
	case REPEAT:
		return read_duration(x, "repeat", 0, 31 * DAY_NS, &rule->repeat_ns);
	case WEBHOOK:
		return read_text(x, "webhook", &rule->webhook);
	case LABELS:
		return read_labels(x, "labels", rule->labels, &rule->label_n);
	default:
		return read_labels(x, "annotations", rule->annotations, &rule->annotation_n);
	}
}

/* http or https, a host, and neither names nor passwords: those would be shown to whoever may see
 * the rules, and written to logs on the way. */
static int url_check(struct slice url, struct error *error)
{
	struct slice rest = slice_starts(url, SLICE("http://"))    ? slice_from(url, 7)
			    : slice_starts(url, SLICE("https://")) ? slice_from(url, 8)
								   : slice_of(NULL, 0);
	size_t host = 0;

	if (url.n > URL_MOST)
		return error_set(error, -EINVAL, "\"webhook\" is longer than %d bytes", URL_MOST);
	for (size_t i = 0; i < url.n; i++) {
		unsigned char c = (unsigned char)url.p[i];

		if (c >= 0x80)
			return error_set(error, -EINVAL,
					 "\"webhook\" has characters in it that are not ASCII: "
					 "write %%XX for their bytes, and a host as xn--…");
		if (c <= ' ' || c == 0x7f)
			return error_set(error, -EINVAL,
					 "\"webhook\" has blanks or control characters in it");
	}
	while (host < rest.n && !strchr("/?#", rest.p[host]))
		host++;
	if (host == 0)
		return error_set(error, -EINVAL,
				 "\"webhook\" is a URL that begins with http:// or https://");
	if (memchr(rest.p, '@', host))
		return error_set(error, -EINVAL,
				 "\"webhook\" has a user's name in it; put a secret into its path");
	return 0;
}

static int rule_check(const struct alert_rule *rule, bool threshold, struct error *error)
{
	if (rule->name.n == 0 || rule->name.n > ALERT_MAX_NAME_CHARS)
		return error_set(error, -EINVAL, "\"name\" has 1 to %d characters",
				 ALERT_MAX_NAME_CHARS);
	for (size_t i = 0; i < rule->name.n; i++)
		if ((unsigned char)rule->name.p[i] < ' ' || rule->name.p[i] == '/')
			return error_set(error, -EINVAL,
					 "\"name\" has neither slashes nor control characters");
	if (rule->query.n == 0)
		return error_set(error, -EINVAL, "the rule has no \"query\"");
	if (!threshold)
		return error_set(error, -EINVAL, "the rule has no \"threshold\"");
	if (rule->webhook.n == 0)
		return error_set(error, -EINVAL, "the rule has no \"webhook\"");
	return url_check(rule->webhook, error);
}

int alert_rule_read(struct slice json, struct arena *arena, struct alert_rule *ret_rule,
		    struct error *error)
{
	struct reading x = {.r = json_open(json), .arena = arena, .rule = ret_rule, .error = error};
	bool threshold = false;
	struct slice name;
	int r = 0;

	*ret_rule = (struct alert_rule){.when = VALUE_GT,
					.over_ns = OVER_DEFAULT,
					.every_ns = EVERY_DEFAULT,
					.delay_ns = DELAY_DEFAULT,
					.repeat_ns = REPEAT_DEFAULT};
	if (json_peek(&x.r) != JSON_OBJECT || !json_object(&x.r))
		return error_set(error, -EINVAL, "a rule is a JSON object");
	while (r == 0 && json_next_name(&x.r, &name)) {
		int field = 0;

		while (names[field] && !slice_eq(name, slice_cstr(names[field])))
			field++;
		if (!names[field]) {
			r = error_set(error, -EINVAL,
				      "a rule has no \"%.*s\"; it has name, query, "
				      "dialect, value, when, threshold, over, for, every, delay, "
				      "repeat, webhook, labels and annotations",
				      (int)MIN(name.n, (size_t)64), name.p);
			break;
		}
		threshold |= field == THRESHOLD;
		r = read_field(&x, (enum field)field);
	}
	if (r == 0 && json_finish(&x.r, error) < 0)
		r = -EINVAL;
	buffer_done(&x.scratch);
	return r < 0 ? r : rule_check(ret_rule, threshold, error);
}

/* --- its query --- */

bool alert_plan_has(const struct plan_node *node, int op)
{
	if ((int)node->op == op)
		return true;
	for (uint32_t i = 0; i < node->input_n; i++)
		if (alert_plan_has(node->inputs[i], op))
			return true;
	return false;
}

static int plan_check(const struct query *q, struct error *error)
{
	const struct plan *plan = query_plan(q, 0);

	if (query_results(q) != 1)
		return error_set(error, -EINVAL,
				 "a rule asks one question; name the others (x = …)");
	if (plan->live)
		return error_set(error, -EINVAL, "a rule asks what is stored, not Over live");
	if (plan->last_ns || plan->range.from_ns || plan->range.to_ns)
		return error_set(error, -EINVAL,
				 "the rule's \"over\" says which time is asked about: leave Over "
				 "out of the query");
	if (plan->root->op == PLAN_COMPARE)
		return error_set(error, -EINVAL, "compare() has no number to compare");
	if (plan->root->op != PLAN_SERIES && alert_plan_has(plan->root, PLAN_SERIES))
		return error_set(error, -EINVAL,
				 "a series ends the query of a rule: what is computed from it, or "
				 "compared with it, has no number for the whole window");
	return 0;
}

int alert_rule_prepare(const struct alert_rule *rule, struct catalog *catalog, struct diags *diags,
		       struct query **ret_query, struct error *error)
{
	struct query_prepare prepare = {.text = rule->query,
					.dialect = rule->dialect,
					.check = {.unknown_tracepoints = UNKNOWN_REFUSE}};
	_cleanup_(query_freep)
	struct query *q = NULL;
	struct tracepoint_names known;
	int r;

	tracepoint_names_init(&known, catalog);
	prepare.check.names = &known.names;
	prepare.check.now_ns = clock_wall_ns();
	r = query_prepare(&prepare, diags, &q);
	tracepoint_names_done(&known);
	if (r == 0)
		r = plan_check(q, error);
	if (r < 0)
		return r;
	*ret_query = TAKE_PTR(q);
	return 0;
}

/* --- writing --- */

/* Exactly: it is read again. */
static void put_duration(struct json_writer *w, const char *name, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{3600 * NS_PER_S, "h"}, {60 * NS_PER_S, "m"}, {NS_PER_S, "s"},
		     {NS_PER_MS, "ms"},      {NS_PER_US, "us"},    {1, "ns"}};
	char text[32];
	size_t at = ns == 0 ? 2 : 0;

	while (ns % units[at].ns)
		at++;
	snprintf(text, sizeof(text), "%lld%s", (long long)(ns / units[at].ns), units[at].unit);
	json_put_key(w, slice_cstr(name));
	json_put_cstr(w, text);
}

static void put_labels(struct json_writer *w, const char *name, const struct alert_label *labels,
		       size_t n)
{
	json_put_key(w, slice_cstr(name));
	json_begin_object(w);
	for (size_t i = 0; i < n; i++) {
		json_put_key(w, labels[i].name);
		json_put_string(w, labels[i].value);
	}
	json_end_object(w);
}

static void put_webhook(struct json_writer *w, struct slice url, bool secrets)
{
	struct buffer shown = {0};
	size_t at = slice_starts(url, SLICE("https://")) ? 8 : 7;

	while (at < url.n && !strchr("/?#", url.p[at]))
		at++;
	buffer_slice(&shown, slice_of(url.p, MIN(at, url.n)));
	buffer_text(&shown, "/…");
	json_put_name(w, "webhook");
	json_put_string(w, secrets || at >= url.n ? url : buffer_get(&shown));
	buffer_done(&shown);
}

void alert_rule_write(struct json_writer *w, const struct alert_rule *rule, bool secrets)
{
	json_put_name(w, "name");
	json_put_string(w, rule->name);
	json_put_name(w, "query");
	json_put_string(w, rule->query);
	if (rule->dialect == DIALECT_TRACEQL) {
		json_put_name(w, "dialect");
		json_put_cstr(w, "traceql");
	}
	if (rule->column.n) {
		json_put_name(w, "value");
		json_put_string(w, rule->column);
	}
	json_put_name(w, "when");
	json_put_cstr(w, relations[rule->when]);
	json_put_name(w, "threshold");
	if (rule->threshold_text.n)
		json_put_string(w, rule->threshold_text);
	else
		json_put_double(w, rule->threshold);
	put_duration(w, "over", rule->over_ns);
	put_duration(w, "for", rule->for_ns);
	put_duration(w, "every", rule->every_ns);
	put_duration(w, "delay", rule->delay_ns);
	put_duration(w, "repeat", rule->repeat_ns);
	put_webhook(w, rule->webhook, secrets);
	put_labels(w, "labels", rule->labels, rule->label_n);
	put_labels(w, "annotations", rule->annotations, rule->annotation_n);
}
