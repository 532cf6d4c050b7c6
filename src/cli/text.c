/* cli/text.c - text from outside on a terminal. */
#include "cli/text.h"

#include <wchar.h>

#include "core/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS    "\xe2\x80\xa6" /* … */

struct glyph {
	struct slice bytes; /* to write */
	size_t taken;       /* bytes of the input */
	size_t width;
};

static wchar_t decode(struct slice sequence)
{
	static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	wchar_t c = (unsigned char)sequence.p[0] & masks[sequence.n];

	for (size_t i = 1; i < sequence.n; i++)
		c = c << 6 | ((unsigned char)sequence.p[i] & 0x3f);
	return c;
}

static struct glyph glyph_at(struct slice text)
{
	size_t n = utf8_sequence(text);
	wchar_t c = n ? decode(slice_first(text, n)) : 0;
	int width = n ? wcwidth(c) : -1; /* needs a UTF-8 locale, which main() sets */

	/* Marks that turn the direction of writing are as good as control characters. */
	if (width < 0 || c == 0 || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return (struct glyph){SLICE(REPLACEMENT), n ? n : 1, 1};
	return (struct glyph){slice_first(text, n), n, (size_t)width};
}

size_t text_width(struct slice text)
{
	size_t width = 0;

	while (text.n > 0) {
		struct glyph g = glyph_at(text);

		width += g.width;
		text = slice_from(text, g.taken);
	}
	return width;
}

size_t text_put(struct buffer *out, struct slice text, size_t columns)
{
	bool cut = text_width(text) > columns;
	size_t used = 0, room = cut && columns > 0 ? columns - 1 : columns;

	while (text.n > 0) {
		struct glyph g = glyph_at(text);

		if (used + g.width > room)
			break;
		buffer_slice(out, g.bytes);
		used += g.width;
		text = slice_from(text, g.taken);
	}
	if (cut && columns > 0) {
		buffer_text(out, ELLIPSIS);
		used++;
	}
	return used;
}

void text_repeat(struct buffer *out, const char *piece, size_t n)
{
	while (n-- > 0)
		buffer_text(out, piece);
}

void text_pad(struct buffer *out, struct slice text, size_t columns)
{
	text_repeat(out, " ", columns - text_put(out, text, columns));
}

void text_pad_left(struct buffer *out, struct slice text, size_t columns)
{
	size_t width = text_width(text);

	text_repeat(out, " ", width < columns ? columns - width : 0);
	text_put(out, text, columns);
}
