/* Answers that workers make a piece at a time, for clients that read them and clients that go. */
#include "t.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/work_stream.h"
#include "base/leash.h"
#include "base/pool.h"
#include "core/clock.h"
#include "http/server.h"

#define FEW 3 /* pieces, where they are not endless */

/* What is being answered, and how it went. */
struct answer {
	struct api api;
	bool endless; /* after the first piece, nothing comes of all the work */
	bool checks;  /* by its leash, deep in the work; otherwise it comes back each time */
	int pieces;
	_Atomic bool at_work, done;
	_Atomic int64_t taken_ns; /* as the leash has it at the last piece */
};

static int piece(void *state, struct buffer *out)
{
	struct answer *a = state;
	int64_t until = share_thread_ns() + 2 * NS_PER_MS;
	int r = 0;

	if (leash_held())
		atomic_store(&a->taken_ns, atomic_load(&leash_held()->taken_ns));
	while (share_thread_ns() < until)
		;
	if (a->pieces++ < (a->endless ? 1 : FEW)) {
		buffer_text(out, "piece");
		return 1;
	}
	if (!a->endless)
		return 0;
	atomic_store(&a->at_work, true);
	while (a->checks && r == 0)
		r = leash_check();
	return r < 0 ? r : 1;
}

static void answer_done(void *state)
{
	struct answer *a = state;

	atomic_store(&a->done, true);
}

static void dispatch(struct http_request *req, void *context)
{
	struct answer *a = context;
	const struct work_pieces pieces = {piece, answer_done, a};

	work_stream_send(req, &a->api, "text/plain", &pieces);
}

static struct http_server *server_start(struct answer *a, struct share *share)
{
	static const struct http_listener listener = {.host = "localhost", .tag = 1};
	const struct http_server_options o = {.listeners = &listener,
					      .listener_count = 1,
					      .loops = 1,
					      .dispatch = dispatch,
					      .context = a};
	struct http_server *server;
	struct error error;

	share_init(share, 1000, clock_mono_ns());
	a->api.share = share;
	assert_int_equal(pool_start(1, 4, &a->api.pool), 0);
	assert_int_equal(http_server_start(&o, &server, &error), 0);
	return server;
}

static int ask(const struct http_server *server)
{
	static const char question[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)http_server_port(server, 0)),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(write(fd, question, strlen(question)), (ssize_t)strlen(question));
	return fd;
}

static void wait_for(const _Atomic bool *flag)
{
	while (!atomic_load(flag)) /* or the test takes too long */
		sched_yield();
}

static void server_end(struct answer *a, struct share *share, struct http_server *server)
{
	assert_null(http_server_stop(server, 0));
	pool_stop(a->api.pool);
	share_done(share);
	assert_true(atomic_load(&a->done));
}

static void work_ends_when_the_client_goes(void **state)
{
	for (int checks = 0; checks < 2; checks++) {
		struct answer a = {.endless = true, .checks = checks};
		struct share share;
		struct http_server *server = server_start(&a, &share);
		int fd = ask(server);

		wait_for(&a.at_work);
		close(fd);
		wait_for(&a.done);
		server_end(&a, &share, server);
	}
}

static void work_ends_when_the_server_stops(void **state)
{
	struct answer a = {.endless = true, .checks = true};
	struct share share;
	struct http_server *server = server_start(&a, &share);
	int fd = ask(server);

	wait_for(&a.at_work);
	server_end(&a, &share, server);
	close(fd);
}

static void the_work_of_all_pieces_is_added_up(void **state)
{
	struct answer a = {0};
	struct share share;
	struct http_server *server = server_start(&a, &share);
	int fd = ask(server), pieces = 0;
	char text[4096] = "";
	size_t n = 0;

	while (pieces < FEW) {
		ssize_t got = read(fd, text + n, sizeof(text) - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
		text[n] = '\0';
		pieces = 0;
		for (const char *p = text; (p = strstr(p, "piece")); p++)
			pieces++;
	}
	wait_for(&a.done);
	assert_true(atomic_load(&a.taken_ns) >= FEW * 2 * NS_PER_MS);
	close(fd);
	server_end(&a, &share, server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_ends_when_the_client_goes),
		cmocka_unit_test(work_ends_when_the_server_stops),
		cmocka_unit_test(the_work_of_all_pieces_is_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
