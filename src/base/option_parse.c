/* base/option_parse.c - settings from the command line, the environment and a file. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/option.h"
#include "base/suggest.h"

#define NAME_MAX_CHARS 64
#define SOURCE_BYTES   (NAME_MAX_CHARS + 16)

struct found {
	struct option_set *set;
	const struct option *option;
};

static struct found find_name(struct option_set *const *sets, size_t set_n, struct slice name)
{
	for (size_t i = 0; i < set_n; i++) {
		const struct option *o = option_find(sets[i]->table, name);

		if (o)
			return (struct found){sets[i], o};
	}
	return (struct found){0};
}

static struct found find_letter(struct option_set *const *sets, size_t set_n, char letter)
{
	for (size_t i = 0; i < set_n; i++)
		for (size_t k = 0; k < sets[i]->n; k++)
			if (sets[i]->table[k].letter == letter)
				return (struct found){sets[i], &sets[i]->table[k]};
	return (struct found){0};
}

static void offer_names(struct suggestion *s, const struct option_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		suggestion_offer(s, set->table[i].name);
}

static int unknown_argument(struct option_set *const *sets, size_t set_n, struct slice name,
			    struct error *error)
{
	struct suggestion s = suggestion_for(name);

	for (size_t i = 0; i < set_n; i++)
		offer_names(&s, sets[i]);
	if (s.best)
		return error_set(error, -EINVAL, "there is no option --%.*s; did you mean --%s?",
				 (int)MIN(name.n, (size_t)NAME_MAX_CHARS), name.p, s.best);
	return error_set(error, -EINVAL, "there is no option --%.*s; --help lists them",
			 (int)MIN(name.n, (size_t)NAME_MAX_CHARS), name.p);
}

struct arguments {
	struct option_set *const *sets;
	size_t set_n;
	int argc;
	char **argv;
	int at;
	struct error *error;
};

/* The value of an option without '=': the next argument. */
static int put_next(struct arguments *a, struct found f, const char *source)
{
	if (a->at + 1 >= a->argc)
		return error_set(a->error, -EINVAL, "%s wants a value: %s %s", source, source,
				 f.option->value ? f.option->value : "VALUE");
	return option_put(f.set, f.option, slice_cstr(a->argv[++a->at]), OPTION_ARGUMENT, source,
			  a->error);
}

static int parse_long(struct arguments *a, const char *text)
{
	struct slice rest = slice_cstr(text), name = slice_cut(&rest, '=');
	bool has_value = rest.p != NULL;
	struct found f = find_name(a->sets, a->set_n, name);
	char source[SOURCE_BYTES];

	if (!f.option && slice_starts(name, SLICE("no-"))) {
		f = find_name(a->sets, a->set_n, slice_from(name, 3));
		if (f.option && f.option->type == OPTION_BOOL && !has_value) {
			snprintf(source, sizeof(source), "--%.*s", SLICE_ARG(name));
			return option_put(f.set, f.option, SLICE("off"), OPTION_ARGUMENT, source,
					  a->error);
		}
		f.option = NULL;
	}
	if (!f.option)
		return unknown_argument(a->sets, a->set_n, name, a->error);
	snprintf(source, sizeof(source), "--%s", f.option->name);
	if (has_value)
		return option_put(f.set, f.option, rest, OPTION_ARGUMENT, source, a->error);
	if (f.option->type == OPTION_BOOL)
		return option_put(f.set, f.option, SLICE("on"), OPTION_ARGUMENT, source, a->error);
	return put_next(a, f, source);
}

/* "-q", "-qv", "-n5", "-n 5" */
static int parse_short(struct arguments *a, const char *text)
{
	for (; *text; text++) {
		struct found f = find_letter(a->sets, a->set_n, *text);
		char source[] = {'-', *text, 0};
		int r;

		if (!f.option)
			return error_set(a->error, -EINVAL,
					 "there is no option %s; --help lists them", source);
		if (f.option->type != OPTION_BOOL) {
			if (text[1])
				return option_put(f.set, f.option, slice_cstr(text + 1),
						  OPTION_ARGUMENT, source, a->error);
			return put_next(a, f, source);
		}
		r = option_put(f.set, f.option, SLICE("on"), OPTION_ARGUMENT, source, a->error);
		if (r < 0)
			return r;
	}
	return 0;
}

int option_parse_arguments(struct option_set *const *sets, size_t set_n, int argc, char **argv,
			   struct error *error)
{
	struct arguments a = {sets, set_n, argc, argv, 0, error};
	int kept = 0;

