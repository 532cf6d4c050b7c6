/* cli/infer_table.c - inferred patterns on a terminal: a table, and each as a tree beside its
 * timeline.
 *
 *   #1  C → WS1  1,204 paths, 160ms on average, 31% of all latency; AUTH costs most, 38ms each
 *   * WS1               160ms  ━━━━━━────────────────━━━━━━━━━━━─────────────━━
 *   *   AUTH     +30ms   46ms        ━━━━━━━━━──━━
 *   *     DB1    +30ms    8ms                 ━━
 *
 * A thick line is time of the node's own, a thin one is waiting for others; a star marks what the
 * path had to wait for. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/inferred.h"
#include "cli/table.h"
#include "cli/text.h"

#define TREE_PATTERNS  3 /* shown as trees behind the table */
#define OUTLIERS_MOST  10
#define TREE_NAME_MAX  40
#define TIMELINE_LEAST 20
#define TIMELINE_MOST  100

static const char *ns_text(double ns, char text[QUANTITY_TEXT_BYTES])
{
	return duration_format((int64_t)ns, text);
}

double inferred_offset(const struct pattern *p, uint32_t hop)
{
	double at = 0;

	for (; hop != PATTERN_NONE; hop = p->hops[hop].parent)
		at += spread_mean(&p->hops[hop].delay);
	return at;
}

static size_t name_width(const struct inferred *in, const struct pattern *p)
{
	size_t widest = 4;

	for (uint32_t i = 0; i < p->hop_n; i++)
		widest = MAX(widest, 2 * p->hops[i].depth +
					     text_width(names_get(&in->nodes, p->hops[i].node)));
	return MIN(widest, (size_t)TREE_NAME_MAX);
}

/* Is this column of the timeline covered by a call that the hop makes? */
static bool waits(const struct pattern *p, uint32_t hop, double from, double to)
{
	double middle = (from + to) / 2;

	for (uint32_t k = hop + 1; k < p->hop_n && p->hops[k].depth > p->hops[hop].depth; k++) {
		double start = inferred_offset(p, k);

		if (p->hops[k].parent == hop && middle >= start &&
		    middle < start + spread_mean(&p->hops[k].latency))
			return true;
	}
	return false;
}

static void timeline(const struct pattern *p, uint32_t hop, double scale, struct buffer *out)
{
	double start = inferred_offset(p, hop), end = start + spread_mean(&p->hops[hop].latency);
	size_t from = (size_t)MAX(start / scale, 0.0), to = (size_t)MAX(end / scale, 0.0);

	text_repeat(out, " ", from);
	for (size_t i = from; i <= to && i < TIMELINE_MOST; i++) {
		if (i == to && to > from)
			break;
		buffer_text(out,
			    waits(p, hop, (double)i * scale, (double)(i + 1) * scale) ? "─" : "━");
	}
}

static void hop_line(const struct inferred *in, const struct pattern *p, uint32_t hop, size_t width,
		     double scale, bool critical, struct buffer *out)
{
	const struct pattern_hop *h = &p->hops[hop];
	size_t indent = MIN(2 * (size_t)h->depth, (size_t)TREE_NAME_MAX / 2);
	char text[QUANTITY_TEXT_BYTES], plus[QUANTITY_TEXT_BYTES + 2] = "";

	buffer_text(out, critical ? "* " : "  ");
	text_repeat(out, " ", indent);
	text_pad(out, names_get(&in->nodes, h->node), width - indent);
	if (hop > 0)
		snprintf(plus, sizeof(plus), "+%s", ns_text(spread_mean(&h->gap), text));
	text_pad_left(out, slice_cstr(plus), 10);
	text_pad_left(out, slice_cstr(ns_text(spread_mean(&h->latency), text)), 10);
	buffer_text(out, "  ");
	timeline(p, hop, scale, out);
	buffer_byte(out, '\n');
}

double inferred_latency(const struct inferred *in)
{
	double sum = 0;

	for (size_t i = 0; i < in->patterns.n; i++)
		sum += pattern_total_ns(&in->patterns.at[i]);
	return sum;
}

/* The exception: rare, slow, and by whom. */
static void outlier_line(const struct inferred *in, const struct pattern *p, struct buffer *out)
{
	char slow[QUANTITY_TEXT_BYTES], more[QUANTITY_TEXT_BYTES], when[QUANTITY_TEXT_BYTES];
	char id[MESSAGE_ID_BYTES];
	double excess;
	uint32_t hop = pattern_outlier(p, &excess);

	if (hop == PATTERN_NONE)
		return;
	buffer_printf(out, "  the slowest took %s, %s of it more than usual at ",
		      ns_text((double)p->slowest_ns, slow), ns_text(excess, more));
	text_put(out, names_get(&in->nodes, p->hops[hop].node), TREE_NAME_MAX);
	buffer_printf(out, ": %s, id %s\n", moment_format(p->slowest_start_ns, when),
		      message_id_format(p->slowest_id, id));
}

/* Patterns with such an exception, the slowest first; those shown as trees say it there. */
static void outliers(const struct inferred *in, size_t shown, struct buffer *out)
{
	size_t said = 0;

	for (size_t i = 0; i < in->patterns.n && said < OUTLIERS_MOST; i++) {
		const struct pattern *p = &in->patterns.at[in->rank[i]];
		double excess;

		if (i < MIN(shown, (size_t)TREE_PATTERNS) ||
		    pattern_outlier(p, &excess) == PATTERN_NONE)
			continue;
		if (said++ == 0)
			buffer_text(out, "\nrare and slow:\n");
		buffer_printf(out, "#%zu", i + 1);
		outlier_line(in, p, out);
	}
}

