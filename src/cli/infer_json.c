/* cli/infer_json.c - what was inferred, as JSON: one object a line.
 *
 *   {"call":…}      with --calls: each call, its parent and the confidence
 *   {"pattern":…}   each pattern with its hops and their distributions, in order
 *   {"summary":…}   last */
#include "base/cleanup.h"
#include "cli/inferred.h"
#include "wire/json_writer.h"

static void ns(struct json_writer *w, const char *name, double value)
{
	json_put_name(w, name);
	json_put_i64(w, (int64_t)value);
}

static void spread(struct json_writer *w, const char *name, const struct spread *s)
{
	json_put_name(w, name);
	json_begin_object(w);
	ns(w, "mean_ns", spread_mean(s));
	ns(w, "sd_ns", spread_sd(s));
	ns(w, "min_ns", (double)s->min);
	ns(w, "p50_ns", spread_quantile(s, 0.5));
	ns(w, "p90_ns", spread_quantile(s, 0.9));
	ns(w, "p99_ns", spread_quantile(s, 0.99));
	ns(w, "max_ns", (double)s->max);
	json_end_object(w);
}

static void hop(struct json_writer *w, const struct inferred *in, const struct pattern_hop *h)
{
	json_begin_object(w);
	json_put_name(w, "node");
	json_put_string(w, names_get(&in->nodes, h->node));
	json_put_name(w, "parent");
	if (h->parent == PATTERN_NONE)
		json_put_null(w);
	else
		json_put_u64(w, h->parent);
	json_put_name(w, "depth");
	json_put_u64(w, h->depth);
	spread(w, "delay", &h->delay);
	spread(w, "latency", &h->latency);
	spread(w, "gap", &h->gap);
	spread(w, "tail", &h->tail);
	spread(w, "own", &h->own);
	spread(w, "wire", &h->wire);
	json_end_object(w);
}

static void pattern_text(struct json_writer *w, const struct inferred *in, const struct pattern *p)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};

	pattern_format(p, &in->nodes, &text);
	json_put_string(w, buffer_get(&text));
}

static void pattern(struct json_writer *w, const struct inferred *in, size_t number,
		    const struct pattern *p)
{
	double own, all = inferred_latency(in);
	uint32_t costs = pattern_costliest(p, &own), outlier;
	_cleanup_(freep)
	double *critical = malloc(p->hop_n * sizeof(*critical));
	double excess;
	char id[MESSAGE_ID_BYTES];

	json_begin_object(w);
	json_put_name(w, "pattern");
	pattern_text(w, in, p);
	json_put_name(w, "number");
	json_put_u64(w, number);
	json_put_name(w, "client");
	json_put_string(w, names_get(&in->nodes, p->client));
	json_put_name(w, "count");
	json_put_u64(w, p->count);
	json_put_name(w, "share_of_latency");
	json_put_double(w, all > 0 ? pattern_total_ns(p) / all : 0);
	json_put_name(w, "confidence");
	json_put_double(w, p->count ? p->sure / (double)p->count : 0);
	json_put_name(w, "costliest");
	json_begin_object(w);
	json_put_name(w, "node");
	json_put_string(w, names_get(&in->nodes, p->hops[costs].node));
	ns(w, "own_ns", own);
	json_end_object(w);
	json_put_name(w, "slowest");
	json_begin_object(w);
	json_put_name(w, "id");
	json_put_cstr(w, message_id_format(p->slowest_id, id));
	json_put_name(w, "start_ns");
	json_put_i64(w, p->slowest_start_ns);
	ns(w, "latency_ns", (double)p->slowest_ns);
	json_end_object(w);
	outlier = pattern_outlier(p, &excess);
	json_put_name(w, "outlier");
	if (outlier == PATTERN_NONE) {
		json_put_null(w);
	} else {
		json_begin_object(w);
		json_put_name(w, "hop");
		json_put_u64(w, outlier);
		json_put_name(w, "node");
		json_put_string(w, names_get(&in->nodes, p->hops[outlier].node));
		ns(w, "excess_ns", excess);
		json_end_object(w);
	}
	json_put_name(w, "critical_ns");
	json_begin_array(w);
	if (critical)
		pattern_critical(p, critical);
	for (uint32_t i = 0; critical && i < p->hop_n; i++)
		json_put_i64(w, (int64_t)critical[i]);
	json_end_array(w);
	json_put_name(w, "hops_not_shown");
	json_put_u64(w, p->cut_hops);
	json_put_name(w, "hops");
	json_begin_array(w);
	for (uint32_t i = 0; i < p->hop_n; i++)
		hop(w, in, &p->hops[i]);
	json_end_array(w);
	json_end_object(w);
	buffer_byte(w->out, '\n');
	w->comma = false;
}

static void call(struct json_writer *w, const struct inferred *in, const struct linking_window *win,
		 size_t i)
{
	const struct call *c = &win->calls->at[i];
	const struct call_link *l = &win->links[i];
	char id[MESSAGE_ID_BYTES];

	json_begin_object(w);
	json_put_name(w, "call");
	json_put_cstr(w, message_id_format(c->id, id));
	json_put_name(w, "parent");
	if (l->parent == LINK_NONE)
		json_put_null(w);
	else
		json_put_cstr(w, message_id_format(win->calls->at[l->parent].id, id));
	json_put_name(w, "confidence");
	json_put_double(w, (double)l->confidence);
	json_put_name(w, "caller");
	json_put_string(w, names_get(&in->nodes, c->caller));
	json_put_name(w, "callee");
	json_put_string(w, names_get(&in->nodes, c->callee));
	json_put_name(w, "start_ns");
	json_put_i64(w, c->start_ns);
	json_put_name(w, "end_ns");
	if (call_finished(c))
		json_put_i64(w, c->end_ns);
	else
		json_put_null(w);
	json_end_object(w);
	buffer_byte(w->out, '\n');
	w->comma = false;
}

