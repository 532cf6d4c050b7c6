/* segment/group_skeletons.c - finds the skeleton of each row: what it is, which keys it has and of
 * which types.
 *
 * Where sets of keys are random, rows are LOOSE: a skeleton says how many attributes they have. */
#include <errno.h>

#include "base/vec.h"
#include "segment/shape_memo.h"

#define NONE UINT32_MAX
/* More skeletons than one for so many rows: keys are there or not at random, … */
#define ROWS_PER_SKELETON 8
#define LOOSE_LEAST_ROWS  256
/* … and skeletons with fewer rows than this are given up. */
#define SKELETON_LEAST_ROWS 32
/* In the first group so many rows are enough to see it, if three in four of them are of their own
 * kind: what follows is not looked up for nothing. */
#define LOOSE_EARLY_ROWS 1024
/* With fewer rows than one in so many of a known skeleton, LOOSE is taken without asking, … */
#define LOOSE_HITS 16
/* … which so many rows of a group tell if it was so in the last one. */
#define LOOSE_LOOK_ROWS 32

static void prefix_text(struct row_prefix *p, uint32_t key, uint32_t code)
{
	if (code)
		p->attrs[p->n++] = (struct attr){.key = key, .type = VALUE_STRING, .string = code};
}

static void prefix_number(struct row_prefix *p, uint32_t key, uint64_t number)
{
	if (number == 0)
		return;
	p->numbers[p->n] = number;
	p->attrs[p->n++] = (struct attr){.key = key, .type = VALUE_INT};
}

static void prefix_extra(const struct event_extra *x, struct row_prefix *p)
{
	prefix_text(p, FIELD_TRACE_STATE, x->trace_state);
	prefix_text(p, FIELD_STATUS_MESSAGE, x->status_message);
	prefix_text(p, FIELD_SEVERITY_TEXT, x->severity_text);
	prefix_text(p, FIELD_UNKNOWN, x->unknown);
	prefix_text(p, FIELD_UNKNOWN_STATUS, x->unknown_status);
	prefix_number(p, FIELD_DROPPED_ATTRIBUTES, x->dropped_attributes);
	prefix_number(p, FIELD_DROPPED_POINTS, x->dropped_points);
	prefix_number(p, FIELD_DROPPED_LINKS, x->dropped_links);
	prefix_number(p, FIELD_LINK_HIGH, load_be64(x->link_trace.b));
	prefix_number(p, FIELD_LINK_LOW, load_be64(x->link_trace.b + 8));
	prefix_number(p, FIELD_OBSERVED, x->observed_ns);
	if (x->body.type != VALUE_EMPTY) {
		p->attrs[p->n] = x->body;
		p->attrs[p->n++].key = FIELD_BODY;
	}
	prefix_text(p, FIELD_BODY_KEY, x->body.key);
}

void row_prefix(const struct batch *b, const struct event *e, struct row_prefix *ret)
{
	ret->attrs[0] = (struct attr){.key = FIELD_NAME, .type = VALUE_STRING, .string = e->name};
	ret->n = 1;
	if (e->extra)
		prefix_extra(&b->extras[e->extra], ret);
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
	uint32_t count = e->attrs.count, *words;
	struct row_prefix prefix;

	row_prefix(r->batch, e, &prefix);
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
	for (uint32_t i = 1; i < prefix.n; i++)
		*words++ = field_word(prefix.attrs[i].key, prefix.attrs[i].type);
	if (loose)
		for (uint32_t i = 0; i < count; i++)
			words[i] = field_word(FIELD_LOOSE, 0);
	else
		key_words(g, r, a, count, words);
	return prefix.n + count;
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

bool group_skeleton_first(struct group_writer *g, uint32_t skeleton)
{
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
		if (g->rows[i].skeleton == NONE || !group_skeleton_note(g, g->rows[i].skeleton))
			return -ENOMEM;
	}
	return 0;
}

/* Where hardly any row has a known set of keys, the others are not asked. */
bool group_is_loose(const struct group_writer *g, uint32_t row)
{
	return g->loose && row > (g->few_hits ? LOOSE_LOOK_ROWS : LOOSE_LEAST_ROWS) &&
	       g->exact_hits < row / LOOSE_HITS;
}

int group_row_skeleton(struct group_writer *g, uint32_t row)
{
	uint32_t skeleton = group_is_loose(g, row) ? find_loose(g, &g->rows[row])
						   : find_skeleton(g, &g->rows[row]);

	g->rows[row].skeleton = skeleton;
	return skeleton != NONE && group_skeleton_note(g, skeleton) ? 0 : -ENOMEM;
}

int group_loosen_early(struct group_writer *g)
{
	return !g->loose && g->row_n >= LOOSE_EARLY_ROWS && g->seen_n > g->row_n / 4 * 3 ? loosen(g)
											 : 0;
}

int group_loosen(struct group_writer *g)
{
	return !g->loose && g->row_n >= LOOSE_LEAST_ROWS && g->seen_n > g->row_n / ROWS_PER_SKELETON
		       ? loosen(g)
		       : 0;
}

void group_skeleton_succeeded(struct group_writer *g, uint32_t old, uint32_t by)
{
	for (uint32_t i = 0; i < GUESSES; i++) {
		g->guesses[i] = g->guesses[i] == old + 1 ? by + 1 : g->guesses[i];
		g->loose_guesses[i] = g->loose_guesses[i] == old + 1 ? by + 1 : g->loose_guesses[i];
	}
}

void group_skeletons_close(struct group_writer *g)
{
	g->few_hits = g->exact_hits < g->row_n / LOOSE_HITS;
}
