/* cli/messages_packets.c - messages out of packets: files of pcap and pcapng, and live capture. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "capture/capture.h"
#include "capture/live.h"
#include "capture/socket_owner.h"
#include "capture/vantage.h"
#include "cli/messages.h"

#define MAX_RULES_BYTES ((size_t)16 << 20)

const char *const node_style_names[] = {"auto", "address", "endpoint", NULL};
const char *const reply_names[] = {"last", "first", NULL};

_Static_assert(NODE_AUTO == 0 && NODE_ADDRESS == 1 && NODE_ENDPOINT == 2, "the order of the names");

bool packets_is(struct slice head, struct slice name)
{
	return packet_reader_knows(head);
}

static ssize_t read_more(void *context, char *out, size_t room, struct error *error)
{
	struct messages_input *in = context;

	if (in->head.n > 0) {
		size_t n = MIN(room, in->head.n);

		memcpy(out, in->head.p, n);
		in->head = slice_from(in->head, n);
		return (ssize_t)n;
	}
	return source_read(in->source, out, room, error);
}

static int rules_load(struct node_rules *rules, const char *path, struct error *error)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	_cleanup_(source_closep)
	struct source *source = NULL;
	struct error why = {0};
	ssize_t n = 1;
	int r;

	if (!path)
		return 0;
	r = source_open(path, &source, error);
	while (r == 0 && n > 0) {
		char *to = buffer_reserve(&text, 65536);

		if (!to || text.n > MAX_RULES_BYTES)
			return error_set(error, -E2BIG, "%s: too many rules", path);
		n = source_read(source, to, 65536, error);
		r = n < 0 ? (int)n : 0;
		text.n += n > 0 ? (size_t)n : 0;
	}
	if (r == 0) {
		r = node_rules_parse(rules, buffer_get(&text), &why);
		if (r < 0)
			error_set(error, r, "%s: %s", path, why.text);
	}
	return r;
}

static int truth_save(struct capture *c, const char *path, struct error *error)
{
	_cleanup_(buffer_done)
	struct buffer text = {0};
	FILE *f;
	int r;

	if (!path)
		return 0;
	r = truth_write(&c->truth, &c->shared.tags, &text);
	if (r < 0)
		return error_set(error, r, "the truth does not fit into memory");
	f = fopen(path, "w");
	if (!f)
		return error_set(error, -errno, "cannot write %s: %s", path, strerror(errno));
	fwrite(text.p, 1, text.n, f);
	if (fclose(f) != 0)
		return error_set(error, -errno, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

/* What was seen, and above all what was not. */
static void report(struct messages_input *in, const struct capture *c, const char *name)
{
	const struct conv_stats *s = &c->shared.stats;
	_cleanup_(buffer_done)
	struct buffer text = {0};

	if (in->cli->verbose) {
		capture_report(c, &text);
		cli_note(in->cli, "%s: %s", name, buffer_cstr(&text));
		return;
	}
	cli_note(in->cli, "%s: %" PRIu64 " packets, %" PRIu64 " connections, %" PRIu64 " calls",
		 name, c->stats.packets, c->flows.stats.opened, s->calls);
	if (s->gaps || s->lost_threads || s->orphan_answers || c->stats.bad)
		cli_note(in->cli,
			 "%s: %" PRIu64 " holes in streams, %" PRIu64
			 " places where a protocol made no "
			 "sense, %" PRIu64 " answers without their call, %" PRIu64
			 " malformed packets (-v tells more)",
			 name, s->gaps, s->lost_threads, s->orphan_answers, c->stats.bad);
	if (c->stats.cut)
		cli_note(in->cli, "%s ends inside a packet", name);
}

/* Everything that a capture needs, made from the options. */
struct session {
	struct node_rules rules;
	struct socket_owners *owners;
	struct capture capture;
};

static void session_done(struct session *s)
{
	capture_done(&s->capture);
	node_rules_done(&s->rules);
	socket_owners_free(s->owners);
}

static int session_init(struct session *s, struct messages_input *in, struct error *error)
{
	const struct messages_options *o = in->options;
	struct capture_options options = {.rules = &s->rules,
					  .truth_header = o->truth_header,
					  .file = in->file,
					  .stable_ids = in->collects,
					  .first_byte = o->reply == 1};
	int r;

	s->owners = NULL;
	node_rules_init(&s->rules, (enum node_style)o->node_style);
	r = rules_load(&s->rules, o->node_rules, error);
	if (r == 0) {
		r = capture_init(&s->capture, in->nodes, in->operations, in->sink, &options);
		if (r < 0)
			error_set(error, r, "out of memory");
	}
	if (r < 0)
		node_rules_done(&s->rules);
	return r;
}

