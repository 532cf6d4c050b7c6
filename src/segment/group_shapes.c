/* segment/group_shapes.c - finds the shape of each row, and puts the values that do not stand in
 * shapes into columns.
 *
 * Which fields of a skeleton are FIXED is decided on its rows.  So the first group of a segment
 * goes in two steps: skeletons as rows come, values when the group is full and the skeletons are
 * settled. Later everything is done as rows come, while they are in the processor's caches; a new
 * skeleton gets its classes by a guess, and what was guessed or has turned out badly is settled at
 * the end of the group, for the next. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/group_writer.h"
#include "segment/loose_memo.h"
#include "segment/packed_value.h"

#define NONE UINT32_MAX
/* More skeletons than one for so many rows: keys are there or not at random, … */
#define ROWS_PER_SKELETON 8
#define LOOSE_LEAST_ROWS  256
/* … and skeletons with fewer rows than this are given up. */
#define SKELETON_LEAST_ROWS 32
#define AHEAD               8
/* With fewer rows than one in so many of a known skeleton, LOOSE is taken without asking, … */
#define LOOSE_HITS 16
/* … which so many rows of a group tell if it was so in the last one. */
#define LOOSE_LOOK_ROWS 32
#define SHAPES_AT_ONCE  GROUP_TOTALS_ROWS

static uint32_t prefix_text(struct attr *out, uint32_t n, uint32_t key, uint32_t code)
{
	if (code == 0)
		return n;
	out[n] = (struct attr){.key = key, .type = VALUE_STRING, .bits = code};
	return n + 1;
}

static uint32_t prefix_number(struct attr *out, uint32_t n, uint32_t key, uint64_t number)
{
	if (number == 0)
		return n;
	out[n] = (struct attr){.key = key, .type = VALUE_INT, .bits = number};
	return n + 1;
}

static uint32_t prefix_extra(const struct event_extra *x, struct attr *out, uint32_t n)
{
	n = prefix_text(out, n, FIELD_TRACE_STATE, x->trace_state);
	n = prefix_text(out, n, FIELD_STATUS_MESSAGE, x->status_message);
	n = prefix_text(out, n, FIELD_SEVERITY_TEXT, x->severity_text);
	n = prefix_text(out, n, FIELD_UNKNOWN, x->unknown);
	n = prefix_text(out, n, FIELD_UNKNOWN_STATUS, x->unknown_status);
	n = prefix_number(out, n, FIELD_DROPPED_ATTRIBUTES, x->dropped_attributes);
	n = prefix_number(out, n, FIELD_DROPPED_POINTS, x->dropped_points);
	n = prefix_number(out, n, FIELD_DROPPED_LINKS, x->dropped_links);
	n = prefix_number(out, n, FIELD_LINK_HIGH, load_be64(x->link_trace.b));
	n = prefix_number(out, n, FIELD_LINK_LOW, load_be64(x->link_trace.b + 8));
	n = prefix_number(out, n, FIELD_OBSERVED, x->observed_ns);
	if (x->body.type != VALUE_EMPTY) {
		out[n] = x->body;
		out[n++].key = FIELD_BODY;
	}
	return prefix_text(out, n, FIELD_BODY_KEY, x->body.key);
}

uint32_t row_prefix(const struct batch *b, const struct event *e, struct attr out[ROW_PREFIX_MOST])
{
	out[0] = (struct attr){.key = FIELD_NAME, .type = VALUE_STRING, .bits = e->name};
	return e->extra ? prefix_extra(&b->extras[e->extra], out, 1) : 1;
}

/* --- skeletons --- */

/* Keys nearly always are known: the loop has nothing else in it, and is run again if one was not.
 */
static void key_words(struct group_writer *g, struct remap *r, const struct attr *a, uint32_t n,
		      uint32_t *words)
{
	const uint32_t *strings = r->strings;
	bool known = true;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t code = strings[a[i].key];

		known = known && code;
		words[i] = field_word(code, a[i].type);
	}
	for (uint32_t i = 0; i < n && !known; i++)
		words[i] = field_word(dictionary_string(&g->dictionary, r, a[i].key), a[i].type);
}

