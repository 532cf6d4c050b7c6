/* Queries on threads of their own: whatever they ask, of whom, they hang on one leash. */
#include "t.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "api/query_jobs.h"
#include "base/cleanup.h"
#include "base/leash.h"
#include "core/clock.h"
#include "http/server.h"

struct asked {
	struct api api;
	struct api_request request;
	struct share share;
	struct http_server *server;
	_Atomic bool begun;
	_Atomic int result; /* of the leash */
};

/* Asks the store for something without an end. */
static void job_run(struct query_job *job)
{
	struct asked *a = container_of(job->api, struct asked, api);
	int r = 0;

	atomic_store(&a->begun, true);
	while (r == 0)
		r = leash_check();
	http_reply_text(job->req, 422, "stopped");
	atomic_store(&a->result, r);
}

static void dispatch(struct http_request *req, void *context)
{
	const struct query_request request = {.text = SLICE("{ }")};
	struct asked *a = context;
	struct error error;

	req->user = &a->request;
	assert_int_equal(query_jobs_start(a->api.queries, req, &request, job_run, &error), 0);
}

static void asked_start(struct asked *a, int64_t time_ns)
{
	static const struct http_listener listener = {.host = "localhost", .tag = 1};
	const struct http_server_options o = {.listeners = &listener,
					      .listener_count = 1,
					      .loops = 1,
					      .dispatch = dispatch,
					      .context = a};
	struct query_limits limits = QUERY_LIMITS_DEFAULT;
	struct error error;

	limits.time_ns = time_ns;
	share_init(&a->share, 1000, clock_mono_ns());
	a->request = (struct api_request){.api = &a->api, .who = {.owner = "somebody"}};
	a->api.queries = query_jobs_new(&limits, &a->share);
	assert_non_null(a->api.queries);
	assert_int_equal(http_server_start(&o, &a->server, &error), 0);
}

static void asked_end(struct asked *a)
{
	assert_null(http_server_stop(a->server, 0));
	assert_null(query_jobs_free(a->api.queries));
	share_done(&a->share);
}

static int ask(const struct asked *a)
{
	static const char question[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)http_server_port(a->server, 0)),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, question, strlen(question)), (ssize_t)strlen(question));
	return fd;
}

static void what_a_query_asks_of_the_store_ends_with_its_time(void **state)
{
	struct asked a = {0};
	int fd;

	asked_start(&a, 20 * NS_PER_MS);
	fd = ask(&a);
	while (!atomic_load(&a.result)) /* or the test takes too long */
		sched_yield();
	assert_int_equal(atomic_load(&a.result), -ETIMEDOUT);
	close(fd);
	asked_end(&a);
}

/* It is begun although nothing is left for it: from then on it can be cancelled by whatever way. */
static void a_query_that_waits_for_its_turn_can_be_cancelled(void **state)
{
	struct asked a = {0};
	int fd;

	asked_start(&a, 3600 * NS_PER_S);
	atomic_store(&a.share.rate, 1);
	share_take(&a.share, 3600 * NS_PER_S);
	fd = ask(&a);
	while (!atomic_load(&a.begun))
		sched_yield();
	close(fd);
	while (!atomic_load(&a.result))
		sched_yield();
	assert_int_equal(atomic_load(&a.result), -ECANCELED);
	asked_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_query_asks_of_the_store_ends_with_its_time),
		cmocka_unit_test(a_query_that_waits_for_its_turn_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
