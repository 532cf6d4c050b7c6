/* segment/column_learn.c - models of classes, learnt from the blocks of a column.
 *
 * The first block gives the first model, and is coded with it.  Better ones follow when four,
 * sixteen … blocks are there, or when a block takes clearly more than the model promised; each is
 * made of the last few blocks.  What is written stays as it is: a block names its model.
 *
 * A context that is frequent has a table of its own; others share one with those that prevail in
 * the same class; what is rare, or has a name that is new, has the first table, which is that of
 * all classes together.  Every table has the escape, so that any class can be written. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "segment/column_int.h"
#include "segment/column_model.h"

#define NAMES_MOST   4096       /* contexts with tables; later names have the first one */
#define LEARN_BLOCKS 4          /* that a model is made of */
#define LEARN_MOST   (1u << 18) /* classes */
#define LEARNT_MOST  24         /* models of a learner */
#define OWN_LEAST    120        /* classes of a context that has its own table */
#define SHARE_LEAST  6          /* of one that shares a table with others of its class */
#define WORSE        1.1        /* than a model was when it was new, … */
#define WORSE_BITS   0.2        /* … and by so much a class: it is made anew */

struct column_learner {
	struct column_models_out *out;
	uint32_t models, number; /* made so far; the number of the last in the file */
	uint32_t contexts, table_n;
	uint8_t table_of[NAMES_MOST];
	struct column_share shares[MODEL_TABLES][COLUMN_SYMBOLS];
	uint32_t blocks, next; /* written; with which the next model is made */
	double promised;       /* bits a class, by the first block with the model; 0: not known */
	/* What was seen lately; NAMES_MOST stands for the later names. */
	uint16_t *names;
	uint8_t *classes;
	size_t seen, name_capacity, class_capacity;
};

struct column_learner *column_learner_new(struct column_models_out *out)
{
	struct column_learner *l = calloc(1, sizeof(*l));

	if (l)
		l->out = out;
	return l;
}

struct column_learner *column_learner_free(struct column_learner *l)
{
	if (!l)
		return NULL;
	free(l->names);
	free(l->classes);
	free(l);
	return NULL;
}

/* --- making a model --- */

struct context_facts {
	uint32_t count, lead;
	uint8_t class; /* that prevails, by majority vote */
};

struct lesson {
	struct context_facts contexts[NAMES_MOST];
	uint32_t counts[MODEL_TABLES][COLUMN_SYMBOLS];
};

static void count_contexts(struct column_learner *l, struct lesson *x)
{
	l->contexts = 0;
	for (size_t i = 0; i < l->seen; i++) {
		struct context_facts *f;

		if (l->names[i] == NAMES_MOST)
			continue;
		f = &x->contexts[l->names[i]];
		l->contexts = MAX(l->contexts, (uint32_t)l->names[i] + 1);
		f->count++;
		if (f->class == l->classes[i])
			f->lead++;
		else if (f->lead == 0)
			f->class = l->classes[i], f->lead = 1;
		else
			f->lead--;
	}
}

/* Table 0 is everybody's. */
static void assign_tables(struct column_learner *l, const struct lesson *x)
{
	uint8_t shared[COLUMN_SYMBOLS] = {0};

	l->table_n = 1;
	for (uint32_t i = 0; i < l->contexts; i++) {
		const struct context_facts *f = &x->contexts[i];

		l->table_of[i] = 0;
		if (f->count >= OWN_LEAST && l->table_n < MODEL_TABLES) {
			l->table_of[i] = (uint8_t)l->table_n++;
		} else if (f->count >= SHARE_LEAST) {
			if (shared[f->class] == 0 && l->table_n < MODEL_TABLES)
				shared[f->class] = (uint8_t)l->table_n++;
			l->table_of[i] = shared[f->class];
		}
	}
}

static void share_out(struct column_learner *l, struct lesson *x)
{
	uint8_t symbols[COLUMN_SYMBOLS];

	for (size_t k = 0; k < COLUMN_SYMBOLS; k++)
		symbols[k] = (uint8_t)(k ^ COLUMN_SYMBOLS / 2);
	for (size_t i = 0; i < l->seen; i++) {
		uint8_t table = l->names[i] < NAMES_MOST ? l->table_of[l->names[i]] : 0;

		x->counts[0][l->classes[i]]++;
		if (table)
			x->counts[table][l->classes[i]]++;
	}
	for (uint32_t t = 0; t < l->table_n; t++) {
		x->counts[t][COLUMN_ESCAPE] = 1;
		column_share_out(x->counts[t], l->shares[t], symbols, COLUMN_SYMBOLS);
	}
}

static int write_model(struct column_learner *l)
{
	struct buffer *out = &l->out->bytes;

	column_write_varint(out, l->contexts);
	buffer_append(out, l->table_of, l->contexts);
	column_write_varint(out, l->table_n);
	for (uint32_t t = 0; t < l->table_n; t++)
		column_table_write(l->shares[t], out);
	l->number = l->out->n++;
	l->models++;
	l->promised = 0;
	return out->failed ? -ENOMEM : 0;
}

