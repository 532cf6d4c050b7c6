/* cli/store_columns_cmd.c - `causet store stat --columns`: where the bytes of segments went. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/cli_store.h"
#include "cli/table.h"
#include "segment/segment_layout.h"
#include "store/manifest.h"
#include "wire/json_writer.h"

struct part {
	struct slice what, key; /* in the arena */
	uint64_t values, bytes;
};

struct parts_list {
	struct arena arena;
	struct map map;
	struct part *rows;
	size_t n, capacity;
	bool failed; /* out of memory */
};

static void parts_list_done(struct parts_list *l)
{
	arena_done(&l->arena);
	map_done(&l->map);
	free(l->rows);
}

static bool part_is(const void *context, uint32_t value, const void *key)
{
	const struct part *a = &((const struct parts_list *)context)->rows[value], *b = key;

	return slice_eq(a->what, b->what) && slice_eq(a->key, b->key);
}

static void part_add(void *context, const char *what, struct slice key, uint64_t values,
		     uint64_t bytes)
{
	struct parts_list *l = context;
	struct part part = {.what = slice_cstr(what), .key = key};
	uint64_t hash = hash_bytes(key.p, key.n, hash_bytes(part.what.p, part.what.n, l->map.seed));
	uint32_t at = map_get(&l->map, hash, part_is, l, &part);

	if (at == MAP_NONE) {
		part.what = arena_dup(&l->arena, part.what);
		part.key = arena_dup(&l->arena, part.key);
		if (!part.what.p || !part.key.p ||
		    !vec_reserve(&l->rows, &l->capacity, l->n + 1, sizeof(*l->rows)) ||
		    !map_put(&l->map, hash, (uint32_t)l->n)) {
			l->failed = true;
			return;
		}
		at = (uint32_t)l->n;
		l->rows[l->n++] = part;
	}
	l->rows[at].values += values;
	l->rows[at].bytes += bytes;
}

static int largest_first(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static int gather(struct parts_list *l, const char *dir, uint64_t *ret_blocks)
{
	_cleanup_(manifest_done)
	struct manifest m = {0};
	int r = manifest_load(fs_real(), dir, &m, NULL);

	*ret_blocks = 0;
	for (size_t i = 0; r == 0 && i < m.segment_n; i++) {
		_cleanup_(segment_unrefp)
		struct segment *s = NULL;

		r = segment_open(fs_real(), dir, m.segments[i].number, &s, NULL);
		if (r == 0)
			r = segment_layout(s, part_add, l);
		*ret_blocks += m.segments[i].blocks;
	}
	return r == 0 && l->failed ? -ENOMEM : r;
}

static void print_json(const struct parts_list *l, struct buffer *out)
{
	for (size_t i = 0; i < l->n; i++) {
		struct json_writer w = json_write(out);

		json_begin_object(&w);
		json_put_name(&w, "part");
		json_put_string(&w, l->rows[i].what);
		if (l->rows[i].key.n) {
			json_put_name(&w, "key");
			json_put_string(&w, l->rows[i].key);
		}
		json_put_name(&w, "values");
		json_put_u64(&w, l->rows[i].values);
		json_put_name(&w, "bytes");
		json_put_u64(&w, l->rows[i].bytes);
		json_end_object(&w);
		buffer_byte(out, '\n');
	}
}

static void print_table(struct cli *cli, const struct parts_list *l, uint64_t blocks,
			struct buffer *out)
{
	static const struct table_column columns[] = {
		{.title = "PART"},
		{.title = "KEY", .shrinks = true},
		{.title = "VALUES", .right = true},
		{.title = "BYTES", .right = true},
		{.title = "PER SPAN", .right = true},
	};
	struct table t = table_of(columns, ARRAY_SIZE(columns), &cli->arena);
	char each[32];

	for (size_t i = 0; i < l->n; i++) {
		table_cell(&t, l->rows[i].what);
		table_cell(&t, l->rows[i].key);
		table_cell_u64(&t, l->rows[i].values);
		table_cell_u64(&t, l->rows[i].bytes);
		snprintf(each, sizeof(each), "%.3f",
			 blocks ? (double)l->rows[i].bytes / (double)blocks : 0);
		table_cell_text(&t, each);
	}
	table_write(&t, cli->terminal ? cli->columns : 0, out);
	table_done(&t);
}

int store_columns_print(struct cli *cli, const char *dir, struct buffer *out)
{
	_cleanup_(parts_list_done)
	struct parts_list l = {0};
	uint64_t blocks;
	int r;

	map_init(&l.map);
	r = gather(&l, dir, &blocks);
	if (r < 0)
		return cli_fail(cli, EXIT_FAILED,
				"cannot read the segments: %s; see causet store check",
				strerror(-r));
	if (l.n > 1)
		qsort(l.rows, l.n, sizeof(*l.rows), largest_first);
	if (cli->json)
		print_json(&l, out);
	else
		print_table(cli, &l, blocks, out);
	return EXIT_OK;
}
