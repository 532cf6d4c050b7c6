/* segment/segment_layout.c - what each part of a segment takes. */
#include "segment/segment_layout.h"

#include "base/cleanup.h"
#include "segment/group_int.h"

static const char *const block_names[BLOCKS] = {
	[BLOCK_PIECE_ROWS] = "rows of traces",
	[BLOCK_PIECE_START] = "start of traces",
	[BLOCK_PIECE_DURATION] = "duration of traces",
	[BLOCK_SHAPE] = "shape",
	[BLOCK_DURATION] = "duration",
	[BLOCK_TIME] = "start",
	[BLOCK_TIME_POINT] = "time of points",
	[BLOCK_PIECE_ID] = "trace id",
	[BLOCK_ID1] = "span id",
	[BLOCK_ID1_BACK] = "span id, as distance",
	[BLOCK_PARENT] = "parent, as distance",
	[BLOCK_ID2] = "parent outside the trace",
	[BLOCK_UNIT] = "unit",
	[BLOCK_SEQ] = "sequence number",
	[BLOCK_LOOSE] = "which loose attributes",
	[BLOCK_UUID] = "uuid",
	[BLOCK_MARKS] = "marks",
};

static const char *const section_names[SECTIONS] = {
	[SECTION_INDEX] = "index of traces", [SECTION_SPLIT] = "split traces",
	[SECTION_ZONES] = "groups",          [SECTION_STRINGS] = "strings",
	[SECTION_SOURCES] = "resources",     [SECTION_COLUMNS] = "columns",
	[SECTION_SHAPES] = "shapes",
};

static void tell_group(struct segment_group *g, segment_layout_fn *each, void *context)
{
	each(context, "directories", SLICE(""), 0, g->zone_place->directory_bytes);
	for (size_t i = 0; i < BLOCKS; i++)
		if (g->fixed[i].n)
			each(context, block_names[i], SLICE(""), g->fixed[i].n, g->fixed[i].bytes);
	for (size_t i = 0; i < g->column_n; i++) {
		const struct loaded_column *c = &g->columns[i];
		uint32_t key = g->tables->columns[c->column].key;
		bool named = key < FIELD_NAME;

		each(context, named ? "attribute" : "other fields",
		     named ? tables_text(g->tables, key) : SLICE(""), c->place.n, c->place.bytes);
	}
}

int segment_layout(struct segment *s, segment_layout_fn *each, void *context)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	uint64_t rest = s->info.bytes;
	int r = 0;

	for (uint32_t i = 0; i < s->footer.groups && r == 0; i++) {
		r = g ? group_reopen_int(g, i, READ_HOT) : group_open_int(s, i, READ_HOT, &g);
		if (r == 0) {
			tell_group(g, each, context);
			rest -= g->zone->bytes;
		}
	}
	for (size_t i = 0; i < SECTIONS && r == 0; i++) {
		each(context, section_names[i], SLICE(""), 0, s->footer.sections[i].bytes);
		rest -= s->footer.sections[i].bytes;
	}
	if (r == 0 && s->footer.totals_bytes) {
		each(context, "totals", SLICE(""), 0, s->footer.totals_bytes);
		rest -= s->footer.totals_bytes;
	}
	if (r == 0)
		each(context, "header, footer", SLICE(""), 0, rest);
	return r;
}
