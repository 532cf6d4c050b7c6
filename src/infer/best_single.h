/* infer/best_single.h - a node that calls each endpoint at most once for a parent: its model.
 *
 * A parent of type t calls endpoint e with probability pi(t, e).  The call is set off by a trigger,
 * one for each (t, e): the parent's start, the end of another endpoint's call, or (a fan-out) its
 * start; the delay behind it has a density.  The parent ends some delay behind the last of its
 * calls, or, with none, behind its start.  The score of a parent is the log-likelihood of its
 * children under that model; the best answer is the one with the highest sum. */
#ifndef CAUSET_INFER_BEST_SINGLE_H
#define CAUSET_INFER_BEST_SINGLE_H

#include "infer/best_density.h"
#include "infer/best_view.h"

#define SINGLE_ENDPOINTS_MAX 16    /* beyond them the node is taken for one with repeated calls */
#define SINGLE_DENSITIES_MAX 4096  /* of starts; types are told apart as long as they fit */
#define SINGLE_FROM_START    (-1)  /* a trigger: the parent's start */
#define SINGLE_ORPHAN        200.0 /* what leaving a child without parent costs */
#define SINGLE_DISPLACED_MAX 20    /* places; beyond, further costs nothing */

struct single_model {
	uint16_t type_n, endpoint_n;
	/* start[(t * (2 E + 1) + 1 + trigger) * E + e]; trigger E + x is the start of x. */
	struct density *start;
	struct density *end;             /* [t * E + e]: parent's end behind e's, the last */
	struct density *idle;            /* [t]: parent's duration without calls */
	float *log_called, *log_skipped; /* [t * E + e] */
	int16_t *trigger;                /* [t * E + e] */
	float *order_price;              /* [e]: nats a place out of order */
	bool fitted;                     /* by an answer, not by seeds alone */
};

/* The state of the search: which child of each endpoint each parent has. */
struct single {
	const struct view *view;
	struct single_model *model;
	uint32_t *child; /* [p * E + e] or VIEW_NONE */
	/* Queues, of endpoints that keep an order together; see best_fifo.h. */
	uint8_t queue[SINGLE_ENDPOINTS_MAX]; /* per endpoint: the first endpoint of its queue */
	uint32_t *call_place;                /* per child: its place in its queue */
	uint32_t *parent_place;              /* [queue * parents + p] */
};

int single_model_new(uint16_t type_n, uint16_t endpoint_n, struct single_model **ret_model);
struct single_model *single_model_free(struct single_model *m);

static inline struct density *single_start(const struct single_model *m, unsigned type, int trigger,
					   unsigned endpoint)
{
	unsigned e = m->endpoint_n;

	return &m->start[(type * (2 * e + 1) + (unsigned)(trigger + 1)) * e + endpoint];
}

/* The type of a parent as the model tells types apart. */
static inline unsigned single_type(const struct single *s, uint32_t parent)
{
	return s->model->type_n == 1 ? 0 : s->view->parent_type[parent];
}

/* The score of `parent` with the given child (or VIEW_NONE) of each endpoint. */
double single_score(const struct single *s, uint32_t parent, const uint32_t *child);

/* Endpoint e and all it sets off, a bit each (by the triggers of the first type). */
uint32_t single_subtree(const struct single_model *m, unsigned e);

/* The sum over all parents, less SINGLE_ORPHAN for each child without one. */
double single_total(const struct single *s);

/* Learns everything anew from the children the parents have; `keep` (0 … 1) of the weights learnt
 * before stay. */
void single_fit(struct single *s, float keep);

/* Learns from containment alone: each candidate counts as 1/n of a parent. */
void single_fit_candidates(struct single *s);

#endif
