/* ingest/redact.c - the compiled redaction rules of a catalogue, kept up to date. */
#include "ingest/redact.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "ingest/redact_int.h"

struct redact {
	struct catalog *cat;
	pthread_mutex_t reload_lock; /* one thread compiles, the others go on */
	pthread_mutex_t lock;        /* held to take a reference or to swap */
	struct redact_rules *rules;
	_Atomic uint64_t generation; /* of the catalogue when `rules` were read */
	_Atomic bool any;            /* rules->n > 0 */
};

static void rules_unref(struct redact_rules *rules)
{
	if (!rules || atomic_fetch_sub(&rules->refs, 1) > 1)
		return;
	for (size_t i = 0; i < rules->n; i++) {
		free(rules->rules[i].owner);
		free(rules->rules[i].key);
		if (rules->rules[i].has_value)
			regfree(&rules->rules[i].value);
	}
	free(rules->rules);
	explicit_bzero(rules->secret, sizeof(rules->secret));
	free(rules);
}

static void rules_unrefp(struct redact_rules **rules)
{
	rules_unref(*rules);
}

static int compile(void *context, const struct redact_rule *rule)
{
	struct redact_rules *rules = context;
	struct redact_compiled *c;

	if (!vec_reserve(&rules->rules, &rules->capacity, rules->n + 1, sizeof(*rules->rules)))
		return -ENOMEM;
	c = &rules->rules[rules->n++];
	*c = (struct redact_compiled){.action = rule->action, .level = rule->level};
	c->owner = strdup(rule->owner);
	c->key = strdup(rule->key);
	if (!c->owner || !c->key)
		return -ENOMEM;
	if (rule->value) {
		/* It compiled when it was defined: what can fail now is memory. */
		if (redact_pattern_compile(rule->value, &c->value, NULL) < 0)
			return -ENOMEM;
		c->has_value = true;
	}
	return 0;
}

static int reload(struct redact *r, struct error *e)
{
	_cleanup_(rules_unrefp)
	struct redact_rules *fresh = calloc(1, sizeof(*fresh));
	uint64_t generation = catalog_generation(r->cat);
	struct redact_rules *old;
	int error;

	if (!fresh)
		return error_set(e, -ENOMEM, "out of memory");
	fresh->refs = 1;
	catalog_secret(r->cat, fresh->secret);
	error = redact_rule_list(r->cat, compile, fresh, e);
	if (error == -ENOMEM)
		return error_set(e, error, "out of memory for the redaction rules");
	if (error < 0)
		return error;

	pthread_mutex_lock(&r->lock);
	old = r->rules;
	atomic_store(&r->any, fresh->n > 0);
	r->rules = TAKE_PTR(fresh);
	pthread_mutex_unlock(&r->lock);
	rules_unref(old);
	/* Read before the rules: a change in between is seen again next time. */
	atomic_store(&r->generation, generation);
	return 0;
}

int redact_new(struct catalog *cat, struct redact **ret_redact, struct error *e)
{
	_cleanup_(redact_freep)
	struct redact *r = calloc(1, sizeof(*r));
	int error;

	if (!r)
		return error_set(e, -ENOMEM, "out of memory");
	r->cat = cat;
	pthread_mutex_init(&r->lock, NULL);
	pthread_mutex_init(&r->reload_lock, NULL);
	error = reload(r, e);
	if (error < 0)
		return error;
	*ret_redact = TAKE_PTR(r);
	return 0;
}

struct redact *redact_free(struct redact *r)
{
	if (!r)
		return NULL;
	rules_unref(r->rules);
	pthread_mutex_destroy(&r->reload_lock);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

/* When the catalogue cannot be read the rules known so far stay in force, and the next batch tries
 * again: the generation is not taken over. */
static void follow_catalogue(struct redact *r)
{
	if (catalog_generation(r->cat) == atomic_load(&r->generation) ||
	    pthread_mutex_trylock(&r->reload_lock) != 0)
		return;
	reload(r, NULL);
	pthread_mutex_unlock(&r->reload_lock);
}

int redact_batch(struct redact *r, struct batch **batch, struct redact_count *count)
{
	_cleanup_(rules_unrefp)
	struct redact_rules *rules = NULL;
	struct redact_count sum = {0};
	struct batch *redacted = NULL;
	int error;

	follow_catalogue(r);
	if (!atomic_load_explicit(&r->any, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&r->lock);
	rules = r->rules;
	atomic_fetch_add(&rules->refs, 1);
	pthread_mutex_unlock(&r->lock);

	error = redact_rules_apply(rules, *batch, &redacted, &sum);
	if (error < 0)
		return error;
	if (redacted) {
		batch_unref(*batch);
		*batch = redacted;
	}
	if (count) {
		count->dropped += sum.dropped;
		count->hashed += sum.hashed;
	}
	return 0;
}
