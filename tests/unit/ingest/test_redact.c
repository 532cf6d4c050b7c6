#include "catalog/catalog_folder.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>

#include "batch_equal.h"
#include "batch_random.h"
#include "catalog/redact_rule.h"
#include "ingest/redact.h"

#define SECRET "hunter2-plain-text"
#define HASH_N (sizeof(REDACT_HASH_PREFIX) - 1 + 16)

static void add_rule(struct catalog *cat, struct redact_rule rule)
{
	struct error e = {0};

	if (!rule.owner)
		rule.owner = "*";
	if (redact_rule_add(cat, &rule, "test", NULL, &e) < 0)
		fail_msg("%s", e.text);
}

static struct redact *redact_of(struct catalog *cat)
{
	struct redact *r = NULL;

	assert_int_equal(redact_new(cat, &r, NULL), 0);
	return r;
}

static struct redact_count apply(struct redact *r, struct batch **b)
{
	struct redact_count count = {0};

	assert_int_equal(redact_batch(r, b, &count), 0);
	assert_true(batch_check(*b));
	return count;
}

/* Is the text anywhere in what would be stored? */
static bool holds(const struct batch *b, const char *text)
{
	const struct {
		const void *p;
		size_t n;
	} parts[] = {
		{b->text, b->text_n},
		{b->events, b->event_n * sizeof(*b->events)},
		{b->attrs, b->attr_n * sizeof(*b->attrs)},
		{b->nested, b->nested_n * sizeof(*b->nested)},
		{b->extras, b->extra_n * sizeof(*b->extras)},
		{b->resources, b->resource_n * sizeof(*b->resources)},
		{b->scopes, b->scope_n * sizeof(*b->scopes)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].n && memmem(parts[i].p, parts[i].n, text, strlen(text)))
			return true;
	return false;
}

static struct attr string_attr(struct batch *b, const char *key, const char *value)
{
	return (struct attr){.key = batch_string(b, slice_cstr(key)),
			     .type = VALUE_STRING,
			     .string = batch_string(b, slice_cstr(value))};
}

static struct attr named(struct batch *b, const char *key, struct attr value)
{
	value.key = batch_string(b, slice_cstr(key));
	return value;
}

static struct attr nest(struct batch *b, const char *key, enum value_type type,
			const struct attr *children, uint32_t n)
{
	uint32_t first = batch_nested(b, n);

	for (uint32_t i = 0; i < n; i++)
		b->nested[first + i] = children[i];
	return named(b, key, batch_list(b, type, (struct value_range){first, n}));
}

/* A resource, a scope, and as many events as asked; attributes come later. */
static struct batch *batch_start(const char *owner)
{
	struct batch *b = batch_new(0);

	assert_non_null(b);
	b->owner = batch_string(b, slice_cstr(owner));
	batch_resource(b);
	batch_scope(b);
	return b;
}

static struct event *add_event(struct batch *b, enum event_type type, const struct attr *attrs,
			       uint32_t n)
{
	struct event *e;

	for (uint32_t i = 0; i < n; i++)
		batch_attr(b, attrs[i]);
	e = batch_event(b);
	e->type = (uint8_t)type;
	e->id1 = b->event_n;
	e->name = batch_string(b, SLICE("operation"));
	e->attrs = (struct attr_range){(uint32_t)b->attr_n - n, n};
	return e;
}

