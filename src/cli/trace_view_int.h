/* cli/trace_view_int.h - what the parts of the tree view share. */
#ifndef CAUSET_CLI_TRACE_VIEW_INT_H
#define CAUSET_CLI_TRACE_VIEW_INT_H

#include "cli/trace_view.h"

enum colour { COLOUR_NONE, COLOUR_CRITICAL, COLOUR_ERROR, COLOUR_DIM, COLOUR_SERVICE };

struct view {
	const struct cli *cli;
	const struct trace *t;
	const struct critical_path *path;
	const struct view_options *o;
	struct buffer out;
	int64_t *on_path; /* per block: own work on the critical path; -1: not on it; NULL: no path
			   */
	int64_t path_kinds[SEGMENT_KINDS]; /* of the path: time by kind of segment */
	uint32_t *links;                   /* links by block */
	size_t link_at;
	size_t tree_columns, bar_columns;
	size_t shown, hidden_depth, hidden_limit;
	uint32_t marks; /* repairs that stood on a line */
	bool any_error, any_running, any_cause;
};

void view_colour(struct view *v, enum colour colour);

/* One line per block and what belongs to it. */
void view_block(struct view *v, uint32_t block);

/* What stands above and below the tree. */
void view_head(struct view *v);
void view_foot(struct view *v);

/* Blanks up to the depth of a block; deeper than the limit the depth is written. */
size_t view_indent(struct view *v, uint32_t depth);

/* Attributes, one a line, behind `indent` blanks. */
void view_attributes(struct view *v, const struct batch *b, struct attr_range range, size_t indent);

/* The letter of a repair, for "[o]". */
char view_repair_letter(unsigned bit);

#endif
