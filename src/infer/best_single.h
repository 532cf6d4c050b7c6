/* infer/best_single.h - a node that makes each of its calls at most once for a parent: its model.
 *
 * A parent has *slots*, each of which a call may fill: a slot is an endpoint, or several of which
 * only one is called (a load balancer's targets).  Which slots a parent of type t fills has a
 * probability for each set of them.  The call in a slot is set off by a trigger, one for each type
 * and slot: the parent's start, the end of the call in another slot, or (a fan-out) its start; the
 * delay behind it has a density.  The parent ends some delay behind the last of its calls, or, with
 * none, behind its start.  The score of a parent is the log-likelihood of its calls under that
 * model; the best answer is the one with the highest sum. */
#ifndef CAUSET_INFER_BEST_SINGLE_H
#define CAUSET_INFER_BEST_SINGLE_H

#include "infer/best_density.h"
#include "infer/best_view.h"

#define SINGLE_ENDPOINTS_MAX 16    /* beyond them the node is taken for one with repeated calls */
#define SINGLE_DENSITIES_MAX 4096  /* of starts; types are told apart as long as they fit */
#define SINGLE_SETS_MAX      10    /* slots of which every set has a probability of its own */
#define SINGLE_FROM_START    (-1)  /* a trigger: the parent's start */
#define SINGLE_ORPHAN        200.0 /* what leaving a child without parent costs in the search */
#define SINGLE_ORPHAN_ODDS   15.0  /* and when answers are compared: some have none */
#define SINGLE_DISPLACED_MAX 4     /* places; beyond, further costs nothing */

struct single_model {
	uint16_t type_n, endpoint_n, slot_n;
	uint8_t slot[SINGLE_ENDPOINTS_MAX]; /* of each endpoint */
	/* start[(t * (2 S + 1) + 1 + trigger) * E + e]; trigger S + x is the start in slot x. */
	struct density *start;
	struct density *end;  /* [t * E + e]: parent's end behind e's, the last */
	struct density *idle; /* [t]: parent's duration without calls */
	double *parents;      /* [t]: counted */
	double *calls;        /* [t * E + e] */
	double *sets;         /* [t << S | set], for up to SINGLE_SETS_MAX slots */
	float *log_set;       /* the same, as log-probability */
	float *log_called;    /* [t * S + s]: used where sets are too many */
	float *log_skipped;   /* [t * S + s] */
	float *log_choice;    /* [t * E + e]: of e, given that its slot is filled */
	int16_t *trigger;     /* [t * S + s] */
	float order_price[SINGLE_ENDPOINTS_MAX]; /* [s]: nats a place out of order; 0 where none is
						  kept */
	bool fitted;                             /* by an answer, not by seeds alone */
};

/* The state of the search: which child each parent has in each slot. */
struct single {
	const struct view *view;
	struct single_model *model;
	uint32_t *child; /* [p * S + s] or VIEW_NONE */
	/* Children of slot s: member[member_first[s]] …, by start. */
	uint32_t member_first[SINGLE_ENDPOINTS_MAX + 1];
	uint32_t *member;
	/* Order: places of calls in their slots, and of parents; see best_fifo.h. */
	uint32_t *call_place;
	uint32_t *parent_place; /* [s * parents + p] */
};

/* slot[e] for each endpoint, numbered from 0 without holes; NULL: each its own. */
int single_model_new(uint16_t type_n, uint16_t endpoint_n, const uint8_t *slot,
		     struct single_model **ret_model);
struct single_model *single_model_free(struct single_model *m);

/* Memory for a search; the view and the model must outlive it.  -ENOMEM. */
int single_init(struct single *s, const struct view *v, struct single_model *m);
void single_done(struct single *s);

static inline struct density *single_start(const struct single_model *m, unsigned type, int trigger,
					   unsigned endpoint)
{
	return &m->start[(type * (2U * m->slot_n + 1) + (unsigned)(trigger + 1)) * m->endpoint_n +
			 endpoint];
}

/* The type of a parent as the model tells types apart. */
static inline unsigned single_type(const struct single *s, uint32_t parent)
{
	return s->model->type_n == 1 ? 0 : s->view->parent_type[parent];
}

static inline unsigned single_slot(const struct single *s, uint32_t child)
{
	return s->model->slot[s->view->child_endpoint[child]];
}

/* The score of `parent` with the given child (or VIEW_NONE) in each slot. */
double single_score(const struct single *s, uint32_t parent, const uint32_t *child);

/* How much of that score the parent's delays owe to having been counted themselves, when `child` is
 * what the model was fitted with. */
double single_owed(const struct single *s, uint32_t parent, const uint32_t *child);

/* Slot x and all it sets off, a bit each (by the triggers of the first type). */
uint32_t single_subtree(const struct single_model *m, unsigned x);

/* The sum over all parents, less SINGLE_ORPHAN_ODDS for each child without one. */
double single_total(const struct single *s);

/* No child has a parent. */
void single_clear(struct single *s);

/* Takes over an answer, one call a slot. */
void single_take(struct single *s, const uint32_t *owner);

/* Learns everything anew from the children the parents have; `keep` (0 … 1) of the weights learnt
 * before stay. */
void single_fit(struct single *s, float keep);

/* Learns from containment alone: each candidate counts as 1/n of a parent. */
void single_fit_candidates(struct single *s);

#endif
