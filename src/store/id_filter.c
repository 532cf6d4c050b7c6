/* store/id_filter.c - hashes of the trace ids of many segments: is one perhaps among them? */
#include "store/id_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static struct id_filter *filter_new(size_t most)
{
	size_t bytes = sizeof(struct id_filter) +
		       most / ID_FILTER_HASHES * ID_FILTER_LINE * sizeof(uint64_t);
	struct id_filter *f = aligned_alloc(_Alignof(struct id_filter), bytes);

	if (!f)
		return NULL;
	memset(f, 0, bytes);
	atomic_init(&f->refs, 1);
	f->most = most;
	return f;
}

struct id_filter *id_filter_ref(struct id_filter *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

struct id_filter *id_filter_unref(struct id_filter *f)
{
	if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
		free(f);
	return NULL;
}

struct id_filter *id_filter_with_room(struct id_filter **open, size_t n)
{
	size_t most = *open ? MIN(2 * (*open)->most, ID_FILTER_MOST) : ID_FILTER_LEAST;
	struct id_filter *larger;

	if (*open && (*open)->most - (*open)->n >= n)
		return id_filter_ref(*open);
	while (most < n)
		most *= 2;
	larger = filter_new(most);
	if (!larger)
		return NULL;
	id_filter_unref(*open);
	*open = larger;
	return id_filter_ref(larger);
}

void id_filter_add(struct id_filter *f, uint64_t hash)
{
	_Atomic uint64_t *line = &f->words[id_filter_line(f, hash)];

	for (unsigned i = 0; i < ID_FILTER_LINE; i++)
		atomic_store_explicit(&line[i],
				      atomic_load_explicit(&line[i], memory_order_relaxed) |
					      id_filter_bit(hash, i),
				      memory_order_relaxed);
	f->n++;
}
