/* feature/alert_query.c - what a rule's query answers about one window. */
#include "feature/alert_query.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/leash.h"
#include "base/vec.h"
#include "core/clock.h"
#include "core/hash.h"
#include "exec/query.h"
#include "store/store.h"

#define STACK_BYTES  ((size_t)8 << 20)
#define COLUMNS_MOST 64
#define WHOLE_NS     (4000000000LL * NS_PER_S) /* one step of a series, from 1970 to 2096 */

struct running {
	const struct alert_rule *rule;
	const struct alert_asking *asking;
	struct alert_answer *answer;
	struct error *error;
	struct query *query;
	double scale; /* of numbers: a rate is one over the window */
	size_t columns, value;
	bool counts; /* no column is a number: rows are counted */
	struct slice names[COLUMNS_MOST];
	bool label[COLUMNS_MOST];
	struct arena scratch; /* of one row … */
	struct buffer labels; /* … and its labels */
	int result;
};

void alert_answer_done(struct alert_answer *a)
{
	free(a->rows);
	arena_done(&a->arena);
	*a = (struct alert_answer){0};
}

/* --- labels --- */

static int by_name(const void *a, const void *b)
{
	return slice_cmp(((const struct alert_label *)a)->name,
			 ((const struct alert_label *)b)->name);
}

static bool has(const struct alert_label *labels, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
		if (slice_eq(labels[i].name, name))
			return true;
	return false;
}

/* Not within a character. */
static struct slice label_cut(struct slice text)
{
	size_t n = MIN(text.n, (size_t)ALERT_LABEL_BYTES);

	while (n < text.n && n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return slice_of(text.p, n);
}

/* Into x->labels.  The rule's own labels count for more than what the rows say. */
static int labels_make(struct running *x, const struct value *values)
{
	struct alert_label labels[1 + ALERT_LABELS_MOST + COLUMNS_MOST];
	struct json_writer w = json_write(&x->labels);
	size_t n = 0;

	labels[n++] = (struct alert_label){SLICE("alertname"), x->rule->name};
	for (size_t i = 0; i < x->rule->label_n; i++)
		if (!has(labels, n, x->rule->labels[i].name))
			labels[n++] = x->rule->labels[i];
	for (size_t i = 0; values && i < x->columns; i++)
		if (x->label[i] && values[i].type != V_NIL && !has(labels, n, x->names[i])) {
			struct slice text = value_format(&x->scratch, values[i]);

			if (!text.p)
				return -ENOMEM;
			labels[n++] = (struct alert_label){x->names[i], label_cut(text)};
		}
	qsort(labels, n, sizeof(*labels), by_name);
	buffer_clear(&x->labels);
	json_begin_object(&w);
	for (size_t i = 0; i < n; i++) {
		json_put_key(&w, labels[i].name);
		json_put_string(&w, labels[i].value);
	}
	json_end_object(&w);
	return x->labels.failed ? -ENOMEM : 0;
}

/* --- rows --- */

static int sample_add(struct running *x, const struct value *values, double number)
{
	struct alert_answer *a = x->answer;
	struct alert_sample sample = {.value = number};
	struct slice labels;
	int r;

	if (!alert_rule_holds(x->rule, number))
		return 0;
	r = labels_make(x, values);
	arena_clear(&x->scratch);
	if (r < 0)
		return r;
	labels = buffer_get(&x->labels);
	sample.hash = hash_bytes(labels.p, labels.n, 0);
	for (size_t i = 0; i < a->n; i++) /* rows that differ in nothing but their number */
		if (a->rows[i].hash == sample.hash && slice_eq(a->rows[i].labels, labels)) {
			a->rows[i].value = number;
			return 0;
		}
	if (a->n == ALERT_MOST) {
		a->overflow++;
		return 0;
	}
	sample.labels = arena_dup(&a->arena, labels);
	if (!sample.labels.p || !vec_reserve(&a->rows, &a->room, a->n + 1, sizeof(*a->rows)))
		return -ENOMEM;
	a->rows[a->n++] = sample;
	return 0;
}

static int on_row(void *context, const struct value *values, const double *plus_minus, size_t n)
{
	struct running *x = context;

	x->answer->rows_seen++;
	if (x->counts || n != x->columns)
		return 0;
	if (values[x->value].type == V_NIL)
		return 0; /* an aggregate of nothing */
	if (!value_is_number(values[x->value]))
		return error_set(x->error, -EINVAL, "column %.*s is not a number in every row",
				 SLICE_ARG(x->names[x->value]));
	return sample_add(x, values, value_number(values[x->value]) * x->scale);
}

static bool may_be_number(enum plan_type type)
{
	return type == PLAN_INT || type == PLAN_FLOAT || type == PLAN_DURATION;
}

/* "s.service" is a label s_service. */
static struct slice label_name(struct arena *arena, struct slice name)
{
	char *copy = (char *)(uintptr_t)arena_dup(arena, name).p;

