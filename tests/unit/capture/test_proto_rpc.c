/* HTTP/2 and gRPC, Kafka, Thrift, DNS over TCP, TLS, and protocols nobody knows. */
#include "talk.h"

#define PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define ACK      "\0\0\0\4\1\0\0\0\0"
/* HEADERS: length, flags, stream, block.  82 is :method GET, 83 POST, 84 :path /, 88 :status 200.
 */
#define HEADERS(n, flags, stream, block) "\0\0" n "\1" flags "\0\0\0" stream block
#define DATA(n, flags, stream, body)     "\0\0" n "\0" flags "\0\0\0" stream body
#define GRPC_PATH                                                                                  \
	"\x83\x44\x06/s.S/M\x5f\x10"                                                               \
	"application/grpc"

static const struct talk http2[] = {
	{"a stream is a call", "10 CALL 1 GET:/\n40 RET 1\n",
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\2", "\5", "\1", "\x82\x84")),
		   S(20, SETTINGS ACK), S(30, HEADERS("\1", "\4", "\1", "\x88")),
		   S(40, DATA("\5", "\1", "\1", "hello"))}},
	{"streams end in any order", "10 CALL 1 GET:/\n11 CALL 2 GET:/\n30 RET 2\n40 RET 1\n",
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\2", "\5", "\1", "\x82\x84")),
		   C(11, HEADERS("\2", "\5", "\3", "\x82\x84")), S(20, SETTINGS),
		   S(30, HEADERS("\1", "\5", "\3", "\x88")),
		   S(40, HEADERS("\1", "\4", "\1", "\x88") DATA("\5", "\1", "\1", "hello"))}},
	{"gRPC ends with its trailers and is named by its path", "10 CALL 1 s.S/M\n50 RET 1\n",
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\x1b", "\4", "\1", GRPC_PATH)),
		   C(15, DATA("\5", "\1", "\1", "\0\0\0\0\0")), S(20, SETTINGS),
		   S(30, HEADERS("\1", "\4", "\1", "\x88")),
		   S(40, DATA("\5", "\0", "\1", "\0\0\0\0\0")),
		   S(50, HEADERS("\1", "\5", "\1", "\x88"))}},
	{"headers in two frames, padded, with priority", "10 CALL 1 GET:/\n30 RET 1\n",
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\x09", "\x29", "\1",
						  "\2"
						  "\0\0\0\0\x10"
						  "\x82"
						  "\0\0") "\0\0\1\x09\4\0\0\0\1\x84"),
		   S(20, SETTINGS), S(30, HEADERS("\1", "\5", "\1", "\x88"))}},
	{"a reset ends the call when the server sends it, and gives it up when the client does",
	 "10 CALL 1 GET:/\n11 CALL 2 GET:/\n30 RET 2\n",
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\2", "\5", "\1", "\x82\x84")),
		   C(11, HEADERS("\2", "\5", "\3", "\x82\x84")), S(15, SETTINGS),
		   C(20, "\0\0\4\3\0\0\0\0\1\0\0\0\x08"), S(30, "\0\0\4\3\0\0\0\0\3\0\0\0\2")}},
	{"a hole in the middle: calls go on without names",
	 "10 CALL 1 GET:/\n20 RET 1\n40 CALL 2\n50 RET 2\n", .whole = true,
	 .steps = {C(10, PREFACE SETTINGS HEADERS("\2", "\5", "\1", "\x82\x84")),
		   S(20, SETTINGS HEADERS("\1", "\5", "\1", "\x88")), C_HOLE(30, 100),
		   C(40, HEADERS("\2", "\5", "\5", "\x82\xbe")),
		   S(50, HEADERS("\1", "\5", "\5", "\x88"))}},
	{"the middle of a connection", "40 CALL 1\n50 RET 1\n", .unsure = true, .whole = true,
	 .steps = {C(40, HEADERS("\2", "\5", "\5", "\x82\xbe")),
		   S(50, HEADERS("\1", "\5", "\5", "\x88"))}},
	{"the middle, the ends mixed up", "40 CALL 1\n50 RET 1\n", .unsure = true, .whole = true,
	 .steps = {S(40, HEADERS("\2", "\5", "\5", "\x82\xbe")),
		   C(50, HEADERS("\1", "\5", "\5", "\x88"))}},
};

#define KAFKA(n, api, version, id, rest)                                                           \
	"\0\0\0" n "\0" api "\0" version "\0\0\0" id "\0\5probe" rest

static const struct talk kafka[] = {
	{"the correlation pairs", "10 CALL 1 Metadata\n11 CALL 2 Fetch\n20 RET 2\n30 RET 1\n",
	 .steps = {C(10, KAFKA("\x13", "\3", "\1", "\1", "\0\0\0\0")),
		   C(11, KAFKA("\x13", "\1", "\1", "\2", "\0\0\0\0")),
		   S(20, "\0\0\0\x08\0\0\0\2okok"), S(30, "\0\0\0\x08\0\0\0\1okok")}},
	{"producing without acknowledgement is no call", "11 CALL 1 Metadata\n30 RET 1\n",
	 .port = 9092,
	 .steps = {C(10, KAFKA("\x15", "\0", "\2", "\1",
			       "\0\0"
			       "\0\0\0\x64")),
		   C(11, KAFKA("\x13", "\3", "\1", "\2", "\0\0\0\0")),
		   S(30, "\0\0\0\x08\0\0\0\2okok")}},
	{"with one it is, in the older and the newer form",
	 "10 CALL 1 Produce\n20 RET 1\n30 CALL 2 Produce\n40 RET 2\n", .port = 9092,
	 .steps = {C(10, KAFKA("\x17", "\0", "\3", "\1",
			       "\xff\xff"
			       "\xff\xff"
			       "\0\0\0\x64")),
		   S(20, "\0\0\0\x08\0\0\0\1okok"),
		   C(30, KAFKA("\x17", "\0", "\x09", "\2",
			       "\0"
			       "\0"
			       "\0\1"
			       "\0\0\0\x64")),
		   S(40, "\0\0\0\x08\0\0\0\2okok")}},
};

