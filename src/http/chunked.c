/* http/chunked.c - the chunked transfer coding of HTTP/1.1, incoming. */
#include "http/chunked.h"

#include "http/h1_parse.h"

/*   SIZE ─▶ EXT ─▶ SIZE_LF ─▶ DATA ─▶ DATA_CR ─▶ DATA_LF ─▶ SIZE …
 *                  └ size 0 ─▶ LINE ─▶ NAME ─▶ VALUE ─▶ VALUE_LF ─▶ LINE …
 *                              └ CR ─▶ END_LF ─▶ END                       */
enum {
	SIZE,
	EXT,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	LINE,
	NAME,
	VALUE,
	VALUE_LF,
	END_LF,
	END,
};

#define MAX_DIGITS 15

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *step_size(struct chunked *c, char b)
{
	int digit = hex(b);

	if (digit >= 0) {
		if (++c->digits > MAX_DIGITS)
			return "a chunk's size has too many digits";
		c->left = c->left << 4 | (unsigned)digit;
		return NULL;
	}
	if (c->digits == 0)
		return "a chunk's size is not hexadecimal";
	if (b == '\r')
		c->state = SIZE_LF;
	else if (b == ';' || b == ' ' || b == '\t')
		c->state = EXT;
	else
		return "a chunk's size is not hexadecimal";
	return NULL;
}

static const char *step_trailer(struct chunked *c, char b)
{
	if (++c->trailer > CHUNKED_MAX_TRAILER)
		return "the trailers behind the last chunk are too long";
	switch (c->state) {
	case LINE:
		if (b == '\r') {
			c->state = END_LF;
			return NULL;
		}
		c->state = NAME;
		return h1_is_token_char((unsigned char)b) ? NULL : "a trailer is malformed";
	case NAME:
		if (b == ':')
			c->state = VALUE;
		else if (!h1_is_token_char((unsigned char)b))
			return "a trailer is malformed";
		return NULL;
	case VALUE:
		if (b == '\r')
			c->state = VALUE_LF;
		else if (((unsigned char)b < 0x20 && b != '\t') || b == 0x7f)
			return "a trailer is malformed";
		return NULL;
	default: /* VALUE_LF, END_LF */
		if (b != '\n')
			return "a trailer does not end in CRLF";
		c->state = c->state == VALUE_LF ? LINE : END;
		return NULL;
	}
}

static const char *step(struct chunked *c, char b)
{
	switch (c->state) {
	case SIZE:
	case EXT:
		if (++c->line > CHUNKED_MAX_LINE)
			return "a chunk's size line is too long";
		if (c->state == SIZE)
			return step_size(c, b);
		if (b == '\r')
			c->state = SIZE_LF;
		else if (((unsigned char)b < 0x20 && b != '\t') || b == 0x7f)
			return "a chunk's extension is malformed";
		return NULL;
	case SIZE_LF:
		if (b != '\n')
			return "a chunk's size does not end in CRLF";
		c->state = c->left ? DATA : LINE;
		return NULL;
	case DATA_CR:
		if (b != '\r')
			return "a chunk is longer than its size";
		c->state = DATA_LF;
		return NULL;
	case DATA_LF:
		if (b != '\n')
			return "a chunk does not end in CRLF";
		c->state = SIZE;
		c->digits = 0;
		c->line = 0;
		return NULL;
	default:
		return step_trailer(c, b);
	}
}

enum chunked_result chunked_next(struct chunked *c, struct slice *in, struct slice *ret_data,
				 const char **ret_error)
{
	while (c->state != END) {
		const char *error;

		if (in->n == 0)
			return CHUNKED_MORE;
		if (c->state == DATA) {
			*ret_data =
				slice_first(*in, c->left < SIZE_MAX ? (size_t)c->left : SIZE_MAX);
			*in = slice_from(*in, ret_data->n);
			c->left -= ret_data->n;
			if (c->left == 0)
				c->state = DATA_CR;
			return CHUNKED_DATA;
		}
		error = step(c, *in->p);
		if (error) {
			*ret_error = error;
			return CHUNKED_ERROR;
		}
		in->p++;
		in->n--;
	}
	return CHUNKED_END;
}
