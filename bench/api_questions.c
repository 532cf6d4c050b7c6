/* bench/api_questions.c - every endpoint that answers questions, and how it is asked.
 *
 *   @id@            a trace's id                 @service@ @operation@ @key@ @value@  names
 *   @hour_s@ …      the store's last hour begins @day_s@, @all_s@: its last day, all ten
 *   @now_s@ …       it ends                      endings: _s, _ms, _us, _t (RFC 3339)
 *
 * Names and values change from one asking to the next, so that no answer is simply remembered. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "bench/api.h"
#include "wire/protobuf.h"

#define BAR_TRACE  5.0
#define BAR_SEARCH 60.0
#define HOUR_S     3600
#define DAYS       10
#define NS_PER_S   1000000000LL
#define SERVICES   10
#define OPERATIONS 20
#define KEYS       97
#define VALUES     1000

/* clang-format off: a table */
const struct api_question api_questions[] = {
	{"jaeger v1: trace", API_OWN, "/api/traces/@id@", NULL, NULL, BAR_TRACE, true},
	{"jaeger v1: search service, 1 h", API_OWN,
	 "/api/traces?service=@service@&start=@hour_us@&end=@now_us@&limit=20", NULL, NULL,
	 BAR_SEARCH, true},
	{"jaeger v1: search service, 10 days", API_OWN,
	 "/api/traces?service=@service@&start=@all_us@&end=@now_us@&limit=20", NULL, NULL,
	 BAR_SEARCH, true},
	{"jaeger v1: search operation, 10 days", API_OWN,
	 "/api/traces?service=@service@&operation=@operation@&start=@all_us@&end=@now_us@&limit=20",
	 NULL, NULL, BAR_SEARCH, true},
	{"jaeger v1: search tag, 10 days", API_OWN,
	 "/api/traces?service=@service@&tags=%7B%22@key@%22%3A%22@value@%22%7D&start=@all_us@&end=@now_us@&limit=20",
	 NULL, NULL, BAR_SEARCH, true},
	{"jaeger v1: search duration, 10 days", API_OWN,
	 "/api/traces?service=@service@&minDuration=800ms&start=@all_us@&end=@now_us@&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"jaeger v1: search rare duration, 10 days", API_OWN,
	 "/api/traces?service=@service@&minDuration=536800us&start=@all_us@&end=@now_us@&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"jaeger v1: services", API_OWN, "/api/services", NULL, NULL, 0, true},
	{"jaeger v1: operations", API_OWN, "/api/operations?service=@service@", NULL, NULL, 0,
	 true},
	{"jaeger v1: operations of a service", API_OWN, "/api/services/@service@/operations", NULL,
	 NULL, 0, false},
	{"jaeger v1: dependencies, 1 h", API_OWN,
	 "/api/dependencies?endTs=@now_ms@&lookback=3600000", NULL, NULL, 0, false},
	{"jaeger v1: dependencies, 1 day", API_OWN,
	 "/api/dependencies?endTs=@now_ms@&lookback=86400000", NULL, NULL, 0, false},
	{"jaeger v1: metrics latencies, 1 h", API_OWN,
	 "/api/metrics/latencies?service=@service@&quantile=0.95&endTs=@now_ms@&lookback=3600000&step=60000&ratePer=600000",
	 NULL, NULL, 0, false},
	{"jaeger v1: metrics calls, 1 h", API_OWN,
	 "/api/metrics/calls?service=@service@&groupByOperation=true&endTs=@now_ms@&lookback=3600000&step=60000&ratePer=600000",
	 NULL, NULL, 0, false},
	{"jaeger v1: metrics errors, 1 h", API_OWN,
	 "/api/metrics/errors?service=@service@&endTs=@now_ms@&lookback=3600000&step=60000&ratePer=600000",
	 NULL, NULL, 0, false},
	{"jaeger v3: trace", API_OWN, "/api/v3/traces/@id@", NULL, NULL, BAR_TRACE, true},
	{"jaeger v3: search service, 1 h", API_OWN,
	 "/api/v3/traces?query.serviceName=@service@&query.startTimeMin=@hour_t@&query.startTimeMax=@now_t@&query.searchDepth=20",
	 NULL, NULL, BAR_SEARCH, true},
	{"jaeger v3: search attribute, 10 days", API_OWN,
	 "/api/v3/traces?query.attributes=%7B%22@key@%22%3A%22@value@%22%7D&query.startTimeMin=@all_t@&query.startTimeMax=@now_t@&query.searchDepth=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"jaeger v3: summaries, 1 h", API_OWN,
	 "/api/v3/trace-summaries?query.serviceName=@service@&query.startTimeMin=@hour_t@&query.startTimeMax=@now_t@&query.searchDepth=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"jaeger v3: services", API_OWN, "/api/v3/services", NULL, NULL, 0, false},
	{"jaeger v3: operations", API_OWN, "/api/v3/operations?service=@service@", NULL, NULL, 0,
	 false},
	{"jaeger v3: dependencies, 1 h", API_OWN,
	 "/api/v3/dependencies?startTime=@hour_t@&endTime=@now_t@", NULL, NULL, 0, false},
	{"jaeger gRPC: GetTrace", API_JAEGER, "/jaeger.api_v3.QueryService/GetTrace", NULL, "trace",
	 BAR_TRACE, false},
	{"jaeger gRPC: FindTraces, 1 h", API_JAEGER, "/jaeger.api_v3.QueryService/FindTraces", NULL,
	 "find", BAR_SEARCH, false},
	{"jaeger gRPC: FindTraceSummaries, 1 h", API_JAEGER,
	 "/jaeger.api_v3.QueryService/FindTraceSummaries", NULL, "find", BAR_SEARCH, false},
	{"jaeger gRPC: GetServices", API_JAEGER, "/jaeger.api_v3.QueryService/GetServices", NULL,
	 "none", 0, false},
	{"jaeger gRPC: GetOperations", API_JAEGER, "/jaeger.api_v3.QueryService/GetOperations",
	 NULL, "service", 0, false},
	{"jaeger gRPC: GetDependencies, 1 h", API_JAEGER,
	 "/jaeger.api_v3.QueryService/GetDependencies", NULL, "window", 0, false},
	{"tempo: trace v1", API_TEMPO, "/api/traces/@id@", NULL, NULL, BAR_TRACE, true},
	{"tempo: trace v2", API_TEMPO, "/api/v2/traces/@id@", NULL, NULL, BAR_TRACE, true},
	{"tempo: search service, 1 h", API_TEMPO,
	 "/api/search?q=%7Bresource.service.name%3D%22@service@%22%7D&start=@hour_s@&end=@now_s@&limit=20",
	 NULL, NULL, BAR_SEARCH, true},
	{"tempo: search service, 1 day", API_TEMPO,
	 "/api/search?q=%7Bresource.service.name%3D%22@service@%22%7D&start=@day_s@&end=@now_s@&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"tempo: search service, 10 days", API_TEMPO,
	 "/api/search?q=%7Bresource.service.name%3D%22@service@%22%7D&start=@all_s@&end=@now_s@&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"tempo: search attribute, 1 h", API_TEMPO,
	 "/api/search?q=%7Bspan.@key@%3D%22@value@%22%7D&start=@hour_s@&end=@now_s@&limit=20", NULL,
	 NULL, BAR_SEARCH, true},
	{"tempo: search attribute, 10 days", API_TEMPO,
	 "/api/search?q=%7Bspan.@key@%3D%22@value@%22%7D&start=@all_s@&end=@now_s@&limit=20", NULL,
	 NULL, BAR_SEARCH, false},
	{"tempo: search duration, 10 days", API_TEMPO,
	 "/api/search?q=%7Bduration%3E800ms%7D&start=@all_s@&end=@now_s@&limit=20", NULL, NULL,
	 BAR_SEARCH, false},
	{"tempo: search rare duration, 10 days", API_TEMPO,
	 "/api/search?q=%7Bduration%3E536800us%7D&start=@all_s@&end=@now_s@&limit=20", NULL, NULL,
	 BAR_SEARCH, false},
	{"tempo: search tags form, 1 h", API_TEMPO,
	 "/api/search?tags=service.name%3D@service@&start=@hour_s@&end=@now_s@&limit=20", NULL,
	 NULL, BAR_SEARCH, false},
	{"tempo: tags, 1 h", API_TEMPO, "/api/v2/search/tags?start=@hour_s@&end=@now_s@", NULL,
	 NULL, 0, false},
	{"tempo: tags, 10 days", API_TEMPO, "/api/v2/search/tags?start=@all_s@&end=@now_s@", NULL,
	 NULL, 0, false},
	{"tempo: values of service.name, 1 h", API_TEMPO,
	 "/api/v2/search/tag/resource.service.name/values?start=@hour_s@&end=@now_s@", NULL, NULL,
	 0, false},
	{"tempo: values of an attribute, 1 h", API_TEMPO,
	 "/api/v2/search/tag/span.@key@/values?start=@hour_s@&end=@now_s@", NULL, NULL, 0, false},
	{"tempo: values of an attribute, 10 days", API_TEMPO,
	 "/api/v2/search/tag/span.@key@/values?start=@all_s@&end=@now_s@", NULL, NULL, 0, false},
	{"tempo: query_range rate, 1 h", API_TEMPO,
	 "/api/metrics/query_range?q=%7B%7D%7Crate()by(resource.service.name)&start=@hour_s@&end=@now_s@&step=60s",
	 NULL, NULL, 0, false},
	{"tempo: query_range rate, 10 days", API_TEMPO,
	 "/api/metrics/query_range?q=%7B%7D%7Crate()by(resource.service.name)&start=@all_s@&end=@now_s@&step=1h",
	 NULL, NULL, 0, false},
	{"tempo: query_range quantile, 1 h", API_TEMPO,
	 "/api/metrics/query_range?q=%7Bresource.service.name%3D%22@service@%22%7D%7Cquantile_over_time(duration,0.99)&start=@hour_s@&end=@now_s@&step=60s",
	 NULL, NULL, 0, false},
	{"tempo: query, 1 h", API_TEMPO,
	 "/api/metrics/query?q=%7Bresource.service.name%3D%22@service@%22%7D%7Ccount_over_time()&start=@hour_s@&end=@now_s@",
	 NULL, NULL, 0, false},
	{"tempo: echo", API_TEMPO, "/api/echo", NULL, NULL, 0, false},
	{"zipkin: trace", API_ZIPKIN, "/api/v2/trace/@id@", NULL, NULL, BAR_TRACE, true},
	{"zipkin: search service, 1 h", API_ZIPKIN,
	 "/api/v2/traces?serviceName=@service@&endTs=@now_ms@&lookback=3600000&limit=20", NULL,
	 NULL, BAR_SEARCH, true},
	{"zipkin: search tag, 10 days", API_ZIPKIN,
	 "/api/v2/traces?annotationQuery=@key@%3D@value@&endTs=@now_ms@&lookback=864000000&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"zipkin: search duration, 10 days", API_ZIPKIN,
	 "/api/v2/traces?minDuration=536000&endTs=@now_ms@&lookback=864000000&limit=20", NULL, NULL,
	 BAR_SEARCH, false},
	{"zipkin: services", API_ZIPKIN, "/api/v2/services", NULL, NULL, 0, false},
	{"zipkin: spans", API_ZIPKIN, "/api/v2/spans?serviceName=@service@", NULL, NULL, 0, false},
	{"zipkin: remoteServices", API_ZIPKIN, "/api/v2/remoteServices?serviceName=@service@", NULL,
	 NULL, 0, false},
	{"zipkin: dependencies, 1 h", API_ZIPKIN,
	 "/api/v2/dependencies?endTs=@now_ms@&lookback=3600000", NULL, NULL, 0, false},
	{"own: trace, modelled", API_OWN, "/api/v1/traces/@id@", NULL, NULL, BAR_TRACE, true},
	{"own: trace, OTLP", API_OWN, "/api/v1/traces/@id@?format=otlp", NULL, NULL, BAR_TRACE,
	 false},
	{"own: search service, 10 days", API_OWN, "/api/v1/traces?service=@service@&limit=20", NULL,
	 NULL, BAR_SEARCH, true},
	{"own: search attribute, 10 days", API_OWN, "/api/v1/traces?tag=@key@%3D@value@&limit=20",
	 NULL, NULL, BAR_SEARCH, false},
	{"own: search slowest, 10 days", API_OWN,
	 "/api/v1/traces?service=@service@&order=slowest&limit=20", NULL, NULL, BAR_SEARCH, false},
	{"own: services", API_OWN, "/api/v1/services", NULL, NULL, 0, true},
	{"own: bulk, 100 traces", API_OWN, "/api/v1/bulk?service=@service@&limit=100", NULL, NULL,
	 0, false},
	{"own: query, { span.key = value }, 1 h", API_OWN, "/api/query",
	 "{\"query\":\"{ span.@key@ = \\\"@value@\\\" }\",\"start\":\"@hour_t@\",\"end\":\"@now_t@\"}",
	 NULL, BAR_SEARCH, true},
	{"own: query, count by service, 10 days", API_OWN, "/api/query",
	 "{\"query\":\"From s In spans GroupBy s.service Select s.service, COUNT\",\"start\":\"@all_t@\",\"end\":\"@now_t@\"}",
	 NULL, 0, false},
	{"own: metrics", API_OWN, "/metrics", NULL, NULL, 0, false},
	{"own: metrics of spans", API_OWN, "/metrics/spans", NULL, NULL, 0, false},
};
/* clang-format on */
const size_t api_question_n = ARRAY_SIZE(api_questions);

/* --- filling in --- */

static void put_moment(struct buffer *out, struct slice form, int64_t ns)
{
	char text[40];
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (slice_eq(form, SLICE("_s")))
		snprintf(text, sizeof(text), "%lld", (long long)s);
	else if (slice_eq(form, SLICE("_ms")))
		snprintf(text, sizeof(text), "%lld", (long long)(ns / 1000000));
	else if (slice_eq(form, SLICE("_us")))
		snprintf(text, sizeof(text), "%lld", (long long)(ns / 1000));
	else {
		gmtime_r(&s, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	}
	buffer_text(out, text);
}

static bool put_time(struct buffer *out, struct slice name, int64_t now_ns)
{
	static const struct {
		const char *name;
		int64_t back_s;
	} moments[] = {
		{"hour", HOUR_S}, {"day", 24 * HOUR_S}, {"all", DAYS * 24 * HOUR_S}, {"now", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
		size_t n = strlen(moments[i].name);

		if (name.n > n && memcmp(name.p, moments[i].name, n) == 0) {
			put_moment(out, slice_from(name, n), now_ns - moments[i].back_s * NS_PER_S);
			return true;
		}
	}
	return false;
}

static void put_name(struct buffer *out, const struct api_facts *facts, struct slice name,
		     unsigned i)
{
	char text[40] = "";

	if (slice_eq(name, SLICE("id")))
		snprintf(text, sizeof(text), "%s", facts->ids[i % facts->id_n]);
	else if (slice_eq(name, SLICE("service")))
		snprintf(text, sizeof(text), "service-%u", i % SERVICES);
	else if (slice_eq(name, SLICE("operation")))
		snprintf(text, sizeof(text), "operation-%u", i * 7 % OPERATIONS);
	else if (slice_eq(name, SLICE("key")))
		snprintf(text, sizeof(text), "attribute.%u", i * 7 % KEYS);
	else if (slice_eq(name, SLICE("value")))
		snprintf(text, sizeof(text), "value-%u", i * 37 % VALUES);
	else if (!put_time(out, name, facts->newest_ns + NS_PER_S))
		abort(); /* the table is wrong */
	buffer_text(out, text);
}

static void fill(struct buffer *out, const char *form, const struct api_facts *facts, unsigned i)
{
	const char *at;

	while ((at = strchr(form, '@'))) {
		const char *end = strchr(at + 1, '@');

		buffer_slice(out, slice_of(form, (size_t)(at - form)));
		put_name(out, facts, slice_of(at + 1, (size_t)(end - at - 1)), i);
		form = end + 1;
	}
	buffer_text(out, form);
}

/* google.protobuf.Timestamp */
static void put_timestamp(struct buffer *out, uint32_t number, int64_t ns)
{
	size_t begun = pb_begin(out, number);

	pb_put_varint(out, 1, (uint64_t)(ns / NS_PER_S));
	pb_end(out, begun);
}

void api_question_message(const struct api_question *q, const struct api_facts *facts, unsigned i,
			  struct buffer *out)
{
	int64_t now_ns = facts->newest_ns + NS_PER_S, from_ns = now_ns - HOUR_S * NS_PER_S;
	const char *what = q->proto;
	struct buffer message = {0};
	char service[32];
	uint8_t *p;

	buffer_clear(out);
	snprintf(service, sizeof(service), "service-%u", i % SERVICES);
	if (strcmp(what, "trace") == 0)
		pb_put_bytes(&message, 1, slice_cstr(facts->ids[i % facts->id_n]));
	if (strcmp(what, "service") == 0)
		pb_put_bytes(&message, 1, slice_cstr(service));
	if (strcmp(what, "window") == 0) {
		put_timestamp(&message, 1, from_ns);
		put_timestamp(&message, 2, now_ns);
	}
	if (strcmp(what, "find") == 0) {
		size_t begun = pb_begin(&message, 1);

		pb_put_bytes(&message, 1, slice_cstr(service));
		put_timestamp(&message, 4, from_ns);
		put_timestamp(&message, 5, now_ns);
		pb_put_varint(&message, 8, 20);
		pb_end(&message, begun);
	}
	p = (uint8_t[5]){0, (uint8_t)(message.n >> 24), (uint8_t)(message.n >> 16),
			 (uint8_t)(message.n >> 8), (uint8_t)message.n};
	buffer_slice(out, slice_of(p, 5));
	buffer_slice(out, buffer_get(&message));
	buffer_done(&message);
}

/* --- handles --- */

static size_t ignore(char *data, size_t size, size_t n, void *context)
{
	return size * n;
}

CURL *api_handle(void)
{
	CURL *curl = curl_easy_init();

	if (!curl)
		exit(1);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 120L);
	return curl;
}

bool api_answered(CURL *curl)
{
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status == 200;
}

void api_question_set(CURL *curl, const struct api_question *q, const struct server *server,
		      const struct api_facts *facts, unsigned i, struct api_post *post)
{
	const int ports[] = {server->api, server->jaeger, server->tempo, server->zipkin};
	struct buffer url = {0};

	buffer_printf(&url, "http://127.0.0.1:%d", ports[q->port]);
	fill(&url, q->path, facts, i);
	curl_easy_setopt(curl, CURLOPT_URL, buffer_cstr(&url));
	buffer_done(&url);
	if (!q->body) {
		curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
		return;
	}
	if (!post->headers)
		post->headers = curl_slist_append(NULL, "Content-Type: application/json");
	buffer_clear(&post->body);
	fill(&post->body, q->body, facts, i);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->body.n);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body.p);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers);
}