void inferred_tree(const struct inferred *in, const struct pattern *p, size_t number,
		   struct buffer *out)
{
	size_t width = name_width(in, p), room = in->cli->terminal ? in->cli->columns : 100;
	char mean[QUANTITY_TEXT_BYTES], own[QUANTITY_TEXT_BYTES];
	double own_ns, total = inferred_latency(in), length = spread_mean(&p->hops[0].latency),
		       scale;
	uint32_t costs = pattern_costliest(p, &own_ns);
	_cleanup_(freep)
	double *critical = malloc(p->hop_n * sizeof(*critical));

	buffer_printf(out, "\n#%zu  ", number);
	text_put(out, names_get(&in->nodes, p->client), TREE_NAME_MAX);
	buffer_text(out, " → ");
	text_put(out, names_get(&in->nodes, p->hops[0].node), TREE_NAME_MAX);
	buffer_printf(out, "  %llu paths, %s on average, %.1f%% of all latency; ",
		      (unsigned long long)p->count, ns_text(length, mean),
		      total > 0 ? 100 * pattern_total_ns(p) / total : 0);
	text_put(out, names_get(&in->nodes, p->hops[costs].node), TREE_NAME_MAX);
	buffer_printf(out, " costs most, %s each\n", ns_text(own_ns, own));
	room = room > width + 24 + TIMELINE_LEAST ? room - width - 24 : TIMELINE_LEAST;
	room = MIN(room, (size_t)TIMELINE_MOST);
	for (uint32_t i = 0; i < p->hop_n; i++)
		length = MAX(length, inferred_offset(p, i) + spread_mean(&p->hops[i].latency));
	scale = length > 0 ? length / (double)room : 1;
	if (critical)
		pattern_critical(p, critical);
	for (uint32_t i = 0; i < p->hop_n; i++)
		hop_line(in, p, i, width, scale, critical && critical[i] > 0, out);
	outlier_line(in, p, out);
	if (p->cut_hops)
		buffer_printf(out, "  and %llu calls more that are not shown\n",
			      (unsigned long long)p->cut_hops);
}

static void pattern_row(const struct inferred *in, const struct pattern *p, size_t number,
			double total, struct table *t)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	char cell[QUANTITY_TEXT_BYTES], share[16];
	double own_ns;
	uint32_t costs = pattern_costliest(p, &own_ns);

	table_cell_u64(t, number);
	table_cell_u64(t, p->count);
	snprintf(share, sizeof(share), "%.1f%%", total > 0 ? 100 * pattern_total_ns(p) / total : 0);
	table_cell_text(t, share);
	table_cell_text(t, ns_text(spread_mean(&p->hops[0].latency), cell));
	table_cell_text(t, ns_text(spread_quantile(&p->hops[0].latency, 0.99), cell));
	snprintf(share, sizeof(share), "%.0f%%", p->count ? 100 * p->sure / (double)p->count : 0);
	table_cell_text(t, share);
	buffer_slice(&text, names_get(&in->nodes, p->hops[costs].node));
	buffer_printf(&text, " %s", ns_text(own_ns, cell));
	table_cell(t, buffer_get(&text));
	buffer_clear(&text);
	pattern_format(p, &in->nodes, &text);
	table_cell(t, buffer_get(&text));
}

/* Who waits without a message to show for it. */
static void pools(const struct inferred *in, struct buffer *out)
{
	for (int i = 0; i < in->pool_n; i++) {
		const struct pool_found *f = &in->pools[i];
		char waited[QUANTITY_TEXT_BYTES];

		if (i == 0)
			buffer_text(out, "\nlocks and pools:\n");
		buffer_text(out, "  ");
		text_put(out, names_get(&in->nodes, f->caller), TREE_NAME_MAX);
		buffer_printf(out, " has at most %u call%s to ", f->size, f->size == 1 ? "" : "s");
		text_put(out, names_get(&in->nodes, f->callee), TREE_NAME_MAX);
		buffer_printf(out,
			      " open: %llu of %llu started when another returned (%.0f by chance), "
			      "after %s of waiting in all",
			      (unsigned long long)f->handed, (unsigned long long)f->calls,
			      f->expected, ns_text(f->waited_ns, waited));
		if (f->holder != NAMES_NONE) {
			buffer_text(out, "; held most by calls for ");
			text_put(out, names_get(&in->nodes, f->holder), TREE_NAME_MAX);
			if (f->holder_name != NAMES_NONE) {
				buffer_byte(out, ' ');
				text_put(out, names_get(&in->operations, f->holder_name),
					 TREE_NAME_MAX);
			}
		}
		buffer_byte(out, '\n');
	}
}

void inferred_table(const struct inferred *in, struct buffer *out)
{
	static const struct table_column columns[] = {
		{"#", true, false},           {"PATHS", true, false},  {"LATENCY", true, false},
		{"MEAN", true, false},        {"P99", true, false},    {"SURE", true, false},
		{"COSTS MOST", false, false}, {"PATTERN", false, true}};
	struct table t = table_of(columns, ARRAY_SIZE(columns), &in->cli->arena);
	double total = inferred_latency(in);
	size_t shown = inferred_shown(in);

	for (size_t i = 0; i < shown; i++)
		pattern_row(in, &in->patterns.at[in->rank[i]], i + 1, total, &t);
	table_write(&t, in->cli->terminal ? in->cli->columns : 0, out);
	table_done(&t);
	if (shown < in->patterns.n)
		buffer_printf(out, "and %zu patterns more; --top 0 shows all\n",
			      in->patterns.n - shown);
	for (size_t i = 0; i < MIN(shown, (size_t)TREE_PATTERNS); i++)
		inferred_tree(in, &in->patterns.at[in->rank[i]], i + 1, out);
	outliers(in, shown, out);
	pools(in, out);
}
