/* infer/best_fifo.c - whether a node keeps the order of its parents.
 *
 * Order enters the score as a price on displacement: the difference between a call's place among
 * the calls of its slot and its parent's among the parents that have one.
 *
 * The test for strict order puts the calls of the present answer in order, the k-th call to the
 * k-th parent that has one.  If that breaks containment for next to no call in any slot, and delays
 * hardly object where it changes the answer, the node keeps order and the price is high.
 *
 * Everywhere else calls set off by the parent's start have a small price: what delays one request
 * usually delays the next, so between equals the order of arrival is the better guess.  To learn
 * that price from the answer was tried (as the rate of exchanges that makes the positions of
 * neighbours likeliest); answers found without it fit their own delays too well for that. */
#include "infer/best_fifo.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BROKEN_MAX    0.003 /* of the calls of a queue */
#define OBJECTION_MAX 4.0   /* nats, on average, a parent whose call changes */
#define PRICE_STRICT  2.0F  /* nats a place: an exchange displaces two calls by one */
#define PRICE_USUAL   0.2F

/* Places: of a call among the calls, of a parent among the parents that have a call.  A parent that
 * has none stands where it would if it had. */
static uint32_t place(struct single *s, unsigned slot, uint32_t *calls)
{
	const struct view *v = s->view;
	uint32_t n = 0, at = 0;

	for (uint32_t i = s->member_first[slot]; i < s->member_first[slot + 1]; i++) {
		uint32_t c = s->member[i];

		s->call_place[c] = n;
		if (v->owner[c] != VIEW_NONE)
			calls[n++] = c;
	}
	for (uint32_t p = 0; p < v->parent_n; p++) {
		s->parent_place[(size_t)slot * v->parent_n + p] = at;
		at += s->child[(size_t)p * s->model->slot_n + slot] != VIEW_NONE;
	}
	return n;
}

static bool contains(const struct view *v, uint32_t parent, uint32_t child)
{
	return v->parent_start[parent] <= v->child_start[child] &&
	       v->parent_end[parent] >= v->child_end[child];
}

/* What delays lose when `parent` has `call` instead of its own in the slot. */
static double objection(const struct single *s, uint32_t parent, unsigned slot, uint32_t call)
{
	unsigned n = s->model->slot_n;
	const uint32_t *child = s->child + (size_t)parent * n;
	uint32_t with[SINGLE_ENDPOINTS_MAX];

	for (unsigned x = 0; x < n; x++)
		with[x] = x == slot ? call : child[x];
	return single_score(s, parent, child) - single_score(s, parent, with);
}

static bool keeps_order(const struct single *s, unsigned slot, const uint32_t *calls, uint32_t n)
{
	const struct view *v = s->view;
	uint32_t at = 0, changed = 0, broken = 0;
	double objections = 0;

	for (uint32_t p = 0; p < v->parent_n && at < n; p++) {
		uint32_t call = calls[at];

		if (s->child[(size_t)p * s->model->slot_n + slot] == VIEW_NONE)
			continue;
		at++;
		if (v->owner[call] == p)
			continue;
		changed++;
		if (contains(v, p, call))
			objections += objection(s, p, slot, call);
		else
			broken++;
	}
	return broken <= BROKEN_MAX * n && objections <= OBJECTION_MAX * changed;
}

int fifo_fit(struct single *s)
{
	struct single_model *m = s->model;
	_cleanup_(freep)
	uint32_t *calls = malloc(((size_t)s->view->child_n + 1) * sizeof(*calls));
	bool strict = true;

	if (!calls)
		return -ENOMEM;
	for (unsigned x = 0; x < m->slot_n; x++)
		m->order_price[x] = 0; /* delays alone are asked */
	for (unsigned x = 0; x < m->slot_n; x++) {
		uint32_t n = place(s, x, calls);

		strict = strict && keeps_order(s, x, calls, n);
	}
	for (unsigned x = 0; x < m->slot_n; x++)
		m->order_price[x] = strict                               ? PRICE_STRICT
				    : m->trigger[x] == SINGLE_FROM_START ? PRICE_USUAL
									 : 0;
	return 0;
}
