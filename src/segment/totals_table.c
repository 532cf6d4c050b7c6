/* segment/totals_table.c - tables of totals, written and read. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/block_io.h"
#include "segment/segment_reader_int.h"
#include "segment/totals.h"

/* Less than a third of a byte for a place with something in it would be too good to be true: a
 * table is not made to find out. */
#define PLACES_PER_BYTE 3

/* What is known of a count beforehand: how far it lies below the longest, in octaves, and how many
 * spans there are. */
#define CONTEXTS    256
#define CONTEXT_MAX 15

static void fill_contexts(uint32_t *out, uint32_t place, uint32_t n, uint64_t timed)
{
	uint32_t size = MIN((uint32_t)(63 - __builtin_clzll(timed | 1)), (uint32_t)CONTEXT_MAX),
		 last = place + n - 1;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = (last - place - i) / PLACES_PER;

		out[i] = MIN(below, (uint32_t)CONTEXT_MAX) * (CONTEXT_MAX + 1) + size;
	}
}

/* --- writing --- */

/* A row's places, from the first with something to the last; `out` has room for PLACES. */
static uint32_t row_places(const struct totals *t, const struct total *row, int64_t *out,
			   uint32_t *ret_first)
{
	uint32_t from, to;

	*ret_first = 0;
	if (row->timed == 0)
		return 0;
	from = duration_place(row->shortest);
	to = duration_place(row->longest);
	for (uint32_t place = from; place <= to; place++) {
		uint16_t chunk = place ? row->chunks[(place - 1) / PLACES_PER] : 0;

		out[place - from] = place == 0 ? (int64_t)row->zeros
				    : chunk    ? totals_count(t, chunk, (place - 1) % PLACES_PER)
					       : 0;
	}
	*ret_first = from;
	return to - from + 1;
}

struct columns {
	uint32_t *narrow;
	uint64_t *wide;
	uint32_t *contexts;
	int64_t *bins;
};

static void columns_done(struct columns *c)
{
	free(c->narrow);
	free(c->wide);
	free(c->contexts);
	free(c->bins);
}

#define PUT(w, t, c, expression)                                                                   \
	do {                                                                                       \
		for (size_t i = 0; i < (t)->n; i++) {                                              \
			const struct total *row = &(t)->rows[i];                                   \
                                                                                                   \
			(c)->narrow[i] = (uint32_t)(expression);                                   \
		}                                                                                  \
		block_put_u32(w, (c)->narrow, (t)->n);                                             \
	} while (0)
#define PUT_WIDE(w, t, c, expression)                                                              \
	do {                                                                                       \
		for (size_t i = 0; i < (t)->n; i++) {                                              \
			const struct total *row = &(t)->rows[i];                                   \
                                                                                                   \
			(c)->wide[i] = (uint64_t)(expression);                                     \
		}                                                                                  \
		block_put_u64(w, (c)->wide, (t)->n);                                               \
	} while (0)

static size_t bins_of(const struct totals *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].timed)
			n += 1U + duration_place(t->rows[i].longest) -
			     duration_place(t->rows[i].shortest);
	return n;
}

static int put_table(const struct totals *t, struct column_codec *codec, struct buffer *out)
{
	struct block_writer w = {.codec = codec, .out = out};
	size_t bin_n = bins_of(t), at = 0;
	_cleanup_(columns_done)
	struct columns c = {
		.narrow = malloc((t->n + 1) * sizeof(uint32_t)),
		.wide = malloc((t->n + 1) * sizeof(uint64_t)),
		.contexts = malloc((bin_n + 1) * sizeof(uint32_t)),
		.bins = malloc((bin_n + 1) * sizeof(int64_t)),
	};

	if (!c.narrow || !c.wide || !c.contexts || !c.bins)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t first, n = row_places(t, &t->rows[i], c.bins + at, &first);

		fill_contexts(c.contexts + at, first, n, t->rows[i].timed);
		at += n;
	}
	block_put_number(&w, t->apart);
	block_put_number(&w, t->n);
	block_put_number(&w, bin_n);
	PUT(&w, t, &c, row->key.source);
	PUT(&w, t, &c, row->key.name);
	PUT(&w, t, &c, row->key.type);
	PUT(&w, t, &c, t->apart & APART_KIND ? (uint32_t)row->key.kind : row->kinds);
	PUT(&w, t, &c, row->key.status);
	PUT_WIDE(&w, t, &c, row->spans);
	PUT_WIDE(&w, t, &c, row->errors);
	PUT_WIDE(&w, t, &c, row->timed);
	PUT_WIDE(&w, t, &c, row->timed ? row->shortest : 0);
	PUT_WIDE(&w, t, &c, row->longest);
	PUT_WIDE(&w, t, &c, row->sum);
	PUT_WIDE(&w, t, &c, row->sum >> 64);
	block_begin(&w, &at);
	block_end(&w, at,
		  bin_n ? column_encode_i64_in(codec, c.bins, bin_n, c.contexts, CONTEXTS, out)
			: 0);
	return w.failed;
}

