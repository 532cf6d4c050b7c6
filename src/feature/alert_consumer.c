/* feature/alert_consumer.c - the thread that evaluates rules, and the one that tells webhooks. */
#include "feature/alert_consumer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/clock.h"
#include "feature/alert_state.h"
#include "http/client.h"
#include "store/store.h"

#define LOOK_NS      (250 * NS_PER_MS) /* for rules that are due */
#define WRITE_NS     (30 * NS_PER_S)   /* how far evaluations are noted when nothing changes */
#define POST_MS      10000             /* a webhook has so long */
#define RETRY_FIRST  NS_PER_S          /* doubled … */
#define RETRY_LAST   (ALERT_MAX_RETRY_S * NS_PER_S) /* … up to this */
#define UNWRITTEN_NS (30 * NS_PER_S) /* the catalogue cannot be written: when it is tried again */
#define RETRY_SHIFTS 9
#define ANSWER_BYTES 65536

/* A rule as it was read, and how far it is. */
struct watched {
	char *name, *text; /* NUL-terminated, own */
	bool dropped, seen;
	int64_t evaluated_ns, written_ns; /* ends of windows: done, and noted */
	int64_t over_ns, every_ns;        /* for late rows */
	int64_t retry_ns;                 /* monotonic: not before, what could not be written */
	uint64_t late;                    /* not noted yet */
	bool failing;
};

struct alert_consumer {
	struct alert_options options;
	struct alert_counters counters;
	struct watched *rules;
	size_t n, room;
	uint64_t generation;
	bool loaded;
	struct store_feed feed;
	int64_t told; /* the deliverer's: the last notification that was */

	pthread_t evaluator, deliverer;
	bool evaluates, delivers;
	_Atomic bool cancel;
	pthread_mutex_t lock; /* guards: */
	pthread_cond_t wake;
	bool stop, queued, placed;
	char url[256];
};

const struct alert_counters *alert_consumer_counters(const struct alert_consumer *c)
{
	return &c->counters;
}

void alert_consumer_set_url(struct alert_consumer *c, const char *url)
{
	pthread_mutex_lock(&c->lock);
	snprintf(c->url, sizeof(c->url), "%s", url);
	c->placed = true;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
}

void alert_consumer_url(struct alert_consumer *c, char ret_url[256])
{
	pthread_mutex_lock(&c->lock);
	memcpy(ret_url, c->url, sizeof(c->url));
	pthread_mutex_unlock(&c->lock);
}

/* Sleeps so long, unless we stop, or (for the deliverer) something was queued.  False: we stop. */
static bool pause_for(struct alert_consumer *c, int64_t ns, bool queued)
{
	int64_t at = clock_mono_ns() + ns;
	struct timespec until = {at / NS_PER_S, at % NS_PER_S};
	bool stop;

	pthread_mutex_lock(&c->lock);
	while (!c->stop && !(queued && c->queued) &&
	       pthread_cond_timedwait(&c->wake, &c->lock, &until) == 0)
		;
	if (queued)
		c->queued = false;
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

/* --- rules --- */

static void watched_done(struct watched *w)
{
	free(w->name);
	free(w->text);
}

static struct watched *rule_find(struct alert_consumer *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->rules[i].name, name) == 0)
			return &c->rules[i];
	return NULL;
}

static int rule_load(void *context, const struct alert_rule_row *row)
{
	struct alert_consumer *c = context;
	struct watched *w = rule_find(c, row->name);
	char *text;

	if (!w) {
		if (!vec_reserve(&c->rules, &c->room, c->n + 1, sizeof(*c->rules)))
			return -ENOMEM;
		w = &c->rules[c->n];
		*w = (struct watched){.name = strdup(row->name),
				      .evaluated_ns = row->evaluated_ns,
				      .written_ns = row->evaluated_ns};
		if (!w->name)
			return -ENOMEM;
		c->n++;
	}
	w->seen = true;
	w->dropped = row->dropped;
	if (w->text && strcmp(w->text, row->text) == 0)
		return 0;
	text = strdup(row->text);
	if (!text)
		return -ENOMEM;
	free(w->text);
	w->text = text;
	return 0;
}