static void pool(struct json_writer *w, const struct inferred *in, const struct pool_found *f)
{
	json_begin_object(w);
	json_put_name(w, "pool");
	json_begin_object(w);
	json_put_name(w, "caller");
	json_put_string(w, names_get(&in->nodes, f->caller));
	json_put_name(w, "callee");
	json_put_string(w, names_get(&in->nodes, f->callee));
	json_put_name(w, "size");
	json_put_u64(w, f->size);
	json_put_name(w, "calls");
	json_put_u64(w, f->calls);
	json_put_name(w, "handed");
	json_put_u64(w, f->handed);
	json_put_name(w, "expected");
	json_put_double(w, f->expected);
	ns(w, "waited_ns", f->waited_ns);
	json_put_name(w, "holder");
	if (f->holder == NAMES_NONE)
		json_put_null(w);
	else
		json_put_string(w, names_get(&in->nodes, f->holder));
	json_end_object(w);
	json_end_object(w);
	buffer_byte(w->out, '\n');
	w->comma = false;
}

static void summary(struct json_writer *w, const struct inferred *in)
{
	json_begin_object(w);
	json_put_name(w, "summary");
	json_begin_object(w);
	json_put_name(w, "mode");
	json_put_cstr(w, in->mode);
	json_put_name(w, "messages");
	json_put_u64(w, in->tally.pairing.messages);
	json_put_name(w, "calls");
	json_put_u64(w, in->tally.calls);
	json_put_name(w, "nodes");
	json_put_u64(w, in->nodes.n);
	json_put_name(w, "paths");
	json_put_u64(w, in->patterns.paths);
	json_put_name(w, "patterns");
	json_put_u64(w, in->patterns.n);
	json_put_name(w, "paths_of_forgotten_patterns");
	json_put_u64(w, in->patterns.rare_paths);
	json_put_name(w, "lonely_returns");
	json_put_u64(w, in->tally.pairing.lonely_returns);
	json_put_name(w, "unfinished_calls");
	json_put_u64(w, in->tally.pairing.unfinished);
	json_end_object(w);
	json_end_object(w);
	buffer_byte(w->out, '\n');
	w->comma = false;
}

void inferred_calls(const struct inferred *in, const struct linking_window *win, struct buffer *out)
{
	struct json_writer w = json_write(out);

	for (size_t i = 0; i < win->calls->n; i++)
		if (win->leaving[i])
			call(&w, in, win, i);
}

void inferred_json(const struct inferred *in, struct buffer *out)
{
	struct json_writer w = json_write(out);

	for (size_t i = 0; i < inferred_shown(in); i++)
		pattern(&w, in, i + 1, &in->patterns.at[in->rank[i]]);
	for (int i = 0; i < in->pool_n; i++)
		pool(&w, in, &in->pools[i]);
	summary(&w, in);
}

void convolution_json(const struct inferred *in, struct buffer *out)
{
	const struct convolution *c = &in->convolution;
	struct json_writer w = json_write(out);

	for (uint32_t i = 0; i < c->n; i++) {
		_cleanup_(buffer_done)
		struct buffer path = {0};
		const struct vertex *x = &c->at[i];

		vertex_path(c, i, &in->nodes, &path);
		json_begin_object(&w);
		json_put_name(&w, "vertex");
		json_put_u64(&w, i);
		json_put_name(&w, "parent");
		if (x->parent == NAMES_NONE)
			json_put_null(&w);
		else
			json_put_u64(&w, x->parent);
		json_put_name(&w, "path");
		json_put_string(&w, buffer_get(&path));
		json_put_name(&w, "node");
		json_put_string(&w, names_get(&in->nodes, x->node));
		json_put_name(&w, "count");
		json_put_u64(&w, x->count);
		ns(&w, "delay_ns", (double)x->delay_ns);
		ns(&w, "centre_ns", x->centre_ns);
		json_put_name(&w, "sigma");
		json_put_double(&w, x->height);
		json_put_name(&w, "derived");
		json_put_bool(&w, x->derived);
		json_end_object(&w);
		buffer_byte(out, '\n');
		w.comma = false;
	}
	json_begin_object(&w);
	json_put_name(&w, "summary");
	json_begin_object(&w);
	json_put_name(&w, "mode");
	json_put_cstr(&w, "convolution");
	json_put_name(&w, "messages");
	json_put_u64(&w, c->messages);
	json_put_name(&w, "quantum_ns");
	json_put_i64(&w, c->quantum_ns);
	json_put_name(&w, "max_lag_ns");
	json_put_i64(&w, c->max_lag_ns);
	json_put_name(&w, "vertices");
	json_put_u64(&w, c->n);
	json_put_name(&w, "correlations");
	json_put_u64(&w, c->correlations);
	json_put_name(&w, "by_fft");
	json_put_u64(&w, c->by_fft);
	json_put_name(&w, "cut");
	json_put_bool(&w, c->cut);
	json_end_object(&w);
	json_end_object(&w);
	buffer_byte(out, '\n');
}
