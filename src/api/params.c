/* api/params.c - what a search asks for, from the query of its URL. */
#include "api/params.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "base/suggest.h"

struct parser {
	struct http_request *req;
	struct params *out;
	struct store_tag *tags;
	int64_t now_ns;
	uint64_t limit_most;
	struct error *error;
};

static int take_service(struct parser *p, struct slice value)
{
	p->out->query.service = value;
	return 0;
}

static int take_operation(struct parser *p, struct slice value)
{
	p->out->query.operation = value;
	return 0;
}

static int take_format(struct parser *p, struct slice value)
{
	p->out->format = value;
	return 0;
}

static int take_tag(struct parser *p, struct slice value)
{
	struct slice rest = value, key = slice_cut(&rest, '=');

	if (!rest.p || key.n == 0)
		return error_set(p->error, -EINVAL, "tag: '%.*s' is not key=value",
				 SLICE_ARG(slice_first(value, 100)));
	if (p->out->query.tag_n == PARAMS_MAX_TAGS)
		return error_set(p->error, -EINVAL, "tag: more than %d of them", PARAMS_MAX_TAGS);
	if (!p->tags) {
		p->tags = arena_zalloc(&p->req->arena, PARAMS_MAX_TAGS, sizeof(*p->tags));
		if (!p->tags)
			return -ENOMEM;
		p->out->query.tags = p->tags;
	}
	p->tags[p->out->query.tag_n++] = (struct store_tag){key, rest};
	return 0;
}

static int duration_of(struct parser *p, const char *name, struct slice value, int64_t *ret_ns)
{
	if (duration_parse(value, ret_ns) < 0 || *ret_ns < 0)
		return error_set(p->error, -EINVAL,
				 "%s: '%.*s' is not a duration such as 1.5s or 200ms", name,
				 SLICE_ARG(slice_first(value, 100)));
	return 0;
}

static int take_min(struct parser *p, struct slice value)
{
	return duration_of(p, "minDuration", value, &p->out->query.min_duration_ns);
}

static int take_max(struct parser *p, struct slice value)
{
	return duration_of(p, "maxDuration", value, &p->out->query.max_duration_ns);
}

static int moment_of(struct parser *p, const char *name, struct slice value, int64_t *ret_ns)
{
	if (moment_parse(value, p->now_ns, ret_ns) < 0)
		return error_set(
			p->error, -EINVAL,
			"%s: '%.*s' is not a time: RFC 3339, a number since 1970 in s, ms, "
			"µs or ns, or relative such as -1h",
			name, SLICE_ARG(slice_first(value, 60)));
	return 0;
}

static int take_start(struct parser *p, struct slice value)
{
	return moment_of(p, "start", value, &p->out->query.from_ns);
}

static int take_end(struct parser *p, struct slice value)
{
	return moment_of(p, "end", value, &p->out->query.to_ns);
}

static int take_errors(struct parser *p, struct slice value)
{
	bool yes = value.n == 0 || slice_eq(value, SLICE("true")) || slice_eq(value, SLICE("1"));

	if (!yes && !slice_eq(value, SLICE("false")) && !slice_eq(value, SLICE("0")))
		return error_set(p->error, -EINVAL, "errors: '%.*s' is neither true nor false",
				 SLICE_ARG(slice_first(value, 100)));
	p->out->query.errors = yes;
	return 0;
}

static int take_limit(struct parser *p, struct slice value)
{
	uint64_t n;

	if (slice_parse_u64(value, &n) < 0 || n < 1 || n > p->limit_most)
		return error_set(p->error, -EINVAL, "limit: '%.*s' is not a number from 1 to %d",
				 SLICE_ARG(slice_first(value, 100)), (int)p->limit_most);
	p->out->query.limit = (size_t)n;
	return 0;
}

static int take_offset(struct parser *p, struct slice value)
{
	if (slice_parse_u64(value, &p->out->offset) < 0)
		return error_set(p->error, -EINVAL, "offset: '%.*s' is not a number of rows",
				 SLICE_ARG(slice_first(value, 100)));
	return 0;
}

static int take_order(struct parser *p, struct slice value)
{
	if (slice_eq(value, SLICE("newest")))
		p->out->query.order = STORE_NEWEST;
	else if (slice_eq(value, SLICE("slowest")))
		p->out->query.order = STORE_SLOWEST;
	else
		return error_set(p->error, -EINVAL, "order: '%.*s' is neither newest nor slowest",
				 SLICE_ARG(slice_first(value, 100)));
	return 0;
}