static int rules_load(struct alert_consumer *c)
{
	uint64_t generation = catalog_generation(c->options.catalog);
	struct error error = {0};
	size_t n = 0;
	int r;

	if (c->loaded && generation == c->generation)
		return 0;
	for (size_t i = 0; i < c->n; i++)
		c->rules[i].seen = false;
	r = alert_rule_list(c->options.catalog, true, rule_load, c, &error);
	if (r < 0)
		return r; /* what was known stays in force */
	for (size_t i = 0; i < c->n; i++) {
		if (c->rules[i].seen)
			c->rules[n++] = c->rules[i];
		else
			watched_done(&c->rules[i]);
	}
	c->n = n;
	c->generation = generation;
	c->loaded = true;
	atomic_store(&c->counters.rules, n);
	return 0;
}

/* --- rows that come too late --- */

/* Where begins what windows to come can still see. */
static uint64_t next_begins(const struct watched *w)
{
	int64_t end = (w->evaluated_ns / w->every_ns + 1) * w->every_ns;

	return (uint64_t)MAX(MIN(end - w->over_ns, w->evaluated_ns), 0);
}

static void late_note(struct alert_consumer *c, const struct event_set *set)
{
	for (size_t k = 0; k < c->n; k++) {
		struct watched *w = &c->rules[k];
		uint64_t late = 0, begins = w->over_ns ? next_begins(w) : 0;

		for (size_t i = 0; w->over_ns && i < set->n; i++) {
			const struct event *e = &set->refs[i].batch->events[set->refs[i].index];

			late += e->time_ns < begins;
		}
		w->late += late;
		atomic_fetch_add(&c->counters.late_rows, late);
	}
}

static void feed_read(struct alert_consumer *c)
{
	struct feed_page page = {0};

	if (c->n == 0) { /* nobody is interested */
		store_feed_done(&c->feed);
		store_feed_init(&c->feed, c->options.store, store_feed_end(c->options.store));
		return;
	}
	while (!atomic_load(&c->cancel) && store_feed_next(&c->feed, &page) == 1) {
		if (!page.again)
			late_note(c, &page.set);
		event_set_done(&page.set);
	}
}

/* --- one evaluation --- */

struct evaluating {
	struct alert_consumer *c;
	struct watched *w;
	struct arena arena;
	struct alert_rule rule;
	struct alert_answer answer;
	struct alert_states states;
	struct alert_step step;
	struct error error;
};

static int state_load(void *context, const struct alert_state_row *row)
{
	return alert_states_add(context, row);
}

static int notification_write(struct evaluating *x, int64_t to_ns, struct buffer *out)
{
	char url[256];
	const struct alert_body body = {.rule = &x->rule,
					.states = &x->states,
					.now_ns = to_ns,
					.overflow = x->answer.overflow,
					.external_url = url};

	alert_consumer_url(x->c, url);
	alert_body_write(&body, &x->arena, out);
	return out->failed ? -ENOMEM : 0;
}

static int outcome_write(struct evaluating *x, int64_t to_ns, const char *failure)
{
	struct alert_counters *n = &x->c->counters;
	struct buffer body = {0};
	struct alert_outcome o = {.rule = x->w->name,
				  .text = x->w->text,
				  .evaluated_ns = to_ns,
				  .overflow = (int64_t)x->answer.overflow,
				  .late = (int64_t)x->w->late,
				  .error = failure,
				  .states_changed = x->step.changed,
				  .states = x->states.rows,
				  .n = x->states.n,
				  .gone = x->w->dropped && !*failure};
	int64_t lost = 0;
	int r = 0;

	if (x->step.tell) {
		r = notification_write(x, to_ns, &body);
		o.webhook = x->rule.webhook.p;
		o.body = buffer_cstr(&body);
	}
	if (r == 0)
		r = alert_evaluated(x->c->options.catalog, &o, &lost, &x->error);
	if (r >= 0) {
		x->w->written_ns = to_ns;
		x->w->late = 0;
		atomic_fetch_add(&n->notifications_dropped, (uint64_t)lost);
	}
	buffer_done(&body);
	if (r >= 0 && x->step.tell) {
		pthread_mutex_lock(&x->c->lock);
		x->c->queued = true;
		pthread_cond_broadcast(&x->c->wake);
		pthread_mutex_unlock(&x->c->lock);
	}
	return r < 0 ? r : 0;
}

