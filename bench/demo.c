/* bench/demo.c - plays the shop of bench/demo_plan.c. */
#include "bench/demo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "bench/demo_plan.h"

#define SCRIPT_SEED  3
#define REQUESTS     1100 /* a minute, at the most */
#define MINUTE_NS    60000000000ULL
#define WINDOW_NS    600000000ULL /* the collector's batches */
#define PAGES        90           /* opened in a minute */
#define PAGE_NS      50000000ULL
#define SESSIONS     33 /* of a minute */
#define POOLS        8
#define PORTS        28000 /* ephemeral ones */
#define PATHS_MOST   64
#define SLOW_NS      1000000000ULL
#define JITTER_NS    50000 /* of clocks and schedulers */
#define LOST_PARENTS 51    /* in 100 requests, whose client does not report */
#define LATE_EXPORTS 23    /* in 1,000 spans */
#define ERRORS_IN    400   /* one request in so many fails */
#define TEXT_MOST    1024
#define UUID_ROOM    40
#define PRODUCTS     10

struct trace {
	struct trace_id id;
	const struct demo_request *request;
	char uuid[UUID_ROOM], order[UUID_ROOM];
	const char *session;
	char path[TEXT_MOST];
	unsigned agent, path_number, page;
	bool failed;
};

struct span {
	uint32_t trace;
	uint16_t operation;
	uint8_t product, node;
	span_id_t id, parent;
	uint64_t start_ns, end_ns;
	uint64_t window; /* the collector's, counted from the minute's begin */
	uint64_t chance; /* what else the script has left to it */
};

struct demo {
	struct rng rng;    /* what is new every minute: ids, jitter */
	struct rng script; /* what happens in every minute the same way */
	uint64_t first_ns, window_ns;
	struct trace traces[REQUESTS];
	struct span *spans;
	size_t span_n, span_capacity, at;
	uint64_t pages[PAGES];
	char sessions[SESSIONS][UUID_ROOM];
	uint32_t port_shift;
	uint32_t trace_n;
};

static const struct {
	const char *id, *name;
} products[PRODUCTS] = {
	{"P4QXW1ZZ5T", "The Comet Atlas"},   {"K71MR4UU0A", "Red Headlamp"},
	{"Z0TTB8EE2C", "Field Binoculars"},  {"W93LD5HH7Q", "Star Finder Refractor"},
	{"A6YYN2KK4S", "Sun Filter"},        {"H2CCP7VV9E", "Small Travel Refractor"},
	{"T8RRF3MM1B", "Lens Cleaning Set"}, {"E5UUJ6QQ3X", "Planet Color Camera"},
	{"B1WWS9DD8N", "Optical Tube"},      {"M4GGA0LL6P", "National Park Scope"},
};

struct demo *demo_new(uint64_t seed, uint64_t first_ns, uint64_t window_ns)
{
	struct demo *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->rng.state = seed;
	d->first_ns = first_ns;
	d->window_ns = window_ns ? window_ns : 1;
	return d;
}

struct demo *demo_free(struct demo *d)
{
	if (d)
		free(d->spans);
	free(d);
	return NULL;
}

/* --- chance --- */

static void uuid_text(struct rng *rng, char out[UUID_ROOM])
{
	uint64_t a = rng_next(rng), b = rng_next(rng);

	snprintf(out, UUID_ROOM, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
		 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
		 (unsigned long long)(b & 0xffffffffffffULL));
}

static span_id_t fresh_id(struct rng *rng)
{
	span_id_t id = rng_next(rng);

	return id ? id : 1;
}

/* About normal: sum of four uniform numbers. */
static double bell(struct rng *rng)
{
	double sum = rng_unit(rng) + rng_unit(rng) + rng_unit(rng) + rng_unit(rng);

	return (sum - 2) * 1.7320508;
}

static uint64_t around_ns(struct rng *rng, double median_us, double spread)
{
	double us = median_us * exp(spread * bell(rng));

	return us <= 0 ? 0 : (uint64_t)(us * 1000);
}

