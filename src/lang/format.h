/* lang/format.h - one way to write a program: what `causet fmt` prints.
 *
 * The tokens stay as they are, apart from the case of keywords, other spellings of signs, and
 * superfluous semicolons; only blanks and line breaks change.  So the result parses to the same
 * tree, and formatting it again changes nothing.  Comments stay where they are: on a line of their
 * own, or behind what they follow.  One blank line between statements is kept. */
#ifndef CAUSET_LANG_FORMAT_H
#define CAUSET_LANG_FORMAT_H

#include "base/buffer.h"
#include "lang/ast.h"
#include "lang/diag.h"

#define FORMAT_COLUMNS        100 /* lines are broken there, where they can be */
#define FORMAT_CLAUSE_COLUMNS 72  /* a From query longer than that has a line for each clause */

/* Appends the formatted text.  A text with mistakes gives them and nothing else.  -ENOMEM. */
int lang_format(struct slice text, enum lang_dialect dialect, struct arena *arena,
		struct diags *diags, struct buffer *out);

#endif
