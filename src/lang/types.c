/* lang/types.c - what a value of the language can be. */
#include "lang/types.h"

#include <stdio.h>

static const struct {
	const char *word;     /* "duration" */
	const char *singular; /* "a duration" */
	const char *plural;   /* "durations" */
} tags[TYPE_TAGS] = {
	[TYPE_ERROR] = {"error", "something wrong", "things that are wrong"},
	[TYPE_UNKNOWN] = {"unknown", "a value of any type", "values of any type"},
	[TYPE_NIL] = {"nil", "nil", "nils"},
	[TYPE_BOOL] = {"bool", "a condition", "conditions"},
	[TYPE_INT] = {"int", "an integer", "integers"},
	[TYPE_FLOAT] = {"float", "a number", "numbers"},
	[TYPE_STRING] = {"string", "a string", "strings"},
	[TYPE_TIME] = {"time", "a time", "times"},
	[TYPE_DURATION] = {"duration", "a duration", "durations"},
	[TYPE_STATUS] = {"status", "a status", "statuses"},
	[TYPE_KIND] = {"kind", "a span kind", "span kinds"},
	[TYPE_LIST] = {"list", "a list", "lists"},
	[TYPE_HISTOGRAM] = {"histogram", "a histogram", "histograms"},
	[TYPE_TRACE] = {"trace", "a trace", "traces"},
	[TYPE_UNIT] = {"unit", "an execution unit", "execution units"},
	[TYPE_BLOCK] = {"block", "a span", "spans"},
	[TYPE_POINT] = {"point", "a point", "points"},
	[TYPE_EDGE] = {"edge", "an edge", "edges"},
	[TYPE_COUNTER] = {"counter", "a counter", "counters"},
	[TYPE_SPANSET] = {"spanset", "a spanset", "spansets"},
	[TYPE_RELATION] = {"relation", "rows", "rows"},
	[TYPE_SERIES] = {"series", "a series", "series"},
	[TYPE_ORDER] = {"order", "an order of events", "orders of events"},
	[TYPE_PATH] = {"path", "a critical path", "critical paths"},
	[TYPE_CHANGE] = {"change", "a change", "changes"},
	[TYPE_FEATURE] = {"feature", "a recorded feature", "recorded features"},
};

bool type_is_scalar(struct type t)
{
	return !t.many && t.tag <= TYPE_HISTOGRAM;
}

bool type_is_number(struct type t)
{
	return !t.many && (t.tag == TYPE_INT || t.tag == TYPE_FLOAT || t.tag == TYPE_UNKNOWN ||
			   t.tag == TYPE_ERROR);
}

bool type_is_summable(struct type t)
{
	return type_is_number(t) || (!t.many && t.tag == TYPE_DURATION);
}

bool type_is_element(struct type t)
{
	return t.tag >= TYPE_TRACE && t.tag <= TYPE_COUNTER;
}

bool type_agrees(struct type a, struct type b)
{
	if (a.tag == TYPE_ERROR || b.tag == TYPE_ERROR)
		return true;
	if (a.many != b.many)
		return false;
	if (a.tag == b.tag)
		return a.tag != TYPE_LIST || type_agrees(type_of(a.of), type_of(b.of));
	if (!type_is_scalar(a) || !type_is_scalar(b))
		return false;
	if (a.tag == TYPE_UNKNOWN || b.tag == TYPE_UNKNOWN || a.tag == TYPE_NIL ||
	    b.tag == TYPE_NIL)
		return true;
	return type_is_number(a) && type_is_number(b);
}

const char *type_name(struct type t, char out[TYPE_NAME_BYTES])
{
	if (t.tag == TYPE_LIST && t.of != TYPE_ERROR && t.of != TYPE_UNKNOWN)
		snprintf(out, TYPE_NAME_BYTES, "%s of %s", t.many ? "many lists" : "a list",
			 tags[t.of].plural);
	else if (t.many)
		snprintf(out, TYPE_NAME_BYTES, "many %s", tags[t.tag].plural);
	else
		snprintf(out, TYPE_NAME_BYTES, "%s", tags[t.tag].singular);
	return out;
}

const char *type_tag_name(enum type_tag tag)
{
	return tags[tag].word;
}
