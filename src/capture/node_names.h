/* capture/node_names.h - which node an address and port belong to.
 *
 * Without rules a node is an address; on loopback, where every server shares one, a server is
 * address:port.  Rules, one a line, the first that fits wins:
 *
 *   ADDRESS[/PREFIX][:PORT[-PORT]]  NAME        10.9.0.5 auth     10.9.0.0/24:5432 database
 *   *[:PORT[-PORT]]                 NAME        *:6379 redis      [fd00::]/8:80-90 web
 *
 * `#` starts a comment.  Ports are those of the node itself, so that a range of ephemeral ports can
 * name a client on a shared address.  While capturing live, programs of this host can be asked for
 * (capture/socket_owner.h).  One thread. */
#ifndef CAUSET_CAPTURE_NODE_NAMES_H
#define CAUSET_CAPTURE_NODE_NAMES_H

#include "base/error.h"
#include "capture/ip.h"
#include "infer/names.h"

#define NODE_RULES_MAX 100000
#define NODE_MAX       (1u << 20) /* different names; who comes later is "elsewhere" */

enum node_style {
	NODE_AUTO,     /* address; address:port for servers on loopback */
	NODE_ADDRESS,  /* always the address */
	NODE_ENDPOINT, /* servers are always address:port */
};

struct node_rule {
	struct ip_address address, mask;
	uint16_t port_first, port_last;
	uint32_t name; /* in `texts` */
};

struct socket_owners;

struct node_rules {
	enum node_style style;
	struct node_rule *rules;
	size_t n, capacity;
	struct names texts;
	struct socket_owners *owners; /* asked where no rule fits (live capture); or NULL */
	int64_t now_ns;               /* for them */
};

void node_rules_init(struct node_rules *r, enum node_style style);
void node_rules_done(struct node_rules *r);

/* Adds the rules of a text.  -EINVAL with "line N: …", -E2BIG, -ENOMEM. */
int node_rules_parse(struct node_rules *r, struct slice text, struct error *error);

/* The number, in `nodes`, of whoever has this address and port; one name for all once there are
 * NODE_MAX of them.  `rules` may be NULL.  -ENOMEM. */
int node_name(const struct node_rules *rules, struct names *nodes, struct ip_address address,
	      uint16_t port, bool server, uint32_t *ret_node);

#endif
