/* infer/linking.c - inference on a stream of messages, window by window. */
#include "infer/linking.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define CHECK_EVERY   4096 /* messages between two looks at the window */
#define GONE          UINT32_MAX
#define LONGEST_TIMES 3 /* the longest call seen: what is open for longer has been lost */

struct linking {
	struct linking_options options;
	struct patterns *patterns;
	struct calls calls;
	struct pairing *pairing;
	void *state; /* the mode's */
	struct call_link *links;
	size_t link_n, link_capacity;
	int64_t window_start_ns, longest_seen_ns;
	bool started;
	struct linking_tally tally;
	struct error error;
};

int linking_new(const struct linking_options *options, struct patterns *patterns,
		struct linking **ret_linking)
{
	struct linking *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->options = *options;
	s->patterns = patterns;
	if (s->options.max_calls == 0)
		s->options.max_calls = LINKING_MAX_CALLS;
	r = pairing_new(&s->calls, &s->pairing);
	if (r == 0)
		r = options->mode->open(&options->infer, &s->state);
	if (r < 0) {
		linking_free(s);
		return r;
	}
	*ret_linking = s;
	return 0;
}

struct linking *linking_free(struct linking *s)
{
	if (s) {
		if (s->state)
			s->options.mode->close(s->state);
		pairing_free(s->pairing);
		calls_done(&s->calls);
		free(s->links);
		free(s);
	}
	return NULL;
}

/* New calls are not decided yet. */
static int links_extend(struct linking *s)
{
	if (!vec_reserve(&s->links, &s->link_capacity, s->calls.n + 1, sizeof(*s->links)))
		return -ENOMEM;
	for (; s->link_n < s->calls.n; s->link_n++)
		s->links[s->link_n] = (struct call_link){.parent = LINK_NONE};
	return 0;
}

/* Modes want calls in order of start; a trace whose lines were not in order has others.  After
 * -ENOMEM the stream cannot go on. */
