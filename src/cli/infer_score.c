/* cli/infer_score.c - how right an inference is, by the truth. */
#include <errno.h>

#include "base/cleanup.h"
#include "cli/inferred.h"
#include "cli/source.h"
#include "cli/table.h"
#include "infer/score.h"
#include "wire/json_writer.h"

#define READ_BYTES ((size_t)256 << 10)

static int truth_load(struct truth_reader *r, const char *path, struct error *error)
{
	_cleanup_(source_closep)
	struct source *source = NULL;
	_cleanup_(freep)
	char *room = malloc(READ_BYTES);
	int e = room ? source_open(path, &source, error)
		     : error_set(error, -ENOMEM, "out of memory");
	struct error why = {0};
	ssize_t n = 0;

	if (e < 0)
		return e;
	while (e == 0 && (n = source_read(source, room, READ_BYTES, error)) > 0)
		e = truth_reader_feed(r, slice_of(room, (size_t)n), &why);
	if (n < 0)
		return (int)n;
	if (e == 0)
		e = truth_reader_finish(r, &why);
	return e < 0 ? error_set(error, e, "%s: %s", path, why.text) : 0;
}

static void accuracy(struct json_writer *w, const char *name, uint64_t right, uint64_t n)
{
	json_put_name(w, name);
	json_begin_object(w);
	json_put_name(w, "accuracy");
	json_put_double(w, score_share(right, n));
	json_put_name(w, "n");
	json_put_u64(w, n);
}

static void errors(struct json_writer *w, const char *name, const struct score_errors *e)
{
	json_put_name(w, name);
	json_begin_object(w);
	json_put_name(w, "n");
	json_put_u64(w, e->n);
	json_put_name(w, "false_positives");
	json_put_u64(w, e->false_positives);
	json_put_name(w, "false_negatives");
	json_put_u64(w, e->false_negatives);
	json_end_object(w);
}

static void score_json(const struct score *s, struct buffer *out)
{
	struct json_writer w = json_write(out);

	json_begin_object(&w);
	accuracy(&w, "links", s->links_right, s->links);
	json_put_name(&w, "false_positives");
	json_put_u64(&w, s->link.false_positives);
	json_put_name(&w, "false_negatives");
	json_put_u64(&w, s->link.false_negatives);
	json_end_object(&w);
	accuracy(&w, "traces", s->traces_right, s->traces);
	json_put_name(&w, "with_shared_nodes");
	json_put_double(&w, score_share(s->traces_right_with_shared, s->traces));
	json_end_object(&w);
	errors(&w, "patterns", &s->pattern);
	errors(&w, "instances", &s->instance);
	errors(&w, "messages", &s->message);
	json_put_name(&w, "top");
	json_begin_array(&w);
	for (uint32_t i = 0; i < s->top_n; i++) {
		json_begin_object(&w);
		json_put_name(&w, "n");
		json_put_u64(&w, s->top[i].n);
		json_put_name(&w, "omitted");
		json_put_u64(&w, s->top[i].omitted);
		json_put_name(&w, "omitted_beyond_2_percent");
		json_put_u64(&w, s->top[i].near2);
		json_put_name(&w, "omitted_beyond_6_percent");
		json_put_u64(&w, s->top[i].near6);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_put_name(&w, "delay_error");
	json_put_double(&w, s->delay_error);
	json_put_name(&w, "calibration");
	json_begin_array(&w);
	for (int i = 0; i < SCORE_BUCKETS; i++) {
		if (s->calibration[i].n == 0)
			continue;
		json_begin_object(&w);
		json_put_name(&w, "confidence");
		json_put_double(&w, s->calibration[i].confidence / (double)s->calibration[i].n);
		json_put_name(&w, "right");
		json_put_double(&w, score_share(s->calibration[i].right, s->calibration[i].n));
		json_put_name(&w, "n");
		json_put_u64(&w, s->calibration[i].n);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_end_object(&w);
	buffer_byte(out, '\n');
}

static void errors_line(const char *what, const struct score_errors *e, struct buffer *out)
{
	buffer_printf(out, "%-10s %llu, of which %llu were not found; %llu found that are none\n",
		      what, (unsigned long long)e->n, (unsigned long long)e->false_negatives,
		      (unsigned long long)e->false_positives);
}

static void score_text(const struct score *s, struct buffer *out)
{
	buffer_printf(out, "links      %.2f%% of %llu right\n",
		      100 * score_share(s->links_right, s->links), (unsigned long long)s->links);
	buffer_printf(
		out,
		"traces     %.2f%% of %llu right; %.2f%% with the %llu nodes that have several "
		"callers\n",
		100 * score_share(s->traces_right, s->traces), (unsigned long long)s->traces,
		100 * score_share(s->traces_right_with_shared, s->traces),
		(unsigned long long)s->shared_nodes);
	errors_line("patterns", &s->pattern, out);
	errors_line("instances", &s->instance, out);
	errors_line("messages", &s->message, out);
	for (uint32_t i = 0; i < s->top_n; i++)
		buffer_printf(
			out, "top %-6u %u not among the %u found most often, %u by more than 2%%\n",
			s->top[i].n, s->top[i].omitted, s->top[i].n, s->top[i].near2);
	buffer_printf(out, "delays     off by %.2f%% on average\n", 100 * s->delay_error);
	for (int i = 0; i < SCORE_BUCKETS; i++)
		if (s->calibration[i].n)
			buffer_printf(out, "confidence %.2f: %.2f right, %llu links\n",
				      s->calibration[i].confidence / (double)s->calibration[i].n,
				      score_share(s->calibration[i].right, s->calibration[i].n),
				      (unsigned long long)s->calibration[i].n);
}

int inferred_score(const struct inferred *in, const struct linking_window *w, const char *path)
{
	_cleanup_(buffer_done)
	struct buffer out = {0};
	struct truth_of_calls truth = {0};
	struct truth_reader reader;
	struct error error = {0};
	struct score score;
	int e;

	truth_reader_init(&reader);
	e = truth_load(&reader, path, &error);
	if (e == 0)
		e = truth_match(&reader, w->calls, &truth);
	if (e == 0)
		e = score_links(w->calls, w->links, &truth, &in->nodes, &score);
	truth_of_calls_done(&truth);
	truth_reader_done(&reader);
	if (e < 0)
		return cli_fail(in->cli, EXIT_FAILED, "%s",
				error.text[0] ? error.text : strerror(-e));
	if (in->cli->json)
		score_json(&score, &out);
	else
		score_text(&score, &out);
	return cli_print(in->cli, &out);
}