/* The row's words; returns the number of fields, or NONE when out of memory. */
static uint32_t row_words(struct group_writer *g, const struct group_row *row, bool loose)
{
	const struct event *e = row->e;
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct attr *a = r->batch->attrs + e->attrs.first;
	uint32_t count = e->attrs.count, prefix_n = 1, *words;
	struct attr prefix[ROW_PREFIX_MOST];

	if (e->extra)
		prefix_n = row_prefix(r->batch, e, prefix);
	if (WORD_FIELDS + ROW_PREFIX_MOST + (size_t)count > g->word_capacity &&
	    !vec_reserve(&g->words, &g->word_capacity,
			 WORD_FIELDS + ROW_PREFIX_MOST + (size_t)count, sizeof(*g->words)))
		return NONE;
	words = g->words;
	words[WORD_TYPE] = e->type | (uint32_t)e->format << 8 | (uint32_t)e->bits << 16;
	words[WORD_KIND] = (uint32_t)e->kind;
	words[WORD_STATUS] = (uint32_t)e->status;
	words[WORD_FLAGS] = e->flags;
	words[WORD_RESOURCE] = dictionary_resource(&g->dictionary, r, e->resource);
	words[WORD_SCOPE] = dictionary_scope(&g->dictionary, r, e->scope);
	words[WORD_FORM] = row->form;
	words += WORD_FIELDS;
	*words++ = field_word(FIELD_NAME, VALUE_STRING);
	for (uint32_t i = 1; i < prefix_n; i++)
		*words++ = field_word(prefix[i].key, prefix[i].type);
	if (loose)
		for (uint32_t i = 0; i < count; i++)
			words[i] = field_word(FIELD_LOOSE, 0);
	else
		key_words(g, r, a, count, words);
	return prefix_n + count;
}

static uint32_t get_skeleton(struct group_writer *g, const struct group_row *row, bool loose);

/* Rows of a kind come again and again: the guess is nearly always right, and no word is written
 * or hashed for it. */
static uint32_t find_skeleton(struct group_writer *g, const struct group_row *row)
{
	uint32_t *guess = guess_slot(g, row), at, n = row->e->attrs.count;

	if (guess && *guess && has_skeleton(g, row, &g->shapes.skeletons[*guess - 1])) {
		g->exact_hits++;
		return *guess - 1;
	}
	at = get_skeleton(g, row, false);
	if (!guess || at == NONE || words_have_empty(g->words + WORD_FIELDS, n + 1))
		return at;
	guess = guess_slot(g, row); /* its keys are known now */
	*guess = at + 1;
	return at;
}

/* The same for a row whose attributes are LOOSE. */
static uint32_t find_loose(struct group_writer *g, const struct group_row *row)
{
	const struct event *e = row->e;
	struct remap *r = &g->dictionary.remaps[row->remap];
	uint32_t resource = dictionary_resource(&g->dictionary, r, e->resource),
		 scope = dictionary_scope(&g->dictionary, r, e->scope), n = e->attrs.count, *guess;
	const struct skeleton *k;

	if (e->extra || n == 0)
		return get_skeleton(g, row, n > 0);
	guess = &g->loose_guesses[(hash_fold((uint64_t)resource << 32 ^ (uint64_t)scope << 16 ^ n,
					     0x9e3779b97f4a7c15ULL) ^
				   hash_fold((uint64_t)row->form << 32 ^
						     (uint64_t)(uint32_t)e->kind << 8 ^
						     (uint32_t)e->status,
					     0xe7037ed1a0b428dbULL)) &
				  (GUESSES - 1)];
	k = *guess ? &g->shapes.skeletons[*guess - 1] : NULL;
	if (k && k->loose_n == n && k->field_n == n + 1 && has_head(g, row, k))
		return *guess - 1;
	*guess = get_skeleton(g, row, true) + 1; /* NONE becomes 0 */
	return *guess - 1;
}