static int make_model(struct column_learner *l)
{
	_cleanup_(freep)
	struct lesson *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	count_contexts(l, x);
	assign_tables(l, x);
	share_out(l, x);
	l->seen = 0;
	return write_model(l);
}

/* --- blocks --- */

static uint32_t name_of(const struct column_codec *c, uint32_t context)
{
	return c->names[context];
}

static int remember(struct column_codec *c, const uint8_t *classes, size_t n,
		    const struct column_context *context)
{
	struct column_learner *l = c->learner;

	if (l->seen + n > LEARN_MOST)
		n = LEARN_MOST - l->seen;
	if (!vec_reserve(&l->names, &l->name_capacity, l->seen + n, sizeof(*l->names)) ||
	    !vec_reserve(&l->classes, &l->class_capacity, l->seen + n, sizeof(*l->classes)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t name = name_of(c, context->of[i]);

		l->names[l->seen] = (uint16_t)MIN(name, (uint32_t)NAMES_MOST);
		l->classes[l->seen++] = classes[i];
	}
	return 0;
}

static bool may_learn(const struct column_learner *l)
{
	return l->models < LEARNT_MOST && l->out->n < MODELS_MOST;
}

/* Learns from the block, and makes a new model of it and those before if it is time. */
static int learn(struct column_codec *c, const uint8_t *classes, size_t n,
		 const struct column_context *context)
{
	struct column_learner *l = c->learner;
	int r = 0;

	if (may_learn(l) && l->blocks + LEARN_BLOCKS > l->next)
		r = remember(c, classes, n, context);
	if (r == 0 && may_learn(l) && l->blocks >= l->next && (l->seen > 0 || l->models == 0)) {
		r = make_model(l);
		l->next = MAX(4 * l->next, (uint32_t)LEARN_BLOCKS - 1);
	}
	l->blocks++;
	return r;
}

/* The tables of the block's contexts. */
static uint8_t *tables_of(struct column_codec *c, const struct column_context *context)
{
	const struct column_learner *l = c->learner;
	uint8_t *numbers = column_scratch(c, SLOT_TABLE, context->count);

	for (uint32_t i = 0; numbers && i < context->count; i++) {
		uint32_t name = name_of(c, i);

		numbers[i] = name < l->contexts ? l->table_of[name] : 0;
	}
	return numbers;
}

/* Is that clearly more than the model promised? */
static bool is_worse(const struct column_learner *l, double bits)
{
	return l->promised > 0 && bits > l->promised * WORSE + WORSE_BITS;
}

double column_learnt_cost(const struct column_codec *c, const uint8_t *classes, size_t n,
			  const struct column_context *context)
{
	const struct column_learner *l = c->learner;
	double bits = 8 * 24;

	if (!l || l->models == 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		uint32_t name = name_of(c, context->of[i]);
		const struct column_share *shares =
			l->shares[name < l->contexts ? l->table_of[name] : 0];
		uint32_t frequency = shares[classes[i]].frequency;

		bits += log2((double)COLUMN_SCALE / (frequency ? frequency : 1)) +
			(frequency ? 0 : 8);
	}
	return is_worse(l, bits / (double)n) ? -1 : bits;
}

/* Codes the block with the model as it is; *ret_bits: what a class takes. */
static int write_block(struct column_codec *c, const uint8_t *classes, size_t n,
		       const struct column_context *context, struct buffer *out, double *ret_bits)
{
	const struct column_learner *l = c->learner;
	uint8_t *numbers = tables_of(c, context),
		*symbols = column_scratch(c, SLOT_MODES, 2 * n + 1);
	size_t escaped = 0, from;
	int r;

	if (!numbers || !symbols)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		bool known = l->shares[numbers[context->of[i]]][classes[i]].frequency > 0;

		symbols[i] = known ? classes[i] : COLUMN_ESCAPE;
		symbols[n + escaped] = classes[i];
		escaped += !known;
	}
	column_write_varint(out, l->number);
	column_write_varint(out, escaped);
	buffer_append(out, symbols + n, escaped);
	from = out->n;
	r = column_symbols_write(c, (const struct column_share(*)[COLUMN_SYMBOLS])l->shares,
				 numbers, symbols, n, context->of, out);
	*ret_bits = (double)(out->n - from + escaped) * 8 / (double)n;
	return r;
}

int column_learnt_write(struct column_codec *c, const uint8_t *classes, size_t n,
			const struct column_context *context, struct buffer *out)
{
	struct column_learner *l = c->learner;
	size_t from = out->n;
	double bits;
	int r = learn(c, classes, n, context);

	if (r == 0)
		r = write_block(c, classes, n, context, out, &bits);
	if (r == 0 && is_worse(l, bits) && may_learn(l)) {
		/* A model of this block alone, and soon one of more. */
		out->n = from;
		l->seen = 0;
		r = remember(c, classes, n, context);
		if (r == 0)
			r = make_model(l);
		l->next = l->blocks + LEARN_BLOCKS - 1;
		if (r == 0)
			r = write_block(c, classes, n, context, out, &bits);
	}
	if (r == 0 && l->promised == 0)
		l->promised = bits;
	return r;
}