	for (size_t i = 0; copy && i < name.n; i++)
		if (!isalnum((unsigned char)copy[i]) || (i == 0 && isdigit((unsigned char)*copy)))
			copy[i] = '_';
	return slice_of(copy, copy ? name.n : 0);
}

static int on_begin(void *context, size_t result, struct slice name,
		    const struct query_column *columns, size_t n)
{
	struct running *x = context;
	const struct plan_node *root;
	bool found = false;

	if (n > COLUMNS_MOST)
		return error_set(x->error, -E2BIG, "the query gives more than %d columns",
				 COLUMNS_MOST);
	x->columns = n;
	for (size_t i = 0; i < n; i++) {
		bool asked = slice_eq(x->rule->column, columns[i].name);

		x->names[i] = label_name(&x->answer->arena, columns[i].name);
		if (!x->names[i].p)
			return -ENOMEM;
		x->label[i] = !may_be_number(columns[i].type) && columns[i].type != PLAN_TIME &&
			      columns[i].type != PLAN_LIST;
		if (asked || (x->rule->column.n == 0 && may_be_number(columns[i].type))) {
			x->value = i;
			found = true;
		}
	}
	if (x->rule->column.n && !found)
		return error_set(x->error, -EINVAL, "the query gives no column %.*s",
				 SLICE_ARG(x->rule->column));
	/* Spans have durations, which nobody meant: what is not aggregated is counted. */
	root = query_plan(x->query, 0)->root;
	if (x->rule->column.n == 0 && !alert_plan_has(root, PLAN_GROUP) &&
	    !alert_plan_has(root, PLAN_SERIES) && !alert_plan_has(root, PLAN_PIPE))
		found = false;
	x->counts = !found;
	if (found)
		x->label[x->value] = false;
	return 0;
}

static int series_scale(struct running *x)
{
	const struct plan_node *root = query_plan(x->query, 0)->root;

	x->scale = 1;
	if (root->op != PLAN_SERIES)
		return 0;
	if (root->series.aggregate_n == 1 && root->series.aggregates[0].kind == AGG_RATE)
		x->scale = (double)WHOLE_NS / (double)x->rule->over_ns;
	return 0;
}

static int run(struct running *x)
{
	struct query_stats stats = {0};
	struct snapshot snapshot;
	struct query_run options = {
		.snapshot = &snapshot,
		.now_ns = x->asking->to_ns,
		.range = {x->asking->to_ns - x->rule->over_ns, x->asking->to_ns},
		.step_ns = WHOLE_NS,
		.time_ns = x->asking->time_ns,
		.memory_bytes = x->asking->memory_bytes,
		.cancel = x->asking->cancel,
		.begin = on_begin,
		.row = on_row,
		.context = x,
	};
	int r = series_scale(x);

	if (r == 0)
		r = store_snapshot(x->asking->store, &snapshot);
	if (r < 0)
		return r;
	r = query_run(x->query, &options, &stats, x->error);
	snapshot_done(&snapshot);
	if (r == 0 && x->counts)
		r = sample_add(x, NULL, (double)x->answer->rows_seen);
	return r;
}

static void *run_thread(void *context)
{
	struct running *x = context;
	struct leash leash;

	leash_begin(&leash, x->asking->share, x->asking->cancel, 0);
	x->result = run(x);
	leash_end(&leash);
	return NULL;
}

/* Its threads lose their priority for good: this one must not be the caller's. */
static int run_apart(struct running *x)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	r = -pthread_create(&thread, &attributes, run_thread, x);
	pthread_attr_destroy(&attributes);
	if (r < 0)
		return error_set(x->error, r, "no thread for the query: %s", strerror(-r));
	pthread_join(thread, NULL);
	return x->result;
}

int alert_query_run(const struct alert_rule *rule, const struct alert_asking *asking,
		    struct alert_answer *ret_answer, struct error *error)
{
	struct running x = {.rule = rule, .asking = asking, .answer = ret_answer, .error = error};
	struct arena arena = {0};
	struct buffer text = {0};
	struct diags diags;
	int r;

	*ret_answer = (struct alert_answer){0};
	diags_init(&diags, &arena);
	r = alert_rule_prepare(rule, asking->catalog, &diags, &x.query, error);
	if (r == -EINVAL && !error->text[0]) {
		diags_first_error(&diags, rule->query, &text);
		error_set(error, r, "%s", buffer_cstr(&text));
	}
	if (r == 0)
		r = run_apart(&x);
	if (r < 0 && !error->text[0])
		error_set(error, r, "%s", strerror(-r));
	query_free(x.query);
	arena_done(&x.scratch);
	buffer_done(&x.labels);
	buffer_done(&text);
	arena_done(&arena);
	if (r < 0)
		alert_answer_done(ret_answer);
	return r;
}
