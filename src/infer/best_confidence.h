/* infer/best_confidence.h - how sure a link is.
 *
 * The answer is the likeliest one; a link is as sure as the answers without it are unlikely.  The
 * ones that matter differ in an exchange between two parents, so the sum over those stands for all
 * others: confidence = 1 / (1 + sum of likelihood ratios), tempered because delays were learnt from
 * the very answer they judge. */
#ifndef CAUSET_INFER_BEST_CONFIDENCE_H
#define CAUSET_INFER_BEST_CONFIDENCE_H

#include "infer/best_repeat.h"
#include "infer/best_single.h"

/* Fills view->confidence for the answer that s holds.  -ENOMEM. */
int confidence_single(const struct single *s);

/* The same for chains.  -ENOMEM. */
int confidence_chains(const struct repeat_model *m, const struct chains *c);

/* From the sum of likelihood ratios of exchanges to a probability, for a call with so many
 * candidates: where they are many, exchanges of three and more count, too. */
float confidence_of(double others, uint32_t candidates);

/* Puts the confidences of a node's links in relation to each other.  Where hardly any is in doubt,
 * the few that are are those that the delays fit badly: their ratios mean less.  Where many are, no
 * margin makes one sure: it may be wrong together with its neighbours. */
void confidence_settle(const struct view *v);

#endif
