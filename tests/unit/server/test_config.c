/* What `causet serve` takes as settings, and what it refuses. */
#include "t.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "server/config.h"

struct fixture {
	struct arena arena;
	struct config config;
	struct option_set set;
	struct error error;
	char folder[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	strcpy(f->folder, "/tmp/causet-config-XXXXXX");
	return !mkdtemp(f->folder) ||
	       option_set_init(&f->set, config_options, &f->config, &f->arena);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rmdir(f->folder);
	arena_done(&f->arena);
	free(f);
	return 0;
}

static int complete(struct fixture *f, const char **argv, const char **environment)
{
	struct option_set *sets[] = {&f->set};
	int argc = 0;

	while (argv[argc])
		argc++;
	if (option_parse_arguments(sets, 1, argc, (char **)argv, &f->error) < 0)
		return -1;
	return config_complete(&f->set, NULL, 0, (char *const *)environment, &f->error);
}

static void without_a_word_the_server_listens_on_loopback(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = {NULL},
		   *environment[] = {"HOME=/home/me", "XDG_CONFIG_HOME=/nowhere", NULL};

	assert_int_equal(complete(f, argv, environment), 0);
	assert_string_equal(f->config.listen, "127.0.0.1");
	assert_string_equal(f->config.data, "/home/me/.local/state/causet");
	assert_int_equal(f->config.otlp_grpc_port, 4317);
	assert_int_equal(f->config.http_port, 16686);
	assert_false(f->config.auth);
}

static void state_goes_where_the_environment_says(void **state)
{
	struct arena arena = {0};
	const char *systemd[] = {"STATE_DIRECTORY=/var/lib/a:/var/lib/b", "XDG_STATE_HOME=/x",
				 NULL};
	const char *xdg[] = {"XDG_STATE_HOME=/x", "HOME=/h", NULL}, *none[] = {NULL};

	assert_string_equal(config_data_default((char *const *)systemd, &arena), "/var/lib/a");
	assert_string_equal(config_data_default((char *const *)xdg, &arena), "/x/causet");
	assert_string_equal(config_data_default((char *const *)none, &arena), "/var/lib/causet");
	arena_done(&arena);
}

static void only_this_machine_is_loopback(void **state)
{
	static const struct {
		const char *host;
		bool loopback;
	} rows[] = {{"127.0.0.1", true},
		    {"127.9.8.7", true},
		    {"::1", true},
		    {"localhost", true},
		    {"0.0.0.0", false},
		    {"::", false},
		    {"", false},
		    {"10.0.0.1", false},
		    {"example.org", false},
		    {"127.0.0.1.example.org", false}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(config_is_loopback(rows[i].host), rows[i].loopback);
}

static void an_open_address_needs_authentication_or_a_word(void **state)
{
	const char *environment[] = {"XDG_CONFIG_HOME=/nowhere", NULL};
	static const struct {
		const char *word;
		int result;
	} rows[] = {{"--drain=1s", -EPERM}, {"--auth", 0}, {"--insecure", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *own;
		char word[32];
		const char *argv[] = {"--listen=0.0.0.0", word, NULL};
		struct fixture *f;

		strcpy(word, rows[i].word);
		assert_int_equal(setup(&own), 0);
		f = own;
		assert_int_equal(complete(f, argv, environment), rows[i].result);
		if (rows[i].result < 0)
			assert_non_null(strstr(f->error.text, "--auth"));
		teardown(&own);
	}
}

static void settings_that_contradict_each_other_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{"--tls-key=k", NULL, "tls-key without tls-cert; give both"},
		{"--tls-cert=c", NULL, "tls-cert without tls-key; give both"},
		{"--tls-client-ca=c", NULL,
		 "tls-client-ca needs TLS; give tls-cert and tls-key, too"},
		{"--max-body=2M", "--max-decoded=1M",
		 "max-decoded is smaller than max-body; raise it or lower max-body"},
	};
	const char *environment[] = {"XDG_CONFIG_HOME=/nowhere", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *own;
		char first[32], second[32];
		const char *argv[] = {first, rows[i][1] ? second : NULL, NULL};

		strcpy(first, rows[i][0]);
		if (rows[i][1])
			strcpy(second, rows[i][1]);
		assert_int_equal(setup(&own), 0);
		assert_int_equal(complete(own, argv, environment), -EINVAL);
		assert_string_equal(((struct fixture *)own)->error.text, rows[i][2]);
		teardown(&own);
	}
}

static void the_file_is_found_and_read(void **state)
{
	struct fixture *f = *state;
	char folder[96], path[112], home[96];
	const char *argv[] = {"--drain=3s", NULL};
	const char *environment[] = {home, "CAUSET_LOOPS=3", NULL};
	FILE *file;

	snprintf(folder, sizeof(folder), "%s/causet", f->folder);
	snprintf(path, sizeof(path), "%s/config", folder);
	snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", f->folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	file = fopen(path, "w");
	fputs("drain = 1s\nloops = 1\nworkers = 7\n", file);
	fclose(file);
	assert_int_equal(complete(f, argv, environment), 0);
	assert_int_equal(f->config.drain_ns, 3000000000);
	assert_int_equal(f->config.loops, 3);
	assert_int_equal(f->config.workers, 7);
	unlink(path);
	rmdir(folder);
}

static void a_named_file_must_exist(void **state)
{
	struct fixture *f = *state;
	const char *argv[] = {"--config=/nowhere/x", NULL}, *environment[] = {NULL};

	assert_int_equal(complete(f, argv, environment), -ENOENT);
	assert_string_equal(f->error.text,
			    "cannot read the settings in /nowhere/x: No such file or directory");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_word_the_server_listens_on_loopback),
		cmocka_unit_test(state_goes_where_the_environment_says),
		cmocka_unit_test(only_this_machine_is_loopback),
		cmocka_unit_test(an_open_address_needs_authentication_or_a_word),
		cmocka_unit_test(settings_that_contradict_each_other_are_refused),
		TEST(the_file_is_found_and_read),
		TEST(a_named_file_must_exist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
