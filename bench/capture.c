/* bench/capture.c - what turning packets into messages costs.
 *
 *   bench_capture [--calls] [FILE]
 *
 * Without a file it writes one of its own (an nginx-like mix: HTTP/1.1 answers of 2 KB to 1 MB in
 * segments of 1448 bytes, Redis beside them) into a temporary file.  Prints GB/s of capture and
 * messages a second on one core, the median of nine runs; next to it libpcap, which reads the same
 * file and looks at nothing.  --calls prints the report of the first run. */
#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/rng.h"
#include "capture/capture.h"

#define RUNS  9
#define BAR   1.0 /* GB/s of payload-skipped traffic */
#define MSS   1448
#define CONNS 64
#define TOTAL ((size_t)256 << 20)

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int count(void *context, const struct message *messages, size_t n)
{
	*(uint64_t *)context += n;
	return 0;
}

/* --- the file --- */

struct conn {
	uint32_t seq[2];
	uint16_t port;
	bool redis;
};

static void be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void be32(uint8_t *p, uint32_t v)
{
	be16(p, v >> 16);
	be16(p + 2, v & 0xffff);
}

static void put_packet(FILE *f, struct conn *c, int from, const void *payload, size_t n,
		       int64_t *now_us)
{
	uint8_t head[16 + 14 + 20 + 32] = {0}, *eth = head + 16, *ip = eth + 14, *tcp = ip + 20;
	uint32_t total = (uint32_t)(14 + 20 + 32 + n);
	uint32_t record[4] = {(uint32_t)(*now_us / 1000000), (uint32_t)(*now_us % 1000000), total,
			      total};

	memcpy(head, record, sizeof(record));
	be16(eth + 12, 0x0800);
	ip[0] = 0x45;
	be16(ip + 2, (uint32_t)(52 + n));
	ip[9] = 6;
	be32(ip + 12, from ? 0x0a000002 : 0x0a000001);
	be32(ip + 16, from ? 0x0a000001 : 0x0a000002);
	be16(tcp, from ? (c->redis ? 6379 : 80) : c->port);
	be16(tcp + 2, from ? c->port : (c->redis ? 6379 : 80));
	be32(tcp + 4, c->seq[from]);
	be32(tcp + 8, c->seq[!from]);
	tcp[12] = 0x80;
	tcp[13] = 0x18;
	c->seq[from] += (uint32_t)n;
	fwrite(head, sizeof(head), 1, f);
	fwrite(payload, n, 1, f);
	*now_us += 3;
}

static void put_stream(FILE *f, struct conn *c, int from, const char *bytes, size_t n,
		       int64_t *now_us)
{
	for (size_t at = 0; at < n; at += MSS)
		put_packet(f, c, from, bytes + at, MIN(n - at, (size_t)MSS), now_us);
}

static bool make_file(const char *path)
{
	static const uint32_t head[6] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 262144, 1};
	static char body[(1 << 20) + 256];
	struct conn conns[CONNS] = {0};
	struct rng rng = {7};
	int64_t now_us = INT64_C(1700000000000000);
	FILE *f = fopen(path, "w");
	size_t total = 0;

	if (!f)
		return false;
	fwrite(head, sizeof(head), 1, f);
	for (int i = 0; i < CONNS; i++)
		conns[i] = (struct conn){{1000, 2000}, (uint16_t)(40000 + i), i % 4 == 0};
	memset(body, 'x', sizeof(body));
	while (total < TOTAL) {
		struct conn *c = &conns[rng_below(&rng, CONNS)];
		char text[256];
		int n;

		if (c->redis) {
			n = snprintf(text, sizeof(text), "*2\r\n$3\r\nGET\r\n$5\r\nk%04d\r\n", 17);
			put_stream(f, c, 0, text, (size_t)n, &now_us);
			put_stream(f, c, 1, "$5\r\nhello\r\n", 11, &now_us);
			total += 200;
		} else {
			size_t size = (size_t)2048 << rng_below(&rng, 10);
			char kept[128];

			n = snprintf(text, sizeof(text),
				     "GET /things/%d HTTP/1.1\r\nHost: a\r\n\r\n",
				     (int)rng_below(&rng, 1000));
			put_stream(f, c, 0, text, (size_t)n, &now_us);
			n = snprintf(kept, sizeof(kept),
				     "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
			memcpy(body, kept, (size_t)n);
			put_stream(f, c, 1, body, size + (size_t)n, &now_us);
			memset(body, 'x', (size_t)n);
			total += size;
		}
	}
	return fclose(f) == 0;
}

