/* infer/spec.c - reads the text that describes a made-up trace. */
#include "infer/spec.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "base/vec.h"
#include "core/clock.h"

#define ENDLESS_NS   (30LL * 365 * 24 * 3600 * NS_PER_S) /* longer than anybody waits */
#define EXTRA_MAX_NS (10LL * 24 * 3600 * NS_PER_S)

struct parser {
	struct spec *spec;
	const char *at, *end; /* of the line */
	unsigned line;
	size_t calls;
	struct error *error;
};

static int fail(struct parser *p, const char *what, struct slice found)
{
	return error_set(p->error, -EINVAL, "line %u: %s%s%.*s%s", p->line, what,
			 found.n ? ", found '" : "", (int)MIN(found.n, (size_t)40), found.p,
			 found.n ? "'" : "");
}

static int no_memory(struct parser *p)
{
	return error_set(p->error, -ENOMEM, "out of memory");
}

static void blanks(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
		p->at++;
}

/* What stands for itself in a tracelet, and so ends a name there. */
static bool is_mark(char c)
{
	return c && strchr("{};|?*!:", c);
}

/* Up to the next blank, or in a tracelet up to the next mark; empty at the end. */
static struct slice word(struct parser *p, bool marks)
{
	const char *start;

	blanks(p);
	start = p->at;
	while (p->at < p->end && !strchr(" \t\r", *p->at) && !(marks && is_mark(*p->at)))
		p->at++;
	return slice_of(start, (size_t)(p->at - start));
}

static bool take(struct parser *p, const char *mark)
{
	size_t n = strlen(mark);

	blanks(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, mark, n) != 0)
		return false;
	p->at += n;
	return true;
}

static int name(struct parser *p, struct slice text, uint32_t *ret_number)
{
	struct spec *s = p->spec;
	int r;

	if (text.n == 0)
		return fail(p, "a node's name is missing", text);
	r = names_intern(&s->names, text, ret_number);
	if (r == -E2BIG)
		return fail(p, "too long a name", text);
	if (r < 0 || !vec_reserve(&s->nodes, &s->node_capacity, s->names.n, sizeof(*s->nodes)))
		return no_memory(p);
	while (s->node_n < s->names.n)
		s->nodes[s->node_n++] = (struct spec_node){0};
	return 0;
}

static int duration(struct parser *p, int64_t *ret_ns)
{
	struct slice text = word(p, true);

	if (duration_parse(text, ret_ns) < 0)
		return fail(p, "expected a duration such as 30ms", text);
	return *ret_ns > ENDLESS_NS || *ret_ns < -ENDLESS_NS ? fail(p, "longer than decades", text)
							     : 0;
}

static int number(struct parser *p, double most, double *ret_value)
{
	struct slice text = word(p, true);
	char copy[32], *end;

	if (text.n == 0 || text.n >= sizeof(copy))
		return fail(p, "expected a number", text);
	memcpy(copy, text.p, text.n);
	copy[text.n] = 0;
	*ret_value = strtod(copy, &end);
	if (*end || !(*ret_value >= 0) || *ret_value > most)
		return fail(p, "expected a number that is not too large", text);
	return 0;
}

static int whole(struct parser *p, int64_t least, int64_t most, int64_t *ret_value)
{
	struct slice text = word(p, true);
	uint64_t value;

	if (slice_parse_u64(text, &value) < 0 || value > (uint64_t)most || (int64_t)value < least)
		return error_set(p->error, -EINVAL, "line %u: expected a number from %lld to %lld",
				 p->line, (long long)least, (long long)most);
	*ret_value = (int64_t)value;
	return 0;
}

/* A duration, or a percentage of `mean`. */
static int deviation(struct parser *p, double mean, double *ret_ns)
{
	struct slice text = word(p, true);
	int64_t ns;

	if (slice_ends(text, SLICE("%"))) {
		p->at = text.p;
		text = slice_first(text, text.n - 1);
		const char *end = p->end;
		int r;

		p->end = text.p + text.n;
		r = number(p, 1e6, ret_ns);
		p->end = end;
		p->at = text.p + text.n + 1;
		*ret_ns = mean * *ret_ns / 100;
		return r;
	}
	if (duration_parse(text, &ns) < 0 || ns < 0)
		return fail(p, "expected a duration or a percentage", text);
	*ret_ns = (double)ns;
	return 0;
}

