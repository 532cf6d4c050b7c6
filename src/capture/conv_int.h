/* capture/conv_int.h - between the files that make up a conversation. */
#ifndef CAUSET_CAPTURE_CONV_INT_H
#define CAUSET_CAPTURE_CONV_INT_H

#include "capture/conv.h"

/* Takes the conversation out of the list of those that end by silence. */
void conv_unquiet(struct conv *c);

/* The window becomes `rest`, which may be a part of it, or at most CONV_MAX_WINDOW bytes from
 * elsewhere.  -ENOMEM. */
int window_keep(struct conv *c, struct conv_half *h, struct slice rest);

/* Adds to what is kept.  -EBADMSG when that would be too much, -ENOMEM. */
int window_append(struct conv *c, struct conv_half *h, struct slice bytes);

void window_free(struct conv *c, struct conv_half *h);

#endif
