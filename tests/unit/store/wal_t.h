/* tests/unit/store/wal_t.h - a log in a folder of its own, and what came out of it. */
#ifndef CAUSET_TESTS_UNIT_STORE_WAL_T_H
#define CAUSET_TESTS_UNIT_STORE_WAL_T_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/blocks.h"
#include "base/fs.h"
#include "batch_equal.h"
#include "batch_random.h"
#include "core/clock.h"
#include "store/wal.h"
#include "t.h"

#define LOG_RECORDS_MOST 4096

/* A record as it was read back. */
struct log_read {
	uint64_t seq;
	struct batch *batch;
	bool has_hash;
	uint8_t hash[16];
	size_t cursor_n;
	uint64_t cursor_seq;
	char cursor_name[256];
};

struct log {
	char dir[64];
	struct wal_options options;
	struct wal *wal;
	struct log_read read[LOG_RECORDS_MOST];
	size_t read_n;
	size_t cut, damaged, unreadable; /* findings */
	char told[4000];
	struct blocks *blocks;

	pthread_mutex_t lock;
	pthread_cond_t settled;
	int refuse;         /* what prepare() answers */
	uint64_t published; /* the last seq settled with 0 */
	bool disorder;
};

/* One append and its fate. */
struct log_append {
	struct store_append append;
	struct log *log;
	bool done;
	int result;
};

static int log_replay(void *context, const struct wal_record *record)
{
	struct log *l = context;
	struct log_read *r = &l->read[l->read_n++];

	assert_true(l->read_n <= LOG_RECORDS_MOST);
	*r = (struct log_read){.seq = record->seq, .cursor_n = record->cursor_n};
	if (record->batch)
		r->batch = batch_ref(record->batch);
	r->has_hash = record->body_hash != NULL;
	if (record->body_hash)
		memcpy(r->hash, record->body_hash, 16);
	if (record->cursor_n) {
		r->cursor_seq = record->cursors[0].seq;
		memcpy(r->cursor_name, record->cursors[0].name.p, record->cursors[0].name.n);
	}
	return 0;
}

static void log_finding(void *context, const struct wal_finding *f)
{
	struct log *l = context;
	size_t n = strlen(l->told);

	l->cut += f->kind == WAL_TAIL_CUT;
	l->damaged += f->kind == WAL_DAMAGED;
	l->unreadable += f->kind == WAL_UNREADABLE;
	snprintf(l->told + n, sizeof(l->told) - n, "%s at %llu, %llu bytes: %s\n", f->file,
		 (unsigned long long)f->offset, (unsigned long long)f->bytes, f->text);
}

static int log_prepare(void *context, struct store_append *append)
{
	struct log *l = context;
	int r;

	pthread_mutex_lock(&l->lock);
	r = l->refuse;
	pthread_mutex_unlock(&l->lock);
	return r;
}

static void log_settle(void *context, struct store_append *chain, int result)
{
	struct log *l = context;

	pthread_mutex_lock(&l->lock);
	for (struct store_append *next; chain; chain = next) {
		struct log_append *a = container_of(chain, struct log_append, append);

		next = chain->next;
		if (result == 0) {
			l->disorder |= chain->seq <= l->published;
			l->published = chain->seq;
		}
		a->result = result;
		a->done = true;
	}
	pthread_cond_broadcast(&l->settled);
	pthread_mutex_unlock(&l->lock);
}

static __attribute__((unused)) void log_init(struct log *l)
{
	memset(l, 0, sizeof(*l));
	/* In memory where that is possible: syncs are not what is tested. */
	strcpy(l->dir, access("/dev/shm", W_OK) == 0 ? "/dev/shm/causet-wal-XXXXXX"
						     : "/tmp/causet-wal-XXXXXX");
	assert_non_null(mkdtemp(l->dir));
	l->blocks = blocks_new();
	assert_non_null(l->blocks);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->settled, NULL);
	l->options = (struct wal_options){
		.fs = fs_real(),
		.dir = l->dir,
		.file_bytes = 1 << 20,
		.dedup_ns = 600 * NS_PER_S,
		.prepare = log_prepare,
		.settle = log_settle,
		.replay = log_replay,
		.finding = log_finding,
		.context = l,
	};
}