static int order(struct linking *s)
{
	_cleanup_(freep)
	uint32_t *new_index = NULL;
	_cleanup_(freep)
	struct call_link *links = NULL;
	int r = calls_order(&s->calls, &new_index);

	if (r < 0 || !new_index)
		return r;
	links = malloc(s->link_capacity * sizeof(*links));
	if (!links || pairing_renumber(s->pairing, new_index) < 0 ||
	    calls_reorder(&s->calls, new_index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct call_link l = s->links[i];

		if (l.parent != LINK_NONE)
			l.parent = new_index[l.parent];
		links[new_index[i]] = l;
	}
	free(s->links);
	s->links = TAKE_PTR(links);
	return 0;
}

/* Which calls have a root that returned before the cut?  Each walk up the parents stops where one
 * before it has been. */
static bool *leaving_find(const struct linking *s, int64_t cut_ns)
{
	enum { UNKNOWN, STAYS, LEAVES };
	size_t n = s->calls.n;
	uint8_t *verdict = calloc(n + 1, 1);

	for (uint32_t i = 0; verdict && i < n; i++) {
		uint32_t top = i;
		uint8_t said;

		while (verdict[top] == UNKNOWN && s->links[top].parent != LINK_NONE)
			top = s->links[top].parent;
		said = verdict[top];
		if (said == UNKNOWN)
			said = s->calls.at[top].end_ns <= cut_ns || cut_ns == INT64_MAX ? LEAVES
											: STAYS;
		for (uint32_t at = i; at != LINK_NONE && verdict[at] == UNKNOWN;
		     at = s->links[at].parent)
			verdict[at] = said;
	}
	for (size_t i = 0; verdict && i < n; i++)
		verdict[i] = verdict[i] == LEAVES;
	return (bool *)verdict;
}

/* Calls nobody can expect to return any more leave too; what they caused becomes roots. */
static void give_up(struct linking *s, int64_t cut_ns, bool *leaving)
{
	int64_t longest = s->options.longest_ns;

	for (size_t i = 0; i < s->calls.n; i++)
		if (call_finished(&s->calls.at[i]))
			s->longest_seen_ns = MAX(s->longest_seen_ns,
						 s->calls.at[i].end_ns - s->calls.at[i].start_ns);
	if (longest == 0)
		longest = s->longest_seen_ns * LONGEST_TIMES;
	for (size_t i = 0; i < s->calls.n && longest > 0; i++)
		if (!leaving[i] && !call_finished(&s->calls.at[i]) &&
		    s->calls.at[i].start_ns < cut_ns - longest) {
			leaving[i] = true;
			s->tally.given_up++;
		}
	for (size_t i = 0; i < s->calls.n && longest > 0; i++)
		if (!leaving[i] && s->links[i].parent != LINK_NONE && leaving[s->links[i].parent])
			s->links[i].parent = LINK_NONE;
}

static int window_forget(struct linking *s, const bool *leaving)
{
	_cleanup_(freep)
	uint32_t *new_index = malloc((s->calls.n + 1) * sizeof(*new_index));
	size_t left = 0;

	if (!new_index)
		return -ENOMEM;
	for (size_t i = 0; i < s->calls.n; i++)
		new_index[i] = leaving[i] ? GONE : (uint32_t)left++;
	if (pairing_renumber(s->pairing, new_index) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->calls.n; i++) {
		struct call_link l = s->links[i];

		if (new_index[i] == GONE)
			continue;
		if (l.parent != LINK_NONE)
			l.parent = new_index[l.parent];
		s->links[new_index[i]] = l;
	}
	calls_forget(&s->calls, new_index, left);
	s->link_n = left;
	return 0;
}

static int window_end(struct linking *s, int64_t cut_ns)
{
	const struct infer_mode *mode = s->options.mode;
	int64_t done_ns = cut_ns == INT64_MAX ? cut_ns : cut_ns - s->options.settle_ns;
	_cleanup_(freep)
	bool *leaving = NULL;
	int r = links_extend(s);

	s->tally.windows++;
	s->tally.most_calls = MAX(s->tally.most_calls, s->calls.n);
	if (r == 0)
		r = order(s);
	if (r == 0)
		r = mode->link(s->state, &s->calls, cut_ns, s->links, &s->error);
	if (r == 0)
		r = patterns_add(s->patterns, &s->calls, s->links, done_ns, NULL);
	if (r == 0)
		r = patterns_bound(s->patterns, MAX((size_t)LINKING_PATTERN_LEAST,
						    s->options.max_calls * LINKING_PATTERN_BYTES));
	if (r == 0 && !(leaving = leaving_find(s, done_ns)))
		r = -ENOMEM;
	if (r == 0 && s->options.window)
		r = s->options.window(s->options.context,
				      &(struct linking_window){&s->calls, s->links, leaving,
							       done_ns, s->tally.windows});
	if (r == 0)
		give_up(s, done_ns, leaving);
	for (size_t i = 0; r == 0 && i < s->calls.n; i++)
		s->tally.calls += leaving[i];
	return r == 0 ? window_forget(s, leaving) : r;
}

static int maybe_window(struct linking *s)
{
	int64_t now = pairing_newest_ns(s->pairing), window = s->options.window_ns;
	size_t before = s->calls.n;
	int r = 0;

	if (!s->started) {
		s->started = true;
		s->window_start_ns = now;
	}
	if (window > 0 && now - s->window_start_ns >= window) {
		s->window_start_ns += (now - s->window_start_ns) / window * window;
		return window_end(s, s->window_start_ns - 1);
	}
	if (s->calls.n < s->options.max_calls)
		return 0;
	r = window_end(s, now - 1);
	/* When hardly anything could leave, most of it waits for calls that may never return. */
	if (r == 0 && s->calls.n > before / 2 + before / 4) {
		int64_t longest = s->options.longest_ns;

		s->options.longest_ns = MAX((now - s->calls.at[0].start_ns) / 2, (int64_t)1);
		r = window_end(s, now - 1);
		s->options.longest_ns = longest;
		/* Still no room: it is all one path, or all of it is in the air. */
		if (r == 0 && s->calls.n > before / 2 + before / 4)
			s->options.max_calls *= 2;
	}
	return r;
}

/* How many of the messages may be taken before a window ends: those up to the first behind it. */
static size_t until_window(const struct linking *s, const struct message *messages, size_t n)
{
	size_t m = 1;

	n = MIN(n, (size_t)CHECK_EVERY);
	if (s->options.window_ns <= 0)
		return n;
	while (m < n && s->started &&
	       messages[m].time_ns < s->window_start_ns + s->options.window_ns)
		m++;
	return m;
}

static int linking_put(void *context, const struct message *messages, size_t n)
{
	struct linking *s = context;

	while (n > 0) {
		size_t m = until_window(s, messages, n);
		int r = pairing_put(s->pairing, messages, m);

		if (r == 0)
			r = maybe_window(s);
		if (r < 0)
			return r;
		messages += m;
		n -= m;
	}
	return 0;
}

struct message_sink linking_sink(struct linking *s)
{
	return (struct message_sink){linking_put, s};
}

int linking_finish(struct linking *s)
{
	uint64_t unfinished = 0;
	int r;

	for (size_t i = 0; i < s->calls.n; i++)
		unfinished += !call_finished(&s->calls.at[i]);
	r = window_end(s, INT64_MAX);
	s->tally.pairing = *pairing_tally(s->pairing);
	s->tally.pairing.unfinished = unfinished + s->tally.given_up;
	return r;
}

const char *linking_error(const struct linking *s)
{
	return s->error.text;
}

struct linking_tally linking_tally(const struct linking *s)
{
	return s->tally;
}
