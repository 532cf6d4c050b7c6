/* Every allocation fails once: redaction either reports it, with the batch as it was, or has left
 * no plain text.  Linked with --wrap=malloc,calloc,realloc. */
#include "catalog/catalog_folder.h"
#include "no_memory.h"

#include <errno.h>

#include "catalog/redact_rule.h"
#include "catalog/token.h"
#include "ingest/redact.h"

#define SECRET       "hunter2-plain-text"
#define MAX_ATTEMPTS 2000

static struct batch *user_batch(void)
{
	struct batch *b = batch_new(0);
	struct attr list;
	uint32_t first;

	b->owner = batch_string(b, SLICE("shop"));
	batch_resource(b);
	batch_scope(b);
	first = batch_nested(b, 2);
	b->nested[first] = (struct attr){.key = batch_string(b, SLICE("password")),
					 .type = VALUE_STRING,
					 .string = batch_string(b, SLICE(SECRET))};
	b->nested[first + 1] = (struct attr){.key = batch_string(b, SLICE("name")),
					     .type = VALUE_STRING,
					     .string = batch_string(b, SLICE("ann"))};
	list = batch_list(b, VALUE_KVLIST, (struct value_range){first, 2});
	list.key = batch_string(b, SLICE("user"));
	batch_attr(b, list);
	batch_attr_string(b, SLICE("card"), SLICE(SECRET));
	*batch_event(b) = (struct event){.type = EVENT_LOG, .attrs = {0, 2}};
	batch_extra(b, 0)->body =
		(struct attr){.type = VALUE_STRING, .string = batch_string(b, SLICE("b " SECRET))};
	for (int i = 0; i < 300; i++) {
		char text[16];

		snprintf(text, sizeof(text), "value %d", i);
		*batch_event(b) = (struct event){.attrs = {(uint32_t)b->attr_n, 1}};
		batch_attr_string(b, SLICE("plain"), slice_cstr(text));
	}
	assert_int_equal(b->failed, 0);
	return b;
}

static void add_rules(struct catalog *cat)
{
	static const struct redact_rule rules[] = {
		{.owner = "*", .key = "user.password", .action = REDACT_HASH},
		{.owner = "*", .key = "*", .value = "^(b )?hunter2", .action = REDACT_DROP},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		assert_int_equal(redact_rule_add(cat, &rules[i], "test", NULL, NULL), 0);
}

static void redaction_fails_whole_or_not_at_all(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r = NULL;
	int failures = 0;

	add_rules(cat);
	assert_int_equal(redact_new(cat, &r, NULL), 0);
	for (int n = 0; n < MAX_ATTEMPTS; n++) {
		struct batch *b = user_batch(), *before = b;
		struct redact_count count = {0};
		bool over;
		int e;

		no_memory_after = n;
		e = redact_batch(r, &b, &count);
		over = no_memory_after >= 0; /* nothing was left to fail */
		no_memory_after = -1;
		if (e < 0) {
			failures++;
			assert_ptr_equal(b, before);
			assert_true(count.dropped + count.hashed == 0);
			assert_non_null(memmem(b->text, b->text_n, SECRET, strlen(SECRET)));
		} else {
			assert_null(memmem(b->text, b->text_n, SECRET, strlen(SECRET)));
			assert_int_equal(count.hashed, 1);
			assert_int_equal(b->event_n, 301);
		}
		assert_true(batch_check(b));
		batch_unref(b);
		if (over)
			break;
		assert_true(n < MAX_ATTEMPTS - 1);
	}
	assert_true(failures > 10);
	redact_free(r);
	catalog_close(cat);
}

static void rules_are_compiled_all_or_none(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);

	add_rules(cat);
	for (int n = 0; n < MAX_ATTEMPTS; n++) {
		struct redact *r = NULL;
		bool over;
		int e;

		no_memory_after = n;
		e = redact_new(cat, &r, NULL);
		over = no_memory_after >= 0;
		no_memory_after = -1;
		if (over) {
			assert_int_equal(e, 0);
			redact_free(r);
			break;
		}
		assert_int_equal(e, -ENOMEM);
		assert_null(r);
	}
	catalog_close(cat);
}

static void a_catalogue_opens_whole_or_not_at_all(void **state)
{
	struct catalog_folder *f = *state;
	struct catalog *cat = catalog_folder_open(f);
	char text[TOKEN_TEXT_CHARS + 1];
	struct token_identity who;

	assert_int_equal(token_add(cat, &(struct token_spec){.owner = "a", .roles = ROLE_READ},
				   text, NULL, NULL),
			 0);
	catalog_close(cat);
	for (int n = 0; n < MAX_ATTEMPTS; n++) {
		bool over;
		int e;

		cat = NULL;
		no_memory_after = n;
		e = catalog_open(f->path, &cat, NULL);
		over = no_memory_after >= 0;
		no_memory_after = -1;
		if (e == 0) {
			assert_int_equal(token_check(cat, slice_cstr(text), &who), 0);
			catalog_close(cat);
		} else {
			assert_null(cat);
		}
		if (over)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(redaction_fails_whole_or_not_at_all),
		catalog_test(rules_are_compiled_all_or_none),
		catalog_test(a_catalogue_opens_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
