/* base/option.h - settings as a table: name, type, default, limits, text for people.
 *
 * One row is all a setting needs: reading it from the command line, the environment and a file, its
 * checks, --help, the man page, --print-config and completion all come from the table.  Values land
 * in a struct of the caller's, each at the row's offset:
 *
 *   OPTION_BOOL              bool
 *   OPTION_STRING            const char *, NULL when not set
 *   OPTION_INT, _SIZE        int64_t
 *   OPTION_DURATION          int64_t nanoseconds
 *   OPTION_PORT              int64_t, OPTION_OFF when switched off
 *   OPTION_CHOICE            int64_t, the index in `choices`
 *   OPTION_LIST              struct option_list
 *
 * A table ends with an empty row.  One thread. */
#ifndef CAUSET_BASE_OPTION_H
#define CAUSET_BASE_OPTION_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#define OPTION_OFF            (-1)
#define OPTION_MAX_ITEMS      1000      /* of a list */
#define OPTION_MAX_FILE_BYTES (1 << 20) /* of a settings file */

enum option_type {
	OPTION_BOOL,
	OPTION_STRING,
	OPTION_INT,
	OPTION_SIZE,
	OPTION_DURATION,
	OPTION_PORT,
	OPTION_CHOICE,
	OPTION_LIST,
};

struct option_list {
	const char **items; /* NULL-terminated; NULL when empty */
	size_t n;
};

struct option {
	const char *name; /* "max-body": --max-body, CAUSET_MAX_BODY, max-body = … */
	char letter;      /* 'q' for -q, or 0 */
	enum option_type type;
	const char *fallback;       /* default, as somebody would write it; NULL: none */
	int64_t min, max;           /* INT, SIZE, DURATION; both 0: no bounds */
	const char *const *choices; /* CHOICE: NULL-terminated */
	const char *value;          /* what --help writes for the value: "FILE" */
	const char *doc;            /* a sentence without a full stop */
	bool whole;                 /* LIST: an item may hold commas; give it several times */
	bool once;                  /* only on the command line: it says what to do now */
	const char *group;          /* heading in --help; NULL: as the row before */
	size_t offset;              /* in the caller's struct */
};

/* Where a value came from; a higher one overrides. */
enum option_rank { OPTION_DEFAULT, OPTION_FILE, OPTION_ENVIRONMENT, OPTION_ARGUMENT };

struct option_origin {
	enum option_rank rank;
	const char *source; /* "default", "/etc/causet/config:3", "CAUSET_LISTEN", "--listen" */
	const char *text;   /* the value as it was written, lists joined with ", "; or NULL */
};

struct option_set {
	const struct option *table;
	size_t n;
	void *values;
	struct option_origin *origins; /* one per row */
	struct arena *arena;           /* holds texts and origins */
};

/* Puts the defaults in place.  -ENOMEM; a default that does not parse is a bug and is asserted. */
int option_set_init(struct option_set *set, const struct option *table, void *values,
		    struct arena *arena);

/* Rows before the empty one that ends a table; 0 for NULL. */
size_t option_count(const struct option *table);

/* The row of that name, or NULL. */
const struct option *option_find(const struct option *table, struct slice name);

static inline const struct option_origin *option_origin(const struct option_set *set,
							const struct option *o)
{
	return &set->origins[o - set->table];
}

/* Takes a value unless one of a higher rank is there.  Lists: comma separated, and a second one of
 * the same rank is added to the first.  -EINVAL, -ERANGE with a sentence that names the source and
 * what would be right. */
int option_put(struct option_set *set, const struct option *o, struct slice value,
	       enum option_rank rank, const char *source, struct error *error);

/* Reads a command line into several sets (a name is looked for in them in turn):
 *   --name=value  --name value  -n value  -nvalue  --flag  --no-flag  --flag=off  -- rest
 * What is no option is moved to the front of argv in order; returns how many, or -EINVAL. */
int option_parse_arguments(struct option_set *const *sets, size_t set_n, int argc, char **argv,
			   struct error *error);

/* Reads PREFIX + NAME (upper case, '-' as '_') of every row from an environment. */
int option_parse_environment(struct option_set *set, const char *prefix, char *const *environment,
			     struct error *error);

/* Reads "name = value" lines; '#' starts a comment; a value may stand in double quotes.  Names of
 * `others` (rows of other programs that share the file) are passed over, unknown ones are an
 * error.  `path` is for messages. */
int option_parse_file(struct option_set *const *sets, size_t set_n,
		      const struct option_set *const *others, size_t other_n, const char *path,
		      struct slice text, struct error *error);

/* The lines of --help, folded to `columns`. */
void option_help(const struct option *table, size_t columns, struct buffer *out);

/* The same as man(7) source: a .TP per row. */
void option_help_man(const struct option *table, struct buffer *out);

/* A settings file that gives these values again, each with its source as a comment. */
void option_print(const struct option_set *set, struct buffer *out);

/* Text folded to `columns`, each line behind `indent` blanks; the first line goes on behind `used`
 * columns that are already there. */
void option_fold(const char *text, size_t indent, size_t used, size_t columns, struct buffer *out);

#endif
