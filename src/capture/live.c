/* capture/live.c - packets from a network interface. */
#include "capture/live.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"

#define DEFAULT_RING (16 << 20)
#define POLL_MS      20 /* how long the kernel may hold packets back to give them together */
#define BATCH        4096
#define LAST_POLLS   5
#define SECOND       INT64_C(1000000000)

struct live {
	pcap_t *pcap;
	struct capture *capture;
	uint32_t link;
	int failed; /* sticky, from the capture */
};

struct live *live_close(struct live *l)
{
	if (!l)
		return NULL;
	if (l->pcap)
		pcap_close(l->pcap);
	free(l);
	return NULL;
}

static int set_filter(struct live *l, const char *filter, struct error *error)
{
	struct bpf_program program;
	int r = 0;

	if (!filter)
		return 0;
	if (pcap_compile(l->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return error_set(error, -EINVAL, "the filter: %s", pcap_geterr(l->pcap));
	if (pcap_setfilter(l->pcap, &program) < 0)
		r = error_set(error, -EINVAL, "the filter: %s", pcap_geterr(l->pcap));
	pcap_freecode(&program);
	return r;
}

int live_open(const struct live_options *options, struct live **ret_live, struct error *error)
{
	_cleanup_(live_closep)
	struct live *l = calloc(1, sizeof(*l));
	char why[PCAP_ERRBUF_SIZE] = "";
	int r;

	if (!l)
		return error_set(error, -ENOMEM, "out of memory");
	l->pcap = pcap_create(options->interface, why);
	if (!l->pcap)
		return error_set(error, -ENODEV, "%s: %s", options->interface, why);
	pcap_set_snaplen(l->pcap, options->snap ? options->snap : PACKET_MAX_BYTES);
	pcap_set_promisc(l->pcap, 1); /* a bridge passes frames up only then */
	pcap_set_timeout(l->pcap, POLL_MS);
	pcap_set_buffer_size(l->pcap, options->ring_bytes ? options->ring_bytes : DEFAULT_RING);
	pcap_set_tstamp_precision(l->pcap, PCAP_TSTAMP_PRECISION_NANO);
	r = pcap_activate(l->pcap);
	if (r < 0)
		return error_set(error, r == PCAP_ERROR_PERM_DENIED ? -EPERM : -ENODEV,
				 "%s: %s%s%s", options->interface, pcap_statustostr(r),
				 pcap_geterr(l->pcap)[0] ? ": " : "", pcap_geterr(l->pcap));
	r = set_filter(l, options->filter, error);
	if (r < 0)
		return r;
	if (pcap_setnonblock(l->pcap, 1, why) < 0) /* or a silent interface would be waited for */
		return error_set(error, -EIO, "%s: %s", options->interface, why);
	l->link = (uint32_t)pcap_datalink(l->pcap);
	*ret_live = TAKE_PTR(l);
	return 0;
}

static void on_packet(u_char *user, const struct pcap_pkthdr *head, const u_char *bytes)
{
	struct live *l = (struct live *)user;
	struct packet packet = {
		.time_ns = (int64_t)head->ts.tv_sec * SECOND + head->ts.tv_usec, /* nanoseconds */
		.p = bytes,
		.n = head->caplen,
		.wire_n = MAX(head->len, head->caplen),
		.link = l->link,
	};

	if (l->failed == 0)
		l->failed = capture_packet(l->capture, &packet);
	if (l->failed < 0)
		pcap_breakloop(l->pcap);
}

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

uint64_t live_dropped(struct live *l)
{
	struct pcap_stat stat = {0};

	pcap_stats(l->pcap, &stat);
	return (uint64_t)stat.ps_drop + stat.ps_ifdrop;
}

/* Waits for packets, at most POLL_MS, and takes what is there.  How many, or PCAP_ERROR. */
static int take(struct live *l)
{
	struct pollfd fd = {.fd = pcap_get_selectable_fd(l->pcap), .events = POLLIN};

	poll(&fd, 1, POLL_MS);
	return pcap_dispatch(l->pcap, BATCH, on_packet, (u_char *)l);
}

struct meter {
	int64_t at_ns, cpu_ns;
	uint64_t packets, bytes, calls;
};

static struct meter meter_read(const struct capture *c)
{
	return (struct meter){now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID), c->stats.packets,
			      c->stats.bytes, c->shared.stats.calls};
}

static struct live_rate meter_rate(struct live *l, const struct meter *then, const struct meter *m)
{
	return (struct live_rate){
		.seconds = (double)(m->at_ns - then->at_ns) * 1e-9,
		.packets = m->packets - then->packets,
		.bytes = m->bytes - then->bytes,
		.calls = m->calls - then->calls,
		.dropped = live_dropped(l),
		.cpu = (double)(m->cpu_ns - then->cpu_ns) / (double)(m->at_ns - then->at_ns),
		.memory = l->capture->shared.memory,
	};
}

int live_run(struct live *l, struct capture *c, int64_t duration_ns, const struct live_watch *watch,
	     struct error *error)
{
	int64_t began_ns = now(CLOCK_MONOTONIC);
	struct meter then;

	l->capture = c;
	l->failed = 0;
	then = meter_read(c);
	while (watch->go_on(watch->context) &&
	       (duration_ns == 0 || now(CLOCK_MONOTONIC) - began_ns < duration_ns)) {
		int n = take(l);
		struct meter m;

		if (l->failed < 0)
			return error_set(error, l->failed, "the messages could not be taken");
		if (n == PCAP_ERROR)
			return error_set(error, -EIO, "%s", pcap_geterr(l->pcap));
		if (n == 0) { /* time passes without packets, too; the ring may hold some back */
			int r = conv_shared_advance(&c->shared, now(CLOCK_REALTIME) - SECOND);

			if (r < 0)
				return error_set(error, r, "the messages could not be taken");
		}
		m = meter_read(c);
		if (watch->rate && m.at_ns - then.at_ns >= SECOND) {
			struct live_rate r = meter_rate(l, &then, &m);

			watch->rate(watch->context, &r);
			then = m;
		}
	}
	/* What the kernel holds back to give together comes within its time limit. */
	for (int i = 0; i < LAST_POLLS && l->failed == 0; i++)
		take(l);
	return l->failed < 0 ? error_set(error, l->failed, "the messages could not be taken") : 0;
}
