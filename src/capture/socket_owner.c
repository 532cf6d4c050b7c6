/* capture/socket_owner.c - which program on this host has a port. */
#include "capture/socket_owner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define LISTEN     0x0a
#define NAME_BYTES 32
#define NO_PROCESS UINT32_MAX

struct owned_socket {
	struct ip_address address;
	uint64_t inode;
	uint16_t port;
	bool listens;
	uint32_t process; /* index, or NO_PROCESS */
};

struct process {
	int pid, parent;
	uint16_t port; /* the lowest it listens on; 0: none */
	char command[NAME_BYTES];
};

struct socket_owners {
	char *proc;
	struct owned_socket *sockets; /* by inode while owners are looked for, then by port */
	size_t socket_n, socket_capacity;
	struct process *processes;
	size_t process_n, process_capacity;
	int64_t read_ns;
	char name[NAME_BYTES + 8];
};

int socket_owners_new(const char *proc, struct socket_owners **ret_owners)
{
	struct socket_owners *o = calloc(1, sizeof(*o));

	if (!o || !(o->proc = strdup(proc))) {
		free(o);
		return -ENOMEM;
	}
	o->read_ns = INT64_MIN;
	*ret_owners = o;
	return 0;
}

struct socket_owners *socket_owners_free(struct socket_owners *o)
{
	if (!o)
		return NULL;
	free(o->proc);
	free(o->sockets);
	free(o->processes);
	free(o);
	return NULL;
}

/* "0100007F:1F90", or 32 digits: words of the kernel's byte order. */
static bool parse_endpoint(const char *text, struct ip_address *address, uint16_t *port)
{
	size_t digits = strspn(text, "0123456789ABCDEFabcdef");
	uint32_t words[4] = {0, 0, 0, 0};
	unsigned p;

	if ((digits != 8 && digits != 32) || sscanf(text + digits, ":%4x", &p) != 1)
		return false;
	for (size_t i = 0; i < digits / 8; i++)
		if (sscanf(text + 8 * i, "%8" SCNx32, &words[i]) != 1)
			return false;
	if (digits == 8) {
		words[3] = words[0];
		words[0] = 0;
		memcpy(&words[2], "\0\0\xff\xff", 4);
	}
	memcpy(address, words, sizeof(*address));
	*port = (uint16_t)p;
	return true;
}

static int read_table(struct socket_owners *o, const char *name)
{
	char path[300], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/net/%s", o->proc, name);
	f = fopen(path, "re");
	if (!f)
		return 0; /* no IPv6, or no right to look */
	while (o->socket_n < OWNER_MAX_SOCKETS && fgets(line, sizeof(line), f)) {
		struct owned_socket s = {.process = NO_PROCESS};
		char local[80];
		unsigned state;

		/* sl local remote state tx:rx tr:when retransmits uid timeout inode */
		if (sscanf(line, "%*d: %79s %*s %x %*s %*s %*s %*u %*u %" SCNu64, local, &state,
			   &s.inode) != 3 ||
		    s.inode == 0 || !parse_endpoint(local, &s.address, &s.port))
			continue;
		s.listens = state == LISTEN;
		if (!vec_reserve(&o->sockets, &o->socket_capacity, o->socket_n + 1, sizeof(s))) {
			fclose(f);
			return -ENOMEM;
		}
		o->sockets[o->socket_n++] = s;
	}
	fclose(f);
	return 0;
}

static int by_inode(const void *left, const void *right)
{
	const struct owned_socket *a = left, *b = right;

	return (a->inode > b->inode) - (a->inode < b->inode);
}

static struct owned_socket *find_inode(struct socket_owners *o, uint64_t inode)
{
	struct owned_socket key = {.inode = inode};

	return o->socket_n ? bsearch(&key, o->sockets, o->socket_n, sizeof(key), by_inode) : NULL;
}

/* Command and parent, from "pid (command) state parent …". */
static bool read_stat(const char *proc, int pid, struct process *p)
{
	char path[300], text[512], *open, *close;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open || sscanf(close + 1, " %*c %d", &p->parent) != 1)
		return false;
	n = MIN((size_t)(close - open - 1), sizeof(p->command) - 1);
	for (size_t i = 0; i < n; i++) {
		char ch = open[1 + i];

		p->command[i] = (char)(isgraph((unsigned char)ch) && ch != ':' ? ch : '_');
	}
	p->command[n] = 0;
	p->pid = pid;
	return true;
}