static int dist(struct parser *p, struct dist *ret)
{
	static const struct {
		const char *name;
		enum dist_kind kind;
	} kinds[] = {{"constant", DIST_CONSTANT},       {"uniform", DIST_UNIFORM},
		     {"normal", DIST_NORMAL},           {"lognormal", DIST_LOGNORMAL},
		     {"exponential", DIST_EXPONENTIAL}, {"pareto", DIST_PARETO}};
	struct slice text = word(p, true);
	struct dist d = {0};
	int64_t first;
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (slice_eq(text, slice_cstr(kinds[i].name)))
			break;
	if (i == ARRAY_SIZE(kinds))
		return fail(p,
			    "expected constant, uniform, normal, lognormal, exponential or pareto",
			    text);
	d.kind = kinds[i].kind;
	r = duration(p, &first);
	if (r < 0)
		return r;
	if (first < 0)
		return fail(p, "a delay below zero", SLICE(""));
	d.a = (double)first;
	if (d.kind == DIST_UNIFORM) {
		r = duration(p, &first);
		d.b = (double)first;
		if (r == 0 && d.b < d.a)
			return fail(p, "uniform needs its lower end first", SLICE(""));
	} else if (d.kind == DIST_NORMAL || d.kind == DIST_LOGNORMAL) {
		r = deviation(p, d.a, &d.b);
	} else if (d.kind == DIST_PARETO) {
		r = number(p, 1e6, &d.b);
		if (r == 0 && !(d.b > 0))
			return fail(p, "a shape must be above zero", SLICE(""));
	}
	if (r == 0)
		*ret = d;
	return r;
}

static int line_end(struct parser *p)
{
	struct slice rest;

	blanks(p);
	rest = slice_of(p->at, (size_t)(p->end - p->at));
	return rest.n && rest.p[0] != '#' ? fail(p, "expected the end of the line", rest) : 0;
}

static int calls(struct parser *p, unsigned depth, struct spec_call **ret);

static int call(struct parser *p, unsigned depth, struct spec_call **ret)
{
	struct spec_call *c = arena_zalloc(&p->spec->arena, 1, sizeof(*c));
	int64_t repeat = 1;
	int r;

	if (!c)
		return no_memory(p);
	if (++p->calls > SPEC_MAX_CALLS || depth > SPEC_MAX_DEPTH)
		return fail(p, "too many calls, or too deep", SLICE(""));
	c->after_reply = take(p, "!");
	c->probability = 1;
	do {
		if (c->choice_n == SPEC_MAX_CHOICES)
			return fail(p, "too many names to choose from", SLICE(""));
		r = name(p, word(p, true), &c->choices[c->choice_n++]);
		if (r < 0)
			return r;
		blanks(p);
	} while (p->at < p->end && *p->at == '|' && !(p->at + 1 < p->end && p->at[1] == '|') &&
		 take(p, "|"));
	if (take(p, "?")) {
		r = number(p, 1, &c->probability);
		if (r < 0)
			return r;
	}
	if (take(p, "*")) {
		r = whole(p, 1, SPEC_MAX_REPEAT, &repeat);
		if (r < 0)
			return r;
	}
	c->repeat = (uint32_t)repeat;
	if (take(p, "{") && !take(p, "}")) {
		r = calls(p, depth + 1, &c->children);
		if (r < 0)
			return r;
		if (!take(p, "}"))
			return fail(p, "expected ';', '||' or '}'",
				    slice_of(p->at, (size_t)(p->end - p->at)));
	}
	*ret = c;
	return 0;
}

static int calls(struct parser *p, unsigned depth, struct spec_call **ret)
{
	struct spec_call **last = ret;
	bool parallel = false;

	for (;;) {
		int r = call(p, depth, last);

		if (r < 0)
			return r;
		(*last)->parallel = parallel;
		last = &(*last)->next;
		if (take(p, "||"))
			parallel = true;
		else if (take(p, ";"))
			parallel = false;
		else
			return 0;
	}
}

static int hops(struct parser *p, struct spec_call **ret)
{
	for (;;) {
		int r = call(p, 0, ret);

		if (r < 0)
			return r;
		if (!take(p, "->"))
			return 0;
		ret = &(*ret)->children;
	}
}

