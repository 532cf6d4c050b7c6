/* capture/node_names.c - rules from addresses to names of nodes. */
#include "capture/node_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "capture/socket_owner.h"

#define MAX_LINE 1000

void node_rules_init(struct node_rules *r, enum node_style style)
{
	*r = (struct node_rules){.style = style};
	names_init(&r->texts);
}

void node_rules_done(struct node_rules *r)
{
	names_done(&r->texts);
	free(r->rules);
	r->rules = NULL;
	r->n = r->capacity = 0;
}

static struct ip_address mask_of(unsigned bits)
{
	uint8_t bytes[16] = {0};
	struct ip_address mask;

	for (unsigned i = 0; i < bits; i++)
		bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
	memcpy(&mask, bytes, sizeof(mask));
	return mask;
}

static int parse_number(struct slice text, uint64_t max, uint64_t *ret)
{
	int r = slice_parse_u64(text, ret);

	return r < 0 ? r : *ret > max ? -ERANGE : 0;
}

/* "80" or "80-90" */
static int parse_ports(struct slice text, struct node_rule *rule)
{
	struct slice first = slice_cut(&text, '-');
	uint64_t low, high;

	if (parse_number(first, 65535, &low) < 0)
		return -EINVAL;
	high = low;
	if (text.p && parse_number(text, 65535, &high) < 0)
		return -EINVAL;
	rule->port_first = (uint16_t)low;
	rule->port_last = (uint16_t)high;
	return low <= high ? 0 : -EINVAL;
}

/* "10.0.0.0/8", "fd00::/8", "10.0.0.1" */
static int parse_address(struct slice text, struct node_rule *rule)
{
	struct slice address = slice_cut(&text, '/');
	char copy[IP_TEXT_BYTES];
	uint64_t bits = 128;
	bool v4;

	if (address.n >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, address.p, address.n);
	copy[address.n] = 0;
	v4 = !memchr(copy, ':', address.n);
	if (ip_parse(copy, &rule->address) < 0)
		return -EINVAL;
	if (text.p) {
		if (parse_number(text, v4 ? 32 : 128, &bits) < 0)
			return -EINVAL;
		bits += v4 ? 96 : 0;
	}
	rule->mask = mask_of((unsigned)bits);
	rule->address.high &= rule->mask.high;
	rule->address.low &= rule->mask.low;
	return 0;
}

/* Splits "where" into address and ports.  [v6]:port and [v6]/8:port need their brackets. */
static int parse_where(struct slice where, struct node_rule *rule)
{
	const char *colon = memrchr(where.p, ':', where.n);
	const char *first = memchr(where.p, ':', where.n);
	struct slice address = where;
	char joined[MAX_LINE];

	rule->port_last = 65535;
	if (where.p[0] == '[') {
		const char *end = memchr(where.p, ']', where.n);
		size_t inside, behind;

		if (!end)
			return -EINVAL;
		inside = (size_t)(end - where.p) - 1;
		if (colon < end)
			colon = where.p + where.n;
		behind = (size_t)(colon - end) - 1; /* "/8" */
		memcpy(joined, where.p + 1, inside);
		memcpy(joined + inside, end + 1, behind);
		address = slice_of(joined, inside + behind);
		if (colon == where.p + where.n)
			colon = NULL;
	} else if (colon && colon == first) {
		address = slice_of(where.p, (size_t)(colon - where.p));
	} else {
		colon = NULL; /* none, or IPv6 without brackets */
	}
	if (colon && parse_ports(slice_from(where, (size_t)(colon + 1 - where.p)), rule) < 0)
		return -EINVAL;
	if (slice_eq(address, SLICE("*")))
		return 0;
	return parse_address(address, rule);
}

static int parse_line(struct node_rules *r, struct slice line)
{
	struct node_rule rule = {0};
	size_t n = 0;
	int code;

	line = slice_trim(line);
	if (line.n == 0 || line.p[0] == '#')
		return 0;
	while (n < line.n && line.p[n] != ' ' && line.p[n] != '\t')
		n++;
	if (n == line.n || line.n > MAX_LINE || parse_where(slice_first(line, n), &rule) < 0)
		return -EINVAL;
	line = slice_trim(slice_from(line, n));
	if (memchr(line.p, ' ', line.n) || memchr(line.p, '\t', line.n))
		return -EINVAL;
	if (r->n >= NODE_RULES_MAX)
		return -E2BIG;
	code = names_intern(&r->texts, line, &rule.name);
	if (code < 0)
		return code;
	if (!vec_reserve(&r->rules, &r->capacity, r->n + 1, sizeof(rule)))
		return -ENOMEM;
	r->rules[r->n++] = rule;
	return 0;
}

int node_rules_parse(struct node_rules *r, struct slice text, struct error *error)
{
	for (int line = 1; text.p && text.n > 0; line++) {
		int code = parse_line(r, slice_cut(&text, '\n'));

		if (code == -EINVAL)
			return error_set(error, code,
					 "line %d: a rule is ADDRESS[/PREFIX][:PORT[-PORT]] NAME",
					 line);
		if (code < 0)
			return error_set(error, code, "line %d: %s", line, strerror(-code));
	}
	return 0;
}

static bool is_loopback(struct ip_address a)
{
	struct ip_address v6 = {0, 0};
	uint8_t bytes[16];

	memcpy((char *)&v6 + 15, "\1", 1);
	memcpy(bytes, &a, sizeof(bytes));
	return ip_equal(a, v6) || (a.high == 0 && bytes[10] == 0xff && bytes[11] == 0xff &&
				   bytes[8] == 0 && bytes[9] == 0 && bytes[12] == 127);
}

/* The internet has many addresses, and a capture at its edge sees them all. */
static int intern(struct names *nodes, struct slice name, uint32_t *ret_node)
{
	if (nodes->n >= NODE_MAX) {
		*ret_node = names_find(nodes, name);
		return *ret_node == NAMES_NONE ? names_intern(nodes, SLICE("elsewhere"), ret_node)
					       : 0;
	}
	return names_intern(nodes, name, ret_node);
}

int node_name(const struct node_rules *rules, struct names *nodes, struct ip_address address,
	      uint16_t port, bool server, uint32_t *ret_node)
{
	enum node_style style = rules ? rules->style : NODE_AUTO;
	char text[IP_TEXT_BYTES + 10];
	size_t n;

	for (size_t i = 0; rules && i < rules->n; i++) {
		const struct node_rule *rule = &rules->rules[i];

		if (port >= rule->port_first && port <= rule->port_last &&
		    (address.high & rule->mask.high) == rule->address.high &&
		    (address.low & rule->mask.low) == rule->address.low)
			return intern(nodes, names_get(&rules->texts, rule->name), ret_node);
	}
	if (rules && rules->owners) {
		struct slice owner = socket_owner(rules->owners, address, port, rules->now_ns);

		if (owner.n)
			return intern(nodes, owner, ret_node);
	}
	ip_format(address, text);
	n = strlen(text);
	if (server && (style == NODE_ENDPOINT || (style == NODE_AUTO && is_loopback(address))))
		n = (size_t)(n + (size_t)snprintf(text + n, sizeof(text) - n, ":%u", port));
	return intern(nodes, slice_of(text, n), ret_node);
}
