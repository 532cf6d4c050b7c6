/* bench/demo_plan.h - what the made-up shop consists of: services, operations, and kinds of
 * requests.
 *
 * Plain tables; bench/demo.c plays them.  Attributes are written as "key=value|key=value"; a value
 * that begins with # is an integer, with ? a boolean, anything else a string, in which
 *
 *   %r  the request's own UUID        %s  the session's UUID            %o  a fresh UUID
 *   %p  the path, with its arguments  %m  the method                    %a  the user agent
 *   %e  a port of a connection pool   %z  a size around the path's own  %c  the cluster it goes to
 *   %i  a product's id                %n  the same product's name       %d  a small number
 *   %t  a status, nearly always 200   %b  bytes of a message            %u  a currency
 *   %h  the host that was asked for   %v  the end of a client's address %f  flags of an answer */
#ifndef CAUSET_BENCH_DEMO_PLAN_H
#define CAUSET_BENCH_DEMO_PLAN_H

#include <stddef.h>

#define DEMO_POINTS_MOST 8
#define DEMO_NODES_MOST  64

struct demo_service {
	const char *name, *language, *version;
	double export_s; /* between its exports */
};

struct demo_point {
	const char *name, *attributes;
};

struct demo_operation {
	unsigned char service;
	signed char kind;
	unsigned short flags;
	const char *name, *scope;
	double duration_us, spread; /* median, and the logarithm's deviation */
	const char *attributes;
	struct demo_point points[DEMO_POINTS_MOST];
};

/* A span of a request: its operation, whose child it is (-1: the root), and when it begins after
 * its parent. */
struct demo_node {
	short operation, parent;
	double after_us;
};

struct demo_request {
	unsigned weight;
	const char *cluster; /* %c */
	const char *method;
	const char *paths; /* separated by blanks; the first is the most frequent */
	size_t node_n;
	const struct demo_node *nodes;
};

extern const struct demo_service demo_services[];
extern const size_t demo_service_n;
extern const struct demo_operation demo_operations[];
extern const size_t demo_operation_n;
extern const struct demo_request demo_requests[];
extern const size_t demo_request_n;

#endif
