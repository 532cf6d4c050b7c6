/* A store of each version of the format is kept in tests/golden/store/, and must stay readable:
 * what comes out of it is what went into it, which is made here.
 *
 * `test_engine_golden --write DIR` makes one, for a new version: DIR/MANIFEST and so on. */
#include "store_t.h"

#include "store/memory.h"

#define BATCHES 4 /* three are in segments, the last in the log */

static const char *const versions[] = {"v1"};

static void add_values(struct batch *b, int k)
{
	uint32_t first = (uint32_t)b->attr_n, nested;
	struct event *e = &b->events[b->event_n - 1];
	uint32_t at = (uint32_t)(e - b->events);
	struct attr list;

	batch_attr_string(b, SLICE("http.route"), SLICE("/cart/{id}"));
	batch_attr_string(b, SLICE("session"), SLICE("0b8efff7-9803-8103-d269-b633813fc60c"));
	batch_attr_int(b, SLICE("size"), k * 1000003 - 7);
	batch_attr_bool(b, SLICE("cached"), k % 2);
	batch_attr_double(b, SLICE("ratio"), 0.25 * k);
	batch_attr_string(b, SLICE(""), slice_of("\0\xff odd", 6));
	nested = batch_nested(b, 2);
	b->nested[nested] = batch_int(b, k);
	b->nested[nested + 1] =
		(struct attr){.type = VALUE_STRING, .string = batch_string(b, SLICE("inner"))};
	list = batch_list(b, VALUE_ARRAY, (struct value_range){nested, 2});
	list.key = batch_string(b, SLICE("list"));
	batch_attr(b, list);
	b->events[at].attrs = (struct attr_range){first, (uint32_t)b->attr_n - first};
}

static void add_behind(struct batch *b, uint32_t trace, span_id_t id, int k)
{
	uint32_t name = batch_string(b, SLICE("exception"));
	struct event_extra *x;

	*batch_event(b) = (struct event){.trace_id = trace_of(trace),
					 .id1 = id,
					 .name = name,
					 .time_ns = 1700000000000000100 + (uint64_t)k,
					 .type = EVENT_POINT};
	*batch_event(b) = (struct event){
		.trace_id = trace_of(trace), .id1 = id, .id2 = 99, .flags = 1, .type = EVENT_LINK};
	x = batch_extra(b, (uint32_t)b->event_n - 1);
	x->link_trace = trace_of(77);
	x->trace_state = batch_string(b, SLICE("a=b,c=d"));
}

static struct batch *golden_batch(int k)
{
	struct batch *b = batch_for(k % 2 ? "front" : "back", 1700000000000000000 + k);

	b->sender = batch_string(b, SLICE("10.0.0.7"));
	for (uint32_t t = 0; t < 20; t++) {
		uint64_t start = 1700000000000000000 + t * 1000000;
		span_id_t id = (span_id_t)k << 32 | (t + 1);
		struct event *e =
			span_add(b, t, id, k ? (span_id_t)(t + 1) : 0, start, start + 5000);

		e->kind = KIND_SERVER;
		e->status = t % 5 ? STATUS_UNSET : STATUS_ERROR;
		add_values(b, k);
		if (t % 4 == 0)
			add_behind(b, t, id, k);
	}
	span_add(b, 30 + (uint32_t)k, 1, 0, 0, 0);                   /* no times */
	span_add(b, 40 + (uint32_t)k, 1, 0, UINT64_MAX, UINT64_MAX); /* the end of time */
	*batch_event(b) = (struct event){.trace_id = trace_of(50),
					 .id1 = 5,
					 .time_ns = 1700000000000000000 + (uint64_t)k,
					 .type = k % 2 ? EVENT_END : EVENT_BEGIN,
					 .format = FORMAT_NATIVE};
	batch_place(b, (uint32_t)b->event_n - 1, (struct event_place){8, (uint64_t)k});
	return sealed(b);
}

static void write_store(const char *dir)
{
	const struct store_cursor cursor = {SLICE("golden"), 1};
	struct engine_options options = {.dir = dir, .manual = true, .wal_file_bytes = 16 << 10};
	struct store *s;

	assert_int_equal(engine_open(&options, &s, NULL), 0);
	assert_int_equal(store_commit(s, &cursor, 1), 0);
	for (int k = 0; k < BATCHES; k++) {
		assert_int_equal(put(s, golden_batch(k)), 0);
		if (k == 1 || k == 2)
			assert_int_equal(engine_flush(s), 0);
	}
	store_close(s);
}

static void copy_folder(const char *from, const char *to)
{
	struct fs_names names = {0};

	assert_int_equal(fs_list(fs_real(), from, &names), 0);
	assert_int_equal(fs_make_dir(fs_real(), to, 0700), 0);
	assert_true(names.n > 2);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_(freep)
		char *source = fs_path(from, names.items[i]);
		_cleanup_(freep)
		char *target = fs_path(to, names.items[i]);
		_cleanup_(freep)
		char *bytes = NULL;
		size_t n;

		assert_int_equal(fs_load(fs_real(), source, 1 << 20, &bytes, &n), 0);
		assert_int_equal(fs_replace(fs_real(), to, target, bytes, n), 0);
	}
	fs_names_done(&names);
}

static void assert_golden(struct store *memory, struct store *s)
{
	uint64_t cursor;

	for (uint32_t t = 0; t < 60; t++)
		assert_same_trace(memory, s, trace_of(t));
	assert_same_find(memory, s, (struct store_query){.limit = 9});
	assert_same_find(memory, s, (struct store_query){.errors = true});
	assert_same_services(memory, s);
	assert_int_equal(store_cursor_get(s, SLICE("golden"), &cursor), 0);
	assert_int_equal(cursor, 1);
}

static void stores_of_every_version_are_readable(void **state)
{
	const char *golden = getenv("GOLDEN");
	struct store *memory, *s;

	if (!golden)
		skip();
	assert_int_equal(memory_store_open(1 << 24, &memory), 0);
	for (int k = 0; k < BATCHES; k++)
		assert_int_equal(put(memory, golden_batch(k)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		char dir[64], from[512], to[128];

		folder_fresh(dir);
		snprintf(from, sizeof(from), "%s/store/%s", golden, versions[i]);
		snprintf(to, sizeof(to), "%s/store", dir);
		copy_folder(from, to);
		s = engine_at(dir, (struct engine_options){0});
		assert_golden(memory, s);
		/* And it can be written on. */
		assert_int_equal(engine_flush(s), 0);
		assert_int_equal(engine_compact(s, true), 0);
		assert_golden(memory, s);
		store_close(s);
		folder_remove(dir);
	}
	store_close(memory);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_of_every_version_are_readable),
	};

	if (argc == 3 && strcmp(argv[1], "--write") == 0) {
		write_store(argv[2]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