static uint32_t get_skeleton(struct group_writer *g, const struct group_row *row, bool loose)
{
	struct shape_table *t = &g->shapes;
	uint32_t field_n = row_words(g, row, loose), at;
	uint64_t hash;

	if (field_n == NONE)
		return NONE;
	hash = skeleton_hash(t, g->words, field_n);
	at = skeleton_find(t, g->words, field_n, hash);
	if (at != NONE && !t->skeletons[at].rare) {
		g->exact_hits += !loose;
		return at;
	}
	if (!loose && at == NONE && g->at_once &&
	    ++g->new_skeletons >
		    LOOSE_LEAST_ROWS / ROWS_PER_SKELETON + g->row_n / ROWS_PER_SKELETON)
		g->loose = true;
	if (!loose && (at != NONE || g->loose))
		return get_skeleton(g, row, true);
	at = skeleton_add(t, g->words, field_n, hash);
	if (at != NONE && g->at_once && !shape_guess(g, at, row))
		return NONE;
	return at;
}

static bool skeleton_note(struct group_writer *g, uint32_t skeleton)
{
	if (g->shapes.skeletons[skeleton].rows++ > 0)
		return true;
	if (!vec_reserve(&g->seen, &g->seen_capacity, g->seen_n + 1, sizeof(*g->seen)))
		return false;
	g->seen[g->seen_n++] = skeleton;
	return true;
}

/* Rows of skeletons that few share become LOOSE. */
static int loosen(struct group_writer *g)
{
	struct shape_table *t = &g->shapes;
	size_t n = g->seen_n;

	g->loose = true;
	for (size_t i = 0; i < n; i++) {
		struct skeleton *k = &t->skeletons[g->seen[i]];

		k->rare = k->rows < SKELETON_LEAST_ROWS && !k->settled && k->loose_n == 0;
	}
	for (uint32_t i = 0; i < g->row_n; i++) {
		struct skeleton *k = &t->skeletons[g->rows[i].skeleton];

		if (!k->rare)
			continue;
		k->rows--;
		g->rows[i].skeleton = get_skeleton(g, &g->rows[i], true);
		if (g->rows[i].skeleton == NONE || !skeleton_note(g, g->rows[i].skeleton))
			return -ENOMEM;
	}
	return 0;
}

/* --- values --- */

int group_stage(struct group_writer *g, struct remap *r, uint32_t column, const struct attr *a)
{
	struct value_column *c = &g->shapes.columns[column];

	if (a->type == VALUE_EMPTY)
		return 0;
	if (c->n == 0) {
		if (!vec_reserve(&g->touched, &g->touched_capacity, g->touched_n + 1,
				 sizeof(*g->touched)))
			return -ENOMEM;
		g->touched[g->touched_n++] = column;
	}
	if (c->n == c->capacity && !value_column_grow(c))
		return -ENOMEM;
	if (value_is_nested(a->type)) {
		buffer_clear(&g->packed);
		packed_value_put(r->batch, a, &g->packed);
		c->texts[c->n] = arena_dup(&g->arena, buffer_get(&g->packed));
		if (g->packed.failed || !c->texts[c->n].p)
			return -ENOMEM;
	} else if (c->by_code)
		c->codes[c->n] = dictionary_string(&g->dictionary, r, a->string);
	else if (value_is_text(a->type))
		c->texts[c->n] = batch_text(r->batch, a->string);
	else
		c->numbers[c->n] = a->type == VALUE_BOOL ? a->boolean : a->bits;
	c->n++;
	c->code_room = c->by_code ? (uint32_t)MIN(c->capacity, (size_t)UINT32_MAX) : 0;
	return 0;
}

