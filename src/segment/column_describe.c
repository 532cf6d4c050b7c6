/* segment/column_describe.c - the forms of a block, for people and for reports. */
#include <stdio.h>

#include "segment/column_int.h"

#define DEEPEST 4

static const char *const names[COLUMN_FORMS] = {
	[COLUMN_CONST] = "const",
	[COLUMN_FOR] = "for",
	[COLUMN_DELTA] = "delta",
	[COLUMN_RUNS] = "runs",
	[COLUMN_DICT] = "dict",
	[COLUMN_PLANES] = "planes",
	[COLUMN_LOG] = "log",
	[COLUMN_LOGC] = "log by context",
	[COLUMN_LOGM] = "log by model",
	[COLUMN_LOGC_AT] = "log by context with restarts",
	[COLUMN_LOGM_AT] = "log by model with restarts",
	[COLUMN_SCALED] = "scaled",
	[COLUMN_LZ] = "lz",
	[COLUMN_RAW] = "raw",
	[COLUMN_COLUMNS] = "bytes",
	[COLUMN_EMPTY] = "no",
	[COLUMN_FULL] = "yes",
	[COLUMN_BITMAP] = "bitmap",
	[COLUMN_ONES] = "positions",
	[COLUMN_ZEROS] = "gaps",
	[COLUMN_TEXT] = "text",
	[COLUMN_DECIMAL] = "decimal",
	[COLUMN_DOUBLE] = "double",
};

static void describe(struct column_reader r, int depth, struct buffer *out)
{
	uint8_t form, byte;
	uint64_t number, size;
	struct column_reader part;

	if (!column_read_byte(&r, &form) || form >= COLUMN_FORMS || !names[form] ||
	    depth > DEEPEST) {
		buffer_text(out, "?");
		return;
	}
	buffer_text(out, names[form]);
	switch (form) {
	case COLUMN_FOR:
	case COLUMN_DELTA:
	case COLUMN_PLANES:
	case COLUMN_LZ:
		if (column_read_byte(&r, &byte))
			buffer_printf(out, " %u", byte);
		break;
	case COLUMN_DICT:
	case COLUMN_RUNS:
		if (!column_read_varint(&r, &number) || !column_read_varint(&r, &size) ||
		    !column_read_block(&r, size, &part))
			break;
		buffer_printf(out, " %llu (", (unsigned long long)number);
		describe(part, depth + 1, out);
		buffer_text(out, ", ");
		describe(r, depth + 1, out);
		buffer_text(out, ")");
		break;
	case COLUMN_SCALED:
	case COLUMN_DECIMAL:
		if (!column_read_varint(&r, &number))
			break;
		buffer_printf(out, " %llu", (unsigned long long)number);
		/* fall through */
	case COLUMN_DOUBLE:
		buffer_text(out, " (");
		describe(r, depth + 1, out);
		buffer_text(out, ")");
		break;
	default:
		break;
	}
}

void column_describe(struct slice block, char *out, size_t size)
{
	struct buffer text = {0};

	if (block.n == 0)
		buffer_text(&text, "nothing");
	else
		describe(column_reader_of(block), 0, &text);
	snprintf(out, size, "%s", buffer_cstr(&text));
	buffer_done(&text);
}
