/* model/event_unique.c - rows that came again, left out.
 *
 * A group is a row with the points and links of its block right behind it, as batches hold them:
 *
 *   SPAN a  POINT a  LINK a | SPAN b | LOG - | SPAN a  POINT a …
 *
 * Groups are sorted by id (radix: ids are random and many), and among equal ids by what they say:
 * nobody can send rows that make this slow. */
#include "model/event_unique.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/radix.h"
#include "model/event_order.h"

#define SMALL_MOST 48 /* rows */

struct unique {
	const struct event_ref *refs; /* as given */
	size_t n;
	struct radix_item *groups; /* by id; the value is the group's first row */
	size_t group_n;
	uint8_t *gone; /* one bit for each row */
};

static bool is_behind(const struct event *first, const struct event *e)
{
	return (e->type == EVENT_POINT || e->type == EVENT_LINK) && e->id1 == first->id1 &&
	       trace_id_eq(e->trace_id, first->trace_id);
}

static size_t group_end(const struct unique *u, size_t at)
{
	const struct event *first = event_get(u->refs[at]);
	size_t end = at + 1;

	if (first->type != EVENT_SPAN)
		return end;
	while (end < u->n && u->refs[end].batch == u->refs[at].batch &&
	       is_behind(first, event_get(u->refs[end])))
		end++;
	return end;
}

/* By what the groups say. */
static int group_cmp(const struct unique *u, size_t a, size_t b)
{
	struct trace_id x = event_get(u->refs[a])->trace_id, y = event_get(u->refs[b])->trace_id;
	int c = memcmp(x.b, y.b, sizeof(x.b));
	size_t a_n, b_n;

	if (c == 0)
		c = event_cmp(u->refs[a], u->refs[b]);
	if (c != 0)
		return c;
	a_n = group_end(u, a) - a;
	b_n = group_end(u, b) - b;
	for (size_t i = 1; c == 0 && i < MIN(a_n, b_n); i++)
		c = event_cmp(u->refs[a + i], u->refs[b + i]);
	return c ? c : a_n < b_n ? -1 : a_n > b_n;
}

static int item_cmp(const void *a, const void *b, void *context)
{
	uint32_t x = ((const struct radix_item *)a)->value,
		 y = ((const struct radix_item *)b)->value;
	int c = group_cmp(context, x, y);

	return c ? c : x < y ? -1 : x > y;
}

static void group_drop(struct unique *u, size_t at)
{
	for (size_t i = at, end = group_end(u, at); i < end; i++)
		u->gone[i / 8] |= (uint8_t)(1U << i % 8);
}

/* Groups of one id: of equal ones those of the first one's batch stay. */
static void drop_repeated(struct unique *u, struct radix_item *items, size_t n)
{
	size_t first = 0;

	if (n == 1)
		return;
	qsort_r(items, n, sizeof(*items), item_cmp, u);
	for (size_t i = 1; i < n; i++) {
		size_t a = items[first].value, b = items[i].value;

		if (group_cmp(u, a, b) != 0)
			first = i;
		else if (u->refs[a].batch != u->refs[b].batch)
			group_drop(u, b);
	}
}

static int groups_sort(struct unique *u)
{
	_cleanup_(freep)
	struct radix_item *spare = NULL;

	for (size_t at = 0; at < u->n; at = group_end(u, at))
		u->group_n++;
	u->groups = malloc((u->group_n + 1) * sizeof(*u->groups));
	spare = malloc((u->group_n + 1) * sizeof(*spare));
	if (!u->groups || !spare)
		return -ENOMEM;
	u->group_n = 0;
	for (size_t at = 0; at < u->n; at = group_end(u, at))
		u->groups[u->group_n++] =
			(struct radix_item){event_get(u->refs[at])->id1, (uint32_t)at};
	radix_sort(u->groups, spare, u->group_n);
	return 0;
}

static bool one_batch(const struct event_ref *refs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (refs[i].batch != refs[0].batch)
			return false;
	return true;
}

/* Usually a trace is small and its groups have different ids: then nothing came again. */
static bool ids_differ(const struct unique *u)
{
	uint64_t ids[SMALL_MOST];
	size_t k = 0;

	if (u->n > SMALL_MOST)
		return false;
	for (size_t at = 0; at < u->n; at = group_end(u, at)) {
		uint64_t id = event_get(u->refs[at])->id1;

		for (size_t i = 0; i < k; i++)
			if (ids[i] == id)
				return false;
		ids[k++] = id;
	}
	return true;
}

int events_unique(struct event_ref *refs, size_t *n)
{
	struct unique u = {.refs = refs, .n = *n};
	size_t kept = 0;
	int r;

	if (*n > UINT32_MAX)
		return -E2BIG;
	if (one_batch(refs, *n) || ids_differ(&u))
		return 0;
	u.gone = calloc(*n / 8 + 1, 1);
	r = u.gone ? groups_sort(&u) : -ENOMEM;
	for (size_t i = 0, end; r == 0 && i < u.group_n; i = end) {
		for (end = i + 1; end < u.group_n && u.groups[end].key == u.groups[i].key; end++)
			;
		drop_repeated(&u, u.groups + i, end - i);
	}
	free(u.groups);
	for (size_t i = 0; r == 0 && i < *n; i++)
		if (!(u.gone[i / 8] >> i % 8 & 1))
			refs[kept++] = refs[i];
	free(u.gone);
	if (r == 0)
		*n = kept;
	return r;
}