static uint64_t fixed_nested(struct group_writer *g, struct remap *r, const struct attr *a)
{
	buffer_clear(&g->packed);
	packed_value_put(r->batch, a, &g->packed);
	if (g->packed.failed)
		g->dictionary.failed = -ENOMEM;
	return batch_string(g->dictionary.tables, buffer_get(&g->packed));
}

/* Everything that is not the rule. */
static __attribute__((noinline)) int stage_other(struct group_writer *g,
						 const struct group_row *row, const struct field *f,
						 const struct attr *a, uint64_t *to)
{
	struct remap *r = &g->dictionary.remaps[row->remap];

	switch (f->step) {
	case STEP_FIXED_TEXT:
		*to = dictionary_string(&g->dictionary, r, a->string);
		return 0;
	case STEP_FIXED_BOOL:
		*to = a->boolean;
		return 0;
	case STEP_FIXED_EMPTY:
		*to = 0;
		return 0;
	case STEP_FIXED_NESTED:
		*to = fixed_nested(g, r, a);
		return 0;
	default:
		return group_stage(g, r, f->column, a);
	}
}

/* Puts n fields where they belong: FIXED values to `to`; returns the place behind the last, or NULL
 * when out of memory.  Fields do not move: new columns may be added, but no skeletons. */
static uint64_t *stage_fields(struct group_writer *g, const struct group_row *row,
			      const struct field *f, const struct attr *a, uint32_t n, uint64_t *to)
{
	const struct remap *r = &g->dictionary.remaps[row->remap];
	const struct batch *b = r->batch;
	const uint32_t *strings = r->strings;

	for (const struct field *end = f + n; f < end; f++, a++) {
		struct value_column *c;
		uint32_t code;

		switch (f->step) {
		case STEP_FIXED_TEXT:
			code = strings[a->string];
			*to = code;
			if (!code && a->string && stage_other(g, row, f, a, to) < 0)
				return NULL;
			to++;
			break;
		case STEP_FIXED_NUMBER:
			*to++ = a->bits;
			break;
		case STEP_VAR_TEXT:
			c = &g->shapes.columns[f->column];
			if (c->n > 0 && c->n < c->capacity && !c->by_code)
				c->texts[c->n++] = batch_text(b, a->string);
			else if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			break;
		case STEP_VAR_NUMBER:
			c = &g->shapes.columns[f->column];
			if (c->n > 0 && c->n < c->capacity)
				c->numbers[c->n++] = a->bits;
			else if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			break;
		default:
			if (stage_other(g, row, f, a, to) < 0)
				return NULL;
			to += f->class == ENTRY_FIXED;
		}
	}
	return to;
}

/* A row whose values are where they belong; its shape is to be looked up. */
struct staged {
	size_t first; /* of its FIXED values */
	uint32_t row, hash;
};

static int row_stage_loose(struct group_writer *g, const struct group_row *row)
{
	struct remap *r = &g->dictionary.remaps[row->remap];
	const struct event *e = row->e;

	return group_stage_loose(g, r, row_level(e->type), r->batch->attrs + e->attrs.first,
				 e->attrs.count);
}

/* Puts the row's values where they belong, FIXED ones into g->values from `first` on. */
static bool row_stage(struct group_writer *g, uint32_t number, size_t first, struct staged *out)
{
	const struct group_row *row = &g->rows[number];
	const struct skeleton *k = &g->shapes.skeletons[row->skeleton];
	const struct batch *b = g->dictionary.remaps[row->remap].batch;
	const struct field *f = g->shapes.fields + k->field_first;
	const struct event *e = row->e;
	struct attr prefix[ROW_PREFIX_MOST];
	uint32_t prefix_n = 1;
	uint64_t *to;

	/* One more: what is no FIXED value is written behind them and forgotten. */
	if (first + k->field_n >= g->value_capacity &&
	    !vec_reserve(&g->values, &g->value_capacity, first + k->field_n + 1,
			 sizeof(*g->values)))
		return false;
	if (e->extra)
		prefix_n = row_prefix(b, e, prefix);
	else
		prefix[0] = (struct attr){.type = VALUE_STRING, .bits = e->name};
	to = stage_fields(g, row, f, prefix, prefix_n, g->values + first);
	/* Either all attributes are LOOSE or none is. */
	if (to && k->loose_n) {
		if (row_stage_loose(g, row) < 0)
			return false;
	} else if (to)
		to = stage_fields(g, row, f + prefix_n, b->attrs + e->attrs.first, e->attrs.count,
				  to);
	if (!to)
		return false;
	*out = (struct staged){first, number,
			       shape_hash(&g->shapes, row->skeleton, g->values + first)};
	shape_fetch(&g->shapes, out->hash);
	return true;
}

