#include "catalog_folder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "catalog/token.h"

static void add(struct catalog *cat, const char *owner, unsigned roles, char *text, int64_t *id)
{
	struct error e = {0};

	if (token_add(cat, &(struct token_spec){.owner = owner, .roles = roles, .by = "test"}, text,
		      id, &e) < 0)
		fail_msg("%s", e.text);
}

static void a_token_says_who_and_what(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1], other[TOKEN_TEXT_CHARS + 1];
	struct token_identity who;

	add(cat, "checkout", ROLE_INGEST | ROLE_READ, text, NULL);
	add(cat, "viewer", ROLE_READ, other, NULL);
	assert_int_equal(strlen(text), TOKEN_TEXT_CHARS);
	assert_int_equal(strncmp(text, "causet_", 7), 0);
	assert_string_not_equal(text, other);

	assert_int_equal(token_check(cat, slice_cstr(text), &who), 0);
	assert_string_equal(who.owner, "checkout");
	assert_int_equal(who.roles, ROLE_INGEST | ROLE_READ);
	assert_int_equal(token_check(cat, slice_cstr(other), &who), 0);
	assert_string_equal(who.owner, "viewer");
	assert_int_equal(token_count(cat), 2);
	catalog_close(cat);
}

static void what_is_not_the_exact_text_is_refused(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 2], bad[TOKEN_TEXT_CHARS + 2];
	struct token_identity who;

	assert_int_equal(token_check(cat, slice_cstr("causet_"), &who), -EACCES);
	assert_int_equal(token_check(cat, slice_of(NULL, 0), &who), -EACCES);
	add(cat, "a", ROLE_ADMIN, text, NULL);
	/* Every single character counts, the spare bits of the last one too. */
	for (size_t i = 0; i < TOKEN_TEXT_CHARS; i++) {
		memcpy(bad, text, sizeof(bad));
		bad[i] = bad[i] == 'A' ? 'B' : 'A';
		assert_int_equal(token_check(cat, slice_of(bad, TOKEN_TEXT_CHARS), &who), -EACCES);
	}
	assert_int_equal(token_check(cat, slice_of(text, TOKEN_TEXT_CHARS - 1), &who), -EACCES);
	text[TOKEN_TEXT_CHARS] = 'A';
	assert_int_equal(token_check(cat, slice_of(text, TOKEN_TEXT_CHARS + 1), &who), -EACCES);
	catalog_close(cat);
}

static void the_file_never_holds_the_text(void **state)
{
	static const char *const suffixes[] = {"", "-wal"};
	static char bytes[1 << 20];
	struct catalog_folder *f = *state;
	struct catalog *cat = catalog_folder_open(f);
	char text[TOKEN_TEXT_CHARS + 1], path[128];

	add(cat, "recognisable", ROLE_ADMIN, text, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		FILE *file;
		size_t n;

		snprintf(path, sizeof(path), "%s%s", f->file, suffixes[i]);
		file = fopen(path, "rb");
		assert_non_null(file);
		n = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		assert_null(memmem(bytes, n, text + 7, TOKEN_TEXT_CHARS - 7));
		if (i == 1)
			assert_non_null(memmem(bytes, n, "recognisable", 12));
	}
	catalog_close(cat);
}

static void expired_tokens_are_told_apart(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1];
	struct token_spec spec = {.owner = "a", .roles = ROLE_READ, .by = "test"};
	struct token_identity who;
	struct error e = {0};
	int r;

	spec.expires_ns = clock_wall_ns() - 1;
	assert_int_equal(token_add(cat, &spec, text, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "past"));

	spec.expires_ns = clock_wall_ns() + 3600 * NS_PER_S;
	assert_int_equal(token_add(cat, &spec, text, NULL, NULL), 0);
	assert_int_equal(token_check(cat, slice_cstr(text), &who), 0);

	spec.expires_ns = clock_wall_ns() + 200 * NS_PER_MS;
	assert_int_equal(token_add(cat, &spec, text, NULL, NULL), 0);
	while ((r = token_check(cat, slice_cstr(text), &who)) == 0)
		usleep(10000);
	assert_int_equal(r, -EKEYEXPIRED);
	assert_true(clock_wall_ns() >= spec.expires_ns);
	catalog_close(cat);
}

static void bad_specs_are_refused_with_the_reason(void **state)
{
	static const char *const names[] = {"",    "1",   "3a",       "a b", "-a",
					    "a/b", "a\n", "\xc3\xa9", "*"};
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1], longest[OWNER_MAX_CHARS + 2];
	struct token_identity who;
	struct error e;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct token_spec spec = {.owner = names[i], .roles = ROLE_READ};

		e.text[0] = '\0';
		assert_int_equal(token_add(cat, &spec, text, NULL, &e), -EINVAL);
		assert_true(strlen(e.text) > 0);
	}
	assert_int_equal(token_add(cat, &(struct token_spec){.owner = "a"}, text, NULL, &e),
			 -EINVAL);
	assert_int_equal(
		token_add(cat, &(struct token_spec){.owner = "a", .roles = 1 << 7}, text, NULL, &e),
		-EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[OWNER_MAX_CHARS + 1] = '\0';
	assert_int_equal(token_add(cat, &(struct token_spec){.owner = longest, .roles = ROLE_READ},
				   text, NULL, &e),
			 -EINVAL);
	longest[OWNER_MAX_CHARS] = '\0';
	add(cat, longest, ROLE_READ, text, NULL);
	assert_int_equal(token_check(cat, slice_cstr(text), &who), 0);
	assert_string_equal(who.owner, longest);
	assert_int_equal(token_count(cat), 1);
	catalog_close(cat);
}

