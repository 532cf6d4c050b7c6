/* segment/column_classes.c - classes of numbers, coded by how frequent they are in their context.
 *
 * zstd's Huffman codes know one set of frequencies for a block; durations of one operation resemble
 * each other and not those of the next.  So contexts get tables of their own: each frequent one its
 * own, and the rare ones share a table with those that prevail in the same class.  A symbol then
 * costs its entropy in its table, by rANS: a state x in [2^16, 2^32) that a symbol of frequency f
 * (of SCALE) multiplies by SCALE / f, four states in turn so that they need not wait for each
 * other.
 *
 *   classes  varint contexts, stream table of each context, varint tables, tables, varint words,
 *            u32 state × 4, u16 words
 *   table    u8 first symbol, then a varint frequency for it and each that follows (255 is followed
 * by 0: classes are signed), until they sum to SCALE
 *
 * The decoder reads words forwards and so the encoder writes them backwards.  At the end the states
 * are back at 2^16 and no word is left: what was damaged is mostly noticed. */
#include <errno.h>
#include <math.h>

#include "segment/column_int.h"

#define SCALE_BITS  COLUMN_SCALE_BITS
#define SCALE       COLUMN_SCALE
#define STATES      COLUMN_STATES
#define LOWEST      (1u << 16) /* of a state */
#define MAX_TABLES  192
#define OWN_TABLES  64  /* as many contexts may have their own … */
#define OWN_VALUES  320 /* … if they have so many values */
#define SYMBOLS     COLUMN_SYMBOLS
#define TABLE_BYTES 1.4 /* a symbol of a table, for the estimate */

struct vote {
	uint8_t class;
	uint32_t lead, count;
};

/* Everything lies in SLOT_MODES, from column_classes_cost() to column_classes_write(). */
struct model {
	uint32_t tables;
	uint32_t counts[MAX_TABLES][SYMBOLS];
	struct column_share shares[MAX_TABLES][SYMBOLS];
	struct vote votes[]; /* per context; afterwards the numbers of their tables, as bytes */
};

static uint8_t *table_numbers(struct model *m)
{
	return (uint8_t *)m->votes;
}

/* --- the tables --- */

static void vote(struct model *m, const uint8_t *classes, size_t n,
		 const struct column_context *context)
{
	/* No branches: whether a class is the one that leads is not predictable. */
	for (size_t i = 0; i < n; i++) {
		struct vote *v = &m->votes[context->of[i]];
		bool same = v->class == classes[i], none = v->lead == 0;

		v->count++;
		v->class = none ? classes[i] : v->class;
		v->lead += (same | none) ? 1 : UINT32_MAX;
	}
}

/* Gives each context a table.  Numbers are written over votes already read. */
static void assign(struct model *m, uint32_t contexts)
{
	uint8_t *numbers = table_numbers(m), shared[SYMBOLS] = {0};
	uint32_t own = 0;

	for (uint32_t k = 0; k < contexts; k++) {
		struct vote v = m->votes[k];

		if (v.count == 0) {
			numbers[k] = 0;
		} else if (v.count >= OWN_VALUES && own < OWN_TABLES) {
			own++;
			numbers[k] = (uint8_t)m->tables++;
		} else {
			if (shared[v.class] == 0 && m->tables < MAX_TABLES)
				shared[v.class] = (uint8_t)(++m->tables);
			/* All full: the last one takes what comes. */
			numbers[k] =
				shared[v.class] ? (uint8_t)(shared[v.class] - 1) : MAX_TABLES - 1;
		}
	}
}

/* The symbols that some table has, in their signed order; returns how many. */
static size_t symbols_used(const struct model *m, uint8_t symbols[SYMBOLS])
{
	uint32_t any[SYMBOLS] = {0};
	size_t n = 0;

	for (uint32_t t = 0; t < m->tables; t++)
		for (size_t s = 0; s < SYMBOLS; s++)
			any[s] |= m->counts[t][s];
	for (size_t k = 0; k < SYMBOLS; k++)
		if (any[k ^ SYMBOLS / 2])
			symbols[n++] = (uint8_t)(k ^ SYMBOLS / 2);
	return n;
}