static void take_sockets(struct socket_owners *o, struct process *p, uint32_t index, DIR *fds)
{
	struct dirent *entry;

	for (int i = 0; i < OWNER_MAX_FDS && (entry = readdir(fds)); i++) {
		struct owned_socket *s;
		char target[64];
		uint64_t inode;
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) != 1)
			continue;
		s = find_inode(o, inode);
		if (!s)
			continue;
		if (s->listens && (p->port == 0 || s->port < p->port))
			p->port = s->port;
		/* The oldest process that holds it: children inherit. */
		if (s->process == NO_PROCESS)
			s->process = index;
	}
}

static int read_process(struct socket_owners *o, int pid)
{
	struct process p = {0};
	char path[300];
	DIR *fds;

	snprintf(path, sizeof(path), "%s/%d/fd", o->proc, pid);
	fds = opendir(path);
	if (!fds)
		return 0; /* gone, or not ours to look at */
	if (read_stat(o->proc, pid, &p)) {
		if (!vec_reserve(&o->processes, &o->process_capacity, o->process_n + 1,
				 sizeof(p))) {
			closedir(fds);
			return -ENOMEM;
		}
		take_sockets(o, &p, (uint32_t)o->process_n, fds);
		o->processes[o->process_n++] = p;
	}
	closedir(fds);
	return 0;
}

static int read_all(struct socket_owners *o)
{
	struct dirent *entry;
	DIR *dir;
	int r;

	o->socket_n = o->process_n = 0;
	r = read_table(o, "tcp");
	if (r == 0)
		r = read_table(o, "tcp6");
	if (r < 0)
		return r;
	if (o->socket_n)
		qsort(o->sockets, o->socket_n, sizeof(*o->sockets), by_inode);
	dir = opendir(o->proc);
	while (dir && r == 0 && o->process_n < OWNER_MAX_PROCESSES && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = read_process(o, atoi(entry->d_name));
	if (dir)
		closedir(dir);
	return r;
}

static const struct process *find_pid(const struct socket_owners *o, int pid)
{
	for (size_t i = 0; i < o->process_n; i++)
		if (o->processes[i].pid == pid)
			return &o->processes[i];
	return NULL;
}

static bool is_any(struct ip_address a)
{
	struct ip_address v4 = {0, 0};

	memcpy((char *)&v4 + 10, "\xff\xff", 2);
	return (a.high == 0 && a.low == 0) || ip_equal(a, v4);
}

/* The socket with this very endpoint, else one that listens on the port of any address. */
static const struct owned_socket *find_socket(const struct socket_owners *o,
					      struct ip_address address, uint16_t port)
{
	const struct owned_socket *found = NULL;

	for (size_t i = 0; i < o->socket_n; i++) {
		const struct owned_socket *s = &o->sockets[i];

		if (s->port != port || s->process == NO_PROCESS)
			continue;
		if (s->listens && (ip_equal(s->address, address) || is_any(s->address)))
			return s;
		if (ip_equal(s->address, address))
			found = s;
	}
	return found;
}

static struct slice name_of(struct socket_owners *o, const struct owned_socket *s)
{
	const struct process *p = &o->processes[s->process];
	const struct process *parent = p->port ? NULL : find_pid(o, p->parent);
	int n;

	if (parent && parent->port && strcmp(parent->command, p->command) == 0)
		p = parent;
	if (s->listens)
		n = snprintf(o->name, sizeof(o->name), "%s:%u", p->command, s->port);
	else if (p->port)
		n = snprintf(o->name, sizeof(o->name), "%s:%u", p->command, p->port);
	else
		n = snprintf(o->name, sizeof(o->name), "%s", p->command);
	return slice_of(o->name, (size_t)n);
}

struct slice socket_owner(struct socket_owners *o, struct ip_address address, uint16_t port,
			  int64_t now_ns)
{
	const struct owned_socket *s = find_socket(o, address, port);

	if (!s && (o->read_ns == INT64_MIN || now_ns - o->read_ns >= OWNER_REFRESH_NS)) {
		o->read_ns = now_ns;
		if (read_all(o) < 0)
			return slice_of(NULL, 0);
		s = find_socket(o, address, port);
	}
	return s ? name_of(o, s) : slice_of(NULL, 0);
}
