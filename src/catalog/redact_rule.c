/* catalog/redact_rule.c - which attributes must not be stored as they came. */
#include "catalog/redact_rule.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>

#include "catalog/catalog_int.h"

#define DETAIL_BYTES (2 * REDACT_MAX_GLOB_CHARS + REDACT_MAX_PATTERN_CHARS + 100)

static const char *const actions[] = {[REDACT_DROP] = "drop", [REDACT_HASH] = "hash"};
static const char *const levels[] = {
	[REDACT_ANY] = "any",
	[REDACT_RESOURCE] = "resource",
	[REDACT_SCOPE] = "scope",
	[REDACT_BLOCK] = "block",
};

static int find_name(const char *const *names, size_t n, struct slice text)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && slice_eq(text, slice_cstr(names[i])))
			return (int)i;
	return -EINVAL;
}

int redact_action_parse(struct slice text, enum redact_action *ret_action, struct error *e)
{
	int i = find_name(actions, ARRAY_SIZE(actions), text);

	if (i < 0)
		return error_set(e, -EINVAL, "'%.*s' is not an action: choose drop or hash",
				 SLICE_ARG(slice_first(text, 40)));
	*ret_action = (enum redact_action)i;
	return 0;
}

int redact_level_parse(struct slice text, enum redact_level *ret_level, struct error *e)
{
	int i = find_name(levels, ARRAY_SIZE(levels), text);

	if (i < 0)
		return error_set(e, -EINVAL,
				 "'%.*s' is not a level: choose any, resource, scope or block",
				 SLICE_ARG(slice_first(text, 40)));
	*ret_level = (enum redact_level)i;
	return 0;
}

const char *redact_action_name(enum redact_action action)
{
	return (size_t)action < ARRAY_SIZE(actions) && actions[action] ? actions[action] : "?";
}

const char *redact_level_name(enum redact_level level)
{
	return (size_t)level < ARRAY_SIZE(levels) ? levels[level] : "?";
}

static int glob_check(const char *what, const char *glob, struct error *e)
{
	size_t n = glob ? strlen(glob) : 0;

	if (n == 0)
		return error_set(e, -EINVAL, "a rule needs a pattern for the %s", what);
	if (n > REDACT_MAX_GLOB_CHARS)
		return error_set(e, -EINVAL, "the pattern for the %s is longer than %d characters",
				 what, REDACT_MAX_GLOB_CHARS);
	return 0;
}

static bool has_back_reference(const char *pattern)
{
	for (const char *p = pattern; *p; p++)
		if (p[0] == '\\' && p[1]) {
			if (p[1] >= '1' && p[1] <= '9')
				return true;
			p++;
		}
	return false;
}

int redact_pattern_compile(const char *pattern, regex_t *ret_compiled, struct error *e)
{
	locale_t bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	char why[100];
	int rc;

	if (bytes == (locale_t)0)
		return error_set(e, -ENOMEM, "out of memory");
	before = uselocale(bytes);
	rc = regcomp(ret_compiled, pattern, REG_EXTENDED | REG_NOSUB);
	uselocale(before);
	freelocale(bytes);
	if (rc == 0)
		return 0;
	regerror(rc, ret_compiled, why, sizeof(why));
	return error_set(e, rc == REG_ESPACE ? -ENOMEM : -EINVAL,
			 "the value pattern '%.80s' is not a regular expression: %s", pattern, why);
}

static int pattern_check(const char *pattern, struct error *e)
{
	regex_t compiled;
	int r;

	if (strlen(pattern) > REDACT_MAX_PATTERN_CHARS)
		return error_set(e, -EINVAL, "the value pattern is longer than %d characters",
				 REDACT_MAX_PATTERN_CHARS);
	if (has_back_reference(pattern))
		return error_set(e, -EINVAL,
				 "the value pattern has a back-reference, whose matching can take "
				 "exponential time");
	r = redact_pattern_compile(pattern, &compiled, e);
	if (r == 0)
		regfree(&compiled);
	return r;
}

int redact_rule_check(const struct redact_rule *rule, struct error *e)
{
	int r;

	if ((r = glob_check("owner", rule->owner, e)) < 0 ||
	    (r = glob_check("key", rule->key, e)) < 0)
		return r;
	if (rule->action != REDACT_DROP && rule->action != REDACT_HASH)
		return error_set(e, -EINVAL, "a rule needs an action: drop or hash");
	if ((unsigned)rule->level >= ARRAY_SIZE(levels))
		return error_set(e, -EINVAL, "there is no level %d", (int)rule->level);
	return rule->value ? pattern_check(rule->value, e) : 0;
}

