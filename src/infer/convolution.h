/* infer/convolution.h - the convolution algorithm, as published (Aguilera et al., SOSP 2003, §5.2):
 * paths from messages that need not be calls.
 *
 * From a root on, the messages that reach a node are compared with those it sends: where the second
 * contain a copy of the first, shifted by d, they were caused by them, d later.  The answer is a
 * tree of vertices; a node may stand at several.  One thread. */
#ifndef CAUSET_INFER_CONVOLUTION_H
#define CAUSET_INFER_CONVOLUTION_H

#include "base/buffer.h"
#include "base/error.h"
#include "infer/message_list.h"
#include "infer/names.h"

#define CONVOLUTION_MAX_VERTICES 100000
#define CONVOLUTION_MAX_DEPTH    40
#define CONVOLUTION_MAX_SPIKES   64 /* of one correlation */

struct convolution_options {
	int64_t quantum_ns;   /* the paper's µ; 0: from the data */
	int64_t max_lag_ns;   /* C(t) is computed up to here; 0: from the data */
	int64_t longest_ns;   /* spikes beyond are not followed; 0: all are */
	int64_t tolerance_ns; /* the paper's v; negative: as wide as the spike */
	double n_sigma, s_sigma;
	/* Messages of a root count from here and until before there; 0 and 0: all. */
	int64_t roots_from_ns, roots_until_ns;
	uint32_t root;                  /* a node; NAMES_NONE: all that only send, or the busiest */
	double least_share;             /* of the root's messages: what is rarer is noise */
	uint64_t least;                 /* messages; 0: 10 */
	bool keep_derived;              /* do not filter paths that another one explains */
	bool always_fft, always_sparse; /* for comparison */
};

#define CONVOLUTION_OPTIONS_DEFAULT                                                                \
	((struct convolution_options){.tolerance_ns = -1,                                          \
				      .n_sigma = 4,                                                \
				      .s_sigma = 3,                                                \
				      .root = NAMES_NONE,                                          \
				      .least_share = 0.005})

struct vertex {
	uint32_t node;
	uint32_t parent; /* vertex; NAMES_NONE for a root */
	uint32_t depth;
	uint64_t count;   /* messages that lead here */
	int64_t delay_ns; /* the shift: time the node before spent; a multiple of the quantum */
	double centre_ns; /* the same, as the middle of the spike */
	double height;    /* of the spike, standard deviations */
	bool derived;     /* most of its messages belong to a longer path */
};

struct convolution {
	struct vertex *at; /* parents before children, depth first */
	size_t n, capacity;
	int64_t quantum_ns, max_lag_ns;
	uint64_t messages;
	uint64_t correlations, by_fft;
	bool cut; /* there was more than CONVOLUTION_MAX_VERTICES or _DEPTH allow */
};

/* The messages must be in order of time.  -ENOMEM; -EINVAL, -E2BIG with a sentence. */
int convolution_infer(const struct message_list *messages, size_t node_n,
		      const struct convolution_options *options, struct convolution *ret,
		      struct error *error);
void convolution_done(struct convolution *c);

/* The path to a vertex, as "A>B>C". */
void vertex_path(const struct convolution *c, uint32_t vertex, const struct names *nodes,
		 struct buffer *out);

/* Is it the end of a path: no vertex that is shown goes on from it? */
bool vertex_is_end(const struct convolution *c, uint32_t vertex);

#endif
