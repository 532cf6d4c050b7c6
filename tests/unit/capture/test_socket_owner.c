/* Which program has a port, by a /proc made for the purpose. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/socket_owner.h"
#include "t.h"

static char proc[] = "/tmp/causet-proc-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void folder(const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void process(int pid, int parent, const char *command, int first_fd, const int *inodes)
{
	char name[100], text[200], target[100], path[300];

	snprintf(name, sizeof(name), "%d", pid);
	folder(name);
	snprintf(name, sizeof(name), "%d/fd", pid);
	folder(name);
	snprintf(name, sizeof(name), "%d/stat", pid);
	snprintf(text, sizeof(text), "%d (%s) S %d 1 1 0", pid, command, parent);
	put(name, text);
	for (int i = 0; inodes[i]; i++) {
		snprintf(path, sizeof(path), "%s/%d/fd/%d", proc, pid, first_fd + i);
		snprintf(target, sizeof(target), "socket:[%d]", inodes[i]);
		assert_int_equal(symlink(target, path), 0);
	}
}

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

static int make(void **state)
{
	assert_non_null(mkdtemp(proc));
	folder("net");
	/* nginx listens on any:80 (0050) and its worker calls from 127.0.0.1:40000 (9C40). */
	put("net/tcp", HEAD
	    "   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0\n"
	    "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0\n"
	    "   2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0\n"
	    "   3: 0100007F:C350 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0\n"
	    "   4: 0100007F:C351 0100007F:0050 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
	    "nonsense\n");
	put("net/tcp6", HEAD
	    "   0: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 15 1 0 100 0\n");
	process(100, 1, "nginx", 3, (int[]){11, 0});
	process(101, 100, "nginx", 3, (int[]){12, 0});
	process(200, 1, "my app: (x)", 3, (int[]){13, 15, 0});
	process(300, 1, "curl", 3, (int[]){14, 0});
	return 0;
}

static int unmake(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r '%s'", proc);
	return system(command);
}

static void programs_are_called_after_their_command_and_port(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		const char *name;
	} rows[] = {
		{"127.0.0.1", 80, "nginx:80"},
		{"10.0.0.7", 80, "nginx:80"},     /* it listens on any address */
		{"127.0.0.1", 40000, "nginx:80"}, /* a worker counts as its parent */
		{"127.0.0.1", 8080, "my_app__(x):8080"},
		{"::1", 8081, "my_app__(x):8081"},
		{"127.0.0.1", 50000, "curl"},
		{"127.0.0.1", 50001, ""},
		{"10.0.0.7", 8080, ""},
	};
	struct socket_owners *o;
	struct ip_address a;

	assert_int_equal(socket_owners_new(proc, &o), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ip_parse(rows[i].address, &a), 0);
		assert_text(socket_owner(o, a, rows[i].port, 1), rows[i].name);
	}
	socket_owners_free(o);
}

static void what_is_not_found_is_looked_for_again_after_a_while(void **state)
{
	struct socket_owners *o;
	struct ip_address a;

	assert_int_equal(socket_owners_new(proc, &o), 0);
	assert_int_equal(ip_parse("127.0.0.1", &a), 0);
	assert_int_equal(socket_owner(o, a, 9999, 1000).n, 0);
	put("net/tcp", HEAD
	    "   0: 0100007F:270F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0\n");
	assert_int_equal(socket_owner(o, a, 9999, 2000).n, 0);
	assert_text(socket_owner(o, a, 9999, 1000 + OWNER_REFRESH_NS), "curl:9999");
	socket_owners_free(o);
	assert_int_equal(socket_owners_new("/nowhere", &o), 0);
	assert_int_equal(socket_owner(o, a, 9999, 1).n, 0);
	socket_owners_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_called_after_their_command_and_port),
		cmocka_unit_test(what_is_not_found_is_looked_for_again_after_a_while),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
