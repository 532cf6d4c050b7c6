/* segment/segment_dictionary.h - what a segment knows by number: strings, sources, resources,
 * scopes.
 *
 * Rows come in batches that each have their own numbers.  For each batch there are arrays from its
 * numbers to the segment's, filled when first asked, so that what repeats costs one load.  One
 * thread.  Errors are sticky: dictionary_failed(). */
#ifndef CAUSET_SEGMENT_SEGMENT_DICTIONARY_H
#define CAUSET_SEGMENT_SEGMENT_DICTIONARY_H

#include "base/buffer.h"
#include "base/map.h"
#include "model/batch.h"

/* Where rows came from; part of what makes a resource. */
struct source {
	uint32_t owner, sender; /* string codes */
	uint64_t kept_threshold;
};

/* A batch's numbers → the segment's. */
struct remap {
	struct batch *batch;          /* one reference */
	uint32_t *strings;            /* 0: not asked yet (code 0 is 0 in both) */
	uint32_t *resources, *scopes; /* number + 1; 0: not asked yet */
	uint32_t source;
	uint32_t longest; /* text, in bytes */
	uint32_t average; /* bytes of text a row */
	uint32_t used;    /* last group that used it */
};

#define DICTIONARY_RECENT 64 /* a power of two */

struct dictionary {
	struct batch *tables; /* strings, resources, scopes; no events */
	struct source *sources;
	size_t source_n, source_capacity;
	uint32_t *resource_source; /* of each resource */
	size_t resource_source_capacity;

	/* Resources and scopes as words, to know them again. */
	uint64_t *words;
	size_t word_n, word_capacity;
	struct known {
		uint64_t first;
		uint32_t n, number;
	} * known;
	size_t known_n, known_capacity;
	struct map by_words;
	uint64_t *key; /* of the one looked up */
	size_t key_n, key_capacity;
	struct buffer packed;

	struct remap *remaps;
	size_t remap_n, remap_capacity;
	struct map by_batch;
	/* Rows go back and forth between few batches. */
	struct {
		const struct batch *batch;
		uint32_t remap;
	} recent[DICTIONARY_RECENT];
	int failed;
};

int dictionary_init(struct dictionary *d);
void dictionary_done(struct dictionary *d);
int dictionary_failed(const struct dictionary *d);

/* The number of the batch's remap, made if new: good until dictionary_forget().  MAP_NONE when out
 * of memory. */
uint32_t dictionary_remap_slow(struct dictionary *d, const struct batch *b);

static inline uint32_t dictionary_remap(struct dictionary *d, const struct batch *b)
{
	size_t at = (uintptr_t)b * 0x9e3779b97f4a7c15ULL >> 58;

	if (d->recent[at].batch != b) {
		uint32_t remap = dictionary_remap_slow(d, b);

		if (remap == MAP_NONE)
			return remap;
		d->recent[at].batch = b;
		d->recent[at].remap = remap;
	}
	return d->recent[at].remap;
}

/* Drops remaps, and their references to batches, that were not used since group `since`.  Numbers
 * of remaps change. */
void dictionary_forget(struct dictionary *d, uint32_t since);

uint32_t dictionary_string_slow(struct dictionary *d, struct remap *r, uint32_t code);
uint32_t dictionary_known_slow(const struct dictionary *d, struct remap *r, uint32_t code);
uint32_t dictionary_resource_slow(struct dictionary *d, struct remap *r, uint32_t resource);
uint32_t dictionary_scope_slow(struct dictionary *d, struct remap *r, uint32_t scope);

static inline uint32_t dictionary_string(struct dictionary *d, struct remap *r, uint32_t code)
{
	uint32_t known = r->strings[code];

	return known || code == 0 ? known : dictionary_string_slow(d, r, code);
}

/* The same for a string that may be none of the segment's, and does not become one: 0 if it is not,
 * or is empty. */
static inline uint32_t dictionary_known(const struct dictionary *d, struct remap *r, uint32_t code)
{
	uint32_t known = r->strings[code];

	return known || code == 0 ? known : dictionary_known_slow(d, r, code);
}

static inline uint32_t dictionary_resource(struct dictionary *d, struct remap *r, uint32_t resource)
{
	uint32_t known = r->resources[resource];

	return known ? known - 1 : dictionary_resource_slow(d, r, resource);
}

static inline uint32_t dictionary_scope(struct dictionary *d, struct remap *r, uint32_t scope)
{
	uint32_t known = r->scopes[scope];

	return known ? known - 1 : dictionary_scope_slow(d, r, scope);
}

#endif