/* Asks about the window, and goes on from the states that are there. */
static int evaluate_window(struct evaluating *x, int64_t to_ns)
{
	const struct alert_asking asking = {.store = x->c->options.store,
					    .catalog = x->c->options.catalog,
					    .to_ns = to_ns,
					    .time_ns = x->c->options.query_time_ns,
					    .memory_bytes = x->c->options.query_memory,
					    .cancel = &x->c->cancel,
					    .share = x->c->options.share};
	int r = 0;

	if (!x->w->dropped) /* a dropped one finds nothing: what fires is resolved */
		r = alert_query_run(&x->rule, &asking, &x->answer, &x->error);
	if (r == 0)
		r = alert_state_list(x->c->options.catalog, x->w->name, state_load, &x->states,
				     &x->error);
	if (r == 0)
		r = alert_states_step(&x->states, &x->rule, &x->answer, to_ns, &x->step);
	x->answer.overflow += x->step.overflow;
	return r;
}

/* What could not be written is found again, later: the window counts as open.  -ESTALE and -ENOENT
 * are rules that were changed meanwhile, and are read anew at once. */
static int outcome_note(struct evaluating *x, int64_t to_ns, bool failed)
{
	struct watched *w = x->w;
	char failure[sizeof(x->error.text)];
	int r;

	snprintf(failure, sizeof(failure), "%s", failed ? x->error.text : "");
	r = outcome_write(x, to_ns, failure);
	if (r >= 0)
		return 0;
	atomic_fetch_add(&x->c->counters.evaluation_failures, !failed);
	if (r != -ESTALE && r != -ENOENT)
		w->retry_ns = clock_mono_ns() + UNWRITTEN_NS;
	return r;
}

/* False: the windows behind this one have to wait for it. */
static bool evaluate(struct alert_consumer *c, struct watched *w, int64_t to_ns)
{
	struct evaluating x = {.c = c, .w = w};
	struct alert_counters *n = &c->counters;
	bool write, done = false;
	int r;

	x.states.arena = &x.arena;
	r = alert_rule_read(slice_cstr(w->text), &x.arena, &x.rule, &x.error);
	if (r == 0)
		r = evaluate_window(&x, to_ns);
	/* Where we stop it is asked about again next time. */
	if (r != -ECANCELED || !atomic_load(&c->cancel)) {
		atomic_fetch_add(&n->evaluations, 1);
		atomic_fetch_add(&n->evaluation_failures, r < 0);
		atomic_fetch_add(&n->overflowed, x.answer.overflow);
		if (r < 0 && !x.error.text[0])
			error_set(&x.error, r, "%s", strerror(-r));
		write = r < 0 || w->failing || x.step.changed || x.answer.overflow || w->dropped ||
			to_ns - w->written_ns >= WRITE_NS;
		done = !write || outcome_note(&x, to_ns, r < 0) == 0;
		if (done) {
			w->failing = r < 0;
			w->evaluated_ns = to_ns;
		}
	}
	alert_answer_done(&x.answer);
	alert_states_done(&x.states);
	arena_done(&x.arena);
	return done;
}

/* The windows of a rule that have passed.  Windows end at multiples of "every", so that rules of
 * the same step see the same time, whenever they were defined. */