void api_post_done(struct api_post *post)
{
	curl_slist_free_all(post->headers);
	buffer_done(&post->body);
}

/* --- traces to ask for --- */

static size_t collect(char *data, size_t size, size_t n, void *context)
{
	buffer_slice(context, slice_of(data, size * n));
	return size * n;
}

static const char *ask_text(CURL *curl, const char *url, struct buffer *out)
{
	buffer_clear(out);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	return curl_easy_perform(curl) == CURLE_OK ? buffer_cstr(out) : "";
}

int api_facts_gather(const struct server *server, struct api_facts *ret_facts)
{
	const char *form = "http://127.0.0.1:%d/api/v1/traces?limit=1&end=%lld", *at;
	int64_t end_ns = 4000000000LL * NS_PER_S;
	struct buffer out = {0};
	CURL *curl = curl_easy_init();
	char url[120];

	*ret_facts = (struct api_facts){.id_n = 0};
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &out);
	for (unsigned i = 0; i <= API_IDS && ret_facts->id_n < API_IDS; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(url, sizeof(url), form, server->api, (long long)end_ns);
#pragma GCC diagnostic pop
		at = ask_text(curl, url, &out);
		if (i == 0 && (at = strstr(at, "\"startUnixNano\":\"")))
			ret_facts->newest_ns = atoll(at + 17);
		at = strstr(buffer_cstr(&out), "\"traceId\":\"");
		if (at)
			snprintf(ret_facts->ids[ret_facts->id_n++], 33, "%s", at + 11);
		/* Steps through the days that come back to none of them soon. */
		end_ns = ret_facts->newest_ns -
			 (int64_t)(i * 1009 % API_IDS) * (DAYS * 24 * HOUR_S * NS_PER_S / API_IDS);
	}
	curl_easy_cleanup(curl);
	buffer_done(&out);
	if (ret_facts->id_n < API_IDS / 2 || ret_facts->newest_ns == 0) {
		fprintf(stderr, "bench: there are no traces of ten days in the store\n");
		return -1;
	}
	return 0;
}