static int count_rules(struct catalog *cat, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->db, "SELECT count(*) FROM redact_rule", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	return sqlite3_column_int(s, 0);
}

static int insert(struct catalog *cat, const struct redact_rule *rule, const char *by,
		  int64_t *ret_id, struct error *e)
{
	char detail[DETAIL_BYTES];
	int64_t id = 0;
	int r;

	r = count_rules(cat, e);
	if (r < 0)
		return r;
	if (r >= REDACT_MAX_RULES)
		return error_set(e, -ENOSPC,
				 "there are %d rules already: every attribute is "
				 "compared with each",
				 REDACT_MAX_RULES);
	r = catalog_exec(cat, e,
			 "INSERT INTO redact_rule (owner, key, value, action, level, created_ns) "
			 "VALUES (?, ?, ?, ?, ?, ?)",
			 "sssiii", rule->owner, rule->key, rule->value, (int64_t)rule->action,
			 (int64_t)rule->level, clock_wall_ns());
	if (r < 0)
		return r;
	id = sqlite3_last_insert_rowid(cat->db);
	snprintf(detail, sizeof(detail), "rule %" PRId64 ": %s %s at %s of %s%s%s", id,
		 redact_action_name(rule->action), rule->key, redact_level_name(rule->level),
		 rule->owner, rule->value ? " where " : "", rule->value ? rule->value : "");
	r = audit_append(cat, by, "redact.add", detail, e);
	if (r == 0)
		*ret_id = id;
	return r;
}

int redact_rule_add(struct catalog *cat, const struct redact_rule *rule, const char *by,
		    int64_t *ret_id, struct error *e)
{
	int64_t id = 0;
	int r;

	if ((r = redact_rule_check(rule, e)) < 0 || (r = catalog_begin(cat, e)) < 0)
		return r;
	r = catalog_end(cat, insert(cat, rule, by, &id, e), e);
	if (r < 0)
		return r;
	if (ret_id)
		*ret_id = id;
	return 0;
}

static int list_rows(sqlite3_stmt *s, int (*each)(void *context, const struct redact_rule *rule),
		     void *context, int *ret_rc)
{
	int r = 0;

	while (r == 0 && (*ret_rc = sqlite3_step(s)) == SQLITE_ROW) {
		const struct redact_rule rule = {
			.id = sqlite3_column_int64(s, 0),
			.owner = (const char *)sqlite3_column_text(s, 1),
			.key = (const char *)sqlite3_column_text(s, 2),
			.value = (const char *)sqlite3_column_text(s, 3),
			.action = (enum redact_action)sqlite3_column_int(s, 4),
			.level = (enum redact_level)sqlite3_column_int(s, 5),
			.created_ns = sqlite3_column_int64(s, 6),
		};

		/* A rule without its pattern would be another rule: out of memory is an error. */
		if (!rule.owner || !rule.key ||
		    (!rule.value && sqlite3_column_type(s, 3) != SQLITE_NULL)) {
			*ret_rc = SQLITE_NOMEM;
			break;
		}
		r = each(context, &rule);
	}
	return r;
}

int redact_rule_list(struct catalog *cat,
		     int (*each)(void *context, const struct redact_rule *rule), void *context,
		     struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(cat->db,
				"SELECT id, owner, key, value, action, level, created_ns "
				"FROM redact_rule ORDER BY id",
				-1, &s, NULL);
	if (rc == SQLITE_OK)
		r = list_rows(s, each, context, &rc);
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}

static int remove_row(struct catalog *cat, int64_t id, const char *by, struct error *e)
{
	char detail[40];
	int r = catalog_exec(cat, e, "DELETE FROM redact_rule WHERE id = ?", "i", id);

	if (r < 0)
		return r;
	if (sqlite3_changes(cat->db) == 0)
		return error_set(e, -ENOENT, "there is no rule %" PRId64, id);
	snprintf(detail, sizeof(detail), "rule %" PRId64, id);
	return audit_append(cat, by, "redact.remove", detail, e);
}

int redact_rule_remove(struct catalog *cat, int64_t id, const char *by, struct error *e)
{
	int r = catalog_begin(cat, e);

	if (r < 0)
		return r;
	return catalog_end(cat, remove_row(cat, id, by, e), e);
}
