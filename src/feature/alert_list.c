/* feature/alert_list.c - rules as they are shown, and rules as they come in. */
#include "feature/alert_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "exec/query.h"
#include "feature/alert_state.h"
#include "wire/json_reader.h"

/* --- shown --- */

struct listing {
	struct arena arena;
	struct slice only;
	struct alert_rule_row *rules;
	size_t rule_n, rule_room;
	struct alert_states states; /* of all rules; `rule` is set */
	struct waiting {
		const char *rule, *error;
		uint64_t n;
		int64_t next_ns;
	} * waiting;
	size_t waiting_n, waiting_room;
};

static const char *keep(struct listing *l, const char *text)
{
	return arena_dup(&l->arena, slice_cstr(text)).p;
}

static int keep_rule(void *context, const struct alert_rule_row *row)
{
	struct listing *l = context;
	struct alert_rule_row *to;

	if (l->only.n && !slice_eq(l->only, slice_cstr(row->name)))
		return 0;
	if (!vec_reserve(&l->rules, &l->rule_room, l->rule_n + 1, sizeof(*l->rules)))
		return -ENOMEM;
	to = &l->rules[l->rule_n++];
	*to = *row;
	to->name = keep(l, row->name);
	to->text = keep(l, row->text);
	to->owner = keep(l, row->owner);
	to->error = keep(l, row->error);
	return to->name && to->text && to->owner && to->error ? 0 : -ENOMEM;
}

static int keep_state(void *context, const struct alert_state_row *row)
{
	struct listing *l = context;
	const char *rule = keep(l, row->rule);
	int r = rule ? alert_states_add(&l->states, row) : -ENOMEM;

	if (r == 0)
		l->states.rows[l->states.n - 1].rule = rule;
	return r;
}

static int keep_waiting(void *context, const struct alert_delivery_row *row)
{
	struct listing *l = context;
	struct waiting *w;

	if (!vec_reserve(&l->waiting, &l->waiting_room, l->waiting_n + 1, sizeof(*l->waiting)))
		return -ENOMEM;
	w = &l->waiting[l->waiting_n];
	/* The oldest is the one that is tried. */
	*w = (struct waiting){keep(l, row->rule), keep(l, row->error), (uint64_t)row->waiting,
			      row->next_ns};
	if (!w->rule || !w->error)
		return -ENOMEM;
	l->waiting_n++;
	return 0;
}

static void put_moment(struct json_writer *w, const char *name, int64_t ns)
{
	if (ns == 0)
		return;
	json_put_key(w, slice_cstr(name));
	json_put_i64_text(w, ns);
}

static const char *state_name(enum alert_is is)
{
	return is == ALERT_FIRING ? "firing" : is == ALERT_PENDING ? "pending" : "resolved";
}

static void put_alert(struct json_writer *w, const struct alert_state_row *s)
{
	char fingerprint[17];

	alert_fingerprint(s->labels, fingerprint);
	json_begin_object(w);
	json_put_name(w, "state");
	json_put_cstr(w, state_name(s->is));
	json_put_name(w, "labels");
	json_put_json(w, slice_cstr(s->labels));
	json_put_name(w, "value");
	json_put_double(w, s->value);
	json_put_name(w, "fingerprint");
	json_put_cstr(w, fingerprint);
	put_moment(w, "sinceUnixNano", s->since_ns);
	put_moment(w, "firedUnixNano", s->fired_ns);
	put_moment(w, "resolvedUnixNano", s->resolved_ns);
	json_end_object(w);
}

static void put_alerts(struct json_writer *w, const struct listing *l, const char *rule)
{
	enum alert_is worst = 0;

	json_put_name(w, "alerts");
	json_begin_array(w);
	for (size_t i = 0; i < l->states.n; i++) {
		const struct alert_state_row *s = &l->states.rows[i];

		if (strcmp(s->rule, rule) != 0)
			continue;
		put_alert(w, s);
		if (s->is == ALERT_FIRING || (s->is == ALERT_PENDING && worst != ALERT_FIRING))
			worst = s->is;
	}
	json_end_array(w);
	json_put_name(w, "state");
	json_put_cstr(w, worst ? state_name(worst) : "inactive");
}

static void put_waiting(struct json_writer *w, const struct listing *l, const char *rule)
{
	const struct waiting none = {"", "", 0, 0}, *found = &none;

	for (size_t i = 0; i < l->waiting_n; i++)
		if (strcmp(l->waiting[i].rule, rule) == 0)
			found = &l->waiting[i];
	json_put_name(w, "undelivered");
	json_put_u64(w, found->n);
	if (*found->error) {
		json_put_name(w, "deliveryError");
		json_put_cstr(w, found->error);
		put_moment(w, "nextTryUnixNano", found->next_ns);
	}
}