	for (; a.at < argc; a.at++) {
		char *text = argv[a.at];
		int r = 0;

		if (strcmp(text, "--") == 0) {
			while (++a.at < argc)
				argv[kept++] = argv[a.at];
			break;
		}
		if (text[0] == '-' && text[1] == '-')
			r = parse_long(&a, text + 2);
		else if (text[0] == '-' && text[1])
			r = parse_short(&a, text + 1);
		else
			argv[kept++] = text;
		if (r < 0)
			return r;
	}
	return kept;
}

/* "max-body" as CAUSET_MAX_BODY. */
static void variable_name(const char *prefix, const char *name, char out[SOURCE_BYTES])
{
	int n = snprintf(out, SOURCE_BYTES, "%s%s", prefix, name);

	for (int i = 0; i < n && i < SOURCE_BYTES - 1; i++) {
		if (out[i] == '-')
			out[i] = '_';
		else if (out[i] >= 'a' && out[i] <= 'z')
			out[i] = (char)(out[i] - 'a' + 'A');
	}
}

int option_parse_environment(struct option_set *set, const char *prefix, char *const *environment,
			     struct error *error)
{
	for (size_t i = 0; i < set->n; i++) {
		char name[SOURCE_BYTES];
		size_t n;

		if (set->table[i].once)
			continue;
		variable_name(prefix, set->table[i].name, name);
		n = strlen(name);
		for (char *const *e = environment; *e; e++) {
			int r;

			if (strncmp(*e, name, n) != 0 || (*e)[n] != '=')
				continue;
			r = option_put(set, &set->table[i], slice_cstr(*e + n + 1),
				       OPTION_ENVIRONMENT, name, error);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* What stands between quotes, or before a comment. */
static struct slice unquote(struct slice value)
{
	const char *end;

	if (value.n >= 2 && value.p[0] == '"') {
		end = memchr(value.p + 1, '"', value.n - 1);
		return end ? slice_of(value.p + 1, (size_t)(end - value.p - 1)) : value;
	}
	end = memmem(value.p ? value.p : "", value.n, " #", 2);
	return end ? slice_trim(slice_of(value.p, (size_t)(end - value.p))) : value;
}

static int unknown_line(struct option_set *const *sets, size_t set_n,
			const struct option_set *const *others, size_t other_n, struct slice name,
			const char *source, struct error *error)
{
	struct suggestion s = suggestion_for(name);

	for (size_t i = 0; i < other_n; i++)
		if (option_find(others[i]->table, name))
			return 0;
	for (size_t i = 0; i < set_n; i++)
		offer_names(&s, sets[i]);
	for (size_t i = 0; i < other_n; i++)
		offer_names(&s, others[i]);
	if (s.best)
		return error_set(error, -EINVAL, "%s: there is no setting '%.*s'; did you mean %s?",
				 source, (int)MIN(name.n, (size_t)NAME_MAX_CHARS), name.p, s.best);
	return error_set(error, -EINVAL,
			 "%s: there is no setting '%.*s'; causet serve --help lists them", source,
			 (int)MIN(name.n, (size_t)NAME_MAX_CHARS), name.p);
}

int option_parse_file(struct option_set *const *sets, size_t set_n,
		      const struct option_set *const *others, size_t other_n, const char *path,
		      struct slice text, struct error *error)
{
	struct slice rest = text;
	int number = 0;

	if (text.n > OPTION_MAX_FILE_BYTES)
		return error_set(error, -EFBIG, "%s: larger than %d bytes", path,
				 OPTION_MAX_FILE_BYTES);
	while (rest.p) {
		struct slice line = slice_trim(slice_cut(&rest, '\n'));
		struct slice value = line, name = slice_trim(slice_cut(&value, '='));
		struct found f = find_name(sets, set_n, name);
		char source[512];
		int r;

		number++;
		if (line.n == 0 || line.p[0] == '#')
			continue;
		snprintf(source, sizeof(source), "%s:%d", path, number);
		if (!value.p)
			return error_set(error, -EINVAL, "%s: wants 'name = value', found '%.*s'",
					 source, (int)MIN(line.n, (size_t)NAME_MAX_CHARS), line.p);
		if (f.option && f.option->once)
			return error_set(error, -EINVAL, "%s: '%s' works only as --%s", source,
					 f.option->name, f.option->name);
		if (f.option)
			r = option_put(f.set, f.option, unquote(slice_trim(value)), OPTION_FILE,
				       source, error);
		else
			r = unknown_line(sets, set_n, others, other_n, name, source, error);
		if (r < 0)
			return r;
	}
	return 0;
}