static int tracelet(struct parser *p, bool route)
{
	struct spec *s = p->spec;
	struct spec_tracelet *t = arena_zalloc(&s->arena, 1, sizeof(*t)), **last;
	int r = 0;

	if (!t)
		return no_memory(p);
	*t = (struct spec_tracelet){.route = route, .instances = s->instances, .think = s->think};
	t->name = arena_dup(&s->arena, word(p, true));
	if (!t->name.p)
		return no_memory(p);
	while (r == 0 && !take(p, ":")) {
		struct slice key = word(p, true);

		if (slice_eq(key, SLICE("instances")))
			r = whole(p, 1, SPEC_MAX_INSTANCES, &t->instances);
		else if (slice_eq(key, SLICE("think")))
			r = dist(p, &t->think);
		else
			r = fail(p, "expected instances, think or ':'", key);
	}
	if (r == 0)
		r = name(p, word(p, true), &t->client);
	if (r == 0 && !take(p, "->"))
		return fail(p, "expected '->'", slice_of(p->at, (size_t)(p->end - p->at)));
	if (r == 0)
		r = route ? hops(p, &t->call) : call(p, 0, &t->call);
	if (r < 0)
		return r;
	for (last = &s->tracelets; *last;)
		last = &(*last)->next;
	*last = t;
	return 0;
}

static int node_line(struct parser *p)
{
	struct slice which;
	uint32_t node;
	int r = name(p, word(p, false), &node);

	if (r < 0)
		return r;
	which = word(p, false);
	if (slice_eq(which, SLICE("call"))) {
		p->spec->nodes[node].has_call = true;
		return dist(p, &p->spec->nodes[node].call);
	}
	if (slice_eq(which, SLICE("ret"))) {
		p->spec->nodes[node].has_ret = true;
		return dist(p, &p->spec->nodes[node].ret);
	}
	return fail(p, "expected call or ret", which);
}

static int link_line(struct parser *p)
{
	struct spec_link *l = arena_zalloc(&p->spec->arena, 1, sizeof(*l));
	int r;

	if (!l)
		return no_memory(p);
	r = name(p, word(p, false), &l->from);
	if (r == 0)
		r = name(p, word(p, false), &l->to);
	if (r == 0)
		r = dist(p, &l->delay);
	l->next = p->spec->links;
	p->spec->links = l;
	return r;
}

static int add_line(struct parser *p)
{
	struct spec_extra *x = arena_zalloc(&p->spec->arena, 1, sizeof(*x));
	struct slice key;
	int r;

	if (!x)
		return no_memory(p);
	*x = (struct spec_extra){.after = NAMES_NONE, .share = 1};
	r = duration(p, &x->delay_ns);
	if (r == 0 && (x->delay_ns < 0 || x->delay_ns > EXTRA_MAX_NS))
		return fail(p, "extra time is from 0 to 10 days", SLICE(""));
	key = word(p, false);
	if (r == 0 && !slice_eq(key, SLICE("at")))
		return fail(p, "expected 'at'", key);
	if (r == 0)
		r = name(p, word(p, false), &x->node);
	while (r == 0 && (key = word(p, false)).n > 0 && key.p[0] != '#')
		if (slice_eq(key, SLICE("after")))
			r = name(p, word(p, false), &x->after);
		else if (slice_eq(key, SLICE("share")))
			r = number(p, 1, &x->share);
		else
			r = fail(p, "expected after or share", key);
	if (r == 0 && key.n > 0)
		p->at = key.p;
	x->next = p->spec->extras;
	p->spec->extras = x;
	return r;
}

static int loss_line(struct parser *p)
{
	int r = 0;

	while (r == 0) {
		struct slice key = word(p, false);

		if (slice_eq(key, SLICE("share"))) {
			r = number(p, 1, &p->spec->loss_share);
		} else if (slice_eq(key, SLICE("rate"))) {
			r = number(p, 1e12, &p->spec->loss_rate);
		} else if (slice_eq(key, SLICE("queue"))) {
			r = whole(p, 1, 1 << 30, &p->spec->loss_queue);
		} else {
			p->at = key.p;
			return 0;
		}
	}
	return r;
}

static int skew_line(struct parser *p)
{
	uint32_t node;
	int r = name(p, word(p, false), &node);

	return r < 0 ? r : duration(p, &p->spec->nodes[node].skew_ns);
}

