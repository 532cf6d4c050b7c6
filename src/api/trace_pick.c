/* api/trace_pick.c - traces that answer a question the store cannot answer alone. */
#include "api/trace_pick.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define PAGE_LEAST 20
#define PAGE_MOST  1000

struct picking {
	const struct trace_pick *pick;
	struct trace_picked done;
	/* Where the search stands. */
	bool after;
	struct trace_summary last; /* only its key */
};

static int judge(struct picking *p, const struct trace_summary *row)
{
	const struct trace_pick *pick = p->pick;
	struct event_set set = {0};
	int r;

	if (pick->from_ns && row->start_ns + row->duration_ns < pick->from_ns)
		return 0;
	p->done.looked++;
	r = store_trace(pick->store, row->id, &set);
	if (r == -ENOENT) /* retention has been there */
		return 0;
	if (r == -E2BIG) {
		p->done.giants++;
		return 0;
	}
	if (r == 0 && (!pick->fits || pick->fits(pick->context, set.refs, set.n))) {
		r = pick->take(pick->context, row, &set);
		p->done.n += r == 0;
	}
	event_set_done(&set);
	return r;
}

/* Asks one question of the store, page by page, until enough are taken or `most` were seen.  Pages
 * grow: who has seen many that do not fit will see many more. */
static int walk(struct picking *p, struct store_query query, size_t most)
{
	size_t seen = 0, page = MAX(p->pick->limit + p->pick->limit / 4, (size_t)PAGE_LEAST);
	bool more = true;
	int r = 0;

	while (r == 0 && more && seen < most && p->done.n < p->pick->limit) {
		struct trace_list list;

		page = MIN(page, (size_t)PAGE_MOST);
		query.limit = MIN(page, most - seen);
		query.after = p->after;
		query.after_start_ns = p->last.start_ns;
		query.after_duration_ns = p->last.duration_ns;
		query.after_id = p->last.id;
		/* Nothing newer comes any more, and groups that are newer need not be opened. */
		if (p->after && p->last.start_ns < INT64_MAX &&
		    (!query.to_ns || p->last.start_ns + 1 < query.to_ns))
			query.to_ns = MAX(p->last.start_ns + 1, (int64_t)1);
		r = store_find(p->pick->store, &query, &list);
		if (r < 0)
			return r;
		for (size_t i = 0; r == 0 && i < list.n && p->done.n < p->pick->limit; i++) {
			r = judge(p, &list.rows[i]);
			p->last = list.rows[i];
			p->after = true;
		}
		seen += list.n;
		more = list.more && list.n > 0;
		page *= 2;
		trace_list_done(&list);
	}
	p->done.cut = more && seen >= most && p->done.n < p->pick->limit;
	return r;
}

int trace_pick(const struct trace_pick *pick, struct trace_picked *ret_picked)
{
	struct picking p = {.pick = pick};
	int r = 0;

	if (pick->wider)
		r = walk(&p, *pick->wider, PICK_IN_FULL);
	if (r == 0 && (!pick->wider || p.done.cut))
		r = walk(&p, pick->query, PICK_LOOKED_AT);
	if (r == 0)
		*ret_picked = p.done;
	return r;
}

void trace_picked_tell(struct http_request *req, const struct trace_picked *picked)
{
	char text[200];

	if (!picked->cut && picked->giants == 0)
		return;
	snprintf(text, sizeof(text),
		 "%zu traces were read%s; %zu too large to be shown were left out", picked->looked,
		 picked->cut ? " and there are more: ask for less time" : "", picked->giants);
	http_reply_header(req, "Causet-Notice", slice_cstr(text));
}
