/* cli/filter.h - which traces: the options that `traces` and `export` share. */
#ifndef CAUSET_CLI_FILTER_H
#define CAUSET_CLI_FILTER_H

#include "cli/cli.h"

/* The first member of the values of commands that use FILTER_OPTIONS. */
struct filter {
	const char *service, *operation, *start, *end, *min_duration, *max_duration;
	struct option_list tags;
	bool errors;
};

#define FILTER_OPTIONS                                                                                                \
	{.name = "service",                                                                                           \
	 .letter = 's',                                                                                               \
	 .type = OPTION_STRING,                                                                                       \
	 .value = "SERVICE",                                                                                          \
	 .group = "Which traces",                                                                                     \
	 .doc = "with a span of this service",                                                                        \
	 .offset = offsetof(struct filter, service)},                                                                 \
		{.name = "operation",                                                                                 \
		 .type = OPTION_STRING,                                                                               \
		 .value = "NAME",                                                                                     \
		 .doc = "with a span of this name (and of the service, if one is given)",                             \
		 .offset = offsetof(struct filter, operation)},                                                       \
		{.name = "tag",                                                                                       \
		 .letter = 't',                                                                                       \
		 .type = OPTION_LIST,                                                                                 \
		 .whole = true,                                                                                       \
		 .value = "KEY=VALUE",                                                                                \
		 .doc = "with a span that has this attribute, on itself or its resource; may be given several times", \
		 .offset = offsetof(struct filter, tags)},                                                            \
		{.name = "errors",                                                                                    \
		 .type = OPTION_BOOL,                                                                                 \
		 .doc = "with a span that failed",                                                                    \
		 .offset = offsetof(struct filter, errors)},                                                          \
		{.name = "min-duration",                                                                              \
		 .type = OPTION_STRING,                                                                               \
		 .value = "TIME",                                                                                     \
		 .doc = "at least this long, such as 1.5s or 200ms",                                                  \
		 .offset = offsetof(struct filter, min_duration)},                                                    \
		{.name = "max-duration",                                                                              \
		 .type = OPTION_STRING,                                                                               \
		 .value = "TIME",                                                                                     \
		 .doc = "at most this long",                                                                          \
		 .offset = offsetof(struct filter, max_duration)},                                                    \
		{.name = "start",                                                                                     \
		 .type = OPTION_STRING,                                                                               \
		 .value = "WHEN",                                                                                     \
		 .doc = "started at or after: 2026-01-02T03:04:05Z, seconds since 1970, or relative such as -1h",     \
		 .offset = offsetof(struct filter, start)},                                                           \
	{                                                                                                             \
		.name = "end", .type = OPTION_STRING, .value = "WHEN", .doc = "started before",                       \
		.offset = offsetof(struct filter, end)                                                                \
	}

/* Appends it to a URL's query.  The server checks the values and says what is wrong. */
void filter_query(const struct filter *f, struct buffer *query);

#endif
