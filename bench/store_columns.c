/* bench/store_columns.c - what each column of a data set holds, beside what it takes in a store.
 *
 * The store's columns are not quite the model's: values that repeat lie in the shape of their row,
 * references to UUIDs in the attributes they stand in, durations of whole traces twice. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include "bench/entropy.h"
#include "bench/source.h"
#include "bench/store.h"
#include "segment/segment_layout.h"

#define LEAST_BYTES 0.002 /* a span: smaller columns are summed up */

struct part {
	char name[80];
	double bytes, values;
};

struct parts {
	struct part *rows;
	size_t n, capacity;
	double spans;
};

static void add_part(void *context, const char *what, struct slice key, uint64_t values,
		     uint64_t bytes)
{
	struct parts *p = context;
	char name[80];
	size_t i;

	snprintf(name, sizeof(name), "%s%s%.*s", what, key.n ? " " : "",
		 (int)(key.n < 60 ? key.n : 60), key.p ? key.p : "");
	for (i = 0; i < p->n && strcmp(p->rows[i].name, name) != 0; i++)
		;
	if (i == p->n) {
		if (!vec_reserve(&p->rows, &p->capacity, p->n + 1, sizeof(*p->rows)))
			exit(1);
		p->rows[p->n] = (struct part){.bytes = 0};
		memcpy(p->rows[p->n++].name, name, sizeof(name));
	}
	p->rows[i].bytes += (double)bytes;
	p->rows[i].values += (double)values;
}

/* Sums up all segments of a store's folder. */
static int gather(const char *folder, struct parts *p)
{
	struct fs_names names = {0};
	int r = fs_list(fs_real(), folder, &names);

	for (size_t i = 0; i < names.n && r == 0; i++) {
		unsigned long long number;
		struct segment *s = NULL;
		struct error error = {0};

		if (sscanf(names.items[i], "seg-%16llx.cst", &number) != 1 ||
		    !strstr(names.items[i], ".cst"))
			continue;
		r = segment_open(fs_real(), folder, number, &s, &error);
		if (r == 0) {
			p->spans += (double)segment_info(s)->blocks;
			r = segment_layout(s, add_part, p);
		}
		segment_unref(s);
	}
	fs_names_done(&names);
	return r;
}

static int by_bytes(const void *a, const void *b)
{
	double x = ((const struct part *)a)->bytes, y = ((const struct part *)b)->bytes;

	return x > y ? -1 : x < y;
}

static const struct entropy_column *find(const struct entropy_column *columns, size_t n,
					 const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(columns[i].name, name) == 0)
			return &columns[i];
	return NULL;
}

/* The model's columns, and what the store takes for those of the same name; then what else it
 * takes. */
static void print(const struct entropy_column *columns, size_t n, double spans, struct parts *p)
{
	double total = 0, stored = 0, rest = 0, rest_stored = 0;

	printf("%12s %12s %12s\n", "B/span held", "B/span taken", "values/span");
	for (size_t i = 0; i < n; i++) {
		double held = columns[i].bytes / spans, taken = 0;

		for (size_t k = 0; k < p->n; k++)
			if (strcmp(p->rows[k].name, columns[i].name) == 0)
				taken = p->rows[k].bytes / p->spans;
		total += held;
		stored += taken;
		if (held < LEAST_BYTES && taken < LEAST_BYTES) {
			rest += held;
			rest_stored += taken;
			continue;
		}
		printf("%12.4f %12.4f %12.4f  %s\n", held, taken, columns[i].values / spans,
		       columns[i].name);
	}
	printf("%12.4f %12.4f %12s  smaller columns\n", rest, rest_stored, "");
	qsort(p->rows, p->n, sizeof(*p->rows), by_bytes);
	for (size_t k = 0; k < p->n; k++)
		if (!find(columns, n, p->rows[k].name)) {
			stored += p->rows[k].bytes / p->spans;
			printf("%12s %12.4f %12s  %s\n", "", p->rows[k].bytes / p->spans, "",
			       p->rows[k].name);
		}
	printf("%12.4f %12.4f %12s  in all\n", total, stored, "");
}

int store_entropy(const char *set, size_t spans, const char *folder)
{
	struct source *source = source_open(set);
	struct entropy *e = entropy_new();
	const struct entropy_column *columns = NULL;
	struct parts parts = {.spans = 0};
	size_t n = 0;
	int r = 0;

	if (!source || !e)
		return -1;
	for (size_t have = 0, got = 0; have < spans && r == 0; have += got) {
		struct batch *b = source_next(source, &got);

		if (!b)
			break;
		r = entropy_add(e, b);
		batch_unref(b);
	}
	if (r == 0)
		r = entropy_compute(e, &columns, &n);
	if (r == 0 && folder)
		r = gather(folder, &parts);
	if (parts.spans == 0)
		parts.spans = 1;
	if (r == 0) {
		printf("\n%s: %zu spans in %zu traces, column by column\n", set, entropy_spans(e),
		       entropy_traces(e));
		print(columns, n, (double)entropy_spans(e), &parts);
	}
	free(parts.rows);
	entropy_free(e);
	source_close(source);
	return r;
}