/* "START-DURATION-TRACEID": the last row of the page before. */
static int take_cursor(struct parser *p, struct slice value)
{
	struct slice rest = value, start = slice_cut(&rest, '-'), took = slice_cut(&rest, '-');
	struct store_query *q = &p->out->query;
	uint64_t ns, took_ns;

	if (slice_parse_u64(start, &ns) < 0 || ns > INT64_MAX ||
	    slice_parse_u64(took, &took_ns) < 0 || took_ns > INT64_MAX ||
	    trace_id_parse(rest, &q->after_id) < 0)
		return error_set(p->error, -EINVAL,
				 "cursor: '%.*s' is not one that an answer's \"next\" gave",
				 SLICE_ARG(slice_first(value, 80)));
	q->after = true;
	q->after_start_ns = (int64_t)ns;
	q->after_duration_ns = (int64_t)took_ns;
	return 0;
}

/* "i/n": one of n parts.  Whether they are numbered from 0 or from 1 does not matter. */
static int take_partition(struct parser *p, struct slice value)
{
	struct slice rest = value, part = slice_cut(&rest, '/');
	uint64_t i, n;

	if (slice_parse_u64(part, &i) < 0 || slice_parse_u64(rest, &n) < 0 || n < 1 ||
	    n > PARAMS_MAX_PARTS || i > n)
		return error_set(
			p->error, -EINVAL,
			"partition: '%.*s' is not i/n with i from 0 to n - 1 and n up to %d",
			SLICE_ARG(slice_first(value, 60)), PARAMS_MAX_PARTS);
	p->out->query.part = (uint32_t)(i % n);
	p->out->query.parts = (uint32_t)n;
	return 0;
}

void cursor_format(const struct trace_summary *row, char out[CURSOR_TEXT_BYTES])
{
	char id[TRACE_ID_HEX + 1];

	trace_id_format(row->id, id);
	snprintf(out, CURSOR_TEXT_BYTES, "%lld-%lld-%s", (long long)row->start_ns,
		 (long long)row->duration_ns, id);
}

static const struct {
	const char *name;
	bool filters;
	int (*take)(struct parser *p, struct slice value);
} names[] = {
	{"service", true, take_service},
	{"operation", true, take_operation},
	{"tag", true, take_tag},
	{"tags", true, take_tag},
	{"minDuration", true, take_min},
	{"maxDuration", true, take_max},
	{"start", true, take_start},
	{"end", true, take_end},
	{"errors", true, take_errors},
	{"order", false, take_order},
	{"limit", false, take_limit},
	{"cursor", false, take_cursor},
	{"offset", false, take_offset},
	{"format", false, take_format},
	{"partition", true, take_partition},
};

static int take(struct parser *p, struct slice name, struct slice value)
{
	struct suggestion s = suggestion_for(name);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (slice_eq(name, slice_cstr(names[i].name))) {
			p->out->filtered |= names[i].filters;
			return names[i].take(p, value);
		}
		suggestion_offer(&s, names[i].name);
	}
	return error_set(p->error, -EINVAL, "there is no parameter '%.*s'%s%s%s",
			 SLICE_ARG(slice_first(name, 60)), s.best ? "; did you mean " : "",
			 s.best ? s.best : "", s.best ? "?" : "");
}

static int parse(struct http_request *req, int64_t now_ns, uint64_t limit_most,
		 struct params *ret_params, struct error *error)
{
	struct parser p = {req, ret_params, NULL, now_ns, limit_most, error};
	struct slice name, value;
	size_t at = 0;
	int r;

	*ret_params = (struct params){0};
	while ((r = http_query_next(req, &at, &name, &value)) == 1) {
		r = take(&p, name, value);
		if (r < 0)
			return r;
	}
	if (r == -EINVAL)
		return error_set(error, r, "the query is not percent-encoded as it should be");
	return r;
}

int params_parse(struct http_request *req, int64_t now_ns, struct params *ret_params,
		 struct error *error)
{
	return parse(req, now_ns, PARAMS_MAX_LIMIT, ret_params, error);
}

int params_parse_export(struct http_request *req, int64_t now_ns, struct params *ret_params,
			struct error *error)
{
	return parse(req, now_ns, PARAMS_MAX_EXPORT, ret_params, error);
}
