/* catalog/alert.c - rules for alerts, what they have found, and what is still to be told. */
#include "catalog/alert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "catalog/catalog_int.h"

/* --- reading --- */

/* Runs a question and calls row() for each answer; text parameters may be NULL. */
static int select_each(struct catalog *cat, const char *sql, const char *parameter,
		       int (*row)(sqlite3_stmt *s, void *context), void *context, struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(cat->db, sql, -1, &s, NULL);
	if (rc == SQLITE_OK && parameter)
		rc = sqlite3_bind_text(s, 1, parameter, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		r = row(s, context);
		if (r != 0)
			break;
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}

static const char *text_at(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : ""; /* no column may be NULL: it is memory that is missing */
}

struct rule_each {
	int (*each)(void *context, const struct alert_rule_row *row);
	void *context;
};

static int rule_row(sqlite3_stmt *s, void *context)
{
	const struct rule_each *x = context;
	const struct alert_rule_row row = {
		.name = text_at(s, 0),
		.text = text_at(s, 1),
		.owner = text_at(s, 2),
		.updated_ns = sqlite3_column_int64(s, 3),
		.evaluated_ns = sqlite3_column_int64(s, 4),
		.overflow = sqlite3_column_int64(s, 5),
		.late = sqlite3_column_int64(s, 6),
		.error = text_at(s, 7),
		.dropped = sqlite3_column_int(s, 8),
	};

	return x->each(x->context, &row);
}

#define RULES                                                                                      \
	"SELECT name, text, owner, updated_ns, evaluated_ns, overflow, late, error, dropped "      \
	"FROM alert_rule "

int alert_rule_list(struct catalog *cat, bool dropped,
		    int (*each)(void *context, const struct alert_rule_row *row), void *context,
		    struct error *e)
{
	struct rule_each x = {each, context};

	return select_each(
		cat, dropped ? RULES "ORDER BY name" : RULES "WHERE dropped = 0 ORDER BY name",
		NULL, rule_row, &x, e);
}

struct state_each {
	int (*each)(void *context, const struct alert_state_row *row);
	void *context;
};

static int state_row(sqlite3_stmt *s, void *context)
{
	const struct state_each *x = context;
	const struct alert_state_row row = {
		.rule = text_at(s, 0),
		.labels = text_at(s, 1),
		.is = (enum alert_is)sqlite3_column_int(s, 2),
		.value = sqlite3_column_double(s, 3),
		.since_ns = sqlite3_column_int64(s, 4),
		.fired_ns = sqlite3_column_int64(s, 5),
		.resolved_ns = sqlite3_column_int64(s, 6),
		.told_ns = sqlite3_column_int64(s, 7),
	};

	return x->each(x->context, &row);
}

#define STATES                                                                                     \
	"SELECT rule, labels, state, value, since_ns, fired_ns, resolved_ns, told_ns "             \
	"FROM alert_state "

int alert_state_list(struct catalog *cat, const char *rule,
		     int (*each)(void *context, const struct alert_state_row *row), void *context,
		     struct error *e)
{
	struct state_each x = {each, context};

	return select_each(cat,
			   rule ? STATES "WHERE rule = ? ORDER BY labels"
				: STATES "ORDER BY rule, labels",
			   rule, state_row, &x, e);
}

#define DELIVERIES                                                                                 \
	"SELECT id, rule, webhook, body, created_ns, next_ns, tries, error FROM alert_delivery "

static struct alert_delivery_row delivery_at(sqlite3_stmt *s)
{
	return (struct alert_delivery_row){
		.id = sqlite3_column_int64(s, 0),
		.rule = text_at(s, 1),
		.webhook = text_at(s, 2),
		.body = text_at(s, 3),
		.created_ns = sqlite3_column_int64(s, 4),
		.next_ns = sqlite3_column_int64(s, 5),
		.tries = sqlite3_column_int64(s, 6),
		.error = text_at(s, 7),
	};
}

#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)
/* Counts and oldest ones come from the index: bodies are large. */
#define DELIVERIES_SHORT                                                                           \
	"SELECT d.id, d.rule, '', '', d.created_ns, d.next_ns, d.tries, d.error, w.n "             \
	"FROM (SELECT min(id) AS id, count(*) AS n FROM alert_delivery GROUP BY rule) AS w "       \
	"JOIN alert_delivery AS d ON d.id = w.id ORDER BY d.id"

struct delivery_each {
	int (*each)(void *context, const struct alert_delivery_row *row);
	void *context;
};

static int delivery_row(sqlite3_stmt *s, void *context)
{
	const struct delivery_each *x = context;
	struct alert_delivery_row row = delivery_at(s);

	row.waiting = sqlite3_column_int64(s, 8);
	return x->each(x->context, &row);
}

int alert_delivery_list(struct catalog *cat,
			int (*each)(void *context, const struct alert_delivery_row *row),
			void *context, struct error *e)
{
	struct delivery_each x = {each, context};

	return select_each(cat, DELIVERIES_SHORT, NULL, delivery_row, &x, e);
}

static int counts_row(sqlite3_stmt *s, void *context)
{
	*(struct alert_counts *)context =
		(struct alert_counts){.pending = sqlite3_column_int64(s, 0),
				      .firing = sqlite3_column_int64(s, 1),
				      .waiting = sqlite3_column_int64(s, 2)};
	return 0;
}

int alert_count(struct catalog *cat, struct alert_counts *ret_counts, struct error *e)
{
	return select_each(cat,
			   "SELECT count(*) FILTER (WHERE state = 1), "
			   "count(*) FILTER (WHERE state = 2), "
			   "(SELECT count(*) FROM alert_delivery) FROM alert_state",
			   NULL, counts_row, ret_counts, e);
}

/* --- rules --- */

static int count_rows(struct catalog *cat, const char *sql, const char *parameter,
		      int64_t *ret_count, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->db, sql, -1, &s, NULL);

	if (rc == SQLITE_OK && parameter)
		rc = sqlite3_bind_text(s, 1, parameter, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	*ret_count = sqlite3_column_int64(s, 0);
	return 0;
}

static int row_check(const struct alert_rule_row *row, struct error *e)
{
	size_t name = row->name ? strlen(row->name) : 0, text = row->text ? strlen(row->text) : 0;

	if (name == 0 || text == 0)
		return error_set(e, -EINVAL, "a rule needs a name and a definition");
	if (name > ALERT_MAX_NAME_CHARS)
		return error_set(e, -EINVAL, "the rule's name is longer than %d characters",
				 ALERT_MAX_NAME_CHARS);
	if (text > ALERT_MAX_TEXT_BYTES)
		return error_set(e, -EINVAL, "the definition of %s is longer than %d bytes",
				 row->name, ALERT_MAX_TEXT_BYTES);
	return 0;
}

static int put_all(struct catalog *cat, const struct alert_rule_row *rows, size_t n,
		   const char *owner, const char *by, struct error *e)
{
	int64_t there = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		/* What an evaluation found stays: alerts of the old text resolve if the new one
		 * does not find them. */
		r = catalog_exec(cat, e,
				 "INSERT INTO alert_rule (name, text, owner, updated_ns) "
				 "VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
				 "text = excluded.text, owner = excluded.owner, "
				 "updated_ns = excluded.updated_ns, dropped = 0, error = ''",
				 "sssi", rows[i].name, rows[i].text, owner, clock_wall_ns());
		/* Who corrects a webhook wants what waits to go there. */
		if (r == 0 && rows[i].webhook)
			r = catalog_exec(cat, e,
					 "UPDATE alert_delivery SET webhook = ?, next_ns = 0, "
					 "tries = 0, error = '' WHERE rule = ?",
					 "ss", rows[i].webhook, rows[i].name);
		if (r == 0)
			r = audit_append(cat, by, "alert.define", rows[i].name, e);
	}
	if (r == 0)
		r = count_rows(cat, "SELECT count(*) FROM alert_rule", NULL, &there, e);
	if (r == 0 && there > ALERT_MAX_RULES)
		r = error_set(e, -ENOSPC, "there would be more than %d rules", ALERT_MAX_RULES);
	return r;
}

