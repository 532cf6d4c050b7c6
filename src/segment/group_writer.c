/* segment/group_writer.c - rows become the blocks of a group. */
#include "segment/group_writer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/varint.h"
#include "segment/block_io.h"
#include "segment/shape_memo.h"

#define NONE UINT32_MAX
/* Batches that did not come up in so many groups are let go. */
#define REMAP_GROUPS 2
#define TEXT_LONG    4096
/* When texts of a column become codes, and when no longer: one new text in so many. */
#define REPEATS_LEAST 16
#define FRESH_TEXTS   4

static const enum group_block by_shape[] = {BLOCK_DURATION, BLOCK_TIME, BLOCK_TIME_POINT};

static uint64_t *numbers(struct group_writer *g)
{
	return malloc(g->most_rows * sizeof(uint64_t));
}

int group_writer_init(struct group_writer *g, const struct segment_options *options)
{
	struct stage *stages[] = {&g->times, &g->point_times, &g->durations,
				  &g->id1,   &g->id1_back,    &g->parents,
				  &g->id2,   &g->units,       &g->seqs};
	size_t slots = 64;
	int r;

	*g = (struct group_writer){.most_rows = options && options->group_rows
							? MIN(options->group_rows, GROUP_MOST_ROWS)
							: SEGMENT_GROUP_ROWS,
				   .group = 1,
				   .by_list = true};
	shape_table_init(&g->shapes);
	uuid_table_init(&g->uuids);
	key_lists_init(&g->lists);
	r = dictionary_init(&g->dictionary);
	if (r < 0)
		return r;
	totals_init(&g->totals, g->dictionary.tables);
	g->codec = column_codec_new();
	if (!g->codec || !shape_memo_init(&g->memo))
		return -ENOMEM;
	if (options && options->level)
		column_codec_level(g->codec, options->level);
	for (size_t i = 0; i < ARRAY_SIZE(by_shape); i++)
		if (!(g->learners[by_shape[i]] = column_learner_new(&g->models)))
			return -ENOMEM;
	while (slots < 2 * (size_t)g->most_rows)
		slots *= 2;
	g->rows = malloc(g->most_rows * sizeof(*g->rows));
	g->pieces = malloc(g->most_rows * sizeof(*g->pieces));
	g->child = malloc(g->most_rows * sizeof(*g->child));
	g->codes = malloc(g->most_rows * sizeof(*g->codes));
	g->row_lists = malloc(g->most_rows * sizeof(*g->row_lists));
	g->order = malloc(g->most_rows * sizeof(*g->order));
	g->spare = malloc(g->most_rows * sizeof(*g->spare));
	g->row_of_id = malloc(slots * sizeof(*g->row_of_id));
	g->guesses = calloc(GUESSES, sizeof(*g->guesses));
	g->loose_guesses = calloc(GUESSES, sizeof(*g->loose_guesses));
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (!(stages[i]->v = numbers(g)))
			return -ENOMEM;
	return g->rows && g->pieces && g->child && g->codes && g->row_lists && g->order &&
			       g->spare && g->row_of_id && g->guesses && g->loose_guesses
		       ? 0
		       : -ENOMEM;
}

void group_writer_done(struct group_writer *g)
{
	struct stage *stages[] = {&g->times, &g->point_times, &g->durations,
				  &g->id1,   &g->id1_back,    &g->parents,
				  &g->id2,   &g->units,       &g->seqs};

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		free(stages[i]->v);
	for (size_t i = 0; i < ARRAY_SIZE(by_shape); i++)
		column_learner_free(g->learners[by_shape[i]]);
	buffer_done(&g->models.bytes);
	if (g->dictionary.tables)
		dictionary_done(&g->dictionary);
	totals_done(&g->totals);
	shape_table_done(&g->shapes);
	shape_memo_done(&g->memo);
	uuid_table_done(&g->uuids);
	key_lists_done(&g->lists);
	text_encoder_done(&g->text);
	arena_done(&g->arena);
	column_codec_free(g->codec);
	free(g->rows);
	free(g->pieces);
	free(g->child);
	free(g->codes);
	free(g->order);
	free(g->spare);
	free(g->row_of_id);
	free(g->guesses);
	free(g->loose_guesses);
	free(g->loose_memo);
	free(g->row_lists);
	free(g->seen_lists);
	free(g->loose_codes);
	free(g->column_of_key);
	free(g->words);
	free(g->values);
	free(g->touched);
	free(g->seen);
	free(g->seen_shapes);
	free(g->idents);
	free(g->zones);
	free(g->zone_shapes);
	buffer_done(&g->packed);
	buffer_done(&g->directory);
	buffer_done(&g->blocks_out);
	*g = (struct group_writer){0};
}

