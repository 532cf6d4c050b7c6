/* segment/column_integers.c - which form a block of integers takes.
 *
 * One pass collects what the cheap forms would cost; a sample of the values tells whether they
 * repeat, which is what dictionaries and zstd live on; then the cheapest is written.  Forms whose
 * size only zstd knows (PLANES, LZ) are written and taken back if they come out larger. */
#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "segment/bitpack.h"
#include "segment/column_int.h"

#define SAMPLE       256 /* values looked at for repetition */
#define SLOTS_SAMPLE 1024
#define CODES_GAIN                                                                                 \
	1.15 /* codes are read more than anything, and a few at a time: LOG must win more */
#define LOG_BITS         6    /* below this many bits a value FOR is as good as LOG */
#define DICT_REPEATS     2    /* a sampled value occurs this often, or no dictionary is tried */
#define FOR_HEAD         12   /* bytes before the bits, at most */
#define APART_SHARE      4    /* COLUMN_APART: at most so much larger */
#define SAMPLE_CODES     1024 /* codes looked at before zstd is asked */
#define SLOTS_CODES_BITS 12
#define SLOTS_CODES      (1u << SLOTS_CODES_BITS)
#define SCALE_LOOK       16   /* values looked at before all are tried for a common factor */
#define PLANES_TRIED     8192 /* so few that asking zstd about them costs little */
#define HINT_LEAST       64   /* values: below, weighing is cheap and chance rules */
#define HINT_BLOCKS      7 /* that are written as the last one that was thought about, at first … */
#define HINT_BLOCKS_MOST 63 /* … and if it keeps being the same */

struct outline {
	uint64_t least, range;           /* of the values, in their order */
	uint64_t step_least, step_range; /* of the differences between neighbours, as signed ones */
	size_t runs;
};

static struct outline outline_of(const uint64_t *values, size_t n, bool is_signed)
{
	uint64_t flip = is_signed ? (uint64_t)1 << 63 : 0, least = values[0] ^ flip, most = least;
	int64_t step_least = INT64_MAX, step_most = INT64_MIN;
	size_t runs = 1;

	for (size_t i = 1; i < n; i++) {
		uint64_t v = values[i] ^ flip;
		int64_t step = (int64_t)(values[i] - values[i - 1]);

		least = v < least ? v : least;
		most = v > most ? v : most;
		step_least = step < step_least ? step : step_least;
		step_most = step > step_most ? step : step_most;
		runs += step != 0;
	}
	if (n < 2)
		step_least = step_most = 0;
	return (struct outline){.least = least ^ flip,
				.range = most - least,
				.step_least = (uint64_t)step_least,
				.step_range = (uint64_t)step_most - (uint64_t)step_least,
				.runs = runs};
}

static bool all_same(const uint64_t *values, size_t n)
{
	size_t i = 1;

	while (i < n && values[i] == values[0])
		i++;
	return i >= n;
}

/* Distinct values among a sample, in 1/1024 of it. */
static unsigned variety(const uint64_t *values, size_t n)
{
	uint64_t table[SLOTS_SAMPLE];
	bool used[SLOTS_SAMPLE] = {false};
	size_t taken = n < SAMPLE ? n : SAMPLE, step = n / taken, distinct = 0;

	for (size_t i = 0; i < taken; i++) {
		uint64_t v = values[i * step];
		size_t at = (size_t)(v * 0x9e3779b97f4a7c15ULL >> 54);

		while (used[at] && table[at] != v)
			at = (at + 1) % SLOTS_SAMPLE;
		distinct += !used[at];
		used[at] = true;
		table[at] = v;
	}
	return (unsigned)(distinct * 1024 / taken);
}

/* --- the simple forms --- */

static void write_const(uint64_t value, struct buffer *out)
{
	buffer_byte(out, COLUMN_CONST);
	column_write_varint(out, value);
}

static int write_for(const uint64_t *values, size_t n, const struct outline *o, struct buffer *out)
{
	unsigned width = bitpack_width(o->range);
	uint64_t base = width == 64 ? 0 : o->least;
	size_t size = bitpack_size(n, width);
	char *room;

	buffer_byte(out, COLUMN_FOR);
	buffer_byte(out, (char)width);
	column_write_varint(out, base);
	room = buffer_reserve(out, size + 8);
	if (!room)
		return -ENOMEM;
	bitpack_encode(values, n, base, width, (uint8_t *)room);
	out->n += size;
	return 0;
}