static int choice(struct parser *p, const char *const *words, int *ret)
{
	struct slice text = word(p, false);

	for (int i = 0; words[i]; i++)
		if (slice_eq(text, slice_cstr(words[i]))) {
			*ret = i;
			return 0;
		}
	return fail(p, "no such choice", text);
}

static int setting(struct parser *p, struct slice key)
{
	static const char *const sightings[] = {"plain", "both", "sent", "recv", NULL};
	static const char *const ids[] = {"shown", "none", NULL};
	struct spec *s = p->spec;
	int64_t value;
	int which, r;

	if (slice_eq(key, SLICE("duration"))) {
		r = duration(p, &s->duration_ns);
		if (r == 0 && (s->duration_ns <= 0 || s->duration_ns > ENDLESS_NS))
			return fail(p, "a duration above zero, and not of centuries", SLICE(""));
		return r;
	}
	if (slice_eq(key, SLICE("seed"))) {
		r = whole(p, 0, INT64_MAX, &value);
		if (r == 0)
			s->seed = (uint64_t)value;
		return r;
	}
	if (slice_eq(key, SLICE("instances")))
		return whole(p, 1, SPEC_MAX_INSTANCES, &s->instances);
	if (slice_eq(key, SLICE("call")))
		return dist(p, &s->call);
	if (slice_eq(key, SLICE("ret")))
		return dist(p, &s->ret);
	if (slice_eq(key, SLICE("think")))
		return dist(p, &s->think);
	if (slice_eq(key, SLICE("sightings"))) {
		r = choice(p, sightings, &which);
		if (r == 0)
			s->sightings = (enum spec_sightings)which;
		return r;
	}
	if (slice_eq(key, SLICE("ids"))) {
		r = choice(p, ids, &which);
		if (r == 0)
			s->no_ids = which == 1;
		return r;
	}
	return fail(p, "no such setting", key);
}

static int line(struct parser *p)
{
	static const struct {
		const char *key;
		int (*read)(struct parser *p);
	} rows[] = {{"node", node_line},
		    {"link", link_line},
		    {"add", add_line},
		    {"loss", loss_line},
		    {"skew", skew_line}};
	struct slice key = word(p, false);
	int r = 1;

	if (key.n == 0 || key.p[0] == '#')
		return 0;
	if (slice_eq(key, SLICE("tracelet")) || slice_eq(key, SLICE("route")))
		r = tracelet(p, key.p[0] == 'r');
	for (size_t i = 0; r > 0 && i < ARRAY_SIZE(rows); i++)
		if (slice_eq(key, slice_cstr(rows[i].key)))
			r = rows[i].read(p);
	if (r > 0)
		r = setting(p, key);
	return r < 0 ? r : line_end(p);
}

int spec_parse(struct spec *s, struct slice text, struct error *error)
{
	struct parser p = {.spec = s, .error = error};
	int r = 0;

	*s = (struct spec){
		.call = {DIST_NORMAL, 30.0 * NS_PER_MS, 3.0 * NS_PER_MS},
		.ret = {DIST_NORMAL, 8.0 * NS_PER_MS, 0.8 * NS_PER_MS},
		.think = {DIST_UNIFORM, 0, 1200.0 * NS_PER_MS},
		.instances = 1,
		.duration_ns = 60 * NS_PER_S,
		.loss_queue = 64,
		.seed = 1,
	};
	names_init(&s->names);
	if (text.n > SPEC_MAX_BYTES)
		r = error_set(error, -EINVAL, "a spec of more than %d bytes", SPEC_MAX_BYTES);
	while (text.n > 0 && r == 0) {
		struct slice one = slice_cut(&text, '\n');

		p.line++;
		p.at = one.p;
		p.end = one.p + one.n;
		if (memchr(one.p, 0, one.n))
			r = fail(&p, "a NUL", SLICE(""));
		else
			r = line(&p);
	}
	if (r == 0 && !s->tracelets)
		r = error_set(error, -EINVAL, "no tracelet: nothing would happen");
	if (r < 0)
		spec_done(s);
	return r;
}

void spec_done(struct spec *s)
{
	free(s->nodes);
	s->nodes = NULL;
	names_done(&s->names);
	arena_done(&s->arena);
}