/* --- blocks --- */

/* Enters what was written behind `from` into the directory. */
static int block_close(struct group_writer *g, uint64_t id, size_t count, size_t from, int r)
{
	uint8_t entry[3 * VARINT_MAX];
	size_t n = 0;

	if (r < 0 || g->blocks_out.failed)
		return r < 0 ? r : -ENOMEM;
	n += varint_encode(id, entry + n);
	n += varint_encode(count, entry + n);
	n += varint_encode(g->blocks_out.n - from, entry + n);
	buffer_append(&g->directory, entry, n);
	for (; from < g->blocks_out.n; from += MIN(BLOCK_CHUNK, g->blocks_out.n - from)) {
		uint32_t checksum = (uint32_t)segment_checksum(
			g->blocks_out.p + from, MIN(BLOCK_CHUNK, g->blocks_out.n - from));

		buffer_append(&g->directory, &checksum, sizeof(checksum));
	}
	g->block_n++;
	return g->directory.failed ? -ENOMEM : 0;
}

/* A block that stands in every group. */
static size_t block_open(struct group_writer *g, uint32_t id)
{
	column_codec_hints(g->codec, &g->hints[id]);
	return g->blocks_out.n;
}

static int put_u64(struct group_writer *g, uint32_t id, const uint64_t *v, size_t n)
{
	size_t from = block_open(g, id);

	return n ? block_close(g, id, n, from, column_encode_u64(g->codec, v, n, &g->blocks_out))
		 : 0;
}

static int put_i64(struct group_writer *g, uint32_t id, const uint64_t *v, size_t n)
{
	size_t from = block_open(g, id);

	return n ? block_close(g, id, n, from,
			       column_encode_i64(g->codec, (const int64_t *)v, n, &g->blocks_out))
		 : 0;
}

static int put_parents(struct group_writer *g)
{
	size_t from = block_open(g, BLOCK_PARENT), n = g->parents.n;

	return n ? block_close(g, BLOCK_PARENT, n, from,
			       column_encode_i64_apart(g->codec, (const int64_t *)g->parents.v, n,
						       &g->blocks_out))
		 : 0;
}

static int put_fixed(struct group_writer *g, uint32_t id, const void *v, size_t width, size_t n)
{
	size_t from = g->blocks_out.n;

	return n ? block_close(g, id, n, from,
			       column_encode_fixed(g->codec, v, width, n, &g->blocks_out))
		 : 0;
}

static int put_codes(struct group_writer *g, uint32_t id, const uint32_t *v, size_t n)
{
	size_t from = block_open(g, id);

	return n ? block_close(g, id, n, from, column_encode_codes(g->codec, v, n, &g->blocks_out))
		 : 0;
}

static int put_pieces(struct group_writer *g)
{
	uint64_t *v = (uint64_t *)(void *)g->order; /* room for twice as many */
	int r;

	for (uint32_t i = 0; i < g->piece_n; i++)
		v[i] = g->pieces[i].rows;
	r = put_u64(g, BLOCK_PIECE_ROWS, v, g->piece_n);
	for (uint32_t i = 0; i < g->piece_n; i++)
		v[i] = (uint64_t)g->pieces[i].start_ns -
		       (uint64_t)(i ? g->pieces[i - 1].start_ns : 0);
	if (r == 0)
		r = put_i64(g, BLOCK_PIECE_START, v, g->piece_n);
	for (uint32_t i = 0; i < g->piece_n; i++)
		v[i] = (uint64_t)g->pieces[i].duration_ns;
	return r == 0 ? put_u64(g, BLOCK_PIECE_DURATION, v, g->piece_n) : r;
}

