/* api/alerts.c - standing rules and their alerts.
 *
 * Whoever may define a rule makes the server send requests to where they say: that is for admins
 * alone.  Who may read sees rules and alerts, but of webhooks only the host. */
#include "api/alerts.h"

#include <errno.h>

#include "api/query_jobs.h"
#include "api/query_json.h"
#include "base/cleanup.h"
#include "core/clock.h"
#include "feature/alert_consumer.h"
#include "feature/alert_list.h"
#include "feature/alert_state.h"

#define TEST_NS (10 * NS_PER_S)

static bool is_admin(struct http_request *req)
{
	return roles_allow(api_request(req)->who.roles, ROLE_ADMIN);
}

static void fail(struct http_request *req, int r, const struct error *error)
{
	int status = r == -ENOENT                  ? 404
		     : r == -EINVAL || r == -E2BIG ? 400
		     : r == -ENOSPC                ? 422
		     : r == -ETIMEDOUT             ? 422
		     : r == -EBUSY || r == -ENOMEM ? 503
						   : 500;

	api_fail(req, status, "%s", error->text[0] ? error->text : strerror(-r));
}

/* Answers with the diagnostics of a query, or with the error. */
static void fail_query(struct http_request *req, int r, const struct diags *diags,
		       struct slice query, const struct error *error)
{
	struct buffer out = {0}, message = {0};
	struct json_writer w = json_write(&out);

	if (r != -EINVAL || diags->errors == 0) {
		fail(req, r, error);
		return;
	}
	diags_first_error(diags, query, &message);
	json_begin_object(&w);
	json_put_name(&w, "error");
	json_begin_object(&w);
	json_put_name(&w, "code");
	json_put_cstr(&w, "bad_query");
	json_put_name(&w, "message");
	json_put_string(&w, buffer_get(&message));
	json_put_name(&w, "diagnostics");
	query_json_diags(&w, diags, query);
	json_end_object(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 400, "application/json", &out);
	buffer_done(&message);
	buffer_done(&out);
}

/* --- list --- */

static void list_work(struct http_request *req, struct api *api)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct error error = {0};
	struct slice name = {0};
	int r = http_query_get(req, "name", &name);

	r = r < 0 ? r : alert_list_write(api->catalog, name, is_admin(req), &w, &error);
	buffer_byte(&out, '\n');
	if (r < 0)
		fail(req, r, &error);
	else
		http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

/* --- define and drop --- */