static void put_rule(struct json_writer *w, struct listing *l, const struct alert_rule_row *row,
		     bool secrets)
{
	struct error error = {0};
	struct alert_rule rule;
	int r = alert_rule_read(slice_cstr(row->text), &l->arena, &rule, &error);

	json_begin_object(w);
	json_put_name(w, "name");
	json_put_cstr(w, row->name);
	json_put_name(w, "rule");
	json_begin_object(w);
	if (r == 0)
		alert_rule_write(w, &rule, secrets);
	json_end_object(w);
	json_put_name(w, "owner");
	json_put_cstr(w, row->owner);
	json_put_name(w, "updatedUnixNano");
	json_put_i64_text(w, row->updated_ns);
	json_put_name(w, "health");
	json_put_cstr(w, r < 0 || *row->error ? "error" : row->evaluated_ns ? "ok" : "unknown");
	if (r < 0 || *row->error) {
		json_put_name(w, "error");
		json_put_cstr(w, r < 0 ? error.text : row->error);
	}
	put_moment(w, "evaluatedUnixNano", row->evaluated_ns);
	json_put_name(w, "overflow");
	json_put_i64(w, row->overflow);
	json_put_name(w, "lateRows");
	json_put_i64(w, row->late);
	put_waiting(w, l, row->name);
	put_alerts(w, l, row->name);
	json_end_object(w);
}

int alert_list_write(struct catalog *catalog, struct slice name, bool secrets,
		     struct json_writer *w, struct error *error)
{
	struct listing l = {.only = name};
	int r;

	l.states.arena = &l.arena;
	r = alert_rule_list(catalog, false, keep_rule, &l, error);
	if (r == 0)
		r = alert_state_list(catalog, NULL, keep_state, &l, error);
	if (r == 0)
		r = alert_delivery_list(catalog, keep_waiting, &l, error);
	if (r == 0 && name.n && l.rule_n == 0)
		r = error_set(error, -ENOENT, "there is no rule %.*s",
			      (int)MIN(name.n, (size_t)128), name.p);
	if (r == 0) {
		json_begin_object(w);
		json_put_name(w, "rules");
		json_begin_array(w);
		for (size_t i = 0; i < l.rule_n; i++)
			put_rule(w, &l, &l.rules[i], secrets);
		json_end_array(w);
		json_end_object(w);
	}
	free(l.rules);
	free(l.waiting);
	alert_states_done(&l.states);
	arena_done(&l.arena);
	return r;
}

/* --- defined --- */

struct defining {
	struct catalog *catalog;
	struct arena *arena;
	struct diags *diags;
	struct slice *wrong;
	struct alert_defined *out;
	size_t room;
	struct error *error;
};

static int define_one(struct defining *d, struct slice json)
{
	struct alert_rule rule;
	struct query *query = NULL;
	struct buffer text = {0};
	struct json_writer w = json_write(&text);
	struct alert_rule_row *rows = d->out->rows;
	int r = alert_rule_read(json, d->arena, &rule, d->error);

	if (r == 0)
		r = alert_rule_prepare(&rule, d->catalog, d->diags, &query, d->error);
	query_free(query);
	if (r < 0) {
		*d->wrong = rule.query;
		return r;
	}
	if (d->out->n == ALERT_MAX_RULES)
		return error_set(d->error, -ENOSPC, "more than %d rules", ALERT_MAX_RULES);
	if (d->out->n == d->room) {
		d->room = d->room ? d->room * 2 : 16;
		rows = arena_zalloc(d->arena, d->room, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		if (d->out->n)
			memcpy(rows, d->out->rows, d->out->n * sizeof(*rows));
		d->out->rows = rows;
	}
	json_begin_object(&w);
	alert_rule_write(&w, &rule, true);
	json_end_object(&w);
	rows[d->out->n].name = rule.name.p;
	rows[d->out->n].webhook = rule.webhook.p;
	rows[d->out->n].text = text.failed ? NULL : arena_dup(d->arena, buffer_get(&text)).p;
	buffer_done(&text);
	return rows[d->out->n++].text ? 0 : -ENOMEM;
}

static int define_array(struct defining *d, struct json_reader *r)
{
	int result = 0;

	if (json_peek(r) != JSON_ARRAY || !json_array(r))
		return error_set(d->error, -EINVAL, "\"rules\" is an array");
	while (result == 0 && json_next_item(r)) {
		const char *begun;

		json_peek(r); /* behind the blanks */
		begun = r->at;
		json_skip(r);
		result = define_one(d, slice_of(begun, (size_t)(r->at - begun)));
	}
	return result;
}

int alert_define_read(struct slice json, struct catalog *catalog, struct arena *arena,
		      struct diags *diags, struct slice *ret_wrong,
		      struct alert_defined *ret_defined, struct error *error)
{
	struct defining d = {catalog, arena, diags, ret_wrong, ret_defined, 0, error};
	struct json_reader r = json_open(json);
	struct slice name;
	int result = 0;

	*ret_defined = (struct alert_defined){0};
	*ret_wrong = slice_of(NULL, 0);
	if (json_peek(&r) != JSON_OBJECT || !json_object(&r) || !json_next_name(&r, &name))
		return error_set(error, -EINVAL,
				 "a rule is a JSON object, and several are {\"rules\": [ … ]}");
	if (!slice_eq(name, SLICE("rules")))
		return define_one(&d, json);
	result = define_array(&d, &r);
	if (result == 0 && json_next_name(&r, &name))
		return error_set(error, -EINVAL, "beside \"rules\" there is nothing else");
	if (result == 0 && json_finish(&r, error) < 0)
		result = -EINVAL;
	return result;
}