int alert_rule_define(struct catalog *cat, const struct alert_rule_row *rows, size_t n,
		      const char *owner, const char *by, struct error *e)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = row_check(&rows[i], e);
	if (r == 0)
		r = catalog_begin(cat, e);
	return r < 0 ? r : catalog_end(cat, put_all(cat, rows, n, owner, by, e), e);
}

static int drop(struct catalog *cat, const char *name, const char *by, struct error *e)
{
	int64_t there = 0;
	int r = count_rows(cat, "SELECT count(*) FROM alert_rule WHERE name = ? AND dropped = 0",
			   name, &there, e);

	if (r == 0 && there == 0)
		return error_set(e, -ENOENT, "there is no rule %.*s", ALERT_MAX_NAME_CHARS, name);
	if (r == 0)
		r = catalog_exec(cat, e, "UPDATE alert_rule SET dropped = 1 WHERE name = ?", "s",
				 name);
	return r < 0 ? r : audit_append(cat, by, "alert.drop", name, e);
}

int alert_rule_drop(struct catalog *cat, const char *name, const char *by, struct error *e)
{
	int r = catalog_begin(cat, e);

	return r < 0 ? r : catalog_end(cat, drop(cat, name, by, e), e);
}

/* --- evaluations --- */

static int put_states(struct catalog *cat, const struct alert_outcome *o, struct error *e)
{
	int r = catalog_exec(cat, e, "DELETE FROM alert_state WHERE rule = ?", "s", o->rule);

	for (size_t i = 0; i < o->n && r == 0; i++) {
		const struct alert_state_row *s = &o->states[i];

		r = catalog_exec(cat, e,
				 "INSERT INTO alert_state (rule, labels, state, value, since_ns, "
				 "fired_ns, resolved_ns, told_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				 "ssidiiii", o->rule, s->labels, (int64_t)s->is, s->value,
				 s->since_ns, s->fired_ns, s->resolved_ns, s->told_ns);
	}
	return r;
}