static int write_delta(struct column_codec *c, const uint64_t *values, size_t n,
		       const struct outline *o, struct buffer *out)
{
	unsigned width = bitpack_width(o->step_range);
	size_t size = bitpack_size(n - 1, width);
	uint64_t *steps = column_scratch(c, SLOT_STEPS, n * sizeof(*steps));
	char *room;

	if (!steps)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++)
		steps[i - 1] = values[i] - values[i - 1];
	buffer_byte(out, COLUMN_DELTA);
	buffer_byte(out, (char)width);
	column_write_varint(out, values[0]);
	column_write_varint(out, o->step_least);
	room = buffer_reserve(out, size + 8);
	if (!room)
		return -ENOMEM;
	bitpack_encode(steps, n - 1, o->step_least, width, (uint8_t *)room);
	out->n += size;
	return 0;
}

/* --- forms made of others --- */

static int write_runs(struct column_codec *c, const uint64_t *values, size_t n, size_t runs,
		      unsigned flags, struct buffer *out)
{
	uint64_t *parts = column_scratch(c, SLOT_PARTS, 2 * runs * sizeof(*parts)), *lengths;
	size_t at = 0, place;
	int r;

	if (!parts)
		return -ENOMEM;
	lengths = parts + runs;
	for (size_t i = 0, from = 0; i < n; i++)
		if (i + 1 == n || values[i + 1] != values[i]) {
			parts[at] = values[i];
			lengths[at++] = i + 1 - from;
			from = i + 1;
		}
	buffer_byte(out, COLUMN_RUNS);
	column_write_varint(out, runs);
	place = column_open_block(out);
	r = column_integers_encode(c, parts, runs, flags, DEPTH_PART, NULL, out);
	if (r < 0)
		return r;
	column_close_block(out, place);
	return column_integers_encode(c, lengths, runs, 0, DEPTH_PART, NULL, out);
}

/* The largest of a few factors that all differences share: times in milliseconds or microseconds
 * come as nanoseconds. */
static uint64_t factor_of(const uint64_t *values, size_t n)
{
	static const uint64_t factors[] = {1000000000, 1000000, 1000};

	for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++) {
		size_t look = n < SCALE_LOOK ? n : SCALE_LOOK, step = n / look, i;

		for (i = 0; i < look; i++)
			if ((int64_t)values[i * step] % (int64_t)factors[f] != 0)
				break;
		if (i < look)
			continue;
		for (i = 0; i < n; i++)
			if ((int64_t)values[i] % (int64_t)factors[f] != 0)
				break;
		if (i == n)
			return factors[f];
	}
	return 1;
}

static int write_scaled(struct column_codec *c, const uint64_t *values, size_t n, uint64_t factor,
			unsigned flags, const struct column_context *context, struct buffer *out)
{
	uint64_t *scaled = column_scratch(c, SLOT_SCALED, n * sizeof(*scaled));

	if (!scaled)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		scaled[i] = (uint64_t)((int64_t)values[i] / (int64_t)factor);
	buffer_byte(out, COLUMN_SCALED);
	column_write_varint(out, factor);
	return column_integers_encode(c, scaled, n, flags, DEPTH_SCALED, context, out);
}

/* --- the choice --- */

struct choice {
	enum column_form form;
	double bits;
};

static void weigh(struct choice *best, enum column_form form, double bits)
{
	if (bits < best->bits)
		*best = (struct choice){form, bits};
}

/* The best of the forms that outline_of() knows all about. */
static struct choice choose_plain(size_t n, const struct outline *o, enum column_depth depth)
{
	unsigned width = bitpack_width(o->range), step_width = bitpack_width(o->step_range);
	struct choice best = {COLUMN_FOR, (double)n * width + 80};

	weigh(&best, COLUMN_DELTA, (double)(n - 1) * step_width + 150);
	if (depth != DEPTH_PART && o->runs < n / 4)
		weigh(&best, COLUMN_RUNS,
		      (double)o->runs * (width + log2((double)n / (double)o->runs) + 2) + 300);
	return best;
}

static int write_form(struct column_codec *c, const uint64_t *values, size_t n,
		      const struct outline *o, enum column_form form, unsigned flags,
		      const struct column_context *context, struct buffer *out)
{
	switch (form) {
	case COLUMN_DELTA:
		return write_delta(c, values, n, o, out);
	case COLUMN_RUNS:
		return write_runs(c, values, n, o->runs, flags, out);
	case COLUMN_LOG:
		return column_log_write(c, n, context, out);
	default:
		return write_for(values, n, o, out);
	}
}

/* Codes of 32 bits can be given to zstd as they are. */
static bool may_pack_codes(const struct outline *o, unsigned flags)
{
	return !(flags & COLUMN_CODES) ||
	       (o->range <= UINT32_MAX && o->least <= UINT32_MAX - o->range);
}

/* Would zstd find anything in these codes: some more frequent than others, or pairs that come
 * again?  A guess on some of them. */