int totals_encode(struct totals *t, struct column_codec *codec, size_t most, struct buffer *out)
{
	size_t from = out->n;
	int r = 0;

	while (r == 0 && !t->given_up) {
		if (t->n <= TOTALS_MOST && bins_of(t) <= TOTALS_BINS_MOST &&
		    t->places / PLACES_PER_BYTE <= most) {
			r = put_table(t, codec, out);
			if (r < 0 || out->n - from <= most)
				return r;
			out->n = from;
		}
		r = totals_coarsen(t);
	}
	return r;
}

/* --- reading --- */

struct totals_table *totals_free(struct totals_table *t)
{
	if (!t)
		return NULL;
	free(t->rows);
	free(t->counts);
	free(t);
	return NULL;
}

#define GET(r, t, narrow, field, cast)                                                             \
	do {                                                                                       \
		block_get_u32(r, narrow, (t)->n);                                                  \
		for (uint32_t i = 0; !(r)->failed && i < (t)->n; i++)                              \
			(t)->rows[i].field = (cast)(narrow)[i];                                    \
	} while (0)
#define GET_WIDE(r, t, wide, field, cast)                                                          \
	do {                                                                                       \
		block_get_u64(r, wide, (t)->n);                                                    \
		for (uint32_t i = 0; !(r)->failed && i < (t)->n; i++)                              \
			(t)->rows[i].field = (cast)(wide)[i];                                      \
	} while (0)

static bool key_ok(const struct totals_table *t, const struct total_row *row,
		   const struct totals_limits *limits)
{
	const struct totals_key *k = &row->key;

	return k->name < limits->strings && row->kinds > 0 && row->kinds <= KIND_BITS &&
	       k->source < (t->apart & APART_RESOURCE ? limits->resources : limits->strings) &&
	       (k->type == EVENT_SPAN || k->type == EVENT_BEGIN);
}

/* Places follow from the shortest and the longest. */
static bool rows_place(struct totals_table *t, uint64_t bin_n)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct total_row *row = &t->rows[i];

		row->counts = t->counts ? t->counts + at : NULL;
		if (row->timed == 0) {
			if (row->shortest || row->longest || row->sum)
				return false;
			continue;
		}
		if (row->shortest < 0 || row->longest < row->shortest || row->timed > row->spans)
			return false;
		row->place = duration_place(row->shortest);
		row->place_n = 1U + duration_place(row->longest) - row->place;
		if (row->place_n > bin_n - at)
			return false;
		at += row->place_n;
	}
	return at == bin_n;
}

static bool rows_add_up(const struct totals_table *t, uint64_t spans)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct total_row *row = &t->rows[i];
		unsigned __int128 least, most;
		uint64_t timed = 0;

		for (uint32_t k = 0; k < row->place_n && row->counts; k++)
			timed += row->counts[k];
		timed = row->counts ? timed : row->timed;
		if (timed != row->timed || row->errors > row->spans || row->spans > spans)
			return false;
		least = (unsigned __int128)timed * (uint64_t)row->shortest;
		most = (unsigned __int128)timed * (uint64_t)row->longest;
		if (row->sum < least || row->sum > most)
			return false;
		spans -= row->spans;
	}
	return spans == 0;
}

static int get_bins(struct block_reader *r, struct totals_table *t, uint64_t bin_n)
{
	_cleanup_(freep)
	uint32_t *contexts = malloc((bin_n + 1) * sizeof(*contexts));
	_cleanup_(freep)
	int64_t *bins = malloc((bin_n + 1) * sizeof(*bins));
	struct slice block;
	int e;

	if (!contexts || !bins)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct total_row *row = &t->rows[i];

		fill_contexts(contexts + (row->counts - t->counts), row->place, row->place_n,
			      row->timed);
	}
	if (!block_next_of(r, bin_n, &block))
		return r->failed;
	e = column_decode_i64_in(r->codec, block, bin_n, contexts, CONTEXTS, bins);
	for (uint64_t i = 0; e == 0 && i < bin_n; i++) {
		if (bins[i] < 0 || bins[i] > UINT32_MAX)
			return -EBADMSG;
		t->counts[i] = (uint32_t)bins[i];
	}
	return e;
}

static void get_kinds(struct block_reader *r, struct totals_table *t, uint32_t *narrow)
{
	bool apart = t->apart & APART_KIND;

	block_get_u32(r, narrow, t->n);
	for (uint32_t i = 0; !r->failed && i < t->n; i++) {
		t->rows[i].key.kind = apart ? (int32_t)narrow[i] : 0;
		t->rows[i].kinds = apart ? kind_bit((int32_t)narrow[i]) : narrow[i];
	}
}