double column_share_out(const uint32_t *counts, struct column_share *shares, const uint8_t *symbols,
			size_t n)
{
	uint64_t total = 0;
	int32_t left = SCALE;
	size_t most = symbols[0];
	double bits = 0;
	uint16_t before = 0;

	memset(shares, 0, SYMBOLS * sizeof(*shares));
	for (size_t i = 0; i < n; i++) {
		total += counts[symbols[i]];
		most = counts[symbols[i]] > counts[most] ? symbols[i] : most;
	}
	if (total == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		uint8_t s = symbols[i];
		uint64_t f = counts[s] ? (counts[s] * (uint64_t)SCALE + total / 2) / total : 0;

		shares[s].frequency = (uint16_t)(counts[s] && f == 0 ? 1 : f);
		left -= shares[s].frequency;
	}
	/* At most SYMBOLS / 2 too many or too few: the largest can give or take them, unless all
	 * are small, and then the others give too. */
	while (left < 0 && shares[most].frequency + left < 1) {
		for (size_t s = 0; s < SYMBOLS && left < 0; s++)
			if (shares[s].frequency > 1)
				shares[s].frequency--, left++;
	}
	shares[most].frequency = (uint16_t)(shares[most].frequency + left);
	for (size_t i = 0; i < n; i++) {
		uint8_t s = symbols[i];

		shares[s].before = before;
		before = (uint16_t)(before + shares[s].frequency);
		if (counts[s])
			bits += counts[s] * log2((double)SCALE / shares[s].frequency) +
				8 * TABLE_BYTES;
	}
	return bits;
}

double column_classes_cost(struct column_codec *c, const uint8_t *classes, size_t n,
			   const struct column_context *context)
{
	size_t size = sizeof(struct model) + context->count * sizeof(struct vote);
	struct model *m = column_scratch(c, SLOT_MODES, size);
	uint8_t symbols[SYMBOLS];
	size_t symbol_n;
	const uint8_t *numbers;
	double bits = 8 * 40 + context->count * 3;

	if (!m)
		return INFINITY;
	m->tables = 0;
	memset(m->votes, 0, context->count * sizeof(struct vote));
	vote(m, classes, n, context);
	assign(m, context->count);
	numbers = table_numbers(m);
	memset(m->counts, 0, m->tables * sizeof(m->counts[0]));
	for (size_t i = 0; i < n; i++)
		m->counts[numbers[context->of[i]]][classes[i]]++;
	symbol_n = symbols_used(m, symbols);
	for (uint32_t t = 0; t < m->tables; t++)
		bits += column_share_out(m->counts[t], m->shares[t], symbols, symbol_n);
	return bits;
}

/* --- writing --- */

void column_table_write(const struct column_share *shares, struct buffer *out)
{
	uint8_t s = SYMBOLS / 2; /* the least of signed ones */
	uint32_t left = SCALE;

	while (shares[s].frequency == 0)
		s++;
	buffer_byte(out, (char)s);
	for (; left > 0; s++) {
		uint8_t zero = s;

		column_write_varint(out, shares[s].frequency);
		left -= shares[s].frequency;
		if (shares[s].frequency > 0)
			continue;
		while (shares[(uint8_t)(s + 1)].frequency == 0)
			s++;
		buffer_byte(out, (char)(s - zero));
	}
}

/* What a decoder has that comes to a restart; of the words only their place is known so far. */
static void note_restart(struct column_restart *r, const uint32_t *states, size_t word)
{
	memcpy(r->states, states, sizeof(r->states));
	r->words = (uint32_t)word;
}

static void count_restarts(struct column_codec *c, const uint8_t *symbols, size_t first_word)
{
	uint32_t escapes = 0, at = 0;

	for (uint32_t k = 0; k < c->restart_n; k++) {
		for (; at < c->restarts[k].at; at++)
			escapes += symbols[at] == COLUMN_ESCAPE;
		c->restarts[k].escapes = escapes;
		c->restarts[k].words -= (uint32_t)first_word;
	}
}

