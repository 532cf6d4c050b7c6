/* store/batch_match.c - what a search asks of spans, put to one batch in memory. */
#include "store/batch_match.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "store/attr_text.h"
#include "store/summary.h"

#define WORD_BITS 64

/* The code of a text; false where the batch does not have it. */
static bool code_of(const struct batch *b, struct slice text, uint32_t *ret_code)
{
	for (uint32_t i = 0; i < b->strings; i++) {
		uint32_t from = b->offset[i];

		if (b->offset[i + 1] - from == text.n &&
		    bytes_equal(b->text + from, text.p, text.n)) {
			*ret_code = i;
			return true;
		}
	}
	return false;
}

static bool resource_has(const struct batch *b, const struct resource *r,
			 const struct store_tag *tag)
{
	const struct attr *a = batch_attr_find(b, r->attrs, tag->key);

	return a && attr_has(b, a, tag->value);
}

static void bit_set(uint64_t *words, size_t bit)
{
	words[bit / WORD_BITS] |= 1ULL << bit % WORD_BITS;
}

static bool bit_get(const uint64_t *words, size_t bit)
{
	return words[bit / WORD_BITS] >> bit % WORD_BITS & 1;
}

/* 1: spans of some resource may answer. */
static int resources_ask(struct batch_match *m)
{
	const struct store_query *q = m->query;
	const struct batch *b = m->batch;
	bool any = false;

	m->words = q->tag_n / WORD_BITS + 1;
	if (!vec_reserve(&m->resources, &m->resource_capacity, b->resource_n * m->words + 1,
			 sizeof(*m->resources)))
		return -ENOMEM;
	memset(m->resources, 0, b->resource_n * m->words * sizeof(*m->resources));
	for (size_t i = 0; i < b->resource_n; i++) {
		uint64_t *words = m->resources + i * m->words;

		if (query_asks_service(q) &&
		    !query_takes_service(
			    q, batch_attr_text(b, b->resources[i].attrs, SLICE("service.name"))))
			continue;
		bit_set(words, 0);
		any = true;
		for (size_t t = 0; t < q->tag_n; t++)
			if (resource_has(b, &b->resources[i], &q->tags[t]))
				bit_set(words, 1 + t);
	}
	return any;
}

int batch_match_ask(struct batch_match *m, const struct store_query *query, const struct batch *b)
{
	m->query = query;
	m->batch = b;
	if (query->owner.n && !slice_eq(batch_text(b, b->owner), query->owner))
		return 0;
	if (query->operation.n && !code_of(b, query->operation, &m->operation))
		return 0;
	if (!vec_reserve(&m->keys, &m->key_capacity, query->tag_n + 1, sizeof(*m->keys)))
		return -ENOMEM;
	for (size_t i = 0; i < query->tag_n; i++)
		if (!code_of(b, query->tags[i].key, &m->keys[i]))
			return 0;
	return resources_ask(m);
}

void batch_match_done(struct batch_match *m)
{
	free(m->keys);
	free(m->resources);
	*m = (struct batch_match){0};
}

/* The last one counts where a key stands there twice. */
static bool row_has(const struct batch_match *m, const struct event *e, size_t tag)
{
	const struct attr *attrs = m->batch->attrs + e->attrs.first;
	uint32_t key = m->keys[tag];

	if (bit_get(m->resources + e->resource * m->words, 1 + tag))
		return true;
	for (uint32_t i = e->attrs.count; i-- > 0;)
		if (attrs[i].key == key)
			return attr_has(m->batch, &attrs[i], m->query->tags[tag].value);
	return false;
}

bool batch_match_row(const struct batch_match *m, const struct event *e)
{
	const struct store_query *q = m->query;
	uint64_t took = e->end_ns > e->time_ns ? e->end_ns - e->time_ns : 0;

	if ((e->type != EVENT_SPAN && e->type != EVENT_BEGIN) ||
	    !bit_get(m->resources + e->resource * m->words, 0) ||
	    (q->operation.n && e->name != m->operation) ||
	    (q->span_min_ns && took < (uint64_t)q->span_min_ns) ||
	    (q->span_max_ns && took > (uint64_t)q->span_max_ns))
		return false;
	for (size_t i = 0; i < q->tag_n; i++)
		if (!row_has(m, e, i))
			return false;
	return true;
}
