/* core/glob.c - names matched by pattern. */
#include "core/glob.h"

bool glob_match(struct slice pattern, struct slice text)
{
	size_t p = 0, t = 0;
	size_t star = SIZE_MAX, resume = 0; /* the last star, and where its run ends so far */

	/* Only the last star ever needs to grow: what earlier ones took is the shortest that
	 * works, and a longer run for them can only leave less to match. */
	while (t < text.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			star = p++;
			resume = t;
		} else if (p < pattern.n && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
			p++, t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++resume;
		} else {
			return false;
		}
	}
	while (p < pattern.n && pattern.p[p] == '*')
		p++;
	return p == pattern.n;
}

/* Which places in the pattern can be reached by the text so far: any that are left can be
 * completed, a literal by itself and a star by anything. */
bool glob_may_extend(struct slice pattern, struct slice text)
{
	bool at[GLOB_MAX_EXTEND_CHARS + 1] = {true};
	bool any = true;

	if (pattern.n > GLOB_MAX_EXTEND_CHARS)
		return true;
	for (size_t t = 0; t < text.n && any; t++) {
		/* Behind a star without a byte … */
		for (size_t p = 0; p < pattern.n; p++)
			if (at[p] && pattern.p[p] == '*')
				at[p + 1] = true;
		/* … and everywhere else by this one; from the back, so that a place is read before
		 * it is written. */
		any = false;
		for (size_t p = pattern.n + 1; p-- > 0;) {
			bool stays = p < pattern.n && at[p] && pattern.p[p] == '*';
			bool moves = p > 0 && at[p - 1] && pattern.p[p - 1] != '*' &&
				     (pattern.p[p - 1] == '?' || pattern.p[p - 1] == text.p[t]);

			at[p] = stays || moves;
			any |= at[p];
		}
	}
	/* The end of the pattern alone cannot be extended; a star before it is itself still there.
	 */
	for (size_t p = 0; p < pattern.n; p++)
		if (at[p])
			return true;
	return false;
}