static int put_piece_ids(struct group_writer *g)
{
	struct trace_id *ids = (struct trace_id *)(void *)g->order;

	_Static_assert(sizeof(*g->order) >= sizeof(*ids) &&
			       sizeof(*g->spare) >= 4 * sizeof(uint32_t),
		       "borrowed memory");
	for (uint32_t i = 0; i < g->piece_n; i++)
		ids[i] = g->pieces[i].id;
	return put_fixed(g, BLOCK_PIECE_ID, ids, sizeof(*ids), g->piece_n);
}

static int put_code_block(struct group_writer *g, const uint32_t *codes, uint32_t n)
{
	struct block_writer w = {.codec = g->codec, .out = &g->blocks_out};

	block_put_number(&w, 0); /* no templates: codes */
	block_put_codes(&w, codes, n);
	return w.failed;
}

/* Texts that were new in this group must be few, or the column goes back to texts for good. */
static int put_codes_column(struct group_writer *g, struct value_column *c)
{
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < c->n; i++)
		fresh += c->codes[i] >= g->known_strings;
	if (fresh > c->n / FRESH_TEXTS) {
		c->by_code = false;
		c->never_by_code = true;
	}
	return put_code_block(g, c->codes, c->n);
}

/* The texts that were cut go into the dictionary: all of them are templates without holes. */
static int put_first_codes(struct group_writer *g, const struct value_column *c)
{
	uint32_t *codes = g->text.codes, *known = g->text.kinds;

	for (size_t i = 0; i < g->text.template_n; i++)
		known[i] = batch_string(g->dictionary.tables, text_template(&g->text, i));
	if (g->dictionary.tables->failed)
		return g->dictionary.tables->failed;
	for (uint32_t i = 0; i < c->n; i++)
		codes[i] = known[codes[i]];
	return put_code_block(g, codes, c->n);
}

/* Plain texts of which many repeat are codes, here and in the next groups. */
static int put_text_column(struct group_writer *g, struct value_column *c)
{
	struct text_column_facts facts;
	int r = text_column_cut(&g->text, &g->uuids, c->texts, c->n, &facts);

	if (r < 0)
		return r;
	c->by_code = column_may_by_code(c) && !facts.cut && c->n >= REPEATS_LEAST &&
		     facts.templates <= c->n / 4 * 3;
	c->spelled |= !c->by_code;
	return c->by_code ? put_first_codes(g, c)
			  : text_column_write(&g->text, g->codec, c->n, &g->blocks_out);
}

