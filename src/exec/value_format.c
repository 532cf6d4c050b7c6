/* exec/value_format.c - values as text for a person. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "exec/value.h"

#define LIST_SHOWN 200 /* elements of a list that are written out */
#define LIST_DEPTH 4   /* of lists in lists */

static char *format_duration(struct arena *arena, int64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {{3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"},
		     {1000000, "ms"},      {1000, "us"},       {1, "ns"}};
	uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	size_t at = 0;

	/* Whole hours and minutes are said as such, the rest as a decimal of the largest unit. */
	while (at + 1 < ARRAY_SIZE(units) && (n < units[at].ns || (at < 2 && n % units[at].ns)))
		at++;
	return arena_printf(arena, "%s%.12g%s", ns < 0 ? "-" : "", (double)n / (double)units[at].ns,
			    units[at].unit);
}

static char *format_time(struct arena *arena, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	int64_t rest = ns % 1000000000;
	struct tm tm;

	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	if (!gmtime_r(&seconds, &tm))
		return arena_printf(arena, "%" PRId64, ns);
	return arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.%09" PRId64 "Z",
			    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			    tm.tm_sec, rest);
}

static char *format_list(struct arena *arena, struct value v, int depth)
{
	char *text = arena_printf(arena, "[");

	for (uint32_t i = 0; text && i < MIN(v.n, (uint32_t)LIST_SHOWN); i++) {
		struct slice s = v.list[i].type != V_LIST ? value_format(arena, v.list[i])
				 : depth == LIST_DEPTH
					 ? SLICE("[…]")
					 : slice_cstr(format_list(arena, v.list[i], depth + 1));

		text = s.p ? arena_printf(arena, "%s%s%.*s", text, i ? ", " : "", SLICE_ARG(s))
			   : NULL;
	}
	return text ? arena_printf(arena, "%s%s]", text, v.n > LIST_SHOWN ? ", …" : "") : NULL;
}

static char *format_bytes(struct arena *arena, struct value v)
{
	char *text = arena_alloc(arena, (size_t)v.n * 2 + 1);

	for (uint32_t i = 0; text && i < v.n; i++)
		snprintf(text + (size_t)i * 2, 3, "%02x", (unsigned char)v.p[i]);
	if (text)
		text[(size_t)v.n * 2] = 0;
	return text;
}

static char *format_number(struct arena *arena, struct value v)
{
	switch (v.type) {
	case V_FLOAT:
		return arena_printf(arena, "%.10g", v.f);
	case V_TIME:
		return format_time(arena, v.i);
	case V_DURATION:
		return format_duration(arena, v.i);
	default:
		return arena_printf(arena, "%" PRId64, v.i);
	}
}

/* A number nobody named is shown as such. */
static char *format_name(struct arena *arena, const char *name, int64_t i)
{
	return *name ? arena_printf(arena, "%s", name) : arena_printf(arena, "%" PRId64, i);
}

struct slice value_format(struct arena *arena, struct value v)
{
	switch (v.type) {
	case V_NIL:
		return SLICE("nil");
	case V_BOOL:
		return v.b ? SLICE("true") : SLICE("false");
	case V_STATUS:
		return slice_cstr(format_name(arena, value_status_name(v.i), v.i));
	case V_KIND:
		return slice_cstr(format_name(arena, value_kind_name(v.i), v.i));
	case V_STRING:
		return v.n ? value_slice(v) : SLICE("");
	case V_BYTES:
		return slice_cstr(format_bytes(arena, v));
	case V_LIST:
		return slice_cstr(format_list(arena, v, 1));
	default:
		return slice_cstr(format_number(arena, v));
	}
}