static bool codes_repeat(const uint64_t *values, size_t n, uint64_t range)
{
	uint16_t count[SLOTS_CODES] = {0}, pair[SLOTS_CODES] = {0}; /* place + 1 */
	size_t taken = n < SAMPLE_CODES ? n : SAMPLE_CODES, pairs = 0;
	uint64_t squares = 0, equal;

	for (size_t i = 0; i < taken; i++) {
		uint64_t both = (i ? values[i - 1] : 0) * 0x9e3779b97f4a7c15ULL ^ values[i];
		size_t at = both * 0xe7037ed1a0b428dbULL >> (64 - SLOTS_CODES_BITS),
		       before = pair[at];

		/* The n-th of a kind adds 2 n - 1 to the sum of squares. */
		squares += 2 * (size_t)count[values[i] * 0x9e3779b97f4a7c15ULL >>
					     (64 - SLOTS_CODES_BITS)]++ +
			   1;
		pairs += before > 1 && i > 0 && values[before - 1] == values[i] &&
			 values[before - 2] == values[i - 1];
		pair[at] = (uint16_t)(i + 1);
	}
	/* What equally likely codes would give. */
	equal = taken + taken * taken / MIN(range + 1, (uint64_t)SLOTS_CODES);
	return squares > equal + equal / 8 + 32 || pairs > taken / 32;
}

/* Writes a form whose size only zstd knows; 1 if it is smaller than `bits`, else takes it back. */
static int try_packed(struct column_codec *c, const uint64_t *values, size_t n,
		      const struct outline *o, bool codes, double bits, struct buffer *out)
{
	size_t before = out->n;
	uint64_t most = o->least + o->range;
	int r;

	if (codes)
		r = column_lz_write(c, values, n, most < 1 << 8 ? 1 : most < 1 << 16 ? 2 : 4, out);
	else
		r = column_planes_write(c, values, n, o->least, o->range, (size_t)(bits / 8) + 1,
					out);
	if (r < 0)
		return r;
	if ((double)(out->n - before) * 8 < bits)
		return 1;
	out->n = before;
	return 0;
}

/* --- a block --- */

/* What is to be written. */
struct job {
	struct column_codec *c;
	const uint64_t *values;
	size_t n;
	unsigned flags;
	enum column_depth depth;
	const struct column_context *context;
	struct buffer *out;
	struct outline outline;
	struct column_hint *hint; /* what was chosen before, or NULL */
};

/* The hint for the next block.  A scaled block is the same block. */
static struct column_hint *hint_next(struct column_codec *c, enum column_depth depth)
{
	size_t at = depth == DEPTH_SCALED ? c->hint_n - 1 : c->hint_n;

	if (!c->hints || depth == DEPTH_PART)
		return NULL;
	c->hint_n += depth == DEPTH_TOP;
	return at < COLUMN_HINTS ? &c->hints->of[at] : NULL;
}

bool column_hint_packs(const struct column_codec *c, size_t n)
{
	const struct column_hint *h;

	if (!c->hints || c->hint_n >= COLUMN_HINTS || n < HINT_LEAST)
		return false;
	h = &c->hints->of[c->hint_n];
	return h->left > 0 && h->form == COLUMN_FOR && h->flags == COLUMN_CODES;
}

void column_hint_used(struct column_codec *c)
{
	c->hints->of[c->hint_n++].left--;
}

/* The same again after being thought about: it is thought about less often. */
static void hint_set(const struct job *j, enum column_form form)
{
	struct column_hint *h = j->hint;
	unsigned blocks = HINT_BLOCKS;

	if (!h)
		return;
	if (h->form == form && h->flags == j->flags)
		blocks = MIN(2 * h->blocks + 1, HINT_BLOCKS_MOST);
	*h = (struct column_hint){(uint8_t)form, (uint8_t)j->flags, (uint8_t)blocks,
				  (uint8_t)blocks};
}

static int job_packed(const struct job *j, double bits)
{
	return try_packed(j->c, j->values, j->n, &j->outline, j->flags & COLUMN_CODES, bits,
			  j->out);
}

static int job_form(const struct job *j, enum column_form form)
{
	int r = write_form(j->c, j->values, j->n, &j->outline, form, j->flags, j->context, j->out);

	return r < 0 ? r : 1;
}

/* 1 if the block was written as the one before, 0 if it must be thought about. */
static int write_as_before(const struct job *j, const struct choice *plain)
{
	if (!j->hint || j->hint->left == 0 || j->hint->flags != j->flags || j->n < HINT_LEAST)
		return 0;
	j->hint->left--;
	switch (j->hint->form) {
	case COLUMN_DICT:
		return column_dict_try(j->c, j->values, j->n, plain->bits, j->out);
	case COLUMN_PLANES:
		return may_pack_codes(&j->outline, j->flags) ? job_packed(j, plain->bits) : 0;
	case COLUMN_LOG: /* write_log_as_before() could not */
		return 0;
	default:
		return job_form(j, plain->form);
	}
}

