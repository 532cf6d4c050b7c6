/* segment/column_model.h - models of classes: what the learning and the reading side share. */
#ifndef CAUSET_SEGMENT_COLUMN_MODEL_H
#define CAUSET_SEGMENT_COLUMN_MODEL_H

#include "segment/column.h"

#define MODEL_TABLES 80  /* of a model: a byte of a context says which */
#define MODELS_MOST  256 /* of a file */

/* A model in a file; points into its bytes. */
struct column_model {
	uint32_t contexts, table_n;
	const uint8_t *table_of; /* by name */
	struct slice *tables;
};

#endif