int column_symbols_write(struct column_codec *c, const struct column_share (*shares)[SYMBOLS],
			 const uint8_t *numbers, const uint8_t *symbols, size_t n,
			 const uint32_t *contexts, struct buffer *out)
{
	uint16_t *words = column_scratch(c, SLOT_STEPS, n * sizeof(*words)), *at = words + n;
	uint32_t states[STATES] = {LOWEST, LOWEST, LOWEST, LOWEST}, next = c->restart_n;

	if (!words)
		return -ENOMEM;
	for (size_t i = n; i-- > 0;) {
		struct column_share share = shares[numbers[contexts[i]]][symbols[i]];
		uint32_t x = states[i % STATES];

		if (x >= (uint64_t)share.frequency << (32 - SCALE_BITS)) {
			*--at = (uint16_t)x;
			x >>= 16;
		}
		states[i % STATES] =
			(x / share.frequency << SCALE_BITS) + x % share.frequency + share.before;
		if (next > 0 && c->restarts[next - 1].at == i)
			note_restart(&c->restarts[--next], states, (size_t)(at - words));
	}
	count_restarts(c, symbols, (size_t)(at - words));
	column_write_varint(out, (uint64_t)(words + n - at));
	buffer_append(out, states, sizeof(states));
	buffer_append(out, at, (size_t)(words + n - at) * sizeof(*at));
	return out->failed ? -ENOMEM : 0;
}

int column_classes_write(struct column_codec *c, const uint8_t *classes, size_t n,
			 const struct column_context *context, struct buffer *out)
{
	struct model *m = (struct model *)c->scratch[SLOT_MODES].p;
	const uint8_t *numbers = table_numbers(m);
	int r;

	column_write_varint(out, context->count);
	r = column_write_stream(c, numbers, context->count, out);
	if (r < 0)
		return r;
	column_write_varint(out, m->tables);
	for (uint32_t t = 0; t < m->tables; t++)
		column_table_write(m->shares[t], out);
	return column_symbols_write(c, (const struct column_share(*)[SYMBOLS])m->shares, numbers,
				    classes, n, context->of, out);
}

/* --- reading --- */

struct decoder {
	uint32_t tables;
	struct column_table rows[];
};

int column_table_read(struct column_reader *r, struct column_table *t)
{
	uint64_t frequency, before = 0;
	uint8_t first;

	if (!column_read_byte(r, &first))
		return -EBADMSG;
	for (unsigned k = 0; before < SCALE; k++) {
		uint8_t s = (uint8_t)(first + k), skip;

		if (k >= SYMBOLS || !column_read_varint(r, &frequency) ||
		    frequency > SCALE - before)
			return -EBADMSG;
		if (frequency == 0) {
			if (!column_read_byte(r, &skip))
				return -EBADMSG;
			k += skip;
			continue;
		}
		if (t) {
			memset(t->symbol + before, s, frequency);
			t->share[s] = (struct column_share){(uint16_t)frequency, (uint16_t)before};
		}
		before += frequency;
	}
	return 0;
}

/* One symbol.  `at` has a word, or it does not matter which. */
static inline uint8_t step(const struct column_table *t, uint32_t *state, const uint8_t **at)
{
	uint32_t x = *state, slot = x & (SCALE - 1), more;
	uint8_t symbol = t->symbol[slot];
	struct column_share share = t->share[symbol];
	uint16_t word;

	memcpy(&word, *at, sizeof(word));
	x = share.frequency * (x >> SCALE_BITS) + slot - share.before;
	more = x < LOWEST;
	*at += more * sizeof(word);
	*state = more ? x << 16 | word : x;
	return symbol;
}