static void rule_catch_up(struct alert_consumer *c, struct watched *w, int64_t now_ns)
{
	struct arena arena = {0};
	struct error error = {0};
	struct alert_rule rule;
	int64_t last, next;

	if (w->retry_ns > clock_mono_ns())
		return;
	if (w->evaluated_ns > now_ns) /* the clock was ahead: it would be silent until then */
		w->evaluated_ns = w->written_ns = 0;
	if (alert_rule_read(slice_cstr(w->text), &arena, &rule, &error) < 0) {
		/* It was checked when it was defined: a newer causet has written it. */
		if (now_ns - w->evaluated_ns >= 60 * NS_PER_S)
			evaluate(c, w, now_ns);
		arena_done(&arena);
		return;
	}
	arena_done(&arena);
	w->over_ns = rule.over_ns;
	w->every_ns = rule.every_ns;
	last = (now_ns - rule.delay_ns) / rule.every_ns * rule.every_ns;
	if (w->dropped)
		last = MAX(now_ns, w->evaluated_ns + 1);
	next = w->evaluated_ns ? (w->evaluated_ns / rule.every_ns + 1) * rule.every_ns : last;
	if (w->dropped)
		next = last;
	if (last - next > (ALERT_CATCH_UP - 1) * rule.every_ns) {
		int64_t from = last - (ALERT_CATCH_UP - 1) * rule.every_ns;

		atomic_fetch_add(&c->counters.windows_skipped,
				 (uint64_t)((from - next) / rule.every_ns));
		next = from;
		w->evaluated_ns = from - rule.every_ns; /* they are counted once */
	}
	for (; next <= last && !atomic_load(&c->cancel); next += rule.every_ns)
		if (!evaluate(c, w, next))
			break;
}

/* --- the evaluator --- */

static void gauges_set(struct alert_consumer *c)
{
	struct error error = {0};
	struct alert_counts n = {0};

	if (alert_count(c->options.catalog, &n, &error) < 0)
		return;
	atomic_store(&c->counters.pending, (uint64_t)n.pending);
	atomic_store(&c->counters.firing, (uint64_t)n.firing);
	atomic_store(&c->counters.waiting, (uint64_t)n.waiting);
}

/* Notifications say where they come from: nothing is evaluated before that is known. */
static bool place_wait(struct alert_consumer *c)
{
	bool stop;

	pthread_mutex_lock(&c->lock);
	while (!c->placed && !c->stop)
		pthread_cond_wait(&c->wake, &c->lock);
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return !stop;
}

static void *evaluator_run(void *context)
{
	struct alert_consumer *c = context;
	uint64_t counted = 0;
	bool first = true;

	if (!place_wait(c))
		return NULL;
	do {
		if (rules_load(c) < 0)
			continue;
		feed_read(c);
		for (size_t i = 0; i < c->n && !atomic_load(&c->cancel); i++)
			rule_catch_up(c, &c->rules[i], clock_wall_ns());
		if (first || counted != catalog_generation(c->options.catalog)) {
			counted = catalog_generation(c->options.catalog);
			gauges_set(c);
			first = false;
		}
	} while (pause_for(c, LOOK_NS, false));
	return NULL;
}

/* --- the deliverer --- */

/* Nobody reads what a webhook says.  One that says too much is not listened to any longer. */
static int answer_discard(void *context, struct slice piece)
{
	size_t *n = context;

	*n += piece.n;
	return *n > ANSWER_BYTES ? -EFBIG : 0;
}

int alert_consumer_post(const char *webhook, const char *body, const _Atomic bool *cancel,
			struct error *error)
{
	static const char *const headers[] = {"Content-Type: application/json", "Expect:", NULL};
	const struct http_client_options options = {.connect_ms = POST_MS, .stall_ms = POST_MS};
	size_t taken = 0;
	const struct http_call call = {.method = "POST",
				       .url = webhook,
				       .headers = headers,
				       .body = slice_cstr(body),
				       .cancel = cancel,
				       .write = answer_discard,
				       .context = &taken,
				       .timeout_ms = POST_MS};
	struct http_client *client = NULL;
	struct http_answer answer = {0};
	int r = http_client_new(&options, &client, error);

	if (r < 0)
		return r;
	/* A connection of its own: one that was kept for minutes may be dead, and not say so. */
	r = http_client_call(client, &call, &answer, error);
	if (r == 0) {
		r = answer.status;
		http_answer_done(&answer);
	}
	http_client_free(client);
	return r == -EFBIG ? 200 : r; /* pieces are given of answers that are 2xx */
}