static void get_rows(struct block_reader *r, struct totals_table *t, uint32_t *narrow,
		     uint64_t *wide)
{
	GET(r, t, narrow, key.source, uint32_t);
	GET(r, t, narrow, key.name, uint32_t);
	GET(r, t, narrow, key.type, uint32_t);
	get_kinds(r, t, narrow);
	GET(r, t, narrow, key.status, int32_t);
	GET_WIDE(r, t, wide, spans, uint64_t);
	GET_WIDE(r, t, wide, errors, uint64_t);
	GET_WIDE(r, t, wide, timed, uint64_t);
	GET_WIDE(r, t, wide, shortest, int64_t);
	GET_WIDE(r, t, wide, longest, int64_t);
	GET_WIDE(r, t, wide, sum, uint64_t);
	block_get_u64(r, wide, t->n);
	for (uint32_t i = 0; !r->failed && i < t->n; i++)
		t->rows[i].sum |= (unsigned __int128)wide[i] << 64;
}

int totals_decode(struct slice bytes, const struct totals_limits *limits, bool counts,
		  struct totals_table **ret_table)
{
	_cleanup_(column_codec_freep)
	struct column_codec *codec = column_codec_new();
	struct block_reader r = {.codec = codec, .rest = bytes};
	uint64_t apart = block_get_number(&r), n = block_get_number(&r),
		 bin_n = block_get_number(&r);
	_cleanup_(totals_freep)
	struct totals_table *t = calloc(1, sizeof(*t));
	_cleanup_(freep)
	uint32_t *narrow = NULL;
	_cleanup_(freep)
	uint64_t *wide = NULL;
	int e;

	if (!codec || !t)
		return -ENOMEM;
	if (r.failed || apart > APART_ALL || n > TOTALS_MOST || bin_n > TOTALS_BINS_MOST)
		return -EBADMSG;
	t->apart = (unsigned)apart;
	t->n = (uint32_t)n;
	t->bytes = sizeof(*t) + n * sizeof(*t->rows) + bin_n * sizeof(*t->counts);
	t->rows = calloc(n + 1, sizeof(*t->rows));
	t->counts = counts ? malloc((bin_n + 1) * sizeof(*t->counts)) : NULL;
	narrow = malloc((n + 1) * sizeof(*narrow));
	wide = malloc((n + 1) * sizeof(*wide));
	if (!t->rows || (counts && !t->counts) || !narrow || !wide)
		return -ENOMEM;
	get_rows(&r, t, narrow, wide);
	if (r.failed)
		return r.failed;
	for (uint32_t i = 0; i < t->n; i++)
		if (!key_ok(t, &t->rows[i], limits))
			return -EBADMSG;
	if (!rows_place(t, bin_n))
		return -EBADMSG;
	e = counts ? get_bins(&r, t, bin_n) : 0;
	if (e < 0)
		return e;
	if ((counts && r.rest.n > 0) || !rows_add_up(t, limits->spans))
		return -EBADMSG;
	*ret_table = TAKE_PTR(t);
	return 0;
}

static int totals_read(struct segment *s, bool counts, struct totals_table **ret_table)
{
	const struct segment_footer *f = &s->footer;
	const struct totals_limits limits = {f->strings, f->resources, f->blocks};
	_cleanup_(freep)
	char *bytes = NULL;
	uint64_t checksum;
	size_t n = f->totals_bytes;
	int r;

	if (n == 0)
		return -ENOENT;
	if (n < sizeof(checksum))
		return -EBADMSG;
	bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	r = fs_read_all(s->fs, s->fd, bytes, n, s->info.bytes - sizeof(*f) - n);
	if (r < 0)
		return r;
	n -= sizeof(checksum);
	memcpy(&checksum, bytes + n, sizeof(checksum));
	if (!segment_checksum_ok(checksum, segment_checksum(bytes, n)))
		return -EBADMSG;
	return totals_decode(slice_of(bytes, n), &limits, counts, ret_table);
}

int segment_totals_bare(struct segment *s, struct totals_table **ret_table)
{
	return totals_read(s, false, ret_table);
}

/* Read without the lock; who comes second throws his copy away. */
int segment_totals(struct segment *s, const struct totals_table **ret_table)
{
	struct totals_table *t;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	t = s->totals;
	pthread_mutex_unlock(&s->lock);
	if (!t) {
		r = totals_read(s, true, &t);
		if (r < 0)
			return r;
		pthread_mutex_lock(&s->lock);
		if (s->totals)
			totals_free(t);
		else
			s->totals = t;
		t = s->totals;
		pthread_mutex_unlock(&s->lock);
	}
	*ret_table = t;
	return 0;
}