static void define_work(struct http_request *req, struct api *api)
{
	const char *owner = api_request(req)->who.owner;
	struct alert_defined defined;
	struct error error = {0};
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct diags diags;
	struct slice wrong;
	int r;

	diags_init(&diags, &req->arena);
	r = alert_define_read(req->body, api->catalog, &req->arena, &diags, &wrong, &defined,
			      &error);
	if (r == 0)
		r = alert_rule_define(api->catalog, defined.rows, defined.n, owner, owner, &error);
	if (r < 0) {
		fail_query(req, r, &diags, wrong, &error);
		return;
	}
	json_begin_object(&w);
	json_put_name(&w, "defined");
	json_begin_array(&w);
	for (size_t i = 0; i < defined.n; i++)
		json_put_cstr(&w, defined.rows[i].name);
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

static void drop_work(struct http_request *req, struct api *api)
{
	struct slice name = {0};
	struct error error = {0};
	int r = http_path_decode(req, api_request(req)->parameter, &name);

	if (r == 0 && !(name = arena_dup(&req->arena, name)).p)
		r = -ENOMEM;
	if (r == 0)
		r = alert_rule_drop(api->catalog, name.p, api_request(req)->who.owner, &error);
	if (r < 0)
		fail(req, r, &error);
	else
		http_reply(req, 200, "application/json", SLICE("{\"dropped\":true}\n"));
}

/* --- test --- */

static int test_states(const struct alert_answer *answer, struct alert_states *states,
		       int64_t now_ns)
{
	int r = 0;

	for (size_t i = 0; i < answer->n && r == 0; i++)
		r = alert_states_add(states,
				     &(struct alert_state_row){.labels = answer->rows[i].labels.p,
							       .is = ALERT_FIRING,
							       .value = answer->rows[i].value,
							       .since_ns = now_ns,
							       .fired_ns = now_ns});
	return r;
}

static void test_send(struct http_request *req, struct api *api, const struct alert_rule *rule,
		      const struct alert_answer *answer, struct json_writer *w)
{
	struct alert_states states = {.arena = &req->arena};
	struct buffer body = {0};
	struct error error = {0};
	char url[256];
	const struct alert_body b = {.rule = rule,
				     .states = &states,
				     .now_ns = clock_wall_ns(),
				     .overflow = answer->overflow,
				     .external_url = url};
	int r = test_states(answer, &states, b.now_ns);

	alert_consumer_url(api->alerts, url);
	if (r == 0)
		alert_body_write(&b, &req->arena, &body);
	if (body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = alert_consumer_post(rule->webhook.p, buffer_cstr(&body), NULL, &error);
	json_put_name(w, "sent");
	json_begin_object(w);
	if (r >= 0) {
		json_put_name(w, "status");
		json_put_i64(w, r);
	} else {
		json_put_name(w, "error");
		json_put_cstr(w, error.text[0] ? error.text : strerror(-r));
	}
	json_end_object(w);
	alert_states_done(&states);
	buffer_done(&body);
}

static void test_answer(struct http_request *req, struct api *api, const struct alert_rule *rule,
			const struct alert_asking *asking, const struct alert_answer *answer)
{
	struct buffer out = {0};
	struct json_writer w = json_write(&out);
	struct slice send = {0};

	http_query_get(req, "send", &send);
	json_begin_object(&w);
	json_put_name(&w, "fromUnixNano");
	json_put_i64_text(&w, asking->to_ns - rule->over_ns);
	json_put_name(&w, "toUnixNano");
	json_put_i64_text(&w, asking->to_ns);
	json_put_name(&w, "rows");
	json_put_u64(&w, answer->rows_seen);
	json_put_name(&w, "overflow");
	json_put_u64(&w, answer->overflow);
	json_put_name(&w, "alerts");
	json_begin_array(&w);
	for (size_t i = 0; i < answer->n; i++) {
		json_begin_object(&w);
		json_put_name(&w, "labels");
		json_put_json(&w, answer->rows[i].labels);
		json_put_name(&w, "value");
		json_put_double(&w, answer->rows[i].value);
		json_end_object(&w);
	}
	json_end_array(&w);
	if (slice_eq(send, SLICE("true")))
		test_send(req, api, rule, answer, &w);
	json_end_object(&w);
	buffer_byte(&out, '\n');
	http_reply_buffer(req, 200, "application/json", &out);
	buffer_done(&out);
}

static void test_work(struct http_request *req, struct api *api)
{
	const struct query_limits *limits = query_jobs_limits(api->queries);
	struct alert_asking asking = {.store = api->store,
				      .catalog = api->catalog,
				      .to_ns = clock_wall_ns(),
				      .time_ns = MIN(TEST_NS, limits->time_ns),
				      .memory_bytes = limits->memory_bytes,
				      .cancel = http_request_cancel_flag(req),
				      .share = api->share};
	struct alert_answer answer = {0};
	struct query *query = NULL;
	struct error error = {0};
	struct alert_rule rule;
	struct diags diags;
	int r = alert_rule_read(req->body, &req->arena, &rule, &error);

	diags_init(&diags, &req->arena);
	if (r == 0)
		r = alert_rule_prepare(&rule, api->catalog, &diags, &query, &error);
	query_free(query);
	if (r < 0) {
		fail_query(req, r, &diags, rule.query, &error);
		return;
	}
	r = alert_query_run(&rule, &asking, &answer, &error);
	if (r < 0)
		fail(req, r, &error);
	else
		test_answer(req, api, &rule, &asking, &answer);
	alert_answer_done(&answer);
}

void alerts_get(struct http_request *req, struct api *api)
{
	api_work(req, list_work);
}

void alerts_post(struct http_request *req, struct api *api)
{
	api_work(req, define_work);
}

void alert_delete(struct http_request *req, struct api *api)
{
	api_work(req, drop_work);
}

void alert_test(struct http_request *req, struct api *api)
{
	api_work(req, test_work);
}