static void revoking_by_number_ends_one_and_by_name_all(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[3][TOKEN_TEXT_CHARS + 1], number[24];
	struct token_identity who;
	struct error e = {0};
	int64_t id;

	add(cat, "shop", ROLE_READ, text[0], &id);
	add(cat, "shop", ROLE_READ, text[1], NULL);
	add(cat, "shop", ROLE_READ, text[2], NULL);
	snprintf(number, sizeof(number), "%lld", (long long)id);
	assert_int_equal(token_revoke(cat, number, "test", &e), 1);
	assert_int_equal(token_check(cat, slice_cstr(text[0]), &who), -EACCES);
	assert_int_equal(token_check(cat, slice_cstr(text[1]), &who), 0);
	assert_int_equal(token_revoke(cat, "shop", "test", &e), 2);
	assert_int_equal(token_check(cat, slice_cstr(text[1]), &who), -EACCES);
	assert_int_equal(token_revoke(cat, "shop", "test", &e), -ENOENT);
	assert_non_null(strstr(e.text, "shop"));
	assert_int_equal(token_revoke(cat, number, "test", &e), -ENOENT);
	assert_int_equal(token_revoke(cat, "99999999999999999999", "test", &e), -ENOENT);

	/* Numbers are never given out again. */
	add(cat, "shop", ROLE_READ, text[0], &id);
	assert_int_equal(id, 4);
	catalog_close(cat);
}

static void another_handle_sees_a_revocation_by_itself(void **state)
{
	struct catalog *server = catalog_folder_open(*state), *cli = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1];
	struct token_identity who;
	int tries = 0;

	add(cli, "shop", ROLE_READ, text, NULL);
	assert_int_equal(catalog_refresh(server, NULL), 0);
	assert_int_equal(token_check(server, slice_cstr(text), &who), 0);
	assert_int_equal(token_revoke(cli, "shop", "test", NULL), 1);
	/* Without a word to the server's handle; the bound only ends a failing test. */
	while (token_check(server, slice_cstr(text), &who) == 0 && tries++ < 1000)
		usleep(20000);
	assert_int_equal(token_check(server, slice_cstr(text), &who), -EACCES);
	catalog_close(server);
	catalog_close(cli);
}

struct listed {
	int n;
	struct token_info last;
	char owners[100];
};

static int remember(void *context, const struct token_info *token)
{
	struct listed *l = context;

	l->n++;
	l->last = *token;
	strcat(l->owners, token->owner);
	strcat(l->owners, " ");
	return 0;
}

static int stop_at_once(void *context, const struct token_info *token)
{
	return 7;
}

static void the_list_is_in_order_and_can_be_stopped(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1];
	struct listed l = {0};

	add(cat, "zoe", ROLE_READ, text, NULL);
	add(cat, "ann", ROLE_QUERY, text, NULL);
	assert_int_equal(token_list(cat, remember, &l, NULL), 0);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.owners, "zoe ann ");
	assert_int_equal(l.last.roles, ROLE_QUERY);
	assert_true(l.last.created_ns > 0 && l.last.expires_ns == 0 && l.last.used_ns == 0);
	assert_int_equal(token_list(cat, stop_at_once, NULL, NULL), 7);
	catalog_close(cat);
}

static void use_is_remembered_past_closing(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char text[TOKEN_TEXT_CHARS + 1];
	struct token_identity who;
	struct listed l = {0};

	add(cat, "a", ROLE_READ, text, NULL);
	assert_int_equal(token_check(cat, slice_cstr(text), &who), 0);
	catalog_close(cat);
	cat = catalog_folder_open(*state);
	assert_int_equal(token_list(cat, remember, &l, NULL), 0);
	assert_true(l.last.used_ns >= l.last.created_ns);
	catalog_close(cat);
}

struct crowd {
	struct catalog *cat;
	char text[TOKEN_TEXT_CHARS + 1];
	_Atomic bool stop;
	_Atomic int wrong;
};

static void *check_all_the_time(void *argument)
{
	struct crowd *c = argument;
	struct token_identity who;

	while (!c->stop)
		if (token_check(c->cat, slice_cstr(c->text), &who) != 0 ||
		    strcmp(who.owner, "steady") != 0)
			c->wrong++;
	return NULL;
}

static void checks_go_on_while_tokens_come_and_go(void **state)
{
	struct crowd c = {.cat = catalog_folder_open(*state)};
	char text[TOKEN_TEXT_CHARS + 1];
	struct token_identity who;
	pthread_t threads[3];

	add(c.cat, "steady", ROLE_READ, c.text, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_all_the_time, &c), 0);
	for (int i = 0; i < 20; i++) {
		add(c.cat, "brief", ROLE_READ, text, NULL);
		assert_int_equal(token_check(c.cat, slice_cstr(text), &who), 0);
		assert_int_equal(token_revoke(c.cat, "brief", "test", NULL), 1);
		assert_int_equal(token_check(c.cat, slice_cstr(text), &who), -EACCES);
	}
	c.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(c.wrong, 0);
	catalog_close(c.cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(a_token_says_who_and_what),
		catalog_test(what_is_not_the_exact_text_is_refused),
		catalog_test(the_file_never_holds_the_text),
		catalog_test(expired_tokens_are_told_apart),
		catalog_test(bad_specs_are_refused_with_the_reason),
		catalog_test(revoking_by_number_ends_one_and_by_name_all),
		catalog_test(another_handle_sees_a_revocation_by_itself),
		catalog_test(the_list_is_in_order_and_can_be_stopped),
		catalog_test(use_is_remembered_past_closing),
		catalog_test(checks_go_on_while_tokens_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
