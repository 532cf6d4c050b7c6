/* Queries over small traces whose answers were worked out by hand. */
#include "query_t.h"

/* The cluster of the paper: one client asks a name node where a file is and reads from a data node,
 * twice; a job runs beside it. */
static const char hdfs[] =
	"# trace 1: StressTest on A reads f1 from the data node on B; replicas A, B, C\n"
	"span 1 1 0 StressTest@A StressTest.DoNextOp 0 100\n"
	"span 1 2 1 StressTest@A GetBlockLocations.call 10 30\n"
	"span 1 3 2 NameNode@N NN.GetBlockLocations 15 25 src=f1 replicas=[A,B,C]\n"
	"span 1 4 1 StressTest@A DataTransfer.call 40 90\n"
	"span 1 5 4 DataNode@B DN.DataTransferProtocol 45 85\n"
	"span 1 6 5 DataNode@B incrBytesRead 50 51 delta=100\n"
	"span 1 7 5 DataNode@B incrBytesRead 60 61 delta=20\n"
	"# trace 2: the same for f2, read from its own host D\n"
	"span 2 1 0 StressTest@D StressTest.DoNextOp 1000 1100\n"
	"span 2 2 1 StressTest@D GetBlockLocations.call 1010 1030\n"
	"span 2 3 2 NameNode@N NN.GetBlockLocations 1015 1025 src=f2 replicas=[D,B,C]\n"
	"span 2 4 1 StressTest@D DataTransfer.call 1040 1090\n"
	"span 2 5 4 DataNode@D DN.DataTransferProtocol 1045 1085\n"
	"span 2 6 5 DataNode@D incrBytesRead 1050 1051 delta=7\n"
	"# trace 3: a job with two requests, and its end\n"
	"span 3 1 0 JobTracker@J Job 2000 3000 id=job_1\n"
	"span 3 2 1 JobTracker@J Request 2010 2100\n"
	"point 3 2 JobTracker@J ReceiveRequest 2010\n"
	"point 3 2 JobTracker@J SendResponse 2100\n"
	"span 3 3 1 JobTracker@J Request 2200 2500\n"
	"point 3 3 JobTracker@J ReceiveRequest 2200\n"
	"point 3 3 JobTracker@J SendResponse 2500\n"
	"span 3 4 1 JobTracker@J JobComplete 2900 2950 id=job_1\n";

static const char tracepoints[] =
	"Tracepoint DataNodeMetrics.incrBytesRead = { name = \"incrBytesRead\" } Exports { delta = "
	"span.delta };\n"
	"Tracepoint ClientProtocols = { name = \"DataTransfer.call\" }, { name = "
	"\"GetBlockLocations.call\" };\n"
	"Tracepoint DN.DataTransferProtocol = { name = \"DN.DataTransferProtocol\" };\n"
	"Tracepoint NN.GetBlockLocations = { name = \"NN.GetBlockLocations\" } Exports { src = "
	"span.src, replicas = span.replicas };\n"
	"Tracepoint StressTest.DoNextOp = { name = \"StressTest.DoNextOp\" };\n"
	"Tracepoint SendResponse = { name = \"SendResponse\" };\n"
	"Tracepoint ReceiveRequest = { name = \"ReceiveRequest\" };\n"
	"Tracepoint JobComplete = { name = \"JobComplete\" } Exports { id = span.id };\n";

