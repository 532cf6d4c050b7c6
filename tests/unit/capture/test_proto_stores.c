/* Databases and caches: Redis, PostgreSQL, MySQL, memcached, MongoDB. */
#include "talk.h"

static const struct talk redis[] = {
	{"a command and its answer", "10 CALL 1 GET\n20 RET 1\n",
	 .steps = {C(10, "*2\r\n$3\r\nget\r\n$1\r\nk\r\n"), S(20, "$5\r\nhello\r\n")}},
	{"a pipeline is answered in order", "10 CALL 1 INCR\n10 CALL 2 INCR\n20 RET 1\n30 RET 2\n",
	 .steps = {C(10, "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"),
		   S(20, ":1\r\n"), S(30, ":2\r\n")}},
	{"nested answers end with their last element", "10 CALL 1 EXEC\n30 RET 1\n",
	 .steps = {C(10, "*1\r\n$4\r\nEXEC\r\n"), S(20, "*3\r\n:1\r\n*2\r\n$1\r\na\r\n"),
		   S(30, "*0\r\n$-1\r\n")}},
	{"an answer may be an error or nothing at all",
	 "10 CALL 1 FOO\n20 RET 1\n30 CALL 2 GET\n40 RET 2\n50 CALL 3 BLPOP\n60 RET 3\n",
	 .steps = {C(10, "*1\r\n$3\r\nFOO\r\n"), S(20, "-ERR unknown command\r\n"),
		   C(30, "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n"), S(40, "$-1\r\n"),
		   C(50, "*3\r\n$5\r\nBLPOP\r\n$1\r\nx\r\n$1\r\n1\r\n"), S(60, "*-1\r\n")}},
	{"RESP3: maps, attributes, booleans, and a push between",
	 "10 CALL 1 HELLO\n20 RET 1\n30 CALL 2 GET\n50 RET 2\n",
	 .steps = {C(10, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"),
		   S(20, "%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n"),
		   C(30, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"),
		   S(40, ">2\r\n+invalidate\r\n*1\r\n$1\r\nz\r\n"),
		   S(50, "|1\r\n+ttl\r\n:9\r\n#t\r\n")}},
	{"what is published ends no call",
	 "10 CALL 1 SUBSCRIBE\n20 RET 1\n50 CALL 2 PING\n60 RET 2\n",
	 .steps =
		 {C(10, "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n"),
		  S(20, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"),
		  S(30, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\none\r\n"),
		  C(50, "*1\r\n$4\r\nPING\r\n"),
		  S(60,
		    "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\ntwo\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n")},
	 .whole = true},
	{"a line is a command, too", "10 CALL 1 PING\n20 RET 1\n", .port = 6379,
	 .steps = {C(10, "PING\r\n"), S(20, "+PONG\r\n")}},
	{"a long value is passed over, hole and all",
	 "10 CALL 1 GET\n40 RET 1\n50 CALL 2 GET\n60 RET 2\n",
	 .steps = {C(10, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), S(20, "$100\r\nxxxxxxxxxx"),
		   S_HOLE(30, 80), S(40, "xxxxxxxxxx\r\n"), C(50, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"),
		   S(60, "$1\r\nz\r\n")}},
	{"after a lost answer the next one belongs to the next call",
	 "10 CALL 1 GET\n30 CALL 2 GET\n40 RET 2\n", .whole = true,
	 .steps = {C(10, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), S_HOLE(20, 11),
		   C(30, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"), S(40, "$1\r\nz\r\n")}},
};

#define STARTUP "\0\0\0\x17\0\3\0\0user\0postgres\0\0"
#define QUERY(n)                                                                                   \
	"Q\0\0\0\x0d"                                                                              \
	"SELECT " #n "\0"
#define READY "Z\0\0\0\5I"
#define DONE  "C\0\0\0\x0dSELECT 1\0"

static const struct talk postgres[] = {
	{"connecting is no call, a query is one", "30 CALL 1 SELECT\n50 RET 1\n",
	 .steps = {C(10, STARTUP), S(20, "R\0\0\0\x08\0\0\0\0" READY), C(30, QUERY(1)), S(40, DONE),
		   S(50, READY)}},
	{"SSL may be refused", "30 CALL 1 SELECT\n50 RET 1\n",
	 .steps = {C(1, "\0\0\0\x08\x04\xd2\x16\x2f"), S(2, "N"), C(10, STARTUP),
		   S(20, "R\0\0\0\x08\0\0\0\0" READY), C(30, QUERY(1)), S(50, DONE READY)}},
	{"Parse to Sync is one call", "30 CALL 1 SELECT\n50 RET 1\n60 CALL 2 SELECT\n70 RET 2\n",
	 .steps = {C(10, STARTUP), S(20, "R\0\0\0\x08\0\0\0\0" READY),
		   C(30, "P\0\0\0\x12s\0select $1\0\0\0"
			 "B\0\0\0\x0d\0s\0\0\0\0\0\0\0"
			 "E\0\0\0\x09\0\0\0\0\0"),
		   C(40, "S\0\0\0\4"),
		   S(50, "1\0\0\0\4"
			 "2\0\0\0\4" DONE READY),
		   C(60, "B\0\0\0\x0d\0s\0\0\0\0\0\0\0"
			 "E\0\0\0\x09\0\0\0\0\0"
			 "S\0\0\0\4"),
		   S(70, "2\0\0\0\4" DONE READY)}},
	{"pipelined batches are answered in order",
	 "30 CALL 1 SELECT\n30 CALL 2 SELECT\n40 RET 1\n50 RET 2\n",
	 .steps = {C(10, STARTUP), S(20, READY), C(30, QUERY(1) QUERY(2)), S(40, DONE READY),
		   S(50, DONE READY)}},
	{"notices and parameters are no answer's beginning", "30 CALL 1 UPDATE\n60 RET 1\n",
	 .steps = {C(10, STARTUP), S(20, READY), C(30, "Q\0\0\0\x0bupdate\0"),
		   S(40, "N\0\0\0\x06xx"), S(60, "C\0\0\0\x0dUPDATE 1\0" READY)}},
	{"the middle of a connection", "30 CALL 1 SELECT\n50 RET 1\n", .unsure = true,
	 .whole = true, .steps = {C(30, QUERY(1)), S(50, DONE READY)}},
	{"a hole in the rows", "30 CALL 1 SELECT\n60 RET 1\n70 CALL 2 SELECT\n80 RET 2\n",
	 .unsure = true, .port = 5432, .whole = true,
	 .steps = {C(30, QUERY(1)),
		   S(40, "D\0\0\0\x0a"
			 "\0\1xxxx"),
		   S_HOLE(50, 1000), S(60, DONE READY), C(70, QUERY(2)), S(80, DONE READY)}},
	{"TLS is not looked into", "40 CALL 1\n50 RET 1\n", .whole = true,
	 .steps =
		 {C(1, "\0\0\0\x08\x04\xd2\x16\x2f"), S(2, "S"), C(10, "\x16\3\1\0\6\1\0\0\2\3\3"),
		  S(20, "\x16\3\3\0\6\2\0\0\2\3\3"), C(30, "\x14\3\3\0\1\1"),
		  C(40,
		    "\x17\3\3\0\x60"
		    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
		  S(50, "\x17\3\3\0\5hello"), C_CLOSES(60), S_CLOSES(60)}},
};

#define GREETING                                                                                   \
	"\x4b\0\0\0\x0a"                                                                           \
	"5.5.5-10.11.6-MariaDB\0"                                                                  \
	"\1\0\0\0"                                                                                 \
	"12345678\0"                                                                               \
	"\xff\xf7\x08\2\0\xff\x81\x15"                                                             \
	"0123456789"                                                                               \
	"123456789012\0"                                                                           \
	"mysql_na"
/* capabilities: 4.1 (0x200), secure connection (0x8000); the second also without EOF (bit 24) */
#define LOGIN                                                                                      \
	"\x24\0\0\1"                                                                               \
	"\0\x82\0\0"                                                                               \
	"\0\0\0\1"                                                                                 \
	"\x21"                                                                                     \
	"00000000000000000000000"                                                                  \
	"usr\0"
#define LOGIN_EOF                                                                                  \
	"\x24\0\0\1"                                                                               \
	"\0\x82\0\1"                                                                               \
	"\0\0\0\1"                                                                                 \
	"\x21"                                                                                     \
	"00000000000000000000000"                                                                  \
	"usr\0"
#define MY_OK     "\7\0\0\1\0\0\0\2\0\0\0"
#define SELECT    "\x09\0\0\0\3SELECT 1"
#define COLUMN    "\4\0\0\2\3def"
#define EOF_(seq) "\5\0\0" seq "\xfe\0\0\2\0"

static const struct talk mysql[] = {
	{"logging in is no call, a query is one",
	 "40 CALL 1 SELECT\n60 RET 1\n70 CALL 2 SELECT\n80 RET 2\n",
	 .steps = {S(10, GREETING), C(20, LOGIN), S(30, "\7\0\0\2\0\0\0\2\0\0\0"), C(40, SELECT),
		   S(50, "\1\0\0\1\1" COLUMN EOF_("\3")),
		   S(60, "\2\0\0\4\1"
			 "1" EOF_("\5")),
		   C(70, SELECT),
		   S(80, "\7\0\0\1\xff"
			 "123456")}},
	{"without EOFs", "40 CALL 1 SELECT\n60 RET 1\n",
	 .steps = {S(10, GREETING), C(20, LOGIN_EOF), S(30, "\7\0\0\2\0\0\0\2\0\0\0"),
		   C(40, SELECT), S(50, "\1\0\0\1\1" COLUMN),
		   S(60, "\2\0\0\3\1"
			 "1"
			 "\7\0\0\4\xfe\0\0\2\0\0\0")}},
	{"more results follow", "40 CALL 1 SELECT\n60 RET 1\n",
	 .steps = {S(10, GREETING), C(20, LOGIN), S(30, "\7\0\0\2\0\0\0\2\0\0\0"), C(40, SELECT),
		   S(50, "\1\0\0\1\1" COLUMN EOF_("\3") "\2\0\0\4\1"
							"1"
							"\5\0\0\5\xfe\0\0\x0a\0"),
		   S(60, "\7\0\0\6\0\0\0\2\0\0\0")}},
	{"preparing is answered by definitions",
	 "40 CALL 1 PREPARE\n60 RET 1\n70 CALL 2 EXECUTE\n80 RET 2\n",
	 .steps = {S(10, GREETING), C(20, LOGIN), S(30, "\7\0\0\2\0\0\0\2\0\0\0"),
		   C(40, "\x09\0\0\0\x16SELECT ?"),
		   S(50, "\x0c\0\0\1\0\1\0\0\0\1\0\1\0\0\0\0" COLUMN EOF_("\3")),
		   S(60, COLUMN EOF_("\5")), C(70, "\x0a\0\0\0\x17\1\0\0\0\0\1\0\0\0"),
		   S(80, MY_OK)}},
	{"closing a statement has no answer",
	 "40 CALL 1 PING\n50 RET 1\n70 CALL 2 PING\n80 RET 2\n",
	 .steps = {S(10, GREETING), C(20, LOGIN), S(30, "\7\0\0\2\0\0\0\2\0\0\0"),
		   C(40, "\1\0\0\0\x0e"), S(50, MY_OK), C(60, "\5\0\0\0\x19\1\0\0\0"),
		   C(70, "\1\0\0\0\x0e"), S(80, MY_OK)}},
	{"in the middle an answer ends before the next command, or by silence",
	 "40 CALL 1 SELECT\n60 RET 1\n70 CALL 2 SELECT\n80 RET 2\n", .unsure = true, .port = 3306,
	 .whole = true,
	 .steps = {C(40, "\x0e\0\0\0\3SELECT 1 + 11"), S(50, "\1\0\0\1\1" COLUMN),
		   S(60, "\2\0\0\4\1"
			 "1"),
		   C(70, "\x0e\0\0\0\3SELECT 1 + 11"), S(80, MY_OK)}},
};

static const struct talk memcached[] = {
	{"get and set",
	 "10 CALL 1 set\n20 RET 1\n30 CALL 2 get\n50 RET 2\n60 CALL 3 get\n70 RET 3\n",
	 .steps = {C(10, "set k 0 0 5\r\nhello\r\n"), S(20, "STORED\r\n"), C(30, "get k x\r\n"),
		   S(40, "VALUE k 0 5\r\nhello\r\n"), S(50, "END\r\n"), C(60, "get z\r\n"),
		   S(70, "END\r\n")}},
	{"noreply is no call", "10 CALL 1 get\n20 RET 1\n",
	 .steps = {C(10, "set k 0 0 1 noreply\r\nx\r\nget k\r\n"),
		   S(20, "VALUE k 0 1\r\nx\r\nEND\r\n")}},
	{"a value that looks like an answer is not one", "10 CALL 1 get\n30 RET 1\n", .port = 11211,
	 .steps = {C(10, "get k\r\n"), S(20, "VALUE k 0 5\r\nEND\r\n\r\n"), S(30, "END\r\n")}},
	{"counting", "10 CALL 1 incr\n20 RET 1\n30 CALL 2 incr\n40 RET 2\n", .port = 11211,
	 .steps = {C(10, "incr n 1\r\n"), S(20, "5\r\n"), C(30, "incr x 1\r\n"),
		   S(40, "NOT_FOUND\r\n")}},
	{"meta commands, the quiet ones silent until mn",
	 "10 CALL 1 ms\n20 RET 1\n30 CALL 2 mg\n40 RET 2\n50 CALL 3 mn\n70 RET 3\n",
	 .steps = {C(10, "ms k 5 T0\r\nhello\r\n"), S(20, "HD\r\n"), C(30, "mg k v\r\n"),
		   S(40, "VA 5\r\nhello\r\n"), C(50, "mg k v q\r\nmg z v q\r\nmn\r\n"),
		   S(60, "VA 5\r\nhello\r\n"), S(70, "MN\r\n")}},
};

#define BIN(magic, op, key, extras, body, opaque)                                                  \
	magic op "\0" key extras "\0\0\0"                                                          \
		 "\0\0\0" body "\0\0\0" opaque "\0\0\0\0\0\0\0\0"

static const struct talk memcached_binary[] = {
	{"the opaque pairs", "10 CALL 1 get\n10 CALL 2 get\n20 RET 2\n30 RET 1\n", .port = 11211,
	 .steps = {C(10, BIN("\x80", "\0", "\1", "\0", "\1", "\7") "k" BIN("\x80", "\0", "\1", "\0",
									   "\1", "\x08") "j"),
		   S(20, BIN("\x81", "\0", "\0", "\4", "\5", "\x08") "\0\0\0\0z"),
		   S(30, BIN("\x81", "\0", "\0", "\4", "\5", "\7") "\0\0\0\0y")}},
	{"quiet gets are no calls", "10 CALL 1 noop\n30 RET 1\n", .port = 11211,
	 .steps = {C(10, BIN("\x80", "\x09", "\1", "\0", "\1", "\1") "k" BIN("\x80", "\x0a", "\0",
									     "\0", "\0", "\2")),
		   S(20, BIN("\x81", "\x09", "\0", "\4", "\5", "\1") "\0\0\0\0z"),
		   S(30, BIN("\x81", "\x0a", "\0", "\0", "\0", "\2"))}},
};

#define FIND(id)                                                                                   \
	"\x26\0\0\0" id "\0\0\0"                                                                   \
	"\0\0\0\0"                                                                                 \
	"\xdd\7\0\0"                                                                               \
	"\0\0\0\0"                                                                                 \
	"\0"                                                                                       \
	"\x11\0\0\0"                                                                               \
	"\2find\0"                                                                                 \
	"\2\0\0\0c\0"                                                                              \
	"\0"
#define FOUND(id, to)                                                                              \
	"\x1a\0\0\0" id "\0\0\0" to "\0\0\0"                                                       \
	"\xdd\7\0\0"                                                                               \
	"\0\0\0\0"                                                                                 \
	"\0"                                                                                       \
	"\5\0\0\0\0"

static const struct talk mongodb[] = {
	{"an answer names its request", "10 CALL 1 find\n12 CALL 2 find\n20 RET 2\n30 RET 1\n",
	 .steps = {C(10, FIND("\1")), C(12, FIND("\2")), S(20, FOUND("\x65", "\2")),
		   S(30, FOUND("\x66", "\1"))}},
	{"moreToCome wants no answer", "20 CALL 1 find\n30 RET 1\n",
	 .steps = {C(10, "\x26\0\0\0"
			 "\1\0\0\0"
			 "\0\0\0\0"
			 "\xdd\7\0\0"
			 "\2\0\0\0"
			 "\0"
			 "\x11\0\0\0"
			 "\2find\0"
			 "\2\0\0\0c\0"
			 "\0"),
		   C(20, FIND("\2")), S(30, FOUND("\x65", "\2"))}},
	{"the old way", "10 CALL 1 isMaster\n20 RET 1\n",
	 .steps = {C(10, "\x3a\0\0\0"
			 "\1\0\0\0"
			 "\0\0\0\0"
			 "\xd4\7\0\0"
			 "\0\0\0\0"
			 "admin.$cmd\0"
			 "\0\0\0\0"
			 "\xff\xff\xff\xff"
			 "\x13\0\0\0"
			 "\x10isMaster\0\1\0\0\0\0"),
		   S(20, "\x24\0\0\0"
			 "\5\0\0\0"
			 "\1\0\0\0"
			 "\1\0\0\0"
			 "12345678901234567890")}},
};

#define TEST(name)                                                                                 \
	static void name##_conversations_give_their_messages(void **state)                         \
	{                                                                                          \
		talk_all(name, ARRAY_SIZE(name));                                                  \
	}

TEST(redis)
TEST(postgres)
TEST(mysql)
TEST(memcached)
TEST(memcached_binary)
TEST(mongodb)

#undef TEST

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redis_conversations_give_their_messages),
		cmocka_unit_test(postgres_conversations_give_their_messages),
		cmocka_unit_test(mysql_conversations_give_their_messages),
		cmocka_unit_test(memcached_conversations_give_their_messages),
		cmocka_unit_test(memcached_binary_conversations_give_their_messages),
		cmocka_unit_test(mongodb_conversations_give_their_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