static int shape_note(struct group_writer *g, uint32_t row, uint32_t shape)
{
	struct shape_row *s = &g->shapes.shapes[shape];

	g->codes[row] = shape;
	s->rows++;
	if (s->group == g->group)
		return 0;
	s->group = g->group;
	if (!vec_reserve(&g->seen_shapes, &g->seen_shape_capacity, g->seen_shape_n + 1,
			 sizeof(*g->seen_shapes)))
		return -ENOMEM;
	g->seen_shapes[g->seen_shape_n++] = shape;
	return 0;
}

/* Looks shapes up, those of some rows at a time: what one waits for in memory the others need not
 * wait for. */
static int shapes_note(struct group_writer *g, const struct staged *staged, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; i < n; i++)
		shape_fetch_row(&g->shapes, staged[i].hash);
	for (uint32_t i = 0; i < n && r == 0; i++) {
		uint32_t row = staged[i].row,
			 shape = shape_get(&g->shapes, g->rows[row].skeleton,
					   g->values + staged[i].first, staged[i].hash);

		r = shape == NONE ? -ENOMEM : shape_note(g, row, shape);
	}
	return r;
}

/* Where hardly any row has a known set of keys, the others are not asked. */
static inline bool is_loose(const struct group_writer *g, uint32_t row)
{
	return g->loose && row > (g->few_hits ? LOOSE_LOOK_ROWS : LOOSE_LEAST_ROWS) &&
	       g->exact_hits < row / LOOSE_HITS;
}

static int row_skeleton(struct group_writer *g, uint32_t row)
{
	uint32_t skeleton =
		is_loose(g, row) ? find_loose(g, &g->rows[row]) : find_skeleton(g, &g->rows[row]);

	g->rows[row].skeleton = skeleton;
	return skeleton != NONE && skeleton_note(g, skeleton) ? 0 : -ENOMEM;
}

/* Finds the shapes of LOOSE rows: what one waits for in memory the others need not wait for. */
static int loose_shapes(struct group_writer *g, uint32_t first, uint32_t rows)
{
	struct loose_slot *slots[SHAPES_AT_ONCE];
	uint32_t shapes[SHAPES_AT_ONCE];
	int r = 0;

	for (uint32_t i = 0; i < rows; i++) {
		r = row_skeleton(g, first + i);
		if (r < 0)
			return r; /* it may have none */
		slots[i] = loose_memo_look(g, &g->rows[first + i]);
	}
	for (uint32_t i = 0; i < rows; i++)
		shapes[i] = loose_memo_take(g, &g->rows[first + i], slots[i]);
	for (uint32_t i = 0; i < rows && r == 0; i++) {
		const struct group_row *row = &g->rows[first + i];
		struct staged staged;

		if (shapes[i] != NONE) {
			r = shape_note(g, first + i, shapes[i]);
			if (r == 0)
				r = row_stage_loose(g, row);
			continue;
		}
		r = row_stage(g, first + i, 0, &staged) ? shapes_note(g, &staged, 1) : -ENOMEM;
		if (r == 0)
			loose_memo_learn(g, row, slots[i], g->codes[first + i]);
	}
	return r;
}

