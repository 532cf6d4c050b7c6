#include "catalog_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "catalog/audit.h"
#include "catalog/redact_rule.h"
#include "catalog/token.h"

static void run_sql(const char *file, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static size_t read_file(const char *path, char *out, size_t capacity)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, capacity, f);
	fclose(f);
	return n;
}

static int64_t user_version(const char *file)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t version;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	version = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return version;
}

static void a_new_folder_gets_a_private_file(void **state)
{
	struct catalog_folder *f = *state;
	struct stat st;

	catalog_close(catalog_folder_open(f));
	assert_int_equal(stat(f->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(user_version(f->file) >= 1);
}

static void the_secret_is_made_once(void **state)
{
	uint8_t first[CATALOG_SECRET_BYTES], second[CATALOG_SECRET_BYTES];
	uint8_t zero[CATALOG_SECRET_BYTES] = {0};
	struct catalog *cat = catalog_folder_open(*state);

	catalog_secret(cat, first);
	catalog_close(cat);
	cat = catalog_folder_open(*state);
	catalog_secret(cat, second);
	catalog_close(cat);
	assert_memory_equal(first, second, sizeof(first));
	assert_memory_not_equal(first, zero, sizeof(first));
}

static void version_zero_is_migrated(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat;

	/* What a crash between creating the file and the first commit leaves behind. */
	write_file(f->file, "", 0);
	cat = catalog_folder_open(f);
	assert_int_equal(token_count(cat), 0);
	catalog_close(cat);
	assert_true(user_version(f->file) >= 1);
}

static void a_newer_version_is_refused_and_left_alone(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat = NULL;
	struct error e = {0};

	catalog_close(catalog_folder_open(f));
	run_sql(f->file, "PRAGMA user_version = 9999");
	assert_int_equal(catalog_open(f->path, &cat, &e), -ENOTSUP);
	assert_null(cat);
	assert_non_null(strstr(e.text, "9999"));
	assert_non_null(strstr(e.text, "newer causet"));
	assert_int_equal(user_version(f->file), 9999);
}

static void another_programs_database_is_refused(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat;
	struct error e = {0};

	run_sql(f->file, "CREATE TABLE contacts (name TEXT)");
	assert_int_equal(catalog_open(f->path, &cat, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "not a catalogue"));
}

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state)
{
	struct catalog_folder *f = *state;
	static const char text[] =
		"dear diary, today I was mistaken for a database, which I am not; "
		"and this line is long enough to have a header's hundred bytes";
	char after[sizeof(text) + 1];
	struct catalog *cat;
	struct error e = {0};

	write_file(f->file, text, sizeof(text));
	assert_int_equal(catalog_open(f->path, &cat, &e), -EBADMSG);
	assert_non_null(strstr(e.text, f->file));
	assert_int_equal(read_file(f->file, after, sizeof(after)), sizeof(text));
	assert_memory_equal(after, text, sizeof(text));
}

static void a_damaged_page_is_noticed_at_open(void **state)
{
	static char bytes[1 << 20];
	struct catalog_folder *f = *state;
	struct catalog *cat = catalog_folder_open(f);
	char text[TOKEN_TEXT_CHARS + 1];
	struct error e = {0};
	size_t n;

	assert_int_equal(token_add(cat, &(struct token_spec){.owner = "a", .roles = ROLE_READ},
				   text, NULL, NULL),
			 0);
	catalog_close(cat); /* the last one to leave moves the WAL into the file */
	n = read_file(f->file, bytes, sizeof(bytes));
	assert_true(n > 8192 && n < sizeof(bytes));
	memset(bytes + 4096, 0xa5, n - 4096);
	write_file(f->file, bytes, n);
	assert_int_equal(catalog_open(f->path, &cat, &e), -EBADMSG);
	assert_true(strlen(e.text) > 0);
}

static void a_missing_folder_is_a_clear_error(void **state)
{
	struct catalog *cat;
	struct error e = {0};

	assert_int_equal(catalog_open("/nonexistent/folder", &cat, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nonexistent/folder/catalog.db"));
}

static void a_change_moves_the_generation_of_every_handle(void **state)
{
	struct catalog *a = catalog_folder_open(*state), *b = catalog_folder_open(*state);
	uint64_t before_a = catalog_generation(a), before_b = catalog_generation(b);
	const struct redact_rule rule = {.owner = "*", .key = "password", .action = REDACT_DROP};

	assert_int_equal(redact_rule_add(b, &rule, "test", NULL, NULL), 0);
	assert_true(catalog_generation(b) > before_b);
	assert_int_equal(catalog_refresh(a, NULL), 0);
	assert_true(catalog_generation(a) > before_a);

	before_a = catalog_generation(a);
	assert_int_equal(catalog_refresh(a, NULL), 0);
	assert_true(catalog_generation(a) == before_a);
	catalog_close(a);
	catalog_close(b);
}

static int remember_action(void *context, const struct audit_entry *entry)
{
	char *out = context;

	strcat(out, entry->who);
	strcat(out, " ");
	strcat(out, entry->action);
	strcat(out, ";");
	return 0;
}

static void changes_are_audited_and_the_log_only_grows(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat = catalog_folder_open(f);
	const struct redact_rule rule = {.owner = "*", .key = "password", .action = REDACT_DROP};
	char text[TOKEN_TEXT_CHARS + 1], log[200] = "";
	int64_t id;
	sqlite3 *db;

	assert_int_equal(
		token_add(cat,
			  &(struct token_spec){.owner = "shop", .roles = ROLE_READ, .by = "ann"},
			  text, NULL, NULL),
		0);
	assert_int_equal(token_revoke(cat, "shop", "bob", NULL), 1);
	assert_int_equal(redact_rule_add(cat, &rule, "ann", &id, NULL), 0);
	assert_int_equal(redact_rule_remove(cat, id, "bob", NULL), 0);
	assert_int_equal(redact_rule_remove(cat, id, "bob", NULL), -ENOENT); /* leaves no line */
	assert_int_equal(audit_list(cat, 0, remember_action, log, NULL), 0);
	assert_string_equal(log,
			    "ann token.add;bob token.revoke;ann redact.add;bob redact.remove;");
	log[0] = '\0';
	assert_int_equal(audit_list(cat, 3, remember_action, log, NULL), 0);
	assert_string_equal(log, "bob redact.remove;");
	catalog_close(cat);

	assert_int_equal(sqlite3_open(f->file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM audit", NULL, NULL, NULL),
			 SQLITE_CONSTRAINT);
	assert_int_equal(sqlite3_exec(db, "UPDATE audit SET who = 'eve'", NULL, NULL, NULL),
			 SQLITE_CONSTRAINT);
	sqlite3_close(db);
}

static void *open_and_add(void *folder)
{
	struct catalog *cat = NULL;
	char text[TOKEN_TEXT_CHARS + 1];
	struct error e = {0};
	intptr_t bad = 0;

	if (catalog_open(folder, &cat, &e) < 0)
		return (void *)1;
	for (int i = 0; i < 5; i++)
		if (token_add(cat, &(struct token_spec){.owner = "many", .roles = ROLE_READ}, text,
			      NULL, &e) < 0)
			bad = 2;
	catalog_close(cat);
	return (void *)bad;
}

static void a_new_file_may_be_opened_by_many_at_once(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat;
	pthread_t threads[4];
	void *bad;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_add, f->path), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	cat = catalog_folder_open(f);
	assert_int_equal(token_count(cat), 20);
	catalog_close(cat);
}

static void to_read_alone_changes_nothing(void **state)
{
	static char before[1 << 20], after[1 << 20];
	uint8_t secret[CATALOG_SECRET_BYTES], zero[CATALOG_SECRET_BYTES] = {0};
	struct catalog_folder *f = *state;
	struct catalog *cat = NULL;
	char text[TOKEN_TEXT_CHARS + 1];
	struct error e = {0};
	size_t n;

	assert_int_equal(catalog_open_read_only(f->path, &cat, &e), -ENOENT);
	assert_int_equal(access(f->file, F_OK), -1);
	catalog_close(catalog_folder_open(f));
	n = read_file(f->file, before, sizeof(before));

	assert_int_equal(catalog_open_read_only(f->path, &cat, &e), 0);
	assert_int_equal(token_count(cat), 0);
	catalog_secret(cat, secret);
	assert_memory_equal(secret, zero, sizeof(zero));
	assert_int_equal(token_add(cat, &(struct token_spec){.owner = "a", .roles = ROLE_READ},
				   text, NULL, NULL),
			 -EROFS);
	catalog_close(cat);
	assert_int_equal(read_file(f->file, after, sizeof(after)), n);
	assert_memory_equal(before, after, n);

	run_sql(f->file, "PRAGMA user_version = 1");
	assert_int_equal(catalog_open_read_only(f->path, &cat, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, "older causet"));
	assert_int_equal(user_version(f->file), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(a_new_folder_gets_a_private_file),
		catalog_test(the_secret_is_made_once),
		catalog_test(version_zero_is_migrated),
		catalog_test(a_newer_version_is_refused_and_left_alone),
		catalog_test(another_programs_database_is_refused),
		catalog_test(a_file_that_is_no_database_is_refused_and_left_alone),
		catalog_test(a_damaged_page_is_noticed_at_open),
		catalog_test(a_missing_folder_is_a_clear_error),
		catalog_test(a_change_moves_the_generation_of_every_handle),
		catalog_test(changes_are_audited_and_the_log_only_grows),
		catalog_test(a_new_file_may_be_opened_by_many_at_once),
		catalog_test(to_read_alone_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