static const struct talk thrift[] = {
	{"binary, by sequence", "10 CALL 1 add\n11 CALL 2 add\n20 RET 2\n30 RET 1\n",
	 .steps = {C(10, "\0\0\0\x10\x80\1\0\1\0\0\0\3add\0\0\0\1\0"),
		   C(11, "\0\0\0\x10\x80\1\0\1\0\0\0\3add\0\0\0\2\0"),
		   S(20, "\0\0\0\x10\x80\1\0\2\0\0\0\3add\0\0\0\2\0"),
		   S(30, "\0\0\0\x10\x80\1\0\3\0\0\0\3add\0\0\0\1\0")}},
	{"a constant sequence is answered in order",
	 "10 CALL 1 add\n11 CALL 2 sub\n20 RET 1\n30 RET 2\n",
	 .steps = {C(10, "\0\0\0\x10\x80\1\0\1\0\0\0\3add\0\0\0\0\0"),
		   C(11, "\0\0\0\x10\x80\1\0\1\0\0\0\3sub\0\0\0\0\0"),
		   S(20, "\0\0\0\x10\x80\1\0\2\0\0\0\3add\0\0\0\0\0"),
		   S(30, "\0\0\0\x10\x80\1\0\2\0\0\0\3sub\0\0\0\0\0")}},
	{"compact; one way is no call", "11 CALL 1 add\n20 RET 1\n",
	 .steps = {C(10, "\0\0\0\x08\x82\x81\1\3zip\0"),
		   C(11, "\0\0\0\x08\x82\x21\2\3"
			 "add\0"),
		   S(20, "\0\0\0\x08\x82\x41\2\3"
			 "add\0")}},
	{"without frames an answer ends when the client speaks again",
	 "10 CALL 1 add\n25 RET 1\n30 CALL 2 sub\n40 RET 2\n", .whole = true,
	 .steps = {C(10, "\x80\1\0\1\0\0\0\3add\0\0\0\1\0"),
		   S(20, "\x80\1\0\2\0\0\0\3add\0\0\0\1\0"), S(25, "the rest"),
		   C(30, "\x80\1\0\1\0\0\0\3sub\0\0\0\2\0"),
		   S(40, "\x80\1\0\2\0\0\0\3sub\0\0\0\2\0"), C_CLOSES(50), S_CLOSES(50)}},
};

#define DNS_QUERY(id)                                                                              \
	"\0\x1d" id "\1\0\0\1\0\0\0\0\0\0"                                                         \
	"\7example\3com\0\0\1\0\1"
#define DNS_ANSWER(id)                                                                             \
	"\0\x1d" id "\x81\x80\0\1\0\0\0\0\0\0"                                                     \
	"\7eXample\3com\0\0\1\0\1"

static const struct talk others[] = {
	{"DNS over TCP pairs by id and name", "10 CALL 1 A\n10 CALL 2 A\n20 RET 2\n30 RET 1\n",
	 .port = 53, .whole = true,
	 .steps = {C(10, DNS_QUERY("\1\1") DNS_QUERY("\1\2")), S(20, DNS_ANSWER("\1\2")),
		   S(30, DNS_ANSWER("\1\1"))}},
	{"nobody knows it: changes of direction", "10 CALL 1\n30 RET 1\n40 CALL 2\n50 RET 2\n",
	 .whole = true,
	 .steps = {C(10, "@@ who are you? @@ what is this? @@"), C(12, "more"),
		   S(20, "I am ------------------------------"), S(30, "the rest"),
		   C(40, "@@ again @@ -------------------------"),
		   S(50, "yes, again ---------------------"), C_CLOSES(60), S_CLOSES(60)}},
	{"an answer ends when nothing more comes", "10 CALL 1\n20 RET 1\n5000 CALL 2\n",
	 .whole = true,
	 .steps = {C(10, "@@ who are you? @@ what is this? @@"),
		   S(20, "I am ------------------------------"),
		   C(5000, "@@ again @@ -------------------------")}},
	{"the handshake of TLS is no call", "60 CALL 1\n70 RET 1\n", .whole = true,
	 .steps = {C(10, "\x16\3\1\0\6\1\0\0\2\3\3"),
		   S(20, "\x16\3\3\0\6\2\0\0\2\3\3"
			 "\x17\3\3\0\x20"
			 "0123456789abcdef0123456789abcdef"),
		   C(30, "\x14\3\3\0\1\1"
			 "\x17\3\3\0\x20"
			 "0123456789abcdef0123456789abcdef"),
		   C(60, "\x17\3\3\0\x10"
			 "0123456789abcdef"),
		   S(70, "\x17\3\3\0\x10"
			 "0123456789abcdef"),
		   C_CLOSES(80), S_CLOSES(80)}},
};

#define TEST(name)                                                                                 \
	static void name##_conversations_give_their_messages(void **state)                         \
	{                                                                                          \
		talk_all(name, ARRAY_SIZE(name));                                                  \
	}

TEST(http2)
TEST(kafka)
TEST(thrift)
TEST(others)

#undef TEST

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http2_conversations_give_their_messages),
		cmocka_unit_test(kafka_conversations_give_their_messages),
		cmocka_unit_test(thrift_conversations_give_their_messages),
		cmocka_unit_test(others_conversations_give_their_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
