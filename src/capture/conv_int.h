/* capture/conv_int.h - between the files that make up a conversation. */
#ifndef CAUSET_CAPTURE_CONV_INT_H
#define CAUSET_CAPTURE_CONV_INT_H

#include "capture/conv.h"

/* Takes the conversation out of the list of those that end by silence. */
void conv_unquiet(struct conv *c);

#endif
