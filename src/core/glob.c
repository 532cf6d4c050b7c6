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