/* Without the URL, whose path may be a secret. */
static const char *reason(int r)
{
	switch (r) {
	case -EHOSTUNREACH:
		return "the name of the webhook's host is not known";
	case -ECONNREFUSED:
		return "no connection to the webhook: it was refused, or there is no way there";
	case -ETIMEDOUT:
		return "the webhook did not answer within ten seconds";
	case -ECONNRESET:
		return "the webhook closed the connection without an answer";
	case -EACCES:
		return "the webhook's certificate is not trusted";
	case -EPROTO:
		return "the webhook speaks neither HTTP nor TLS as it should";
	default:
		return strerror(-r);
	}
}

static int64_t retry_after(int64_t tries)
{
	int64_t shifts = MIN(tries, RETRY_SHIFTS);

	return MIN(RETRY_FIRST << shifts, RETRY_LAST);
}

/* Negative errno when what became of it could not be written. */
static int deliver(struct alert_consumer *c, const struct alert_delivery_row *row)
{
	struct error error = {0}, other = {0};
	int r = 200;

	if (row->id != c->told) { /* else it is in the queue only because it could not be removed */
		r = alert_consumer_post(row->webhook, row->body, &c->cancel, &error);
		atomic_fetch_add(&c->counters.notifications, r >= 200 && r < 300);
	}
	if (r >= 200 && r < 300) {
		c->told = row->id;
		return alert_delivery_done(c->options.catalog, row->id, &other);
	}
	if (atomic_load(&c->cancel))
		return 0; /* it is tried again by the next server */
	atomic_fetch_add(&c->counters.notification_failures, 1);
	if (r >= 0)
		error_set(&error, -EPROTO, "the webhook answered %d", r);
	r = alert_delivery_failed(c->options.catalog, row,
				  clock_wall_ns() + retry_after(row->tries),
				  r >= 0 ? error.text : reason(r), &other);
	atomic_fetch_add(&c->counters.notifications_dropped, r > 0);
	return r;
}

static void *deliverer_run(void *context)
{
	struct alert_consumer *c = context;
	int64_t pause;

	do {
		struct alert_delivery_row row;
		struct error error = {0};
		struct arena arena = {0};

		pause = 2 * LOOK_NS;
		/* A webhook must not be told all the time because the disk is full. */
		if (alert_delivery_next(c->options.catalog, clock_wall_ns(), &arena, &row,
					&error) == 1)
			pause = deliver(c, &row) < 0 ? UNWRITTEN_NS : 0;
		arena_done(&arena);
	} while (pause_for(c, pause, true));
	return NULL;
}

/* --- life --- */

int alert_consumer_start(const struct alert_options *options, struct alert_consumer **ret_consumer)
{
	struct alert_consumer *c = calloc(1, sizeof(*c));
	pthread_condattr_t monotonic;
	int r;

	if (!c)
		return -ENOMEM;
	c->options = *options;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&c->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	store_feed_init(&c->feed, options->store, store_feed_end(options->store));
	r = -pthread_create(&c->evaluator, NULL, evaluator_run, c);
	c->evaluates = r == 0;
	if (r == 0)
		r = -pthread_create(&c->deliverer, NULL, deliverer_run, c);
	c->delivers = c->evaluates && r == 0;
	if (r < 0) {
		alert_consumer_stop(c);
		return r;
	}
	*ret_consumer = c;
	return 0;
}

struct alert_consumer *alert_consumer_stop(struct alert_consumer *c)
{
	if (!c)
		return NULL;
	atomic_store(&c->cancel, true);
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->wake);
	pthread_mutex_unlock(&c->lock);
	if (c->evaluates)
		pthread_join(c->evaluator, NULL);
	if (c->delivers)
		pthread_join(c->deliverer, NULL);
	for (size_t i = 0; i < c->n; i++)
		watched_done(&c->rules[i]);
	free(c->rules);
	store_feed_done(&c->feed);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}