static __attribute__((unused)) void log_forget(struct log *l)
{
	for (size_t i = 0; i < l->read_n; i++)
		batch_unref(l->read[i].batch);
	l->read_n = l->cut = l->damaged = l->unreadable = 0;
	l->told[0] = '\0';
	l->published = 0;
}

static __attribute__((unused)) int log_open(struct log *l)
{
	struct error error = {0};
	int r;

	log_forget(l);
	r = wal_open(&l->options, &l->wal, &error);
	if (r < 0)
		print_message("wal_open: %s\n", error.text);
	return r;
}

static __attribute__((unused)) void log_close(struct log *l)
{
	l->wal = wal_close(l->wal);
	assert_false(l->disorder);
}

/* Removes a folder with what is in it, one level of folders deep. */
static __attribute__((unused)) void folder_remove(const char *dir)
{
	struct fs_names names;

	if (fs_list(fs_real(), dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_(freep)
		char *path = fs_path(dir, names.items[i]);

		if (fs_unlink(fs_real(), path) == -EISDIR)
			folder_remove(path);
	}
	fs_names_done(&names);
	rmdir(dir);
}

static __attribute__((unused)) void log_done(struct log *l)
{
	log_close(l);
	log_forget(l);
	blocks_close(l->blocks);
	folder_remove(l->dir);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->settled);
}

static inline struct batch *log_batch(uint64_t seed, size_t rows)
{
	struct rng rng = {seed};
	const struct batch_random what = {.shape = RANDOM_EVENTS, .rows = rows};
	struct batch *b = batch_random(&rng, &what);

	b->received_ns = clock_wall_ns();
	return b;
}

static inline void log_hash(uint64_t seed, uint8_t hash[16])
{
	memset(hash, 7, 16);
	memcpy(hash, &seed, 8);
}

/* Hands an append over; it keeps the batch's reference, for log_append_done(). */
static inline int log_submit(struct log *l, struct log_append *a, uint64_t seed, size_t rows)
{
	int r;

	*a = (struct log_append){.log = l};
	a->append.batch = log_batch(seed, rows);
	if (seed % 2) /* in one piece, as a server has them */
		assert_int_equal(batch_seal_in(a->append.batch, l->blocks), 0);
	a->append.has_body_hash = true;
	log_hash(seed, a->append.body_hash);
	r = wal_append(l->wal, &a->append);
	if (r < 0) {
		a->done = true;
		a->result = r;
	}
	return r;
}

static inline int log_wait(struct log_append *a)
{
	struct log *l = a->log;

	pthread_mutex_lock(&l->lock);
	while (!a->done)
		pthread_cond_wait(&l->settled, &l->lock);
	pthread_mutex_unlock(&l->lock);
	batch_unref(a->append.batch);
	return a->result;
}

/* One batch, waited for.  Its number goes to *ret_seq, which may be NULL. */
static inline int log_put(struct log *l, uint64_t seed, size_t rows, uint64_t *ret_seq)
{
	struct log_append a;
	int r;

	log_submit(l, &a, seed, rows);
	r = log_wait(&a);
	if (ret_seq)
		*ret_seq = a.append.seq;
	return r;
}

/* Is the i-th record that was read the batch of this seed? */
static inline void log_assert_read(struct log *l, size_t i, uint64_t seed, size_t rows)
{
	struct batch *b = log_batch(seed, rows);
	uint8_t hash[16];

	log_hash(seed, hash);
	assert_true(i < l->read_n);
	assert_batch_equal(l->read[i].batch, b);
	assert_true(l->read[i].has_hash);
	assert_memory_equal(l->read[i].hash, hash, 16);
	batch_unref(b);
}

#endif
