/* cli/items.c - picking values out of a server's JSON answers. */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/remote.h"
#include "wire/json_reader.h"

/* The value at `name`, as JSON text. */
static bool value_at(struct slice object, const char *name, struct slice *ret_value)
{
	struct json_reader r = json_open(object);
	struct slice key;

	if (json_peek(&r) != JSON_OBJECT || !json_object(&r))
		return false;
	while (json_next_name(&r, &key)) {
		bool here = slice_eq(key, slice_cstr(name));
		const char *from;

		if (json_peek(&r) == JSON_BAD)
			return false;
		from = r.at;
		json_skip(&r);
		if (r.bad)
			return false;
		if (here) {
			*ret_value = slice_of(from, (size_t)(r.at - from));
			return true;
		}
	}
	return false;
}

bool item_text(struct slice object, const char *name, struct arena *arena, struct slice *ret_text)
{
	_cleanup_(buffer_done)
	struct buffer scratch = {0};
	struct json_string s;
	struct json_reader r;
	struct slice value;

	if (!value_at(object, name, &value))
		return false;
	r = json_open(value);
	if (json_peek(&r) != JSON_STRING) {
		*ret_text = value; /* an object, a number: its text */
		return true;
	}
	if (!json_string(&r, &s))
		return false;
	*ret_text = arena_dup(arena, json_text(s, &scratch));
	return ret_text->p != NULL;
}

bool item_u64(struct slice object, const char *name, uint64_t *ret_value)
{
	struct slice value;
	struct json_reader r;

	if (!value_at(object, name, &value))
		return false;
	r = json_open(value);
	return json_u64(&r, ret_value);
}

int items_each(struct slice body, const char *name, int (*each)(void *context, struct slice item),
	       void *context)
{
	struct slice array;
	struct json_reader r;

	if (!value_at(body, name, &array))
		return -EBADMSG;
	r = json_open(array);
	if (json_peek(&r) != JSON_ARRAY || !json_array(&r))
		return -EBADMSG;
	while (json_next_item(&r)) {
		const char *from;
		int code;

		if (json_peek(&r) == JSON_BAD)
			return -EBADMSG;
		from = r.at;
		json_skip(&r);
		if (r.bad)
			return -EBADMSG;
		code = each(context, slice_of(from, (size_t)(r.at - from)));
		if (code)
			return code;
	}
	return r.bad ? -EBADMSG : 0;
}
