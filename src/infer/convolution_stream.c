/* infer/convolution_stream.c - convolution window by window, and the trees added up. */
#include "infer/convolution_stream.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "infer/convolution_tree.h"
#include "infer/pairing.h"
#include "infer/spread.h"

#define CHECK_EVERY      4096  /* messages between two looks at the window */
#define LONGEST_QUANTILE 0.999 /* of the calls' durations: a delay is no longer */
#define AHEAD_WINDOW     4     /* a window of time ends when this part of the next has gone by */
#define AHEAD_LONGEST    2     /* times the longest call is looked ahead, */
#define AHEAD_SPAN       8     /* or this part of the messages' time where there are no calls */

struct convolution_stream {
	struct convolution_stream_options options;
	struct message_list list;
	struct convolution_tree tree;
	int64_t roots_from_ns; /* what begins before has been counted */
	int64_t newest_ns, window_start_ns;
	bool started, root_seen;
	uint64_t messages, windows;
	struct error error;
};

int convolution_stream_new(const struct convolution_stream_options *options,
			   struct convolution_stream **ret_stream)
{
	struct convolution_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->options = *options;
	if (s->options.max_messages == 0)
		s->options.max_messages = CONVOLUTION_MAX_MESSAGES;
	s->roots_from_ns = s->newest_ns = INT64_MIN;
	*ret_stream = s;
	return 0;
}

struct convolution_stream *convolution_stream_free(struct convolution_stream *s)
{
	if (s) {
		message_list_done(&s->list);
		convolution_tree_done(&s->tree);
		free(s);
	}
	return NULL;
}

/* Where there are calls and returns no delay is longer than the longest calls; 0: there are none.
 */
static int64_t longest_call(const struct message_list *list)
{
	struct calls calls = {0};
	struct spread durations = {0};
	struct pairing *pairing;
	int64_t longest = 0;

	if (pairing_new(&calls, &pairing) < 0)
		return 0;
	if (pairing_put(pairing, list->at, list->n) == 0)
		for (size_t i = 0; i < calls.n; i++)
			if (call_finished(&calls.at[i]))
				spread_add(&durations, calls.at[i].end_ns - calls.at[i].start_ns);
	longest = (int64_t)spread_quantile(&durations, LONGEST_QUANTILE);
	spread_done(&durations);
	pairing_free(pairing);
	calls_done(&calls);
	return longest;
}

/* Messages before the cut have done their part. */
static void forget(struct convolution_stream *s, int64_t cut_ns)
{
	size_t gone = 0;

	while (gone < s->list.n && s->list.at[gone].time_ns < cut_ns)
		gone++;
	s->list.n -= gone;
	if (s->list.n > 0)
		memmove(s->list.at, s->list.at + gone, s->list.n * sizeof(*s->list.at));
	s->roots_from_ns = cut_ns;
}

static int root_set(struct convolution_stream *s, struct convolution_options *o)
{
	if (s->options.root.n == 0)
		return 1;
	o->root = names_find(s->options.nodes, s->options.root);
	s->root_seen |= o->root != NAMES_NONE;
	return o->root != NAMES_NONE;
}

/* The first window has chosen for all. */
static void sizes_keep(struct convolution_stream *s, const struct convolution *found)
{
	if (s->options.infer.quantum_ns <= 0)
		s->options.infer.quantum_ns = found->quantum_ns;
	if (s->options.infer.max_lag_ns <= 0)
		s->options.infer.max_lag_ns = found->max_lag_ns;
}

static int window_infer(struct convolution_stream *s, int64_t cut_ns, int64_t longest_ns)
{
	struct convolution_options o = s->options.infer;
	struct convolution found;
	int r = 0;

	o.roots_from_ns = s->roots_from_ns;
	o.roots_until_ns = cut_ns;
	o.longest_ns = longest_ns;
	s->windows++;
	if (!root_set(s, &o))
		return 0; /* it has not come yet */
	r = convolution_infer(&s->list, s->options.nodes->n, &o, &found, &s->error);
	if (r < 0)
		return r;
	if (s->list.n > 0)
		sizes_keep(s, &found);
	r = convolution_tree_add(&s->tree, &found);
	if (r == 0 && s->options.window)
		r = s->options.window(s->options.context,
				      &(struct convolution_window){&found, cut_ns, s->windows});
	convolution_done(&found);
	return r;
}

