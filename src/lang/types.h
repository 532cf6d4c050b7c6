/* lang/types.h - what a value of the language can be.
 *
 * Scalars are what a cell of a result holds.  Elements are pieces of a modelled trace.  Sets are
 * what sources and pipes carry.  `many` turns an element or a scalar into a stream of them:
 * `Points` is many points, `Points | First` is one, `Edges | Duration` is many durations. */
#ifndef CAUSET_LANG_TYPES_H
#define CAUSET_LANG_TYPES_H

#include "core/slice.h"

enum type_tag {
	TYPE_ERROR, /* already reported; agrees with everything, so that one mistake is told once */
	TYPE_UNKNOWN, /* a scalar whose type each value brings along: attributes, exports */
	TYPE_NIL,
	TYPE_BOOL,
	TYPE_INT,
	TYPE_FLOAT,
	TYPE_STRING,
	TYPE_TIME,     /* nanoseconds since 1970 */
	TYPE_DURATION, /* nanoseconds */
	TYPE_STATUS,   /* unset, ok, error */
	TYPE_KIND,     /* unspecified, internal, server, client, producer, consumer */
	TYPE_LIST,     /* of `of` */
	TYPE_HISTOGRAM,
	/* elements of a trace */
	TYPE_TRACE,
	TYPE_UNIT,
	TYPE_BLOCK, /* a span is a block that came as one */
	TYPE_POINT,
	TYPE_EDGE,
	TYPE_COUNTER,
	/* sets and the rest */
	TYPE_SPANSET,  /* per trace, a set of spans */
	TYPE_RELATION, /* rows with columns */
	TYPE_SERIES,   /* per group, a number per step */
	TYPE_ORDER,    /* a -> b as a value: the argument of CriticalPath */
	TYPE_PATH,     /* what CriticalPath gives: blocks and edges in order */
	TYPE_CHANGE,   /* Without(…), Scale(…): arguments of WhatIf */
	TYPE_FEATURE,  /* RecordAs: a named cell of a dataset's row */
	TYPE_TAGS      /* how many */
};

struct columns;

struct type {
	enum type_tag tag;
	enum type_tag of; /* TYPE_LIST: of what; else TYPE_ERROR */
	bool many;        /* a stream of them */
	bool grouped;     /* TYPE_SPANSET, TYPE_SERIES and scalars of a pipe: one per by() group */
	const struct columns *columns; /* TYPE_RELATION and TYPE_SERIES only */
};

struct column {
	struct slice
		name; /* as written: "host", "n", "SUM(delta)"; unique names are not required */
	struct type type;
};

struct columns {
	struct column *items;
	size_t n;
	bool open; /* other names exist, too, and are TYPE_UNKNOWN: attributes, undeclared exports
		    */
};

static inline struct type type_of(enum type_tag tag)
{
	return (struct type){.tag = tag};
}

static inline struct type type_many(enum type_tag tag)
{
	return (struct type){.tag = tag, .many = true};
}

/* A cell of a result can hold it.  TYPE_ERROR and TYPE_UNKNOWN are. */
bool type_is_scalar(struct type t);

/* int, float, or unknown */
bool type_is_number(struct type t);

/* What SUM and AVG take: numbers and durations, or unknown. */
bool type_is_summable(struct type t);

/* A piece of a trace, one or many. */
bool type_is_element(struct type t);

/* Equal, or one of them is unknown or an error; int and float agree; nil agrees with every scalar.
 */
bool type_agrees(struct type a, struct type b);

#define TYPE_NAME_BYTES 64

/* For messages: "a duration", "many points", "a list of strings", "a spanset". */
const char *type_name(struct type t, char out[TYPE_NAME_BYTES]);

/* One word, for tables and machines: "duration", "spanset", "list". */
const char *type_tag_name(enum type_tag tag);

#endif