/* Symbols first … end - 1; *words moves behind those that they took. */
static int read_symbols(const struct column_symbols *s, size_t first, size_t end,
			const uint32_t *contexts, uint32_t *states, const uint8_t **words,
			uint8_t *out)
{
	const uint8_t *at = *words, *last = s->words.end, *numbers = s->numbers;
	const struct column_table *tables = s->tables;
	size_t i = first;

	/* While there is a word for each of the next four, none needs to be looked for. */
	for (; i + STATES <= end && (size_t)(last - at) >= STATES * 2; i += STATES)
		for (unsigned k = 0; k < STATES; k++)
			out[i + k] = step(&tables[numbers[contexts[i + k]]], &states[k], &at);
	for (; i < end; i++) { /* the last few */
		uint8_t copy[2] = {0};
		const uint8_t *from = copy;

		if (last - at >= 2)
			memcpy(copy, at, sizeof(copy));
		out[i] = step(&tables[numbers[contexts[i]]], &states[i % STATES], &from);
		if (from == copy)
			continue;
		if (last - at < 2)
			return -EBADMSG;
		at += sizeof(copy);
	}
	*words = at;
	return 0;
}

int column_symbols_open(struct column_reader *r, size_t n, struct column_symbols *s)
{
	uint64_t words;

	if (!column_read_varint(r, &words) || words > n ||
	    !column_read_block(r, STATES * sizeof(uint32_t) + words * sizeof(uint16_t), &s->words))
		return -EBADMSG;
	return 0;
}

int column_symbols_read(const struct column_symbols *s, const struct column_restarts *restarts,
			uint32_t i, size_t n, size_t end, const uint32_t *contexts, uint8_t *out)
{
	const struct column_restart *from = &restarts->rows[i], *next = from + 1;
	const uint8_t *first = s->words.p + sizeof(from->states), *at;
	uint32_t states[STATES];
	int e;

	if ((size_t)(s->words.end - first) / sizeof(uint16_t) < from->words)
		return -EBADMSG;
	at = first + from->words * sizeof(uint16_t);
	memcpy(states, i == 0 ? s->words.p : (const uint8_t *)from->states, sizeof(states));
	e = read_symbols(s, from->at, end, contexts, states, &at, out);
	if (e < 0)
		return e;
	if (i + 1 < restarts->n && end == next->at)
		return memcmp(states, next->states, sizeof(states)) == 0 &&
				       (size_t)(at - first) == next->words * sizeof(uint16_t)
			       ? 0
			       : -EBADMSG;
	if (end < n)
		return 0;
	for (unsigned k = 0; k < STATES; k++)
		if (states[k] != LOWEST)
			return -EBADMSG;
	return at == s->words.end ? 0 : -EBADMSG;
}

int column_classes_open(struct column_codec *c, struct column_reader *r, size_t n,
			const struct column_context *context, struct column_symbols *ret_symbols)
{
	struct column_symbols s = {.all_numbers = true};
	uint64_t contexts, tables;
	const uint8_t *numbers;
	struct decoder *d;
	int e = 0;

	if (!context || !context->of || !column_read_varint(r, &contexts) ||
	    contexts != context->count)
		return -EBADMSG;
	s.numbers = column_scratch(c, SLOT_TABLE, contexts);
	if (!s.numbers)
		return -ENOMEM;
	numbers = column_read_stream(c, r, contexts, s.numbers);
	if (!numbers || !column_read_varint(r, &tables) || tables == 0 || tables > MAX_TABLES)
		return -EBADMSG;
	for (size_t k = 0; k < contexts; k++)
		if (numbers[k] >= tables)
			return -EBADMSG;
	if (numbers != s.numbers)
		memcpy(s.numbers, numbers, contexts);
	d = column_scratch(c, SLOT_MODES, sizeof(*d) + tables * sizeof(d->rows[0]));
	if (!d)
		return -ENOMEM;
	for (uint64_t t = 0; e == 0 && t < tables; t++)
		e = column_table_read(r, &d->rows[t]);
	s.tables = d->rows;
	if (e == 0)
		e = column_symbols_open(r, n, &s);
	if (e == 0)
		*ret_symbols = s;
	return e;
}