/* 0 … n-1, the first ones more often. */
static unsigned skewed(struct rng *rng, unsigned n)
{
	double u = rng_unit(rng);

	return (unsigned)(u * u * n);
}

/* --- a minute --- */

static void pick_path(struct demo *d, struct trace *t)
{
	struct slice rest = slice_cstr(t->request->paths), path, paths[PATHS_MOST];
	size_t n = 0, at = 0;

	while (rest.p && n < PATHS_MOST)
		paths[n++] = slice_cut(&rest, ' ');
	t->path_number = skewed(&d->script, (unsigned)n);
	path = paths[t->path_number];
	for (size_t i = 0; i < path.n && at + UUID_ROOM < sizeof(t->path); i++)
		if (path.p[i] == '%') {
			at += (size_t)snprintf(t->path + at, sizeof(t->path) - at, "%s",
					       t->session);
			i++;
		} else {
			t->path[at++] = path.p[i];
		}
	t->path[at] = '\0';
}

/* Short spans of a request are exported together, as they would be if clocks had no jitter. */
static bool add_span(struct demo *d, const struct span *span, uint64_t begin_ns, uint64_t base_ns,
		     const double *phases)
{
	const struct demo_service *service =
		&demo_services[demo_operations[span->operation].service];
	size_t number = (size_t)(service - demo_services);
	bool slow = span->end_ns - span->start_ns > SLOW_NS;
	double end = (double)((slow ? span->end_ns : base_ns) - begin_ns) / 1e9;
	double period = service->export_s;
	double flush = (floor((end - phases[number]) / period) + 1) * period + phases[number];

	if (rng_below(&d->script, 1000) < LATE_EXPORTS)
		flush += period;
	if (!vec_reserve(&d->spans, &d->span_capacity, d->span_n + 1, sizeof(*d->spans)))
		return false;
	d->spans[d->span_n] = *span;
	d->spans[d->span_n++].window = (uint64_t)(flush * 1e9 / WINDOW_NS);
	return true;
}

static bool play(struct demo *d, uint32_t number, uint64_t begin_ns, const double *phases)
{
	struct trace *t = &d->traces[number];
	uint64_t starts[DEMO_NODES_MOST], base;
	span_id_t ids[DEMO_NODES_MOST];

	/* Somebody opens a page, and its parts are asked for at once. */
	base = begin_ns + d->pages[t->page] + rng_below(&d->script, PAGE_NS);
	for (size_t k = 0; k < t->request->node_n; k++) {
		const struct demo_node *node = &t->request->nodes[k];
		const struct demo_operation *op = &demo_operations[node->operation];
		uint64_t after = around_ns(&d->script, fabs(node->after_us), 0.55);
		struct span s = {.trace = number,
				 .operation = (uint16_t)node->operation,
				 .node = (uint8_t)k,
				 .product = (uint8_t)rng_below(&d->script, PRODUCTS),
				 .chance = rng_next(&d->script)};
		uint64_t took = around_ns(&d->script, op->duration_us, op->spread);

		ids[k] = s.id = fresh_id(&d->rng);
		starts[k] = node->parent < 0 ? base : starts[node->parent];
		starts[k] += node->after_us < 0 ? -after : after;
		if (node->parent >= 0)
			s.parent = ids[node->parent];
		else if (op->kind == KIND_SERVER && rng_below(&d->script, 100) < LOST_PARENTS)
			s.parent = fresh_id(&d->rng);
		s.start_ns = starts[k] + rng_below(&d->rng, JITTER_NS);
		s.end_ns = s.start_ns + (uint64_t)((double)took * (0.9 + 0.25 * rng_unit(&d->rng)));
		if (!add_span(d, &s, begin_ns, base, phases))
			return false;
	}
	return true;
}