static int put_delivery(struct catalog *cat, const struct alert_outcome *o, int64_t *ret_lost,
			struct error *e)
{
	int64_t waiting = 0;
	int r = count_rows(cat, "SELECT count(*) FROM alert_delivery WHERE rule = ?", o->rule,
			   &waiting, e);

	if (r == 0 && waiting >= ALERT_MAX_WAITING) {
		*ret_lost = waiting - ALERT_MAX_WAITING + 1;
		r = catalog_exec(cat, e,
				 "DELETE FROM alert_delivery WHERE id IN (SELECT id FROM "
				 "alert_delivery WHERE rule = ? ORDER BY id LIMIT ?)",
				 "si", o->rule, *ret_lost);
	}
	if (r == 0)
		r = catalog_exec(cat, e,
				 "INSERT INTO alert_delivery (rule, webhook, body, created_ns, "
				 "next_ns) VALUES (?, ?, ?, ?, 0)",
				 "sssi", o->rule, o->webhook, o->body, clock_wall_ns());
	return r;
}

static int text_check(struct catalog *cat, const struct alert_outcome *o, struct error *e)
{
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(cat->db, "SELECT text = ? FROM alert_rule WHERE name = ?", -1,
				    &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(s, 1, o->text, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(s, 2, o->rule, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc != SQLITE_ROW)
		return catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	return sqlite3_column_int(s, 0)
		       ? 0
		       : error_set(e, -ESTALE, "the rule %s was changed meanwhile", o->rule);
}

static int put_outcome(struct catalog *cat, const struct alert_outcome *o, int64_t *ret_lost,
		       struct error *e)
{
	int64_t there = 0;
	int r = count_rows(cat, "SELECT count(*) FROM alert_rule WHERE name = ?", o->rule, &there,
			   e);

	if (r == 0 && there == 0)
		return error_set(e, -ENOENT, "there is no rule %s", o->rule);
	/* Whom to tell may have changed with it. */
	if (r == 0 && o->text)
		r = text_check(cat, o, e);
	if (r == 0)
		r = catalog_exec(cat, e,
				 "UPDATE alert_rule SET evaluated_ns = ?, overflow = ?, "
				 "late = late + ?, error = ? WHERE name = ?",
				 "iiiss", o->evaluated_ns, o->overflow, o->late, o->error, o->rule);
	if (r == 0 && o->states_changed)
		r = put_states(cat, o, e);
	if (r == 0 && o->body)
		r = put_delivery(cat, o, ret_lost, e);
	if (r == 0 && o->gone)
		r = catalog_exec(cat, e, "DELETE FROM alert_state WHERE rule = ?", "s", o->rule);
	if (r == 0 && o->gone)
		r = catalog_exec(cat, e, "DELETE FROM alert_rule WHERE name = ? AND dropped = 1",
				 "s", o->rule);
	return r;
}

int alert_evaluated(struct catalog *cat, const struct alert_outcome *outcome, int64_t *ret_lost,
		    struct error *e)
{
	int64_t lost = 0;
	int r = catalog_begin(cat, e);

	if (r == 0)
		r = catalog_end(cat, put_outcome(cat, outcome, &lost, e), e);
	if (r < 0)
		return r;
	*ret_lost = lost;
	return lost > 0;
}

/* --- deliveries --- */

struct taking {
	struct arena *arena;
	struct alert_delivery_row *row;
};

static int take(sqlite3_stmt *s, void *context)
{
	const struct taking *t = context;

	*t->row = delivery_at(s);
	t->row->rule = arena_dup(t->arena, slice_cstr(t->row->rule)).p;
	t->row->webhook = arena_dup(t->arena, slice_cstr(t->row->webhook)).p;
	t->row->body = arena_dup(t->arena, slice_cstr(t->row->body)).p;
	t->row->error = "";
	return t->row->rule && t->row->webhook && t->row->body ? 1 : -ENOMEM;
}

int alert_delivery_next(struct catalog *cat, int64_t now_ns, struct arena *arena,
			struct alert_delivery_row *ret_row, struct error *e)
{
	char now[24];
	struct taking t = {arena, ret_row};

	snprintf(now, sizeof(now), "%lld", (long long)now_ns);
	/* The oldest of each rule alone: they are told in order. */
	return select_each(cat,
			   DELIVERIES
			   "WHERE id IN (SELECT min(id) FROM alert_delivery GROUP BY rule) "
			   "AND (next_ns <= CAST(?1 AS INTEGER) OR next_ns > CAST(?1 AS INTEGER) "
			   "+ " TEXT_OF(ALERT_MAX_RETRY_S) " * 1000000000) "
							   "ORDER BY next_ns, id LIMIT 1",
			   now, take, &t, e);
}

int alert_delivery_done(struct catalog *cat, int64_t id, struct error *e)
{
	int r = catalog_begin(cat, e);

	return r < 0 ? r
		     : catalog_end(cat,
				   catalog_exec(cat, e, "DELETE FROM alert_delivery WHERE id = ?",
						"i", id),
				   e);
}

int alert_delivery_failed(struct catalog *cat, const struct alert_delivery_row *row,
			  int64_t next_ns, const char *why, struct error *e)
{
	bool last = false;
	int r = catalog_begin(cat, e);

	if (r < 0)
		return r;
	r = catalog_exec(cat, e,
			 "UPDATE alert_delivery SET tries = tries + 1, next_ns = ?, error = ? "
			 "WHERE id = ? AND webhook = ?",
			 "isis", next_ns, why, row->id, row->webhook);
	/* Nobody can correct the webhook of a rule that is gone. */
	if (r == 0)
		r = catalog_exec(cat, e,
				 "DELETE FROM alert_delivery WHERE id = ? AND tries >= ? "
				 "AND rule NOT IN (SELECT name FROM alert_rule)",
				 "ii", row->id, (int64_t)ALERT_LAST_TRY);
	if (r == 0)
		last = sqlite3_changes(cat->db) > 0;
	r = catalog_end(cat, r, e);
	return r < 0 ? r : last;
}
