/* infer/best_window.h - a long list of calls, linked window by window.
 *
 * What is learnt from the first window serves the next, which adjust it; so a long trace costs
 * little more than answering it, and memory beside the calls is that of a window. */
#ifndef CAUSET_INFER_BEST_WINDOW_H
#define CAUSET_INFER_BEST_WINDOW_H

#include "infer/infer.h"

#define WINDOW_CALLS 16384 /* new ones a window */

/* Links a short list at once. */
typedef int window_link(void *context, const struct calls *calls, int64_t cut_ns,
			struct call_link *links);

/* As infer_mode.link, by `link` for each window.  -ENOMEM or what `link` returned. */
int window_run(const struct calls *calls, int64_t cut_ns, struct call_link *links,
	       window_link *link, void *context);

#endif