static int by_arrival(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	const struct demo_operation *p = &demo_operations[x->operation],
				    *q = &demo_operations[y->operation];
	int scopes;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (p->service != q->service)
		return p->service < q->service ? -1 : 1;
	scopes = strcmp(p->scope, q->scope);
	if (scopes)
		return scopes;
	/* A child ends, and so is exported, before its parent. */
	return x->trace != y->trace ? (x->trace < y->trace ? -1 : 1) : (int)y->node - (int)x->node;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each kind of request as often as its weight says, in the script's order. */
static void pick_requests(struct demo *d)
{
	uint32_t n = 0;

	for (size_t i = 0; i < demo_request_n; i++)
		for (unsigned k = 0; k < demo_requests[i].weight && n < REQUESTS; k++)
			d->traces[n++].request = &demo_requests[i];
	for (uint32_t i = n; i-- > 1;) {
		uint32_t k = (uint32_t)rng_below(&d->script, i + 1);
		const struct demo_request *r = d->traces[i].request;

		d->traces[i].request = d->traces[k].request;
		d->traces[k].request = r;
	}
	d->trace_n = n;
}

static bool minute(struct demo *d)
{
	uint64_t begin_ns = d->first_ns + rng_below(&d->rng, d->window_ns);
	double phases[64];

	d->script.state = SCRIPT_SEED;
	for (size_t i = 0; i < demo_service_n; i++)
		phases[i] = rng_unit(&d->script) * demo_services[i].export_s;
	for (int i = 0; i < PAGES; i++)
		d->pages[i] = rng_below(&d->script, MINUTE_NS);
	qsort(d->pages, PAGES, sizeof(*d->pages), by_number); /* neighbours are of one session */
	for (int i = 0; i < SESSIONS; i++)
		uuid_text(&d->rng, d->sessions[i]);
	d->port_shift = (uint32_t)rng_below(&d->rng, PORTS);
	d->span_n = d->at = 0;
	pick_requests(d);
	for (uint32_t i = 0; i < d->trace_n; i++) {
		struct trace *t = &d->traces[i];
		uint64_t words[2] = {rng_next(&d->rng), rng_next(&d->rng)};

		memcpy(t->id.b, words, sizeof(words));
		uuid_text(&d->rng, t->uuid);
		uuid_text(&d->rng, t->order);
		t->page = (unsigned)rng_below(&d->script, PAGES);
		t->session = d->sessions[t->page * SESSIONS / PAGES];
		t->agent = rng_below(&d->script, 12) ? 0 : 1 + (unsigned)rng_below(&d->script, 2);
		t->failed = rng_below(&d->script, ERRORS_IN) == 0;
		pick_path(d, t);
		if (!play(d, i, begin_ns, phases))
			return false;
	}
	qsort(d->spans, d->span_n, sizeof(*d->spans), by_arrival);
	return true;
}

/* --- texts --- */

static const char *const agents[] = {
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/133.0.0.0 Safari/537.36",
	"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36",
	"python-requests/2.32.3"};
static const unsigned message_bytes[] = {18, 0, 132, 260, 7, 31, 90, 44};
static const char *const currencies[] = {"USD", "EUR", "CHF", "CAD", "JPY"};

static uint32_t port_of(struct demo *d, struct rng *chance, const struct span *s)
{
	/* How many connections are open to a service; the site's clients make the most. */
	static const unsigned sizes[POOLS] = {72, 72, 12, 5, 20, 20, 40, 25};
	unsigned pool = demo_operations[s->operation].service % POOLS;
	uint64_t connection = skewed(chance, sizes[pool]) * POOLS + pool;

	return 32768 + (uint32_t)((hash_u64(connection, SCRIPT_SEED) + d->port_shift) % PORTS);
}

static uint64_t size_of(struct demo *d, const struct trace *t, const struct span *s)
{
	uint64_t base = hash_bytes(t->request->paths, 8, t->path_number) >> 40;
	bool image = *demo_operations[s->operation].scope == 'n';

	/* Pages and images differ by orders of magnitude; the same one by a little. */
	return (base % 97 < 20   ? 40
		: base % 97 < 70 ? 300 + base % 3000
				 : 8000 + base % 120000) +
	       rng_below(&d->rng, image ? 150 : 64);
}

/* The text of one placeholder. */
static size_t expand_one(struct demo *d, struct rng *chance, const struct span *s, char what,
			 char *out, size_t size)
{
	struct trace *t = &d->traces[s->trace];
	const char *text = "";
	uint64_t number;

	switch (what) {
	case 'e':
		number = port_of(d, chance, s);
		break;
	case 'z':
		number = size_of(d, t, s);
		break;
	case 'd':
		number = rng_below(chance, 17) ? 0 : 1 + skewed(chance, 9);
		break;
	case 't':
		number = t->failed ? 500 : t->path_number % 16 == 15 ? 308 : 200;
		break;
	case 'v':
		number = rng_below(chance, 12) ? 25 : 20 + skewed(chance, 4);
		break;
	case 'b':
		number = message_bytes[skewed(chance, 8)];
		break;
	default:
		text = what == 'r'   ? t->uuid
		       : what == 's' ? t->session
		       : what == 'o' ? t->order
		       : what == 'p' ? t->path
		       : what == 'm' ? t->request->method
		       : what == 'c' ? t->request->cluster
		       : what == 'a' ? agents[t->agent]
		       : what == 'h' ? (t->agent == 1 ? "127.0.0.1" : "edge-proxy")
		       : what == 'f' ? (rng_below(chance, 22) ? "-" : "DC")
		       : what == 'i' ? products[s->product].id
		       : what == 'n' ? products[s->product].name
		       : what == 'u' ? currencies[skewed(chance, 5)]
				     : "%";
		return (size_t)snprintf(out, size, "%s", text);
	}
	return (size_t)snprintf(out, size, "%llu", (unsigned long long)number);
}

static struct slice expand(struct demo *d, struct rng *chance, const struct span *s,
			   struct slice form, char *out)
{
	size_t n = 0;

	if (!memchr(form.p, '%', form.n))
		return form;
	for (size_t i = 0; i < form.n && n + 1 < TEXT_MOST; i++)
		if (form.p[i] == '%' && i + 1 < form.n)
			n += expand_one(d, chance, s, form.p[++i], out + n, TEXT_MOST - n);
		else
			out[n++] = form.p[i];
	return slice_of(out, n < TEXT_MOST ? n : TEXT_MOST - 1);
}

static struct attr_range add_attributes(struct demo *d, struct batch *b, struct rng *chance,
					const struct span *s, const char *forms)
{
	struct slice rest = slice_cstr(forms && *forms ? forms : NULL);
	struct attr_range range = {.first = (uint32_t)b->attr_n};
	char text[TEXT_MOST];

	while (rest.p) {
		struct slice value = slice_cut(&rest, '|'), key = slice_cut(&value, '=');
		bool number = value.n && value.p[0] == '#', yes = value.n && value.p[0] == '?';
		uint64_t parsed = 0;

		value = expand(d, chance, s, slice_from(value, number || yes), text);
		if (number && slice_parse_u64(value, &parsed) == 0)
			batch_attr_int(b, key, (int64_t)parsed);
		else if (yes)
			batch_attr_bool(b, key, slice_eq(value, SLICE("1")));
		else
			batch_attr_string(b, key, value);
		range.count++;
	}
	return range;
}

/* --- batches --- */

static uint32_t add_resource(struct batch *b, const struct demo_service *s)
{
	uint32_t index = batch_resource(b), first = (uint32_t)b->attr_n;
	char text[TEXT_MOST];
	const struct {
		const char *key, *value;
	} rows[] = {{"service.name", s->name},
		    {"service.namespace", "shop"},
		    {"service.version", s->version},
		    {"telemetry.sdk.language", s->language},
		    {"telemetry.sdk.name", "opentelemetry"},
		    {"telemetry.sdk.version", "1.30.1"},
		    {"os.type", "linux"},
		    {"host.arch", "amd64"},
		    {"os.description", "Debian GNU/Linux 12 (bookworm), Linux 6.8.0-1018"},
		    {"container.id", "0b7d54c9ee2f41a98d3f6a57c1b8e2049f6d3c7a8b1e5f20"},
		    {"container.runtime", "containerd"},
		    {"k8s.namespace.name", "shop"},
		    {"k8s.node.name", "pool-1-node-3.internal"},
		    {"process.executable.path", "/usr/local/bin/service"},
		    {"process.runtime.name", s->language}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		batch_attr_string(b, slice_cstr(rows[i].key), slice_cstr(rows[i].value));
	snprintf(text, sizeof(text), "%s-5d9f7c6b8-x2m4q", s->name);
	batch_attr_string(b, SLICE("service.instance.id"), slice_cstr(text));
	batch_attr_string(b, SLICE("host.name"), slice_cstr(text));
	batch_attr_int(b, SLICE("process.pid"), 17);
	b->resources[index].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
	return index;
}

struct group {
	uint32_t resource, scope;
	int service;
	const char *scope_name;
};

static void enter_group(struct batch *b, const struct demo_operation *op, struct group *g)
{
	bool moved = g->service != op->service;

	if (moved) {
		g->resource = add_resource(b, &demo_services[op->service]);
		g->service = op->service;
	}
	if (moved || strcmp(g->scope_name, op->scope) != 0) {
		g->scope = batch_scope(b);
		g->scope_name = op->scope;
		b->scopes[g->scope].name = batch_string(b, slice_cstr(op->scope));
		b->scopes[g->scope].version =
			batch_string(b, *op->scope ? SLICE("0.57.2") : SLICE(""));
	}
}

static void add_points(struct demo *d, struct batch *b, struct rng *chance, const struct span *s,
		       const struct demo_operation *op, const struct group *g)
{
	uint64_t took = s->end_ns - s->start_ns, at = s->start_ns, end;
	char text[TEXT_MOST];

	/* A stream says all it has to say when it is opened. */
	end = s->start_ns + (took > SLOW_NS ? took / 1000 : took);
	for (size_t k = 0; k < DEMO_POINTS_MOST && op->points[k].name; k++) {
		uint64_t left = end > at ? end - at : took / 8;
		struct event point = {.trace_id = d->traces[s->trace].id,
				      .id1 = s->id,
				      .resource = g->resource,
				      .scope = g->scope,
				      .type = EVENT_POINT};

		at += left / 9 + rng_below(chance, left / 9 + 1);
		point.time_ns = at + rng_below(&d->rng, JITTER_NS);
		point.name =
			batch_string(b, expand(d, chance, s, slice_cstr(op->points[k].name), text));
		point.attrs = add_attributes(d, b, chance, s, op->points[k].attributes);
		*batch_event(b) = point;
	}
}

static void write_span(struct demo *d, struct batch *b, const struct span *s, struct group *g)
{
	const struct demo_operation *op = &demo_operations[s->operation];
	const struct trace *t = &d->traces[s->trace];
	struct rng chance = {s->chance};
	struct event e = {.trace_id = t->id,
			  .id1 = s->id,
			  .id2 = s->parent,
			  .time_ns = s->start_ns,
			  .end_ns = s->end_ns,
			  .kind = op->kind,
			  .flags = op->flags,
			  .status = t->failed && op->kind == KIND_SERVER ? STATUS_ERROR
									 : STATUS_UNSET,
			  .type = EVENT_SPAN};

	enter_group(b, op, g);
	e.resource = g->resource;
	e.scope = g->scope;
	e.name = batch_string(b, slice_cstr(op->name));
	e.attrs = add_attributes(d, b, &chance, s, op->attributes);
	*batch_event(b) = e;
	add_points(d, b, &chance, s, op, g);
}

struct batch *demo_next(struct demo *d, size_t *ret_spans)
{
	struct group g = {.service = -1, .scope_name = ""};
	struct batch *b;
	size_t end;

	if (d->at == d->span_n && !minute(d))
		return NULL;
	for (end = d->at; end < d->span_n && d->spans[end].window == d->spans[d->at].window; end++)
		;
	b = batch_new((end - d->at) * 500);
	if (!b)
		return NULL;
	*ret_spans = end - d->at;
	for (; d->at < end; d->at++)
		write_span(d, b, &d->spans[d->at], &g);
	return batch_seal(b) < 0 ? batch_unref(b) : b;
}
