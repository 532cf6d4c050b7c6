/* Tracepoints in the catalogue. */
#include "catalog/catalog_folder.h"

#include <errno.h>

#include "catalog/audit.h"
#include "catalog/tracepoint.h"

static const struct tracepoint_actor alice = {"alice", false, "alice"};
static const struct tracepoint_actor bob = {"bob", false, "bob"};
static const struct tracepoint_actor admin = {"root", true, "root"};

struct seen {
	char names[10][64], texts[10][64], owners[10][64];
	size_t n;
};

static int see(void *context, const struct tracepoint_row *row)
{
	struct seen *s = context;

	assert_true(row->updated_ns > 0);
	snprintf(s->names[s->n], sizeof(s->names[0]), "%s", row->name);
	snprintf(s->texts[s->n], sizeof(s->texts[0]), "%s", row->text);
	snprintf(s->owners[s->n++], sizeof(s->owners[0]), "%s", row->owner);
	return 0;
}

static int stop(void *context, const struct tracepoint_row *row)
{
	return ++*(int *)context;
}

static int count_audit(void *context, const struct audit_entry *entry)
{
	*(int *)context += strncmp(entry->action, "tracepoint.", 11) == 0;
	return 0;
}

static int define(struct catalog *cat, const struct tracepoint_actor *who, const char *name,
		  const char *text)
{
	return tracepoint_define(cat, &(struct tracepoint_row){.name = name, .text = text}, 1, who,
				 NULL);
}

static void definitions_come_back_by_name_and_outlive_the_handle(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	uint64_t before = catalog_generation(cat);
	struct seen seen = {0};
	int calls = 0, lines = 0;

	assert_int_equal(define(cat, &alice, "RPC.Server", "Tracepoint RPC.Server = {}"), 0);
	assert_int_equal(define(cat, &bob, "DN.Read", "Tracepoint DN.Read = { name = \"r\" }"), 0);
	assert_true(catalog_generation(cat) > before);
	catalog_close(cat);
	cat = catalog_folder_open(*state);
	assert_int_equal(tracepoint_list(cat, see, &seen, NULL), 0);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.names[0], "DN.Read");
	assert_string_equal(seen.texts[0], "Tracepoint DN.Read = { name = \"r\" }");
	assert_string_equal(seen.owners[0], "bob");
	assert_string_equal(seen.names[1], "RPC.Server");
	assert_int_equal(tracepoint_list(cat, stop, &calls, NULL), 1);
	assert_int_equal(calls, 1);
	assert_int_equal(audit_list(cat, 0, count_audit, &lines, NULL), 0);
	assert_int_equal(lines, 2);
	catalog_close(cat);
}

static void only_its_owner_or_an_admin_changes_one(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct seen seen = {0};
	struct error e = {0};

	assert_int_equal(define(cat, &alice, "A", "old"), 0);
	assert_int_equal(define(cat, &bob, "A", "stolen"), -EACCES);
	assert_int_equal(tracepoint_drop(cat, "A", &bob, &e), -EACCES);
	assert_non_null(strstr(e.text, "alice"));
	assert_int_equal(define(cat, &admin, "A", "mended"), 0);
	assert_int_equal(tracepoint_list(cat, see, &seen, NULL), 0);
	assert_string_equal(seen.texts[0], "mended");
	assert_string_equal(seen.owners[0], "alice");
	assert_int_equal(tracepoint_drop(cat, "A", &alice, NULL), 0);
	assert_int_equal(tracepoint_drop(cat, "A", &alice, NULL), -ENOENT);
	catalog_close(cat);
}

static void all_are_defined_or_none(void **state)
{
	const struct tracepoint_row rows[] = {{.name = "B", .text = "b"},
					      {.name = "A", .text = "a"}};
	struct catalog *cat = catalog_folder_open(*state);
	struct seen seen = {0};

	assert_int_equal(define(cat, &alice, "A", "alice's"), 0);
	assert_int_equal(tracepoint_define(cat, rows, 2, &bob, NULL), -EACCES);
	assert_int_equal(tracepoint_list(cat, see, &seen, NULL), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(tracepoint_define(cat, rows, 2, &alice, NULL), 0);
	seen.n = 0;
	assert_int_equal(tracepoint_list(cat, see, &seen, NULL), 0);
	assert_int_equal(seen.n, 2);
	catalog_close(cat);
}

static void what_cannot_be_kept_is_refused(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	char *large = malloc(TRACEPOINT_MAX_TEXT_BYTES + 2);

	memset(large, 'x', TRACEPOINT_MAX_TEXT_BYTES + 1);
	large[TRACEPOINT_MAX_TEXT_BYTES + 1] = 0;
	assert_int_equal(define(cat, &alice, "", "x"), -EINVAL);
	assert_int_equal(define(cat, &alice, "x", ""), -EINVAL);
	assert_int_equal(define(cat, &alice, "x", large), -EINVAL);
	assert_int_equal(define(cat, &alice, "x", large + 1), 0);
	large[TRACEPOINT_MAX_NAME_CHARS + 1] = 0;
	assert_int_equal(define(cat, &alice, large, "x"), -EINVAL);
	assert_int_equal(define(cat, &alice, large + 1, "x"), 0);
	free(large);
	catalog_close(cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(definitions_come_back_by_name_and_outlive_the_handle),
		catalog_test(only_its_owner_or_an_admin_changes_one),
		catalog_test(all_are_defined_or_none),
		catalog_test(what_cannot_be_kept_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