/* Rows without a known set of keys, behind the first group. */
static int loose_piece(struct group_writer *g, uint32_t first, uint32_t rows)
{
	if (!g->loose_memo)
		g->loose_memo = calloc((size_t)1 << LOOSE_MEMO_BITS, sizeof(*g->loose_memo));
	return g->loose_memo ? loose_shapes(g, first, rows) : -ENOMEM;
}

/* A row that does not look like one before. */
static int row_anew(struct group_writer *g, uint32_t row)
{
	struct staged staged;
	int r = row_skeleton(g, row);

	if (r == 0 && !row_stage(g, row, 0, &staged))
		r = -ENOMEM;
	if (r == 0)
		r = shapes_note(g, &staged, 1);
	if (r == 0)
		shape_memo_learn(g, &g->rows[row], g->codes[row]);
	return r;
}

static int known_piece(struct group_writer *g, uint32_t first, uint32_t rows)
{
	struct memo_guess guesses[SHAPES_AT_ONCE];
	int r = 0;

	for (uint32_t i = 0; i < rows; i++)
		shape_memo_look(g, &g->rows[first + i], &guesses[i]);
	for (uint32_t i = 0; i < rows; i++)
		shape_memo_fetch(g, &guesses[i]);
	for (uint32_t i = 0; i < rows && r == 0; i++) {
		struct group_row *row = &g->rows[first + i];
		uint32_t shape = shape_memo_take(g, row, &guesses[i], &r);

		if (shape == NONE) {
			if (r == 0)
				r = row_anew(g, first + i);
			continue;
		}
		g->exact_hits++;
		row->skeleton = guesses[i].skeleton;
		r = skeleton_note(g, row->skeleton) ? shape_note(g, first + i, shape) : -ENOMEM;
	}
	return r;
}

int group_shapes_piece(struct group_writer *g, const struct piece_row *p)
{
	uint32_t end = p->first + p->rows, n;
	int r = 0;

	if (!g->at_once) {
		for (uint32_t i = p->first; i < end && r == 0; i++)
			r = row_skeleton(g, i);
		return r;
	}
	for (uint32_t i = p->first; i < end && r == 0; i += n) {
		n = MIN(end - i, (uint32_t)SHAPES_AT_ONCE);
		r = is_loose(g, i) ? loose_piece(g, i, n) : known_piece(g, i, n);
		if (r == 0)
			r = group_totals_add(g, i, n);
	}
	return r;
}

static void prefetch_row(const struct group_writer *g, const struct group_row *row)
{
	const struct attr *a = g->dictionary.remaps[row->remap].batch->attrs + row->e->attrs.first;

	__builtin_prefetch(a);
	__builtin_prefetch(a + 4);
	__builtin_prefetch(a + 8);
}

int group_shapes_close(struct group_writer *g)
{
	int r = 0;

	if (!g->at_once && g->row_n >= LOOSE_LEAST_ROWS && g->seen_n > g->row_n / ROWS_PER_SKELETON)
		r = loosen(g);
	if (r == 0)
		r = shapes_settle(g);
	for (uint32_t i = 0; i < g->row_n && r == 0 && !g->at_once; i++) {
		struct staged staged;

		if (i + AHEAD < g->row_n)
			prefetch_row(g, &g->rows[i + AHEAD]);
		r = row_stage(g, i, 0, &staged) ? shapes_note(g, &staged, 1) : -ENOMEM;
		if (r == 0)
			r = group_totals_add(g, i, 1);
	}
	if (r == 0)
		r = group_totals_end(g);
	g->at_once = true;
	g->few_hits = g->exact_hits < g->row_n / LOOSE_HITS;
	/* Skeletons may have successors now. */
	memset(g->guesses, 0, GUESSES * sizeof(*g->guesses));
	memset(g->loose_guesses, 0, GUESSES * sizeof(*g->loose_guesses));
	return r == 0 ? dictionary_failed(&g->dictionary) : r;
}
