/* exec/trace_prune.c - which traces of a segment cannot answer, without reading them. */
#include "exec/trace_prune.h"

#include <errno.h>
#include <stdlib.h>

/* --- what a plan begins with --- */

/* 1: something but the name of the row itself is asked for. */
static int beyond_name(void *context, const struct plan_expr *e)
{
	(void)context;
	switch (e->kind) {
	case X_FIELD:
		return e->field.field != F_NAME || e->field.of != OF_SELF;
	case X_CONST:
	case X_OP:
	case X_LIST:
		return 0;
	default:
		return 1;
	}
}

static bool list_parts(struct prune_set *set, const struct plan_expr *e, bool named)
{
	bool by_name;

	if (e->kind == X_OP && e->op == XO_AND) {
		for (uint32_t i = 0; i < e->n; i++)
			if (!list_parts(set, e->args[i], named))
				return false;
		return true;
	}
	by_name = expr_walk(e, beyond_name, NULL) == 0;
	if (by_name != named)
		return true;
	if (set->part_n == PRUNE_PARTS)
		return false;
	set->parts[set->part_n++] = e;
	set->name_n += named;
	return true;
}

static void add_set(struct trace_prune *p, struct prune_set set)
{
	if (p->n == PRUNE_SETS)
		return;
	if (set.predicate &&
	    (!list_parts(&set, set.predicate, true) || !list_parts(&set, set.predicate, false)))
		set.name_n = 0;
	p->sets[p->n++] = set;
}

static void collect_sets(struct trace_prune *p, const struct plan_set *s)
{
	if (s->op == SET_FILTER)
		add_set(p, (struct prune_set){.key = s,
					      .predicate = s->predicate,
					      .kind = FROM_BLOCKS,
					      .name = SLICE("spans")});
	if (s->left)
		collect_sets(p, s->left);
	if (s->right)
		collect_sets(p, s->right);
}

static void collect(struct trace_prune *p, const struct plan_node *node)
{
	if (node->op == PLAN_SOURCE)
		add_set(p, (struct prune_set){.key = node,
					      .predicate = node->source.predicate,
					      .kind = node->source.kind,
					      .name = node->source.name});
	if (node->op == PLAN_SPANSET)
		collect_sets(p, node->spanset.set);
	for (uint32_t i = 0; i < node->input_n; i++)
		collect(p, node->inputs[i]);
}

static int about_spans(const struct trace_prune *p, const struct plan_node *node);

int trace_prune_init(struct trace_prune *p, struct query_at *run, const struct plan_node *node)
{
	int about;

	*p = (struct trace_prune){.run = run, .node = node};
	p->off = run->rules_off & RULE_PRUNE;
	about = about_spans(p, node);
	if (about < 0)
		return about;
	p->about_spans = about;
	collect(p, node);
	p->may = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->may));
	p->is = malloc(SEGMENT_GROUP_ROWS * sizeof(*p->is));
	return p->may && p->is ? expr_memo_new(&p->memo) : -ENOMEM;
}

void trace_prune_done(struct trace_prune *p)
{
	free(p->shapes);
	free(p->may);
	free(p->is);
	arena_done(&p->arena);
	p->memo = expr_memo_free(p->memo);
	if (p->segment)
		segment_unpin(p->segment);
	p->segment = NULL;
}

/* --- traces --- */

static bool has(const struct trace_prune *p, prune_mask mask, const void *key)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->sets[i].key == key)
			return mask >> i & 1;
	return true;
}

static bool set_may(const struct trace_prune *p, prune_mask mask, const struct plan_set *s)
{
	switch (s->op) {
	case SET_FILTER:
		return has(p, mask, s) && (!s->left || set_may(p, mask, s->left));
	case SET_HAVING:
		return set_may(p, mask, s->left);
	case SET_OR:
		return set_may(p, mask, s->left) || set_may(p, mask, s->right);
	case SET_AND:
		return set_may(p, mask, s->left) && set_may(p, mask, s->right);
	case SET_RELATION:
		return (s->form == REL_NOT || set_may(p, mask, s->left)) &&
		       set_may(p, mask, s->right);
	}
	return true;
}

