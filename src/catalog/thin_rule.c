/* catalog/thin_rule.c - what stays of old traces. */
#include "catalog/thin_rule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/catalog_int.h"
#include "core/slice.h"

#define THRESHOLD_MOST (INT64_C(1) << 56) /* keeps none; sampling/threshold.h */

static int attributes_check(const char *attributes, struct error *e)
{
	struct slice rest = slice_cstr(attributes);

	for (int n = 0; rest.n > 0; n++) {
		struct slice line = slice_cut(&rest, '\n');

		if (n == THIN_RULE_MAX_ATTRIBUTES)
			return error_set(e, -EINVAL, "more than %d attributes in one rule",
					 THIN_RULE_MAX_ATTRIBUTES);
		if (line.n == 0 || line.p[0] == '=')
			return error_set(e, -EINVAL, "an attribute needs a key: KEY or KEY=VALUE");
		if (line.n > THIN_RULE_MAX_CHARS)
			return error_set(e, -EINVAL, "an attribute is longer than %d characters",
					 THIN_RULE_MAX_CHARS);
	}
	return 0;
}

int thin_rule_check(const struct thin_rule_row *rule, struct error *e)
{
	if (rule->after_ns <= 0)
		return error_set(e, -EINVAL, "a rule needs an age above 0");
	if (rule->threshold > (uint64_t)THRESHOLD_MOST)
		return error_set(e, -EINVAL, "a share lies between 0 and 1");
	if (!(rule->slow >= 0 && rule->slow < 1))
		return error_set(e, -EINVAL, "the slow tail begins at a quantile below 1");
	if (rule->rare < 0)
		return error_set(e, -EINVAL, "a shape is rare up to a count above 0");
	return attributes_check(rule->attributes, e);
}

/* One number out of a statement with at most one argument. */
static int ask(struct catalog *cat, const char *sql, int64_t argument, int64_t *ret_value,
	       struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(s) > 0)
		rc = sqlite3_bind_int64(s, 1, argument);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	*ret_value = sqlite3_column_int64(s, 0);
	return 0;
}

static int insert(struct catalog *cat, const struct thin_rule_row *rule, const char *by,
		  int64_t *ret_id, struct error *e)
{
	int64_t count = 0, same = 0;
	char detail[160];
	int r;

	if ((r = ask(cat, "SELECT count(*) FROM thin_rule", 0, &count, e)) < 0 ||
	    (r = ask(cat, "SELECT count(*) FROM thin_rule WHERE after_ns = ?", rule->after_ns,
		     &same, e)) < 0)
		return r;
	if (count >= THIN_RULE_MAX)
		return error_set(e, -ENOSPC, "there are %d rules already", THIN_RULE_MAX);
	if (same > 0)
		return error_set(e, -EEXIST,
				 "there is a rule for this age already: remove it first");
	r = catalog_exec(cat, e,
			 "INSERT INTO thin_rule (after_ns, threshold, errors, slow_ppm, rare, "
			 "attributes, created_ns) VALUES (?, ?, ?, ?, ?, ?, ?)",
			 "iiiiisi", rule->after_ns, (int64_t)rule->threshold, (int64_t)rule->errors,
			 (int64_t)(rule->slow * 1e6 + 0.5), rule->rare, rule->attributes,
			 clock_wall_ns());
	if (r < 0)
		return r;
	*ret_id = sqlite3_last_insert_rowid(cat->db);
	snprintf(detail, sizeof(detail),
		 "rule %" PRId64 ": after %" PRId64 " s keep %.6g of the rest", *ret_id,
		 (int64_t)(rule->after_ns / NS_PER_S),
		 1 - (double)rule->threshold / (double)THRESHOLD_MOST);
	return audit_append(cat, by, "thin.add", detail, e);
}

int thin_rule_add(struct catalog *cat, const struct thin_rule_row *rule, const char *by,
		  int64_t *ret_id, struct error *e)
{
	int64_t id = 0;
	int r;

	if ((r = thin_rule_check(rule, e)) < 0 || (r = catalog_begin(cat, e)) < 0)
		return r;
	r = catalog_end(cat, insert(cat, rule, by, &id, e), e);
	if (r == 0 && ret_id)
		*ret_id = id;
	return r;
}

int thin_rule_list(struct catalog *cat,
		   int (*each)(void *context, const struct thin_rule_row *rule), void *context,
		   struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(
		cat->db,
		"SELECT id, after_ns, threshold, errors, slow_ppm, rare, attributes, "
		"created_ns FROM thin_rule ORDER BY after_ns",
		-1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		const struct thin_rule_row rule = {
			.id = sqlite3_column_int64(s, 0),
			.after_ns = sqlite3_column_int64(s, 1),
			.threshold = (uint64_t)sqlite3_column_int64(s, 2),
			.errors = sqlite3_column_int(s, 3) != 0,
			.slow = (double)sqlite3_column_int64(s, 4) / 1e6,
			.rare = sqlite3_column_int64(s, 5),
			.attributes = (const char *)sqlite3_column_text(s, 6),
			.created_ns = sqlite3_column_int64(s, 7),
		};

		if (!rule.attributes) { /* a rule without them would drop more */
			rc = SQLITE_NOMEM;
			break;
		}
		r = each(context, &rule);
		if (r != 0)
			break;
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}

static int remove_row(struct catalog *cat, int64_t id, const char *by, struct error *e)
{
	char detail[40];
	int r = catalog_exec(cat, e, "DELETE FROM thin_rule WHERE id = ?", "i", id);

	if (r < 0)
		return r;
	if (sqlite3_changes(cat->db) == 0)
		return error_set(e, -ENOENT, "there is no rule %" PRId64, id);
	snprintf(detail, sizeof(detail), "rule %" PRId64, id);
	return audit_append(cat, by, "thin.remove", detail, e);
}

int thin_rule_remove(struct catalog *cat, int64_t id, const char *by, struct error *e)
{
	int r = catalog_begin(cat, e);

	if (r < 0)
		return r;
	return catalog_end(cat, remove_row(cat, id, by, e), e);
}
