/* capture/live.h - packets from a network interface, as they pass.
 *
 * libpcap's business is the kernel's ring buffer; everything behind it is the same as for files.
 * Memory is bounded by the ring and by capture/flows.h; what does not fit is dropped by the kernel
 * and counted.  One thread. */
#ifndef CAUSET_CAPTURE_LIVE_H
#define CAUSET_CAPTURE_LIVE_H

#include "base/error.h"
#include "capture/capture.h"

struct live;

struct live_options {
	const char *interface; /* "any": all of them */
	const char *filter;    /* pcap-filter(7); NULL: everything */
	int snap;              /* bytes kept of a packet; 0: all */
	int ring_bytes;        /* the kernel's buffer; 0: 16 MiB */
};

/* What the last second cost. */
struct live_rate {
	double seconds;                 /* since the last one */
	uint64_t packets, bytes, calls; /* in that time */
	uint64_t dropped;               /* by the kernel, since the beginning */
	double cpu;                     /* of one core, 0 … 1 */
	size_t memory;                  /* held for connections */
};

/* -EPERM, -ENODEV, -EINVAL (the filter) with a sentence. */
int live_open(const struct live_options *options, struct live **ret_live, struct error *error);
struct live *live_close(struct live *l);

static inline void live_closep(struct live **l)
{
	live_close(*l);
}

/* What whoever runs a live capture is asked and told. */
struct live_watch {
	bool (*go_on)(void *context);                           /* asked now and then */
	void (*rate)(void *context, const struct live_rate *r); /* once a second; may be NULL */
	void *context;
};

/* Feeds packets until told to stop or `duration_ns` (0: none) has passed.  Does not finish the
 * capture.  0, or a negative errno. */
int live_run(struct live *l, struct capture *c, int64_t duration_ns, const struct live_watch *watch,
	     struct error *error);

/* Packets that the kernel could not keep. */
uint64_t live_dropped(struct live *l);

#endif