/* Windows that end because there are enough messages: what is needed to see how paths go on stays,
 * at most half of it all. */
static int64_t cut_choose(const struct convolution_stream *s, int64_t longest_ns)
{
	int64_t first = s->list.at[0].time_ns, span = s->newest_ns - first, ahead;

	ahead = longest_ns > 0 ? AHEAD_LONGEST * longest_ns : span / AHEAD_SPAN;
	return s->newest_ns - MIN(ahead, span / 2);
}

static int window_end(struct convolution_stream *s, bool full)
{
	int64_t longest, cut = INT64_MAX;
	int r = message_list_sort(&s->list);

	if (r < 0)
		return r;
	longest = longest_call(&s->list);
	if (full)
		cut = cut_choose(s, longest);
	else if (s->options.window_ns > 0)
		cut = s->window_start_ns + s->options.window_ns;
	r = window_infer(s, cut, longest);
	if (r == 0)
		forget(s, cut);
	return r;
}

static int maybe_window(struct convolution_stream *s)
{
	int64_t window = s->options.window_ns;
	int r = 0;

	if (!s->started) {
		s->started = true;
		s->window_start_ns = s->list.at[0].time_ns;
	}
	while (r == 0 && window > 0 && s->list.n > 0 &&
	       s->newest_ns - s->window_start_ns >= window + window / AHEAD_WINDOW) {
		/* Stretches without a message have no paths. */
		int64_t empty = (s->list.at[0].time_ns - s->window_start_ns) / window;

		if (empty > 0) {
			s->window_start_ns += empty * window;
			continue;
		}
		r = window_end(s, false);
		s->window_start_ns += window;
	}
	if (r == 0 && s->list.n >= s->options.max_messages) {
		r = window_end(s, true);
		/* All at the same time: there is no place to cut. */
		if (r == 0 && s->list.n >= s->options.max_messages)
			s->options.max_messages *= 2;
	}
	return r;
}

static int stream_put(void *context, const struct message *messages, size_t n)
{
	struct convolution_stream *s = context;

	while (n > 0) {
		struct message_sink to = message_list_sink(&s->list);
		size_t room = s->options.max_messages - s->list.n;
		size_t m = MIN(n, room);
		int r;

		m = MIN(m, (size_t)CHECK_EVERY);
		r = to.put(to.context, messages, m);
		for (size_t i = 0; i < m; i++)
			s->newest_ns = MAX(s->newest_ns, messages[i].time_ns);
		s->messages += m;
		if (r == 0)
			r = maybe_window(s);
		if (r < 0)
			return r;
		messages += m;
		n -= m;
	}
	return 0;
}

struct message_sink convolution_stream_sink(struct convolution_stream *s)
{
	return (struct message_sink){stream_put, s};
}

int convolution_stream_finish(struct convolution_stream *s, struct convolution *ret,
			      struct error *error)
{
	int r;

	s->options.window_ns = 0;
	r = window_end(s, false);
	if (r == 0 && s->options.root.n > 0 && !s->root_seen)
		r = error_set(&s->error, -ENOENT, "there is no node '%.*s'", (int)s->options.root.n,
			      (const char *)s->options.root.p);
	if (r == 0)
		r = convolution_tree_take(&s->tree, ret);
	if (r < 0) {
		*error = s->error;
		return r == -ENOMEM ? error_set(error, r, "out of memory") : r;
	}
	ret->messages = s->messages;
	ret->quantum_ns = s->options.infer.quantum_ns;
	ret->max_lag_ns = s->options.infer.max_lag_ns;
	return 0;
}
