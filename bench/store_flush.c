/* bench/store_flush.c - what writing a head to a segment costs, without a server around it. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/blocks.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include "bench/source.h"
#include "bench/store.h"
#include "store/engine.h"
#include "wire/codecs.h"

#define BODY_SPANS 470 /* as in store_ingest.c */
#define IN_MEMORY  ((size_t)8 << 30)
#define RUNS       5 /* the least of them: others may be using the machine */

/* What is flushed. */
struct load {
	struct batch **batches;
	size_t n, capacity, spans;
};

/* An append that is waited for. */
struct waiting {
	struct store_append append;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	int result;
};

static void append_done(struct store_append *append, int result)
{
	struct waiting *w = (struct waiting *)(void *)append;

	pthread_mutex_lock(&w->lock);
	w->over = true;
	w->result = result;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static int append(struct store *s, struct batch *b)
{
	struct waiting w = {.append = {.batch = b, .done = append_done},
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER};

	store_append(s, &w.append);
	pthread_mutex_lock(&w.lock);
	while (!w.over)
		pthread_cond_wait(&w.changed, &w.lock);
	pthread_mutex_unlock(&w.lock);
	return w.result;
}

/* A body as the server would decode it. */
static int load_body(struct load *l, struct blocks *blocks, struct slice body)
{
	const struct codec *codec = codec_find(slice_cstr("otlp"));
	struct batch *b = batch_new(body.n);
	struct decode_tally tally = {0};
	struct error error;

	if (!b || codec->decode(body, b, &tally, &error) < 0 || batch_seal_in(b, blocks) < 0) {
		batch_unref(b);
		return -1;
	}
	if (!vec_reserve(&l->batches, &l->capacity, l->n + 1, sizeof(*l->batches))) {
		batch_unref(b);
		return -1;
	}
	l->batches[l->n++] = b;
	return 0;
}

static int load_fill(struct load *l, struct source *source, size_t spans)
{
	struct blocks *blocks = blocks_new();
	struct buffer body = {0};
	size_t n = 0, in_body = 0;
	int r = blocks ? 0 : -1;

	while (r == 0 && n < spans) {
		size_t got = 0;
		struct batch *b = source_next(source, &got);

		if (b)
			source_encode(b, &body);
		batch_unref(b);
		n += got;
		in_body += got;
		if (in_body > 0 && (!b || in_body >= BODY_SPANS || n >= spans)) {
			r = load_body(l, blocks, buffer_get(&body));
			buffer_clear(&body);
			in_body = 0;
		}
		if (!b)
			break;
	}
	blocks_close(blocks);
	buffer_done(&body);
	l->spans = n;
	return r;
}

static void load_done(struct load *l)
{
	for (size_t i = 0; i < l->n; i++)
		batch_unref(l->batches[i]);
	free(l->batches);
}

/* Bytes of the segments in a folder. */
static double segment_bytes(const char *folder)
{
	struct fs_names names = {0};
	double bytes = 0;

	if (fs_list(fs_real(), folder, &names) < 0)
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		char path[400];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", folder, names.items[i]);
		if (strstr(names.items[i], ".cst") && stat(path, &st) == 0)
			bytes += (double)st.st_size;
	}
	fs_names_done(&names);
	return bytes;
}

static double thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Writes all of it to one segment. */
static int flush_once(const struct load *l, double *ret_cpu, double *ret_bytes)
{
	char folder[] = "/tmp/causet-flush-XXXXXX", command[64];
	struct engine_options options = {.dir = folder,
					 .sync = WAL_SYNC_NEVER,
					 .memory_bytes = IN_MEMORY,
					 .flush_bytes = IN_MEMORY,
					 .flush_bytes_most = IN_MEMORY,
					 .flush_strings = SIZE_MAX,
					 .manual = true};
	struct store *s = NULL;
	struct error error = {0};
	double start;
	int r = mkdtemp(folder) ? engine_open(&options, &s, &error) : -1;

	for (size_t i = 0; i < l->n && r == 0; i++)
		r = append(s, batch_ref(l->batches[i]));
	pthread_setname_np(pthread_self(), "flush"); /* for profilers */
	start = thread_cpu();
	if (r == 0)
		r = engine_flush(s);
	*ret_cpu = thread_cpu() - start;
	*ret_bytes = segment_bytes(folder);
	if (r < 0)
		fprintf(stderr, "bench: %s\n", *error.text ? error.text : "nothing was written");
	pthread_setname_np(pthread_self(), "closing");
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command) == 0 ? r : -1;
}

int store_flush(const char *set, size_t spans)
{
	struct source *source = source_open(set);
	struct load load = {0};
	double least = HUGE_VAL, bytes = 0;
	int r = source ? load_fill(&load, source, spans) : -1;

	for (int i = 0; i < RUNS && r == 0; i++) {
		double cpu;

		r = flush_once(&load, &cpu, &bytes);
		least = MIN(least, cpu);
	}
	if (r == 0) {
		printf("\n%s: %zu spans in one segment\n", set, load.spans);
		store_figure("CPU to write a span", least / (double)load.spans * 1e6, "us", 0, "");
		store_figure("bytes a span", bytes / (double)load.spans, "B", 0, "");
	}
	load_done(&load);
	source_close(source);
	return r;
}