/* --- the runs --- */

static double run(struct slice file, bool report, uint64_t *ret_messages, uint64_t *ret_bytes)
{
	struct packet_reader reader;
	struct names nodes, operations;
	struct capture c;
	struct error error;
	double began = cpu(), took;

	*ret_messages = 0;
	names_init(&nodes);
	names_init(&operations);
	if (capture_init(&c, &nodes, &operations, (struct message_sink){count, ret_messages},
			 &(struct capture_options){0}) < 0 ||
	    packet_reader_open_bytes(&reader, file, &error) < 0 ||
	    capture_file(&c, &reader, &error) < 0 || capture_finish(&c) < 0) {
		fprintf(stderr, "bench_capture: %s\n", error.text);
		exit(1);
	}
	took = cpu() - began;
	*ret_bytes = c.stats.bytes;
	if (report) {
		struct buffer out = {0};

		capture_report(&c, &out);
		fputs(buffer_cstr(&out), stdout);
		buffer_done(&out);
	}
	capture_done(&c);
	packet_reader_done(&reader);
	names_done(&nodes);
	names_done(&operations);
	return took;
}

static double run_libpcap(const char *path)
{
	char why[PCAP_ERRBUF_SIZE];
	pcap_t *p = pcap_open_offline(path, why);
	struct pcap_pkthdr *head;
	const u_char *bytes;
	double began = cpu();
	uint64_t n = 0;

	if (!p)
		return 0;
	while (pcap_next_ex(p, &head, &bytes) == 1)
		n += head->caplen;
	pcap_close(p);
	return n ? cpu() - began : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, RUNS, sizeof(*values), by_value);
	return values[RUNS / 2];
}

int main(int argc, char **argv)
{
	bool report = argc > 1 && strcmp(argv[1], "--calls") == 0;
	const char *given = argc > 1 + report ? argv[1 + report] : NULL;
	char own[] = "/tmp/causet-bench-XXXXXX";
	double ours[RUNS], theirs[RUNS], speed;
	uint64_t messages = 0, bytes = 0;
	struct stat st;
	void *map;
	int fd;

	if (!given) {
		fd = mkstemp(own);
		if (fd < 0 || !make_file(own))
			return 1;
		close(fd);
	}
	fd = open(given ? given : own, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0) {
		fprintf(stderr, "bench_capture: cannot read %s\n", given ? given : own);
		return 1;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return 1;
	for (int i = 0; i < RUNS; i++) {
		ours[i] =
			run(slice_of(map, (size_t)st.st_size), report && i == 0, &messages, &bytes);
		theirs[i] = run_libpcap(given ? given : own);
	}
	speed = (double)st.st_size / median(ours) / 1e9;
	printf("packets to messages   %8.2f GB/s  %6.2f M messages/s   (%.1f MB, %llu messages)\n",
	       speed, (double)messages / median(ours) / 1e6, (double)st.st_size / 1e6,
	       (unsigned long long)messages);
	printf("libpcap, only reading %8.2f GB/s\n", (double)st.st_size / median(theirs) / 1e9);
	if (!given) {
		printf("bar %.1f GB/s of traffic whose payload is passed over: %s\n", BAR,
		       speed >= BAR ? "met" : "NOT MET");
		unlink(own);
	}
	munmap(map, (size_t)st.st_size);
	close(fd);
	return 0;
}