static const struct {
	const char *name, *text, *want;
} paper[] = {
	{"Q1",
	 "Q1: From incr In DataNodeMetrics.incrBytesRead\n"
	 "GroupBy incr.host\n"
	 "Select incr.host, SUM(incr.delta)",
	 "B | 120\nD | 7\n"},
	{"Q2",
	 "Q2: From incr In DataNodeMetrics.incrBytesRead\n"
	 "Join cl In First(ClientProtocols) On cl -> incr\n"
	 "GroupBy cl.procName\n"
	 "Select cl.procName, SUM(incr.delta)",
	 "StressTest | 127\n"},
	{"Q3",
	 "Q3: From dnop In DN.DataTransferProtocol\n"
	 "GroupBy dnop.host\n"
	 "Select dnop.host, COUNT",
	 "B | 1\nD | 1\n"},
	{"Q4",
	 "Q4: From getloc In NN.GetBlockLocations\n"
	 "Join st In StressTest.DoNextOp On st -> getloc\n"
	 "GroupBy st.host, getloc.src\n"
	 "Select st.host, getloc.src, COUNT",
	 "A | f1 | 1\nD | f2 | 1\n"},
	{"Q5",
	 "Q5: From getloc In NN.GetBlockLocations\n"
	 "Join st In StressTest.DoNextOp On st -> getloc\n"
	 "GroupBy st.host, getloc.replicas\n"
	 "Select st.host, getloc.replicas, COUNT",
	 "A | A | 1\nA | B | 1\nA | C | 1\nD | B | 1\nD | C | 1\nD | D | 1\n"},
	{"Q6",
	 "Q6: From DNop In DN.DataTransferProtocol\n"
	 "Join st In StressTest.DoNextOp On st -> DNop\n"
	 "GroupBy st.host, DNop.host\n"
	 "Select st.host, DNop.host, COUNT",
	 "A | B | 1\nD | D | 1\n"},
	{"Q7",
	 "Q7: From DNop In DN.DataTransferProtocol\n"
	 "Join getloc In NN.GetBlockLocations\n"
	 "On getloc -> DNop\n"
	 "Join st In StressTest.DoNextOp On st -> getloc\n"
	 "Where st.host != DNop.host\n"
	 "GroupBy DNop.host, getloc.replicas\n"
	 "Select DNop.host, getloc.replicas, COUNT",
	 "B | A | 1\nB | B | 1\nB | C | 1\n"},
	{"Q8",
	 "Q8: From response In SendResponse\n"
	 "Join request In MostRecent(ReceiveRequest)\n"
	 "On request -> response\n"
	 "Select response.time \xe2\x88\x92 request.time",
	 "300ns\n90ns\n"},
	{"Q9",
	 "Q8: From response In SendResponse\n"
	 "Join request In MostRecent(ReceiveRequest)\n"
	 "On request -> response\n"
	 "Select response.time \xe2\x88\x92 request.time\n"
	 "Q9: From job In JobComplete\n"
	 "Join latencyMeasurement In Q8\n"
	 "On latencyMeasurement -> end\n"
	 "Select job.id, AVERAGE(latencyMeasurement)",
	 "job_1 | 195ns\n"},
};

static void check(struct query_t *q, const char *text, const char *want, unsigned off)
{
	struct query_text t = {0};
	int r = query_t_run(q, text, off, 2, &t);
	const char *got = buffer_cstr(&t.out), *rows = strchr(got, '\n');

	if (r < 0)
		fail_msg("%s\n%d: %s\n%s", text, r, t.error.text, got);
	rows = rows ? rows + 1 : "";
	if (strcmp(rows, want) != 0)
		fail_msg("%s\n(without %x) gave\n%s\nwanted\n%s", text, off, rows, want);
	query_text_done(&t);
}

static void the_papers_queries_run_verbatim(void **state)
{
	(void)state;
	for (int flush = 0; flush < 2; flush++) {
		struct query_t q;

		query_t_open(&q, hdfs, flush);
		for (size_t i = 0; i < ARRAY_SIZE(paper); i++) {
			char text[4096];

			snprintf(text, sizeof(text), "%s%s", tracepoints, paper[i].text);
			for (unsigned off = 0; off <= RULES_ALL; off += off ? off + 1 : 1)
				check(&q, text, paper[i].want, off);
			check(&q, text, paper[i].want, RULES_ALL);
		}
		query_t_close(&q);
	}
}

/* "The stress test hostname and the location of all 3 file replicas (4 tuples)": for each of the
 * two requests, with the paper's rewrites; without them the list travels as one. */
static void q7_packs_four_tuples_for_each_request(void **state)
{
	struct query_t q;
	char text[4096];

	(void)state;
	query_t_open(&q, hdfs, true);
	snprintf(text, sizeof(text), "%s%s", tracepoints, paper[6].text);
	for (int with = 0; with < 2; with++) {
		struct query_text t = {0};

		assert_int_equal(query_t_run(&q, text, with ? 0 : RULE_AGGREGATION, 1, &t), 0);
		assert_int_equal(t.stats.tuples_packed, with ? 2 * 4 : 2 * 2);
		query_text_done(&t);
	}
	query_t_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(q7_packs_four_tuples_for_each_request),
		cmocka_unit_test(the_papers_queries_run_verbatim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