static int put_column(struct group_writer *g, uint32_t column)
{
	struct value_column *c = &g->shapes.columns[column];
	size_t from = g->blocks_out.n;
	int r;

	column_codec_hints(g->codec, &c->hints);
	if (c->by_code)
		r = put_codes_column(g, c);
	else if (column_is_text(c))
		r = put_text_column(g, c);
	else if (c->type == VALUE_DOUBLE)
		r = column_encode_f64(g->codec, (const double *)(const void *)c->numbers, c->n,
				      &g->blocks_out);
	else
		r = column_encode_i64(g->codec, (const int64_t *)c->numbers, c->n, &g->blocks_out);
	return block_close(g, (uint64_t)BLOCK_VALUES + column, c->n, from, r);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Rows say which of the group's shapes; the list of those is part of the zone. */
static int put_shapes(struct group_writer *g)
{
	struct shape_table *t = &g->shapes;

	for (size_t i = 0; i < g->seen_shape_n; i++)
		g->order[i] = (struct radix_item){.key = g->seen_shapes[i]};
	radix_sort(g->order, g->spare, g->seen_shape_n);
	for (size_t i = 0; i < g->seen_shape_n; i++) {
		g->seen_shapes[i] = (uint32_t)g->order[i].key;
		t->shapes[g->seen_shapes[i]].local = (uint32_t)i;
	}
	for (uint32_t i = 0; i < g->row_n; i++)
		g->codes[i] = t->shapes[g->codes[i]].local;
	return put_codes(g, BLOCK_SHAPE, g->codes, g->row_n);
}

static int put_values(struct group_writer *g)
{
	int r = 0;

	if (g->touched_n > 1)
		qsort(g->touched, g->touched_n, sizeof(*g->touched), by_number);
	for (size_t i = 0; i < g->touched_n && r == 0; i++)
		r = put_column(g, g->touched[i]);
	return r == 0 ? put_fixed(g, BLOCK_UUID, g->uuids.ids, UUID_BYTES, g->uuids.n) : r;
}

/* The shapes of the rows that have a number in the blocks by shape, for each of these blocks. */
struct contexts {
	uint32_t *durations, *times, *points;
};

static struct contexts fill_contexts(struct group_writer *g)
{
	/* Borrowed: it has room for four a row. */
	uint32_t *durations = (uint32_t *)(void *)g->spare, *times = durations + g->most_rows,
		 *points = times + g->most_rows;
	struct contexts all = {durations, times, points};
	const struct group_row *rows = g->rows;
	const uint32_t *codes = g->codes;

	for (uint32_t i = 0, n = g->row_n; i < n; i++) {
		uint32_t form = rows[i].form, code = codes[i];

		*durations = *times = *points = code;
		durations += form_has(form, BLOCK_DURATION);
		times += form_has(form, BLOCK_TIME);
		points += form_has(form, BLOCK_TIME_POINT);
	}
	return all;
}

struct marks {
	uint32_t n, counts[MARKS_MOST][MARK_LANES];
};

/* Readers who begin at a mark begin to decode there. */
static void restart_at_marks(struct group_writer *g, const struct marks *marks, enum mark_lane lane)
{
	uint32_t at[MARKS_MOST], sum = 0;

	for (uint32_t i = 0; i < marks->n; i++)
		at[i] = sum += marks->counts[i][lane];
	column_codec_restarts(g->codec, at, marks->n);
}

/* Numbers of the rows that have one in this block; a row's shape says how large it may be. */
static int put_by_shape(struct group_writer *g, enum group_block id, const struct stage *s,
			const uint32_t *shapes, const struct marks *marks)
{
	size_t from = block_open(g, id);
	int r;

	if (s->n == 0)
		return 0;
	restart_at_marks(g, marks,
			 id == BLOCK_DURATION ? MARK_DURATION
			 : id == BLOCK_TIME   ? MARK_TIME
					      : MARK_TIME_POINT);
	column_codec_learner(g->codec, g->learners[id], g->seen_shapes);
	r = column_encode_i64_in(g->codec, (const int64_t *)s->v, s->n, shapes,
				 (uint32_t)g->seen_shape_n, &g->blocks_out);
	column_codec_learner(g->codec, NULL, NULL);
	column_codec_restarts(g->codec, NULL, 0);
	return block_close(g, id, s->n, from, r);
}

static int put_loose(struct group_writer *g)
{
	size_t from = g->blocks_out.n;

	return block_close(g, BLOCK_LOOSE, g->loose_n, from, group_loose_write(g, &g->blocks_out));
}

static int put_marks(struct group_writer *g, const struct marks *marks)
{
	size_t from = block_open(g, BLOCK_MARKS), n = (size_t)marks->n * MARK_LANES;

	return n ? block_close(g, BLOCK_MARKS_ID, n, from,
			       column_encode_u32(g->codec, marks->counts[0], n, &g->blocks_out))
		 : 0;
}

static int put_blocks(struct group_writer *g, size_t *ret_hot)
{
	struct marks marks;
	struct contexts by;
	int r = put_pieces(g);

	if (r == 0)
		r = put_shapes(g);
	if (r < 0)
		return r;
	marks.n = group_marks_count(g, marks.counts);
	by = fill_contexts(g);
	r = put_by_shape(g, BLOCK_DURATION, &g->durations, by.durations, &marks);
	*ret_hot = g->blocks_out.n;
	if (r == 0)
		r = put_marks(g, &marks);
	if (r == 0)
		r = put_by_shape(g, BLOCK_TIME, &g->times, by.times, &marks);
	if (r == 0)
		r = put_by_shape(g, BLOCK_TIME_POINT, &g->point_times, by.points, &marks);
	if (r == 0)
		r = put_piece_ids(g);
	if (r == 0)
		r = put_fixed(g, BLOCK_ID1, g->id1.v, sizeof(uint64_t), g->id1.n);
	if (r == 0)
		r = put_u64(g, BLOCK_ID1_BACK, g->id1_back.v, g->id1_back.n);
	if (r == 0)
		r = put_parents(g);
	if (r == 0)
		r = put_fixed(g, BLOCK_ID2, g->id2.v, sizeof(uint64_t), g->id2.n);
	if (r == 0)
		r = put_u64(g, BLOCK_UNIT, g->units.v, g->units.n);
	if (r == 0)
		r = put_u64(g, BLOCK_SEQ, g->seqs.v, g->seqs.n);
	if (r == 0 && g->loose_n)
		r = put_loose(g);
	return r == 0 ? put_values(g) : r;
}

/* --- groups --- */

/* Bytes of text that a row brings: on average where no text is long, counted where one is. */
static size_t row_weight(const struct remap *r, const struct event *e)
{
	const struct batch *b = r->batch;
	size_t weight;

	if (r->longest <= TEXT_LONG)
		return r->average;
	weight = batch_text(b, e->name).n + r->average;
	for (uint32_t i = 0; i < e->attrs.count; i++) {
		const struct attr *a = &b->attrs[e->attrs.first + i];

		if (value_is_nested(a->type))
			return b->text_n; /* rare: not worth a walk */
		if (value_is_text(a->type))
			weight += batch_text(b, a->string).n;
	}
	return e->extra ? weight + r->longest : weight;
}

int group_writer_row(struct group_writer *g, struct event_ref ref)
{
	struct group_row *last = g->row_n ? &g->rows[g->row_n - 1] : NULL;
	const struct remap *r;
	uint32_t at;

	if (last && g->dictionary.remaps[last->remap].batch == ref.batch)
		at = last->remap;
	else {
		at = dictionary_remap(&g->dictionary, ref.batch);
		g->placed |= ref.batch->place_n > 0;
	}
	if (at == MAP_NONE)
		return -ENOMEM;
	g->dictionary.remaps[at].used = g->group;
	r = &g->dictionary.remaps[at];
	g->rows[g->row_n++] = (struct group_row){.e = event_get(ref), .remap = at};
	g->weight += row_weight(r, event_get(ref));
	return 0;
}

int group_writer_rows(struct group_writer *g, const struct event_ref *refs, size_t n,
		      size_t weight_most, size_t *ret_n)
{
	size_t i = 0;

	while (i < n && g->row_n < group_room(g) && n - i <= group_room(g) - g->row_n) {
		const struct batch *b = refs[i].batch;
		const struct event *events = b->events;
		struct group_row *rows = g->rows + g->row_n;
		uint32_t at = dictionary_remap(&g->dictionary, b);
		struct remap *r = &g->dictionary.remaps[at];
		size_t from = i;

		if (at == MAP_NONE)
			return -ENOMEM;
		if (r->longest > TEXT_LONG ||
		    (n - i) * (size_t)r->average > weight_most - MIN(g->weight, weight_most))
			break;
		r->used = g->group;
		g->placed |= b->place_n > 0;
		do
			*rows++ = (struct group_row){.e = events + refs[i++].index, .remap = at};
		while (i < n && refs[i].batch == b);
		g->row_n += (uint32_t)(i - from);
		g->weight += (i - from) * r->average;
	}
	*ret_n = i;
	return 0;
}

int group_writer_piece(struct group_writer *g)
{
	struct piece_row *p = &g->pieces[g->piece_n - 1];

	group_links(g, p);
	return group_shapes_piece(g, p);
}

static int add_zone(struct group_writer *g, size_t hot)
{
	struct zone_row z = {.bytes = g->directory.n + g->blocks_out.n,
			     .hot_bytes = g->directory.n + hot,
			     .directory_checksum = segment_checksum(g->directory.p, g->directory.n),
			     .directory_bytes = (uint32_t)g->directory.n,
			     .rows = g->row_n,
			     .pieces = g->piece_n,
			     .first_rows = g->pieces[0].rows,
			     .last_rows = g->pieces[g->piece_n - 1].rows,
			     .errors = (uint32_t)g->errors,
			     .blocks = g->blocks,
			     .shape_first = g->zone_shape_n,
			     .shape_n = (uint32_t)g->seen_shape_n};

	z.start_min_ns = INT64_MAX;
	for (uint32_t i = 0; i < g->piece_n; i++) {
		z.duration_max_ns = MAX(z.duration_max_ns, g->pieces[i].duration_ns);
		z.start_min_ns = MIN(z.start_min_ns, g->pieces[i].start_ns);
		z.start_max_ns = MAX(z.start_max_ns, g->pieces[i].start_ns);
	}
	if (!vec_reserve(&g->zones, &g->zone_capacity, g->zone_n + 1, sizeof(*g->zones)) ||
	    !vec_reserve(&g->zone_shapes, &g->zone_shape_capacity,
			 g->zone_shape_n + g->seen_shape_n, sizeof(*g->zone_shapes)))
		return -ENOMEM;
	memcpy(g->zone_shapes + g->zone_shape_n, g->seen_shapes,
	       g->seen_shape_n * sizeof(*g->seen_shapes));
	g->zone_shape_n += g->seen_shape_n;
	g->zones[g->zone_n++] = z;
	return 0;
}

static void stages_clear(struct group_writer *g)
{
	struct stage *stages[] = {&g->times, &g->point_times, &g->durations,
				  &g->id1,   &g->id1_back,    &g->parents,
				  &g->id2,   &g->units,       &g->seqs};

	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		stages[i]->n = 0;
}

static void begin_next(struct group_writer *g)
{
	for (size_t i = 0; i < g->touched_n; i++) {
		struct value_column *c = &g->shapes.columns[g->touched[i]];

		c->n = c->code_room = 0;
	}
	for (size_t i = 0; i < g->shapes.skeleton_n; i++)
		g->shapes.skeletons[i].rows = 0;
	g->touched_n = g->seen_n = g->seen_shape_n = g->loose_n = 0;
	g->row_list_n = 0;
	g->seen_list_n = 0;
	g->new_skeletons = g->exact_hits = 0;
	g->known_strings = g->dictionary.tables->strings;
	g->blocks = g->errors = 0;
	stages_clear(g);
	g->row_n = g->shaped = g->piece_n = 0;
	g->placed = false;
	g->weight = 0;
	uuid_table_clear(&g->uuids);
	arena_clear(&g->arena);
	if (g->group > REMAP_GROUPS)
		dictionary_forget(&g->dictionary, g->group - REMAP_GROUPS + 1);
	g->group++;
}

int group_writer_close(struct group_writer *g)
{
	size_t hot = 0;
	int r;

	buffer_clear(&g->directory);
	buffer_byte(&g->directory, DIRECTORY_BY_CHUNK);
	buffer_clear(&g->blocks_out);
	g->block_n = 0;
	r = group_shapes_close(g);
	if (r == 0)
		r = group_lists_close(g);
	if (r == 0)
		r = put_blocks(g, &hot);
	column_codec_hints(g->codec, NULL);
	if (r == 0)
		r = add_zone(g, hot);
	if (r == 0)
		begin_next(g);
	return r;
}
