#include "t.h"

#include "batch_equal.h"
#include "batch_random.h"
#include "wire/codecs.h"

static void expect(struct slice head, const char *file, const char *codec)
{
	const struct codec *c = codec_sniff(head, slice_cstr(file));
	const struct codec *want = codec ? codec_find(slice_cstr(codec)) : NULL;

	if (c != want)
		fail_msg("%.*s (%s): took it for %s, not %s", SLICE_ARG(slice_first(head, 40)),
			 file, c ? c->name : "nothing", codec ? codec : "nothing");
}

static void json_is_told_by_its_keys(void **state)
{
	static const struct {
		const char *head, *codec;
	} rows[] = {
		{"{\"resourceSpans\":[", "otlp-json"},
		{" \n{\n  \"resourceSpans\": []}", "otlp-json"},
		{"\xef\xbb\xbf{\"resourceLogs\": []}", "otlp-json"},
		{"{\"resource_spans\":[]}", "otlp-json"},
		{"{\"resourceEvents\":[]}", "events-json"},
		{"{\"data\":[{\"traceID\":\"1\"", "jaeger-json"},
		{"{\"total\":0,\"limit\":0,\"offset\":0,\"errors\":null,\"data\":[", "jaeger-json"},
		{"{\"traceID\":\"1\",\"spans\":[", "jaeger-json"},
		{"[{\"processes\":{},\"spans\":[]}]", "jaeger-json"},
		{"{\"traceId\":\"1\",\"id\":\"2\"}", "zipkin-json"},
		{"[{\"traceId\":\"1\"", "zipkin-json"},
		{"[]", "zipkin-json"},
		{"{\"something\":\"else\"}", NULL},
		{"{\"inner\":{\"resourceSpans\":[]}}", NULL},
		{"<html>", NULL},
		{"hello", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(slice_cstr(rows[i].head), "", rows[i].codec);
}

/* Whatever an encoder writes is recognised, from its first kilobytes and from all of it. */
static void what_we_write_we_recognise(void **state)
{
	size_t count;
	const struct codec *codecs = codec_list(&count);

	for (size_t i = 0; i < count; i++)
		for (uint64_t seed = 1; seed < 100; seed++) {
			struct slice name = slice_cstr(codecs[i].name);
			struct batch_random what = {.rows = 3, .json = true};
			_cleanup_(batch_unrefp)
			struct batch *b = NULL;
			_cleanup_(freep)
			struct event_ref *refs = NULL;
			_cleanup_(buffer_done)
			struct buffer bytes = {0};
			struct rng rng = {seed};
			size_t n;

			what.shape = slice_starts(name, SLICE("events")) ? RANDOM_EVENTS
				     : slice_ends(name, SLICE("logs"))   ? RANDOM_LOGS
									 : RANDOM_TRACES;
			b = batch_random(&rng, &what);
			n = batch_refs(b, &refs);
			codecs[i].encode(refs, n, &bytes);
			expect(buffer_get(&bytes), "", codecs[i].name);
			expect(slice_first(buffer_get(&bytes), 65536), "x.unknown", codecs[i].name);
		}
}

static void names_help_where_bytes_do_not(void **state)
{
	static const struct {
		struct slice head;
		const char *file, *codec;
	} rows[] = {
		{{"", 0}, "", NULL},
		{{"", 0}, "a.txt", NULL},
		{{"", 0}, "otlp", NULL},
		{{"", 0}, "a.otlp", "otlp"},
		{{"", 0}, "a.pb.gz", "otlp"},
		{{"", 0}, "a.events.zst", "events"},
		{{"", 0}, "a.zipkin.pb", "zipkin-proto"},
		{{"", 0}, "a.zipkin.json", "zipkin-json"},
		{{"", 0}, "a.json", "otlp-json"},
		{{"\x62\x00", 2}, "a.otlp", "events"},
		{{"\x0a\x00", 2}, "a.events", "otlp"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(rows[i].head, rows[i].file, rows[i].codec);
}

static void zipkin_and_otlp_protobuf_are_told_apart(void **state)
{
	/* A span of Zipkin: trace id, id, name; and a group of OTLP whose resource has 16 bytes. */
	static const char zipkin[] = "\x0a\x1f\x0a\x10"
				     "0123456789abcdef\x1a\x08"
				     "01234567\x2a\x01x";
	static const char otlp[] =
		"\x0a\x14\x0a\x10\x0a\x0e\x0a\x04name\x12\x06\x0a\x04shop\x12\x00";

	expect(slice_of(zipkin, sizeof(zipkin) - 1), "", "zipkin-proto");
	expect(slice_of(otlp, sizeof(otlp) - 1), "", "otlp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_told_by_its_keys),
		cmocka_unit_test(what_we_write_we_recognise),
		cmocka_unit_test(names_help_where_bytes_do_not),
		cmocka_unit_test(zipkin_and_otlp_protobuf_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
