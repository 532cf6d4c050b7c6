/* infer/calls.c - a list of calls, and the times of the callees beside it. */
#include "infer/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "base/vec.h"

void calls_done(struct calls *calls)
{
	free(calls->at);
	free(calls->served);
	*calls = (struct calls){0};
}

static bool reserve(struct calls *calls, size_t n)
{
	return vec_reserve(&calls->at, &calls->capacity, n, sizeof(*calls->at)) &&
	       (!calls->served ||
		vec_reserve(&calls->served, &calls->served_capacity, n, sizeof(*calls->served)));
}

int calls_add(struct calls *calls, const struct call *call)
{
	if (!reserve(calls, calls->n + 1))
		return -ENOMEM;
	if (calls->served)
		calls->served[calls->n] = (struct call_served){call->start_ns, call->end_ns};
	calls->at[calls->n++] = *call;
	return 0;
}

int calls_add_from(struct calls *calls, const struct calls *other, size_t i)
{
	int r = other->served && !calls->served ? calls_tell_apart(calls) : 0;

	if (r == 0)
		r = calls_add(calls, &other->at[i]);
	if (r == 0 && calls->served)
		calls->served[calls->n - 1] = call_served(other, i);
	return r;
}

int calls_tell_apart(struct calls *calls)
{
	if (calls->served)
		return 0;
	if (!vec_reserve(&calls->served, &calls->served_capacity, calls->n + 1,
			 sizeof(*calls->served)))
		return -ENOMEM;
	for (size_t i = 0; i < calls->n; i++)
		calls->served[i] = (struct call_served){calls->at[i].start_ns, calls->at[i].end_ns};
	return 0;
}

void calls_move(struct calls *calls, size_t to, size_t from)
{
	calls->at[to] = calls->at[from];
	if (calls->served)
		calls->served[to] = calls->served[from];
}

int calls_order(const struct calls *calls, uint32_t **ret_new_index)
{
	_cleanup_(freep)
	struct radix_item *items = NULL;
	uint32_t *new_index;
	size_t n = calls->n, i = 1;

	*ret_new_index = NULL;
	while (i < n && calls->at[i - 1].start_ns <= calls->at[i].start_ns)
		i++;
	if (i >= n)
		return 0;
	items = malloc(2 * n * sizeof(*items));
	new_index = malloc(n * sizeof(*new_index));
	if (!items || !new_index) {
		free(new_index);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		items[i] = (struct radix_item){(uint64_t)calls->at[i].start_ns ^ 1ULL << 63,
					       (uint32_t)i};
	radix_sort(items, items + n, n);
	for (i = 0; i < n; i++)
		new_index[items[i].value] = (uint32_t)i;
	*ret_new_index = new_index;
	return 0;
}

void calls_forget(struct calls *calls, const uint32_t *new_index, size_t left)
{
	for (size_t i = 0; i < calls->n; i++)
		if (new_index[i] != UINT32_MAX)
			calls_move(calls, new_index[i], i);
	calls->n = left;
}

int calls_reorder(struct calls *calls, const uint32_t *new_index)
{
	struct calls moved = {.n = calls->n};

	if (!vec_reserve(&moved.at, &moved.capacity, calls->n + 1, sizeof(*moved.at)) ||
	    (calls->served && !vec_reserve(&moved.served, &moved.served_capacity, calls->n + 1,
					   sizeof(*moved.served)))) {
		calls_done(&moved);
		return -ENOMEM;
	}
	for (size_t i = 0; i < calls->n; i++) {
		moved.at[new_index[i]] = calls->at[i];
		if (moved.served)
			moved.served[new_index[i]] = calls->served[i];
	}
	calls_done(calls);
	*calls = moved;
	return 0;
}
