/* wire/otlp_value.h - OTLP's attributes in protobuf: KeyValue and AnyValue, both ways.
 *
 *   KeyValue  { string key = 1; AnyValue value = 2; }
 *   AnyValue  { oneof: string = 1; bool = 2; int64 = 3; double = 4; ArrayValue = 5;
 *                      KeyValueList = 6; bytes = 7; }
 *   ArrayValue { repeated AnyValue values = 1; }   KeyValueList { repeated KeyValue values = 1; }
 *
 * A value or pair with a field we do not know is kept as its own bytes (VALUE_RAW, VALUE_RAW_PAIR).
 * A key without a value and a key with an empty value are the same to us. */
#ifndef CAUSET_WIRE_OTLP_VALUE_H
#define CAUSET_WIRE_OTLP_VALUE_H

#include "wire/decode.h"
#include "wire/protobuf.h"

#define OTLP_GUESSES  256 /* powers of two */
#define OTLP_STARTS   16
#define OTLP_RECENTS  8192 /* at most */
#define OTLP_PAIRS    4096 /* at most */
#define OTLP_HEADS    16
#define OTLP_PAIR_MAX 128 /* a length that takes one byte, and as much as it can tell */

/* Spans of one program look alike: behind one key probably stands the key that stood there last
 * time. Comparing with the place in the input where it stood checks its tag and length in the same
 * step, and saves hashing. */
struct otlp_guess {
	struct otlp_guess *next[2]; /* the key behind this one, and the one that was before */
	const uint8_t *pair;        /* a KeyValue that has this key */
	uint32_t mask;              /* wide_mask() of the bytes up to the end of the key */
	uint32_t code;              /* of the key */
	uint8_t n;                  /* how many bytes these are */
};

/* An attribute that came before, and the place in the body where its length stands; 0 when the
 * entry is free.  Most come again as they are. */
struct otlp_pair {
	uint32_t at;
	struct attr attr;
};

/* A resource of the input, and what else is said of its group. */
struct otlp_head {
	struct slice resource, schema_url;
	uint32_t index;
};

/* State of one decoding run. */
struct otlp_decoder {
	struct batch *batch;
	struct slice body; /* all of it: offsets in errors count from its start */
	struct decode_tally *tally;
	struct error *error;
	int failed;            /* the error, where a function returns something else */
	struct buffer unknown; /* gathers the unknown fields of one message */

	/* Before this byte of the body, OTLP_PAIR_MAX + WIDE bytes can be read without asking. */
	const uint8_t *wide_end;
	struct otlp_guess *starts[OTLP_STARTS][2]; /* what a run of attributes starts with, by its
						      field */
	struct otlp_guess *guesses; /* OTLP_GUESSES of them, by the last bits of the key's code, */
	uint32_t known[OTLP_GUESSES]; /* and the code each is for; 0: it is not set */
	struct otlp_guess nothing;    /* the guess that is never right, */
	struct otlp_guess *lost[2];   /* and what stands behind a key that is not among them */
	uint32_t *recent;             /* codes of strings, by wire/otlp_text_int.h: */
	unsigned recent_shift;        /* 2 to the power of 64 minus this of them */
	struct otlp_pair *pairs;      /* attributes as a whole, by wire/otlp_attrs.c: */
	unsigned pair_shift;          /* as many, likewise */
	bool pairs_pay;               /* enough of them come again to look for them */
	uint32_t pairs_missed;        /* so many did not */
	/* Collectors put many requests together, and the same few resources come in each. */
	struct otlp_head heads[OTLP_HEADS];
	size_t head_n; /* all that were noted; the last OTLP_HEADS are there */
};

/* Fills the error with the place and returns -EBADMSG. */
int otlp_malformed(struct otlp_decoder *d, const uint8_t *where, const char *what);

/* Forgets all attributes; from now on about `most` are remembered, within limits. */
void otlp_pairs_clear(struct otlp_decoder *d, size_t most);

/* A run of KeyValues with the same one-byte tag, the first of which starts (with its tag) at `at`:
 * appended to the batch's attributes and counted.  Returns the byte behind the run, or NULL with
 * d->failed set. */
const uint8_t *otlp_attrs_decode(struct otlp_decoder *d, const uint8_t *at, const uint8_t *end,
				 uint32_t *count);

/* One KeyValue. */
int otlp_pair_decode(struct otlp_decoder *d, struct slice bytes, struct attr *out, int depth);

/* One AnyValue; ret_value->key is left 0. */
int otlp_value_decode(struct otlp_decoder *d, struct slice bytes, struct attr *ret_value);

/* A Status message { string message = 2; code = 3; }: into the event and its extra, which need not
 * be in the batch yet; and out of them as field `number`, unless there is none. */
int otlp_status_decode(struct otlp_decoder *d, struct slice bytes, struct event *e,
		       struct event_extra *x);
void otlp_status_encode(struct buffer *out, uint32_t number, const struct batch *b,
			const struct event *e);

/* Keeps a field we do not know (tag and value); otlp_unknown_take() gives the code of all kept
 * since the last call. */
void otlp_unknown_keep(struct otlp_decoder *d, struct slice whole);
uint32_t otlp_unknown_code(struct otlp_decoder *d);

static inline uint32_t otlp_unknown_take(struct otlp_decoder *d)
{
	return d->unknown.n > 0 || d->unknown.failed ? otlp_unknown_code(d) : 0;
}

/* Writes each attribute of a range as a KeyValue in field `number`. */
void otlp_attrs_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       struct attr_range range);

/* Writes one AnyValue in field `number`. */
void otlp_value_encode(struct buffer *out, uint32_t number, const struct batch *b,
		       const struct attr *value);

#endif