static bool node_may(const struct trace_prune *p, prune_mask mask, const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SOURCE:
		return has(p, mask, node);
	case PLAN_SPANSET:
		return set_may(p, mask, node->spanset.set);
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
		return node_may(p, mask, node->inputs[0]);
	case PLAN_HBJOIN:
		return node_may(p, mask, node->inputs[0]) &&
		       ((node->hbjoin.join != PLAN_JOIN_INNER &&
			 node->hbjoin.join != PLAN_JOIN_SEMI) ||
			node_may(p, mask, node->inputs[1]));
	case PLAN_SEQUENCE:
		for (uint32_t i = 0; i < node->sequence.step_n; i++)
			if (!node->sequence.steps[i].absent &&
			    !node_may(p, mask, node->sequence.steps[i].input))
				return false;
		return true;
	case PLAN_UNION:
		for (uint32_t i = 0; i < node->input_n; i++)
			if (node_may(p, mask, node->inputs[i]))
				return true;
		return false;
	default:
		return true;
	}
}

/* Are the elements that the range is about spans?  They begin when their trace does or later, and
 * not after its end; points may lie anywhere.  So does a trace, unless its blocks came as events of
 * their own.  1, 0, or a negative errno. */
static int about_spans(const struct trace_prune *p, const struct plan_node *node)
{
	switch (node->op) {
	case PLAN_SPANSET:
		return 1;
	case PLAN_SOURCE:
		if (node->source.instant != INSTANT_BEGIN)
			return 0;
		if (node->source.kind == FROM_TRACES)
			return snapshot_is_plain(p->run->options->snapshot);
		return node->source.kind == FROM_SPANS || node->source.kind == FROM_BLOCKS;
	case PLAN_FILTER:
	case PLAN_PROJECT:
	case PLAN_UNNEST:
	case PLAN_PICK:
	case PLAN_HBJOIN: /* its partners may lie outside */
		return about_spans(p, node->inputs[0]);
	default:
		return 0;
	}
}

/* No span of it begins in the range. */
static bool outside(const struct trace_prune *p, const struct group_piece *piece)
{
	const struct plan_range *r = &p->run->range;

	if (!p->about_spans || piece->start_ns <= 0 || piece->duration_ns < 0)
		return false;
	return (r->to_ns && piece->start_ns >= r->to_ns) ||
	       (r->from_ns && piece->duration_ns < r->from_ns - piece->start_ns);
}

bool trace_prune_segment(const struct trace_prune *p, const struct segment *segment)
{
	return p->off || !p->about_spans || query_meets(p->run, segment);
}

bool trace_prune_zone(const struct trace_prune *p, const struct group_zone *zone)
{
	const struct plan_range *r = &p->run->range;

	/* A trace without a time counts as 0, and one that goes on has its times elsewhere. */
	if (p->off || !p->about_spans || zone->start_min_ns <= 0 || zone->continues ||
	    zone->continued || zone->duration_max_ns < 0)
		return true;
	return !((r->to_ns && zone->start_min_ns >= r->to_ns) ||
		 (r->from_ns && zone->start_max_ns < r->from_ns &&
		  zone->duration_max_ns < r->from_ns - zone->start_max_ns));
}

/* There are few masks and many traces. */
static bool mask_may(struct trace_prune *p, prune_mask mask)
{
	struct prune_verdict *v = &p->verdicts[mask % PRUNE_VERDICTS];

	if (!v->known || v->mask != mask)
		*v = (struct prune_verdict){mask, true, node_may(p, mask, p->node)};
	return v->may;
}

bool trace_prune_possible(struct trace_prune *p, const struct group_piece *piece)
{
	prune_mask mask = 0;

	if (p->off)
		return true;
	if (outside(p, piece))
		return false;
	for (uint32_t i = piece->first; i < piece->first + piece->rows; i++)
		mask |= p->may[i];
	return mask_may(p, mask);
}
