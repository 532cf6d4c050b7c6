/* bench/spans.c - made-up spans that look like a shop's. */
#include "bench/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SERVICES        17
#define OPERATIONS      6 /* per service */
#define SPANS_PER_TRACE 10
#define SPANS_PER_GROUP 30 /* of one resource, as exporters send them */
#define POINT_EVERY     8
#define FIRST_NS        1790000000000000000ULL

static const char *const services[SERVICES] = {
	"frontend", "frontend-proxy", "checkout", "cart",      "payment",   "shipping",
	"email",    "currency",       "ad",       "recommend", "catalogue", "quote",
	"accounts", "fraud",          "images",   "load",      "flags",
};
static const char *const verbs[OPERATIONS] = {"GET",         "POST",    "oteldemo.Service/Get",
					      "SELECT shop", "publish", "compute"};

struct stamp {
	uint64_t now_ns;
	struct trace_id trace;
	span_id_t last;
};

static void fill_resource(struct batch *b, struct rng *rng, uint32_t index, unsigned service)
{
	struct resource *r = &b->resources[index];
	char text[64];

	r->attrs.first = (uint32_t)b->attr_n;
	batch_attr_string(b, SLICE("service.name"), slice_cstr(services[service]));
	batch_attr_string(b, SLICE("service.version"), SLICE("2.0.1"));
	batch_attr_string(b, SLICE("telemetry.sdk.language"), SLICE("cpp"));
	batch_attr_string(b, SLICE("telemetry.sdk.name"), SLICE("opentelemetry"));
	snprintf(text, sizeof(text), "%s-6f5d%04x", services[service], (unsigned)rng_below(rng, 4));
	batch_attr_string(b, SLICE("k8s.pod.name"), slice_cstr(text));
	batch_attr_int(b, SLICE("process.pid"), (int64_t)(1000 + service));
	r->attrs.count = (uint32_t)b->attr_n - r->attrs.first;
}

static void fill_attributes(struct batch *b, struct rng *rng, unsigned service, unsigned operation)
{
	char text[96];
	uint64_t a = rng_next(rng), c = rng_next(rng);

	batch_attr_string(b, SLICE("http.request.method"),
			  operation % 2 ? SLICE("POST") : SLICE("GET"));
	batch_attr_int(b, SLICE("http.response.status_code"), rng_below(rng, 50) ? 200 : 500);
	snprintf(text, sizeof(text), "/api/%s/%u", services[service],
		 (unsigned)rng_below(rng, 100));
	batch_attr_string(b, SLICE("url.path"), slice_cstr(text));
	batch_attr_string(b, SLICE("server.address"),
			  slice_cstr(services[(service + operation) % SERVICES]));
	batch_attr_int(b, SLICE("server.port"), 8080);
	snprintf(text, sizeof(text), "10.42.%u.%u:%u", (unsigned)service, (unsigned)operation,
		 (unsigned)(32768 + rng_below(rng, 28000)));
	batch_attr_string(b, SLICE("client.address"), slice_cstr(text));
	batch_attr_string(b, SLICE("user_agent.original"), SLICE("python-requests/2.31.0"));
	snprintf(text, sizeof(text), "%08x-%04x-4%03x-a%03x-%012llx", (unsigned)(a >> 32),
		 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(c >> 52),
		 (unsigned long long)(c & 0xffffffffffffULL));
	batch_attr_string(b, SLICE("session.id"), slice_cstr(text));
	batch_attr_int(b, SLICE("http.response.body.size"), (int64_t)rng_below(rng, 100000));
	batch_attr_bool(b, SLICE("app.cached"), rng_below(rng, 2));
}

static void add_span(struct batch *b, struct rng *rng, struct stamp *t, uint32_t group,
		     unsigned service)
{
	unsigned operation = (unsigned)rng_below(rng, OPERATIONS);
	uint32_t first = (uint32_t)b->attr_n, name;
	char text[64];
	struct event *e;

	fill_attributes(b, rng, service, operation);
	snprintf(text, sizeof(text), "%s /api/%s", verbs[operation], services[service]);
	name = batch_string(b, slice_cstr(text));
	t->now_ns += rng_below(rng, 200000);
	e = batch_event(b);
	*e = (struct event){.trace_id = t->trace,
			    .id1 = rng_next(rng) | 1,
			    .id2 = t->last,
			    .time_ns = t->now_ns,
			    .end_ns = t->now_ns + 1000 + rng_below(rng, 50000000),
			    .name = name,
			    .resource = group,
			    .scope = group,
			    .attrs = {first, BENCH_ATTRIBUTES},
			    .kind = operation == 3 ? KIND_CLIENT : KIND_SERVER,
			    .status = rng_below(rng, 50) ? STATUS_UNSET : STATUS_ERROR,
			    .flags = 0x101,
			    .type = EVENT_SPAN};
	t->last = e->id1;
	if (rng_below(rng, POINT_EVERY) == 0) {
		struct event point = {.trace_id = t->trace,
				      .id1 = t->last,
				      .time_ns = t->now_ns + 500,
				      .resource = group,
				      .scope = group,
				      .type = EVENT_POINT};

		point.name = batch_string(b, SLICE("message"));
		point.attrs.first = (uint32_t)b->attr_n;
		batch_attr_string(b, SLICE("message.type"), SLICE("SENT"));
		point.attrs.count = 1;
		*batch_event(b) = point;
	}
}

struct batch *bench_spans(struct rng *rng, size_t n)
{
	struct batch *b = batch_new(n * 500);
	struct stamp t = {.now_ns = FIRST_NS + rng_below(rng, 3600) * 1000000000ULL};
	uint32_t group = 0;
	unsigned service = 0;

	for (size_t i = 0; b && i < n; i++) {
		if (i % SPANS_PER_GROUP == 0) {
			service = (unsigned)rng_below(rng, SERVICES);
			group = batch_resource(b);
			if (batch_scope(b) != group)
				return batch_unref(b);
			fill_resource(b, rng, group, service);
			b->scopes[group].name =
				batch_string(b, SLICE("opentelemetry.instrumentation.http"));
			b->scopes[group].version = batch_string(b, SLICE("0.44b0"));
		}
		if (i % SPANS_PER_TRACE == 0) {
			uint64_t words[2] = {rng_next(rng), rng_next(rng)};

			memcpy(t.trace.b, words, sizeof(words));
			t.last = 0;
		}
		add_span(b, rng, &t, group, service);
	}
	if (b && batch_seal(b) < 0)
		return batch_unref(b);
	return b;
}

double bench_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_median(double *figures, size_t n)
{
	qsort(figures, n, sizeof(*figures), by_value);
	return figures[n / 2];
}