static int session_finish(struct session *s, struct messages_input *in, const char *name,
			  struct error *error)
{
	int r = capture_finish(&s->capture);

	if (r < 0)
		return error_set(error, r, "%s", strerror(-r));
	report(in, &s->capture, name);
	return truth_save(&s->capture, in->options->truth_file, error);
}

int packets_vantage(struct messages_input *in, struct message_list *list, int file_n)
{
	uint32_t nodes[VANTAGE_MAX_FILES];
	int r = vantage_mark(list->at, list->n, (size_t)file_n, nodes);

	for (int i = 0; r == 1 && i < file_n; i++)
		cli_note(in->cli, "file %d was captured at %s", i + 1,
			 names_get(in->nodes, nodes[i]).p);
	return r < 0 ? r : 0;
}

int packets_file(struct messages_input *in, struct error *error)
{
	_cleanup_(freep)
	struct session *s = malloc(sizeof(*s));
	struct packet_reader reader;
	int r;

	if (!s)
		return error_set(error, -ENOMEM, "out of memory");
	in->packet_files++;
	r = packet_reader_open(&reader, read_more, in, error);
	if (r < 0)
		return r;
	r = session_init(s, in, error);
	if (r < 0) {
		packet_reader_done(&reader);
		return r;
	}
	r = capture_file(&s->capture, &reader, error);
	if (r == -EBADMSG && s->capture.stats.packets > 0) {
		cli_note(in->cli, "%s: %s, at byte %zu; what came before it counts",
			 source_name(in->source), error->text, error->offset);
		r = 0;
	}
	if (r == 0)
		r = session_finish(s, in, source_name(in->source), error);
	packet_reader_done(&reader);
	session_done(s);
	return r;
}

/* --- live --- */

/* SIGINT and SIGTERM are held back while it runs; one that waits ends it. */
static bool go_on(void *context)
{
	sigset_t waiting;

	return sigpending(&waiting) != 0 ||
	       (!sigismember(&waiting, SIGINT) && !sigismember(&waiting, SIGTERM));
}

static void rate(void *context, const struct live_rate *r)
{
	struct messages_input *in = context;
	char bytes[QUANTITY_TEXT_BYTES], memory[QUANTITY_TEXT_BYTES];

	cli_note(in->cli,
		 "%.0f packets/s, %s/s, %.0f calls/s, %" PRIu64 " dropped, %.1f %% CPU, %s held",
		 (double)r->packets / r->seconds,
		 size_format((uint64_t)((double)r->bytes / r->seconds), bytes),
		 (double)r->calls / r->seconds, r->dropped, r->cpu * 100,
		 size_format(r->memory, memory));
}

static int live_session(struct session *s, struct live *live, struct messages_input *in,
			struct error *error)
{
	struct live_watch watch = {go_on, rate, in};
	sigset_t hold, old;
	struct timespec none = {0};
	uint64_t dropped;
	int r;

	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigprocmask(SIG_BLOCK, &hold, &old);
	r = live_run(live, &s->capture, in->options->duration_ns, &watch, error);
	while (sigtimedwait(&hold, NULL, &none) > 0) /* it was meant for the capture alone */
		;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (r < 0)
		return r;
	dropped = live_dropped(live);
	if (dropped)
		cli_note(in->cli, "the kernel dropped %" PRIu64 " packets", dropped);
	return session_finish(s, in, in->options->live, error);
}

int packets_live(struct messages_input *in, struct error *error)
{
	struct live_options options = {.interface = in->options->live,
				       .filter = in->options->live_filter};
	_cleanup_(live_closep)
	struct live *live = NULL;
	_cleanup_(freep)
	struct session *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return error_set(error, -ENOMEM, "out of memory");
	r = live_open(&options, &live, error);
	if (r == 0)
		r = session_init(s, in, error);
	if (r < 0)
		return r;
	if (in->options->live_owners && socket_owners_new("/proc", &s->owners) == 0)
		s->rules.owners = s->owners;
	cli_note(in->cli, "capturing on %s; Ctrl-C ends it", in->options->live);
	r = live_session(s, live, in, error);
	session_done(s);
	return r;
}
