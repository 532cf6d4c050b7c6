/* capture/vantage.h - where captures were taken, told by what is in them.
 *
 * A capture on one host holds only that host's conversations: one node is an end of every message.
 * Then a message from it was seen leaving and a message to it arriving, by the host's own clock,
 * which is more than "seen somewhere": with captures of several hosts, delays on links and clocks
 * that differ can be told from delays in nodes.  A capture that holds a single pair of nodes could
 * be either's; it is the one's whose host no other capture is from. */
#ifndef CAUSET_CAPTURE_VANTAGE_H
#define CAUSET_CAPTURE_VANTAGE_H

#include "infer/message.h"

#define VANTAGE_MAX_FILES 4096

/* Marks all messages as sent or received, if of every file (message.file < file_n) it can be told
 * where it was captured; else none.  ret_nodes (file_n, or NULL) is where.  1 when marked, 0 when
 * not; -ENOMEM. */
int vantage_mark(struct message *messages, size_t n, size_t file_n, uint32_t *ret_nodes);

#endif
