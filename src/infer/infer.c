/* infer/infer.c - the modes of inference, in one table. */
#include "infer/infer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "infer/best.h"

static const struct infer_mode *const modes[] = {
	&best_mode,
	&nesting_mode,
};

const struct infer_mode *infer_mode_find(struct slice name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (slice_eq(name, slice_cstr(modes[i]->name)))
			return modes[i];
	return NULL;
}

int links_break_cycles(struct call_link *links, size_t n)
{
	/* Which walk came by here first; 0: none yet. */
	_cleanup_(freep)
	uint32_t *walk = calloc(n ? n : 1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t at = i; at != LINK_NONE && walk[at] == 0;) {
			uint32_t next = links[at].parent;

			walk[at] = i + 1;
			if (next != LINK_NONE && walk[next] == i + 1) {
				links[at].parent = LINK_NONE;
				links[at].confidence = 0;
			}
			at = links[at].parent;
		}
	return 0;
}
