/* store/joint.h - which traces of the heads also lie elsewhere: in segments, or in another head.
 *
 * Nearly none do, and whoever knows which ones need not ask every segment for every trace that has
 * just come in.  A head remembers what was found out about it (struct head): a trace is looked up
 * once. */
#ifndef CAUSET_STORE_JOINT_H
#define CAUSET_STORE_JOINT_H

#include "store/id_set.h"
#include "store/view.h"

/* Adds every trace that the snapshot shows in a head and elsewhere; some that lie elsewhere only
 * for others, who see newer or older segments, may be among them.  Negative errno. */
int snapshot_joint(const struct snapshot *s, struct id_set *out);

#endif
