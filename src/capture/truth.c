/* capture/truth.c - who really caused what, where the wire says so. */
#include "capture/truth.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void truth_add(struct truth *t, const struct captured_call *call)
{
	if (call->tag == NAMES_NONE) {
		t->untagged++;
		return;
	}
	if (t->n >= TRUTH_MAX_CALLS ||
	    !vec_reserve(&t->calls, &t->capacity, t->n + 1, sizeof(*t->calls))) {
		t->failed = true;
		return;
	}
	t->calls[t->n++] = (struct truth_call){call->start_ns, call->end_ns, call->id,
					       call->caller,   call->callee, call->tag};
}

void truth_done(struct truth *t)
{
	free(t->calls);
	*t = (struct truth){0};
}

static int by_trace(const void *left, const void *right)
{
	const struct truth_call *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static const struct truth_call *parent_of(const struct truth_call *first,
					  const struct truth_call *child)
{
	for (const struct truth_call *p = child; p-- > first;)
		if (p->callee == child->caller && p->end_ns >= child->end_ns)
			return p;
	return NULL;
}

int truth_write(struct truth *t, const struct names *tags, struct buffer *out)
{
	size_t first = 0;

	if (t->n > 0)
		qsort(t->calls, t->n, sizeof(*t->calls), by_trace);
	for (size_t i = 0; i < t->n; i++) {
		char id[MESSAGE_ID_BYTES], parent[MESSAGE_ID_BYTES];
		const struct truth_call *p;

		if (t->calls[i].tag != t->calls[first].tag)
			first = i;
		p = parent_of(&t->calls[first], &t->calls[i]);
		buffer_printf(out, "%s %s %.*s\n", message_id_format(t->calls[i].id, id),
			      p ? message_id_format(p->id, parent) : "0",
			      SLICE_ARG(names_get(tags, t->calls[i].tag)));
	}
	return t->failed || out->failed ? -ENOMEM : 0;
}