/* Is zstd asked about the bytes of numbers? */
static bool planes_pay(const struct job *j, unsigned distinct)
{
	if (j->flags & COLUMN_BITS64)
		return true;
	return j->depth != DEPTH_PART &&
	       (distinct * 4 < 1024 * 3 || (!j->context && j->n < PLANES_TRIED));
}

/* Weighs what numbers may be and codes may not.  1 if one was written, 0 if `best` is better. */
static int try_numbers(const struct job *j, const struct choice *best)
{
	unsigned distinct = variety(j->values, j->n);
	int r = 0;

	if (j->depth != DEPTH_PART && distinct * DICT_REPEATS < 1024) {
		r = column_dict_try(j->c, j->values, j->n, best->bits, j->out);
		if (r > 0)
			hint_set(j, COLUMN_DICT);
		/* The dictionary's table does not touch what LOG left behind. */
	}
	if (r != 0 || !planes_pay(j, distinct))
		return r;
	r = job_packed(j, best->bits * 0.97);
	if (r > 0)
		hint_set(j, COLUMN_PLANES);
	/* The planes do not touch it either. */
	return r;
}

/* Weighs all forms and writes one. */
static int write_best(const struct job *j, struct choice best)
{
	bool codes = j->flags & COLUMN_CODES;
	int r = 0;

	/* Codes that zstd finds patterns in are not weighed further. */
	if (codes && may_pack_codes(&j->outline, j->flags) &&
	    (j->n < SAMPLE_CODES / 2 || codes_repeat(j->values, j->n, j->outline.range))) {
		r = job_packed(j, best.bits * 0.97);
		if (r > 0)
			hint_set(j, COLUMN_PLANES);
	}
	if (r == 0 && best.bits > (double)j->n * LOG_BITS)
		weigh(&best, COLUMN_LOG,
		      column_log_cost(j->c, j->values, j->n, j->context) *
			      (codes && j->depth == DEPTH_TOP ? CODES_GAIN : 1));
	if (r == 0 && !codes)
		r = try_numbers(j, &best);
	if (r != 0)
		return r;
	hint_set(j, best.form);
	return job_form(j, best.form);
}

/* The same for LOG, which needs not know the range: 1 if it was done, with `before` bytes before
 * it. */
static int write_log_as_before(const struct job *j, size_t before)
{
	int r;

	if (!j->hint || j->hint->left == 0 || j->hint->form != COLUMN_LOG ||
	    j->hint->flags != j->flags || j->n < HINT_LEAST || all_same(j->values, j->n) ||
	    !column_log_prepare(j->c, j->values, j->n, j->context))
		return 0;
	j->hint->left--;
	r = column_log_write(j->c, j->n, j->context, j->out);
	if (r < 0 || j->out->n - before <= j->n * sizeof(*j->values))
		return r < 0 ? r : 1;
	j->out->n = before; /* they are no longer what they were */
	return 0;
}

int column_integers_encode(struct column_codec *c, const uint64_t *values, size_t n, unsigned flags,
			   enum column_depth depth, const struct column_context *context,
			   struct buffer *out)
{
	struct job j = {c, values, n, flags, depth, context, out, .hint = hint_next(c, depth)};
	struct choice plain;
	uint64_t factor;
	size_t before, size, most;
	int r;

	if (n == 0)
		return 0;
	if (n > COLUMN_MAX_VALUES)
		return -EINVAL;
	if (all_same(values, n)) {
		write_const(values[0], out);
		return out->failed ? -ENOMEM : 0;
	}
	if (depth == DEPTH_TOP && !(flags & (COLUMN_CODES | COLUMN_BITS64))) {
		factor = factor_of(values, n);
		if (factor > 1)
			return write_scaled(c, values, n, factor, flags, context, out);
	}
	before = out->n;
	r = write_log_as_before(&j, before);
	if (r != 0)
		return r < 0 ? r : out->failed ? -ENOMEM : 0;
	j.outline = outline_of(values, n, flags & COLUMN_SIGNED);
	plain = choose_plain(n, &j.outline, depth);
	r = write_as_before(&j, &plain);
	if (r == 0)
		r = write_best(&j, plain);
	size = bitpack_size(n, bitpack_width(j.outline.range)) + FOR_HEAD;
	most = out->n - before;
	if (flags & COLUMN_APART)
		most += most / APART_SHARE;
	if (r >= 0 && most > size) {
		out->n = before; /* an estimate was too good to be true, or the gain is too small */
		r = write_for(values, n, &j.outline, out);
		if (flags & COLUMN_APART)
			hint_set(&j, COLUMN_FOR);
	}
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}
