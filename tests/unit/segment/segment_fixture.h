/* tests/unit/segment/segment_fixture.h - batches piled up, written as a segment, compared with what
 * comes out of it. */
#ifndef CAUSET_TESTS_UNIT_SEGMENT_SEGMENT_FIXTURE_H
#define CAUSET_TESTS_UNIT_SEGMENT_SEGMENT_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/rng.h"
#include "batch_equal.h"
#include "model/batch_copy.h"
#include "segment/segment.h"
#include "segment/segment_int.h"
#include "segment/totals.h"

struct pile_trace {
	struct trace_id id;
	struct event_ref *refs;
	size_t n;
	int64_t start_ns;
};

struct pile {
	struct batch *batches[64];
	size_t batch_n;
	struct pile_trace *traces; /* in the order they are written */
	size_t trace_n;
	struct event_ref *in_order;
	size_t row_n;
	size_t split_n; /* the first so many are said to be split */
};

static inline int pile_folder_make(void **state)
{
	char *dir = strdup("/tmp/causet-segment-XXXXXX");

	*state = mkdtemp(dir);
	return *state ? 0 : -1;
}

static inline int pile_folder_remove(void **state)
{
	struct fs_names names = {0};

	if (fs_list(fs_real(), *state, &names) == 0)
		for (size_t i = 0; i < names.n; i++) {
			char *path = fs_path(*state, names.items[i]);

			fs_unlink(fs_real(), path);
			free(path);
		}
	fs_names_done(&names);
	rmdir(*state);
	free(*state);
	return 0;
}

/* Rows of a batch are spread over `traces` traces; a span's points and links stay with it. */
static inline void pile_share_traces(struct batch *b, struct rng *rng, size_t traces)
{
	struct trace_id id = {0};

	for (size_t i = 0; i < b->event_n; i++) {
		struct event *e = &b->events[i];
		bool behind = i > 0 && (e->type == EVENT_POINT || e->type == EVENT_LINK) &&
			      e->id1 == e[-1].id1;

		if (!behind) {
			store_be64(id.b, 77);
			store_be64(id.b + 8, 1 + rng_below(rng, traces));
		}
		e->trace_id = id;
		/* Some parents are there. */
		if (e->type == EVENT_SPAN && i > 0 && rng_below(rng, 2))
			e->id2 = b->events[rng_below(rng, b->event_n)].id1;
	}
}

static inline void pile_one_trace(struct batch *b)
{
	for (size_t i = 0; i < b->event_n; i++)
		b->events[i].trace_id = (struct trace_id){{1}};
}

/* Takes the batch. */
static inline void pile_add(struct pile *p, struct batch *b)
{
	b->owner = (uint32_t)(p->batch_n % b->strings);
	b->sender = (uint32_t)(p->batch_n / 2 % b->strings);
	b->kept_threshold = p->batch_n % 3;
	b->received_ns = 1000 + (int64_t)p->batch_n;
	p->batches[p->batch_n++] = b;
}

static inline struct pile_trace *pile_trace(struct pile *p, struct trace_id id)
{
	for (size_t i = 0; i < p->trace_n; i++)
		if (trace_id_eq(p->traces[i].id, id))
			return &p->traces[i];
	p->traces = realloc(p->traces, (p->trace_n + 1) * sizeof(*p->traces));
	p->traces[p->trace_n] = (struct pile_trace){.id = id};
	return &p->traces[p->trace_n++];
}

static inline void pile_group(struct pile *p)
{
	for (size_t i = 0; i < p->batch_n; i++)
		for (uint32_t j = 0; j < p->batches[i]->event_n; j++) {
			struct pile_trace *t = pile_trace(p, p->batches[i]->events[j].trace_id);

			t->refs = realloc(t->refs, (t->n + 1) * sizeof(*t->refs));
			t->refs[t->n++] = (struct event_ref){p->batches[i], j};
			p->row_n++;
		}
	p->in_order = calloc(p->row_n + 1, sizeof(*p->in_order));
	for (size_t i = 0, at = 0; i < p->trace_n; at += p->traces[i++].n)
		memcpy(p->in_order + at, p->traces[i].refs, p->traces[i].n * sizeof(*p->in_order));
}

static inline void pile_write(struct pile *p, const char *dir, uint64_t number, uint32_t group_rows)
{
	struct segment_options options = {.group_rows = group_rows};
	struct segment_seal seal = {.seq_first = 3, .seq_last = 9};
	struct trace_id *split;
	struct segment_writer *w;
	struct segment_info info;

	pile_group(p);
	split = calloc(p->split_n + 1, sizeof(*split));
	for (size_t i = 0; i < p->split_n; i++)
		split[i] = p->traces[i].id;
	seal.split = split;
	seal.split_n = p->split_n;
	assert_int_equal(segment_writer_new(fs_real(), dir, number, &options, &w), 0);
	for (size_t i = 0; i < p->trace_n; i++) {
		/* Some in two parts: a trace may be continued. */
		size_t half = i % 3 == 2 ? p->traces[i].n / 2 : 0;

		assert_int_equal(segment_writer_add(w, p->traces[i].refs, half), 0);
		assert_int_equal(
			segment_writer_add(w, p->traces[i].refs + half, p->traces[i].n - half), 0);
	}
	assert_int_equal(segment_writer_finish(w, &seal, &info), 0);
	assert_int_equal(info.number, number);
	assert_int_equal(info.seq_last, 9);
	free(split);
}