static void without_rules_nothing_is_touched(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r = redact_of(cat);
	struct batch *b = batch_start("shop"), *same = b;
	struct redact_count count;

	add_event(b, EVENT_SPAN, (struct attr[]){string_attr(b, "password", SECRET)}, 1);
	count = apply(r, &b);
	assert_ptr_equal(b, same);
	assert_int_equal(count.dropped + count.hashed, 0);
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void a_dropped_attribute_leaves_no_byte_behind(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b = batch_start("shop");
	struct redact_count count;

	add_rule(cat, (struct redact_rule){.key = "*password*", .action = REDACT_DROP});
	r = redact_of(cat);
	add_event(b, EVENT_SPAN,
		  (struct attr[]){string_attr(b, "before", "1"),
				  string_attr(b, "db.password", SECRET),
				  string_attr(b, "after", "2")},
		  3);
	/* What decoding left behind: interned, referred to by nobody. */
	batch_string(b, SLICE("leftover of a rejected row"));
	assert_true(holds(b, SECRET));
	count = apply(r, &b);
	assert_int_equal(count.dropped, 1);
	assert_int_equal(count.hashed, 0);
	assert_false(holds(b, SECRET));
	assert_false(holds(b, "db.password"));
	assert_false(holds(b, "leftover"));
	assert_int_equal(b->events[0].attrs.count, 2);
	assert_text(batch_attr_text(b, b->events[0].attrs, SLICE("before")), "1");
	assert_text(batch_attr_text(b, b->events[0].attrs, SLICE("after")), "2");
	assert_text(batch_text(b, b->events[0].name), "operation");
	assert_text(batch_text(b, b->owner), "shop");
	assert_int_equal(batch_seal(b), 0);
	assert_false(holds(b, SECRET));
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void hashed_values_stay_joinable(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b = batch_start("shop");
	struct slice text[4];
	struct attr_range range;

	add_rule(cat, (struct redact_rule){.key = "user.*", .action = REDACT_HASH});
	r = redact_of(cat);
	add_event(b, EVENT_SPAN,
		  (struct attr[]){
			  string_attr(b, "user.id", "4711"),
			  string_attr(b, "user.alias", SECRET),
			  named(b, "user.number", batch_int(b, 4711)),
			  string_attr(b, "user.other", "4712"),
		  },
		  4);
	assert_int_equal(apply(r, &b).hashed, 4);
	assert_false(holds(b, SECRET));
	range = b->events[0].attrs;
	text[0] = batch_attr_text(b, range, SLICE("user.id"));
	text[1] = batch_attr_text(b, range, SLICE("user.alias"));
	text[2] = batch_attr_text(b, range, SLICE("user.number"));
	text[3] = batch_attr_text(b, range, SLICE("user.other"));
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(text[i].n, HASH_N);
		assert_true(slice_starts(text[i], SLICE(REDACT_HASH_PREFIX)));
	}
	assert_slice_equal(text[0], text[2]);
	assert_false(slice_eq(text[0], text[3]));
	assert_false(slice_eq(text[0], text[1]));
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static struct batch *one_string(const char *owner, const char *key, const char *value)
{
	struct batch *b = batch_start(owner);

	add_event(b, EVENT_SPAN, (struct attr[]){string_attr(b, key, value)}, 1);
	return b;
}

static void equal_values_hash_alike_across_batches_but_not_across_catalogues(void **state)
{
	struct catalog *cat = catalog_folder_open(*state), *other;
	void *other_state;
	struct redact *r, *s;
	struct batch *a = one_string("shop", "k", SECRET), *b = one_string("bank", "k", SECRET),
		     *c = one_string("shop", "k", SECRET);

	catalog_folder_setup(&other_state);
	other = catalog_folder_open(other_state);
	add_rule(cat, (struct redact_rule){.key = "k", .action = REDACT_HASH});
	add_rule(other, (struct redact_rule){.key = "k", .action = REDACT_HASH});
	r = redact_of(cat);
	s = redact_of(other);
	apply(r, &a);
	apply(r, &b);
	apply(s, &c);
	assert_slice_equal(batch_attr_text(a, a->events[0].attrs, SLICE("k")),
			   batch_attr_text(b, b->events[0].attrs, SLICE("k")));
	assert_false(slice_eq(batch_attr_text(a, a->events[0].attrs, SLICE("k")),
			      batch_attr_text(c, c->events[0].attrs, SLICE("k"))));
	batch_unref(a);
	batch_unref(b);
	batch_unref(c);
	redact_free(r);
	redact_free(s);
	catalog_close(cat);
	catalog_close(other);
	catalog_folder_teardown(&other_state);
}

/* One attribute "k" with the secret at each level and event type; which are left? */
static void levels_and_owners_are_respected(void **state)
{
	static const enum event_type types[] = {EVENT_SPAN, EVENT_POINT, EVENT_LINK,
						EVENT_LOG,  EVENT_END,   EVENT_EDGE};
	static const struct {
		const char *rule_owner;
		enum redact_level level;
		const char *owner;
		bool resource, scope, events;
	} rows[] = {
		{"*", REDACT_ANY, "shop", true, true, true},
		{"*", REDACT_RESOURCE, "shop", true, false, false},
		{"*", REDACT_SCOPE, "shop", false, true, false},
		{"*", REDACT_BLOCK, "shop", false, false, true},
		{"sh*", REDACT_ANY, "shop", true, true, true},
		{"bank", REDACT_ANY, "shop", false, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *folder;
		struct catalog *cat;
		struct redact *r;
		struct batch *b = batch_start(rows[i].owner), *before = b;
		bool any = rows[i].resource || rows[i].scope || rows[i].events;
		struct redact_count count;

		catalog_folder_setup(&folder);
		cat = catalog_folder_open(folder);
		add_rule(cat, (struct redact_rule){.owner = rows[i].rule_owner,
						   .key = "k",
						   .action = REDACT_DROP,
						   .level = rows[i].level});
		r = redact_of(cat);
		batch_attr(b, string_attr(b, "k", SECRET));
		b->resources[0].attrs = (struct attr_range){0, 1};
		batch_attr(b, string_attr(b, "k", SECRET));
		b->scopes[0].attrs = (struct attr_range){1, 1};
		for (size_t t = 0; t < ARRAY_SIZE(types); t++)
			add_event(b, types[t], (struct attr[]){string_attr(b, "k", SECRET)}, 1);
		count = apply(r, &b);
		assert_int_equal(count.dropped, rows[i].resource + rows[i].scope +
							(rows[i].events ? ARRAY_SIZE(types) : 0));
		assert_int_equal(b == before, !any);
		assert_int_equal(b->resources[0].attrs.count, !rows[i].resource);
		assert_int_equal(b->scopes[0].attrs.count, !rows[i].scope);
		for (size_t t = 0; t < ARRAY_SIZE(types); t++)
			assert_int_equal(b->events[t].attrs.count, !rows[i].events);
		assert_int_equal(holds(b, SECRET),
				 !(rows[i].resource && rows[i].scope && rows[i].events));
		batch_unref(b);
		redact_free(r);
		catalog_close(cat);
		catalog_folder_teardown(&folder);
	}
}

/* user: { name, address: { zip: SECRET, city }, tags: [SECRET, "plain"] } */
static struct batch *nested_user(void)
{
	struct batch *b = batch_start("shop");
	struct attr address = nest(
		b, "address", VALUE_KVLIST,
		(struct attr[]){string_attr(b, "zip", SECRET), string_attr(b, "city", "Bern")}, 2);
	struct attr tags =
		nest(b, "tags", VALUE_ARRAY,
		     (struct attr[]){string_attr(b, "", SECRET), string_attr(b, "", "plain")}, 2);
	struct attr user = nest(b, "user", VALUE_KVLIST,
				(struct attr[]){string_attr(b, "name", "ann"), address, tags}, 3);

	add_event(b, EVENT_SPAN, &user, 1);
	return b;
}

static void nested_values_are_found_by_dotted_path(void **state)
{
	static const struct {
		const char *key, *value;
		uint64_t dropped;
		bool city, plain; /* still there */
	} rows[] = {
		{"user", NULL, 1, false, false},
		{"user.address", NULL, 1, false, true},
		{"user.address.zip", NULL, 1, true, true},
		{"user.*.zip", NULL, 1, true, true},
		{"*.zip", NULL, 1, true, true},
		{"*zip", NULL, 1, true, true},
		{"user.tags", NULL, 1, true, false},
		{"user.tags", "^hunter", 1, true, true},
		{"user.*", "hunter2", 2, true, true},
		{"*", "plain-text$", 2, true, true},
		{"zip", NULL, 0, true, true},
		{"user.zip", NULL, 0, true, true},
		{"user", "hunter2", 0, true, true},
		{"user.address.zip", "^unter", 0, true, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		void *folder;
		struct catalog *cat;
		struct redact *r;
		struct batch *b = nested_user(), *before = b;
		struct redact_count count;

		catalog_folder_setup(&folder);
		cat = catalog_folder_open(folder);
		add_rule(cat, (struct redact_rule){.key = rows[i].key,
						   .value = rows[i].value,
						   .action = REDACT_DROP});
		r = redact_of(cat);
		count = apply(r, &b);
		if (count.dropped != rows[i].dropped || holds(b, "Bern") != rows[i].city ||
		    (!rows[i].plain && holds(b, "tags")))
			fail_msg("'%s' where '%s': dropped %llu", rows[i].key,
				 rows[i].value ? rows[i].value : "",
				 (unsigned long long)count.dropped);
		assert_int_equal(b == before, rows[i].dropped == 0);
		if (rows[i].dropped == 2 || strcmp(rows[i].key, "user") == 0)
			assert_int_equal(holds(b, SECRET), rows[i].dropped == 0);
		batch_unref(b);
		redact_free(r);
		catalog_close(cat);
		catalog_folder_teardown(&folder);
	}
}

static void a_nested_value_is_hashed_whole_or_by_leaf(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *a = nested_user(), *b = nested_user();
	const struct attr *user;

	add_rule(cat, (struct redact_rule){
			      .key = "user.tags", .value = "^hunter", .action = REDACT_HASH});
	add_rule(cat, (struct redact_rule){.key = "user.address", .action = REDACT_HASH});
	r = redact_of(cat);
	assert_int_equal(apply(r, &a).hashed, 2);
	assert_int_equal(apply(r, &b).hashed, 2);
	assert_false(holds(a, SECRET));
	assert_false(holds(a, "Bern"));
	assert_true(holds(a, "plain"));
	user = batch_attr_find(a, a->events[0].attrs, SLICE("user"));
	assert_int_equal(attr_children(a, user).count, 3);
	assert_int_equal(a->nested[attr_children(a, user).first + 1].type, VALUE_STRING);
	assert_batch_equal(a, b); /* equal structures hash alike */
	batch_unref(a);
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void the_first_matching_rule_decides(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b = batch_start("shop");
	struct redact_count count;

	add_rule(cat, (struct redact_rule){.key = "card", .value = "^4", .action = REDACT_HASH});
	add_rule(cat, (struct redact_rule){.key = "c*", .action = REDACT_DROP});
	r = redact_of(cat);
	add_event(b, EVENT_SPAN,
		  (struct attr[]){string_attr(b, "card", "4111111111111111"),
				  string_attr(b, "card", "5111111111111111"),
				  string_attr(b, "d", "4")},
		  3);
	count = apply(r, &b);
	assert_int_equal(count.hashed, 1);
	assert_int_equal(count.dropped, 1);
	assert_int_equal(b->events[0].attrs.count, 2);
	assert_false(holds(b, "111111"));
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void patterns_see_every_kind_of_value(void **state)
{
	static const char nul[] = "a\0b" SECRET;
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b = batch_start("shop");

	add_rule(cat, (struct redact_rule){.key = "*",
					   .value = "^-12$|^true$|^0\\.5$|hunter2|^$",
					   .action = REDACT_DROP});
	r = redact_of(cat);
	add_event(b, EVENT_SPAN,
		  (struct attr[]){
			  named(b, "i", batch_int(b, -12)),
			  named(b, "i2", batch_int(b, 12)),
			  {.key = batch_string(b, SLICE("t")), .type = VALUE_BOOL, .word = 1},
			  {.key = batch_string(b, SLICE("f")), .type = VALUE_BOOL, .word = 0},
			  named(b, "d", batch_double(b, 0.5)),
			  {.key = batch_string(b, SLICE("b")),
			   .type = VALUE_BYTES,
			   .string = batch_string(b, slice_of(nul, sizeof(nul) - 1))},
			  {.key = batch_string(b, SLICE("e")), .type = VALUE_EMPTY},
			  {.key = batch_string(b, SLICE("s")), .type = VALUE_STRING},
		  },
		  8);
	assert_int_equal(apply(r, &b).dropped, 6);
	assert_int_equal(b->events[0].attrs.count, 2);
	assert_false(holds(b, SECRET));
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void patterns_see_bytes_in_any_locale(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b;

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	add_rule(cat,
		 (struct redact_rule){.key = "k", .value = "^.hunter2.*t$", .action = REDACT_DROP});
	r = redact_of(cat);
	b = one_string("shop", "k", "\xff" SECRET);
	assert_int_equal(apply(r, &b).dropped, 1);
	assert_false(holds(b, SECRET));
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
	setlocale(LC_CTYPE, "C");
}

static void set_body(struct batch *b, struct attr body)
{
	struct event_extra *x;

	add_event(b, EVENT_LOG, NULL, 0);
	x = batch_extra(b, (uint32_t)b->event_n - 1);
	x->severity_text = batch_string(b, SLICE("WARN"));
	x->body = body;
	x->body.key = 0;
}

static void log_bodies_are_values_too(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct redact *r;
	struct batch *b = batch_start("shop");
	struct attr user;

	add_rule(cat,
		 (struct redact_rule){.key = "body", .value = "password=", .action = REDACT_DROP});
	add_rule(cat, (struct redact_rule){.key = "user.password", .action = REDACT_HASH});
	r = redact_of(cat);
	set_body(b, string_attr(b, "", "login password=" SECRET));
	set_body(b, string_attr(b, "", "all well"));
	user = nest(
		b, "user", VALUE_KVLIST,
		(struct attr[]){string_attr(b, "password", SECRET), string_attr(b, "name", "ann")},
		2);
	set_body(b, nest(b, "", VALUE_KVLIST, &user, 1));
	set_body(b,
		 (struct attr){.type = VALUE_RAW, .string = batch_string(b, SLICE("\x42" SECRET))});
	assert_int_equal(apply(r, &b).dropped, 2);
	assert_false(holds(b, SECRET));
	assert_true(holds(b, "all well") && holds(b, "ann") && holds(b, "WARN"));
	assert_int_equal(b->extras[b->events[0].extra].body.type, VALUE_EMPTY);
	assert_int_equal(b->extras[b->events[1].extra].body.type, VALUE_STRING);
	assert_int_equal(b->extras[b->events[2].extra].body.type, VALUE_KVLIST);
	assert_int_equal(b->extras[b->events[3].extra].body.type, VALUE_EMPTY);
	batch_unref(b);
	redact_free(r);
	catalog_close(cat);
}

static void undecoded_values_go_when_a_rule_could_concern_them(void **state)
{
	static const struct {
		const char *key, *value;
		bool gone;
	} rows[] = {
		{"user", NULL, true},    {"user.password", NULL, true}, {"*password*", NULL, true},
		{"user", "other", true}, {"users", NULL, false},        {"account.*", NULL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int type = VALUE_RAW; type <= VALUE_RAW_PAIR; type++) {
			void *folder;
			struct catalog *cat;
			struct redact *r;
			struct batch *b = batch_start("shop");
			struct attr a = string_attr(b, "user", "\x0a\x05" SECRET);

			catalog_folder_setup(&folder);
			cat = catalog_folder_open(folder);
			add_rule(cat, (struct redact_rule){.key = rows[i].key,
							   .value = rows[i].value,
							   .action = REDACT_HASH});
			r = redact_of(cat);
			a.type = (uint8_t)type;
			add_event(b, EVENT_SPAN, &a, 1);
			assert_int_equal(apply(r, &b).hashed, rows[i].gone);
			assert_int_equal(holds(b, SECRET), !rows[i].gone);
			if (rows[i].gone)
				assert_int_equal(
					batch_attr_text(b, b->events[0].attrs, SLICE("user")).n,
					HASH_N);
			batch_unref(b);
			redact_free(r);
			catalog_close(cat);
			catalog_folder_teardown(&folder);
		}
}

/* Against random batches: everything but what is dropped comes through unchanged. */
static void the_rest_of_a_batch_stays_as_it_was(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct rng rng = {.state = 99};
	struct redact *r;
	int copied = 0;

	add_rule(cat,
		 (struct redact_rule){.key = "*", .action = REDACT_DROP, .level = REDACT_SCOPE});
	r = redact_of(cat);
	for (int round = 0; round < 60; round++) {
		const struct batch_random what = {.shape = (enum batch_random_shape)(round % 3),
						  .rows = 50};
		struct batch *b = batch_random(&rng, &what), *original = batch_ref(b);

		apply(r, &b);
		copied += b != original;
		for (size_t i = 0; i < original->scope_n; i++)
			original->scopes[i].attrs.count = 0;
		assert_batch_equal(b, original);
		batch_unref(original);
		batch_unref(b);
	}
	assert_true(copied > 10);
	redact_free(r);
	catalog_close(cat);
}

static void hashing_everything_leaves_only_hashes(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct rng rng = {.state = 100};
	struct redact *r;

	add_rule(cat, (struct redact_rule){.key = "*", .action = REDACT_HASH});
	r = redact_of(cat);
	for (int round = 0; round < 60; round++) {
		const struct batch_random what = {.shape = (enum batch_random_shape)(round % 3),
						  .rows = 50};
		struct batch *b = batch_random(&rng, &what);

		apply(r, &b);
		for (size_t i = 0; i < b->attr_n; i++) {
			assert_int_equal(b->attrs[i].type, VALUE_STRING);
			assert_true(slice_starts(batch_text(b, b->attrs[i].string),
						 SLICE(REDACT_HASH_PREFIX)));
		}
		batch_unref(b);
	}
	redact_free(r);
	catalog_close(cat);
}

static void a_rule_from_another_process_takes_effect(void **state)
{
	struct catalog *server = catalog_folder_open(*state), *cli = catalog_folder_open(*state);
	struct redact *r = redact_of(server);
	struct batch *b = one_string("shop", "k", SECRET);

	assert_int_equal(apply(r, &b).dropped, 0);
	add_rule(cli, (struct redact_rule){.key = "k", .action = REDACT_DROP});
	assert_int_equal(catalog_refresh(server, NULL), 0);
	assert_int_equal(apply(r, &b).dropped, 1);
	batch_unref(b);

	assert_int_equal(redact_rule_remove(cli, 1, "test", NULL), 0);
	assert_int_equal(catalog_refresh(server, NULL), 0);
	b = one_string("shop", "k", SECRET);
	assert_int_equal(apply(r, &b).dropped, 0);
	batch_unref(b);
	redact_free(r);
	catalog_close(server);
	catalog_close(cli);
}

struct crowd {
	struct redact *r;
	_Atomic bool stop;
	_Atomic int wrong;
};

static void *redact_all_the_time(void *argument)
{
	struct crowd *c = argument;

	while (!c->stop) {
		struct batch *b = batch_new(0);
		struct redact_count count = {0};

		b->owner = batch_string(b, SLICE("shop"));
		batch_resource(b);
		batch_scope(b);
		batch_attr_string(b, SLICE("steady"), SLICE(SECRET));
		*batch_event(b) = (struct event){.attrs = {0, 1}};
		if (redact_batch(c->r, &b, &count) < 0 || count.hashed != 1)
			c->wrong++;
		batch_unref(b);
	}
	return NULL;
}

static void rules_may_change_while_batches_come_in(void **state)
{
	struct catalog *cat = catalog_folder_open(*state);
	struct crowd c = {0};
	pthread_t threads[3];

	add_rule(cat, (struct redact_rule){
			      .key = "steady", .value = "hunter[0-9]", .action = REDACT_HASH});
	c.r = redact_of(cat);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, redact_all_the_time, &c), 0);
	for (int i = 0; i < 20; i++) {
		int64_t id;
		const struct redact_rule rule = {
			.owner = "*", .key = "x", .value = "y", .action = REDACT_DROP};

		assert_int_equal(redact_rule_add(cat, &rule, "test", &id, NULL), 0);
		assert_int_equal(redact_rule_remove(cat, id, "test", NULL), 0);
	}
	c.stop = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(c.wrong, 0);
	redact_free(c.r);
	catalog_close(cat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		catalog_test(without_rules_nothing_is_touched),
		catalog_test(a_dropped_attribute_leaves_no_byte_behind),
		catalog_test(hashed_values_stay_joinable),
		catalog_test(equal_values_hash_alike_across_batches_but_not_across_catalogues),
		cmocka_unit_test(levels_and_owners_are_respected),
		cmocka_unit_test(nested_values_are_found_by_dotted_path),
		catalog_test(a_nested_value_is_hashed_whole_or_by_leaf),
		catalog_test(the_first_matching_rule_decides),
		catalog_test(patterns_see_every_kind_of_value),
		catalog_test(patterns_see_bytes_in_any_locale),
		catalog_test(log_bodies_are_values_too),
		cmocka_unit_test(undecoded_values_go_when_a_rule_could_concern_them),
		catalog_test(the_rest_of_a_batch_stays_as_it_was),
		catalog_test(hashing_everything_leaves_only_hashes),
		catalog_test(a_rule_from_another_process_takes_effect),
		catalog_test(rules_may_change_while_batches_come_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