static inline struct segment *pile_open(const char *dir, uint64_t number)
{
	struct segment *s = NULL;
	struct error error = {0};

	if (segment_open(fs_real(), dir, number, &s, &error) < 0)
		fail_msg("%s", error.text);
	return s;
}

static inline void pile_done(struct pile *p)
{
	for (size_t i = 0; i < p->trace_n; i++)
		free(p->traces[i].refs);
	free(p->traces);
	free(p->in_order);
	for (size_t i = 0; i < p->batch_n; i++)
		batch_unref(p->batches[i]);
	*p = (struct pile){0};
}

/* The segment's file, and its footer. */
static inline int pile_file(const char *dir, uint64_t number, struct segment_footer *ret_footer,
			    uint64_t *ret_end)
{
	char name[SEGMENT_NAME_MAX], *path;
	int fd;

	segment_name(number, name);
	path = fs_path(dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	free(path);
	assert_true(fd >= 0);
	*ret_end = (uint64_t)lseek(fd, 0, SEEK_END) - sizeof(*ret_footer);
	assert_int_equal(pread(fd, ret_footer, sizeof(*ret_footer), (off_t)*ret_end),
			 sizeof(*ret_footer));
	return fd;
}

/* Strings in its dictionary. */
static inline uint32_t pile_strings(const char *dir, uint64_t number)
{
	struct segment_footer f;
	uint64_t end;

	close(pile_file(dir, number, &f, &end));
	return f.strings;
}

/* Gives the segment another table of totals, with checksums that are right. */
static inline void pile_put_totals(const char *dir, uint64_t number, struct totals *t)
{
	struct column_codec *codec = column_codec_new();
	struct buffer table = {0};
	struct segment_footer f;
	uint64_t checksum, size;
	int fd = pile_file(dir, number, &f, &size);

	size -= f.totals_bytes;
	assert_int_equal(totals_encode(t, codec, SEGMENT_MOST_SECTION, &table), 0);
	checksum = segment_checksum(table.p, table.n);
	buffer_append(&table, &checksum, sizeof(checksum));
	f.totals_bytes = (uint32_t)table.n;
	f.checksum = segment_checksum(&f, offsetof(struct segment_footer, checksum));
	buffer_append(&table, &f, sizeof(f));
	assert_int_equal(pwrite(fd, table.p, table.n, (off_t)size), table.n);
	assert_int_equal(ftruncate(fd, (off_t)(size + table.n)), 0);
	close(fd);
	buffer_done(&table);
	column_codec_free(codec);
}

/* A segment of two spans of 5 ns, "a" and "b", whose totals are of the names 0, "a", or 1, "b", as
 * told; with resources apart or not. */
static inline void pile_two_spans(const char *dir, uint64_t number, const uint32_t names[2],
				  bool apart)
{
	struct batch *b = batch_new(0);
	const struct segment_tables *tables;
	struct totals_key key = {.type = EVENT_SPAN};
	struct totals totals;
	struct pile p = {0};
	struct segment *s;

	batch_resource(b);
	batch_scope(b);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t name = batch_string(b, i ? SLICE("b") : SLICE("a"));
		struct event *e = batch_event(b);

		*e = (struct event){.type = EVENT_SPAN,
				    .trace_id = {{1}},
				    .id1 = i + 1,
				    .name = name,
				    .time_ns = 1000,
				    .end_ns = 1005};
	}
	assert_int_equal(batch_seal(b), 0);
	pile_add(&p, b);
	pile_write(&p, dir, number, 0);
	s = pile_open(dir, number);
	assert_int_equal(segment_pin(s, &tables), 0);
	totals_init(&totals, b);
	for (uint32_t i = 0; i < 2; i++) {
		key.name = tables_find(tables, i ? SLICE("b") : SLICE("a"));
		assert_int_equal(totals_add(&totals, totals_number(&totals, &key), false, 5), 0);
	}
	if (!apart)
		assert_int_equal(totals_coarsen(&totals), 0);
	key.name = totals.rows[names[0]].key.name;
	totals.rows[1].key.name = totals.rows[names[1]].key.name;
	totals.rows[0].key.name = key.name;
	pile_put_totals(dir, number, &totals);
	totals_done(&totals);
	segment_unpin(s);
	segment_unref(s);
	pile_done(&p);
}

static inline struct batch *rows_batch(const struct event_ref *refs, size_t n)
{
	struct batch *b = batch_new(0);
	struct batch_copy c;

	batch_copy_init(&c, b);
	for (size_t i = 0; i < n; i++)
		batch_copy_event(&c, refs[i]);
	batch_copy_done(&c);
	assert_int_equal(batch_seal(b), 0);
	return b;
}

/* The same rows in the same order, from the same owners and senders. */
static inline void assert_rows_equal(const struct event_ref *a, size_t a_n,
				     const struct event_ref *b, size_t b_n)
{
	struct batch *x = rows_batch(a, a_n), *y = rows_batch(b, b_n);

	assert_int_equal(a_n, b_n);
	assert_batch_equal(x, y);
	batch_unref(x);
	batch_unref(y);
	for (size_t i = 0; i < a_n; i++) {
		assert_true(batch_check(b[i].batch));
		assert_true(slice_eq(batch_text(a[i].batch, a[i].batch->owner),
				     batch_text(b[i].batch, b[i].batch->owner)));
		assert_true(slice_eq(batch_text(a[i].batch, a[i].batch->sender),
				     batch_text(b[i].batch, b[i].batch->sender)));
		assert_int_equal(a[i].batch->kept_threshold, b[i].batch->kept_threshold);
	}
}

#endif
