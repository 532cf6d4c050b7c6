/* core/baggage_header.h - W3C's `baggage` header: what an application sends along with a request.
 *
 *   baggage: userId=alice,serverNode=DF%2028;secure;ttl=5,isProduction=false
 *
 * Members are borrowed from the header's bytes and keep their raw form (percent-encoded value,
 * properties), so that what we do not look at is passed on unchanged.  Nothing is allocated. */
#ifndef CAUSET_CORE_BAGGAGE_HEADER_H
#define CAUSET_CORE_BAGGAGE_HEADER_H

#include "core/slice.h"

/* What the specification obliges everybody to carry; more may be dropped, and is. */
#define BAGGAGE_MAX_MEMBERS 64
#define BAGGAGE_MAX_BYTES   8192

struct baggage_member {
	struct slice key;        /* an HTTP token; compared with case */
	struct slice value;      /* percent-encoded */
	struct slice properties; /* "secure;ttl=5", without the first ';'; may be empty */
};

struct baggage_header {
	size_t n;
	size_t malformed; /* members against the grammar: skipped */
	size_t dropped;   /* good members past BAGGAGE_MAX_MEMBERS or BAGGAGE_MAX_BYTES: skipped */
	size_t bytes;     /* of the members kept, as they will be sent */
	struct baggage_member members[BAGGAGE_MAX_MEMBERS];
};

/* Appends the members of one header line; call it for each line in order, starting from an empty
 * struct.  A bad member costs only itself: the list is the application's, and one library's mistake
 * must not lose another's data. */
void baggage_parse(struct baggage_header *b, struct slice header);

/* The member with this key, or NULL.  Of several with one key the last counts; all are kept. */
const struct baggage_member *baggage_get(const struct baggage_header *b, struct slice key);

/* Sets a member (borrowed; the value already percent-encoded), in place of all with its key or at
 * the end.  -EINVAL against the grammar, -ENOSPC past the limits; the header is then unchanged. */
int baggage_set(struct baggage_header *b, const struct baggage_member *member);

void baggage_remove(struct baggage_header *b, struct slice key);

/* Writes the header's value, no NUL; returns its length.  Members that do not fit into `capacity`
 * are left out whole, from the end; BAGGAGE_MAX_BYTES is always enough. */
size_t baggage_format(const struct baggage_header *b, char *out, size_t capacity);

/* One property after another from `*rest`; false at the end.  `value` has a NULL pointer for a
 * property without one. */
bool baggage_property_next(struct slice *rest, struct slice *ret_key, struct slice *ret_value);

/* Text from a raw value: %XX undone, a % without two digits kept as it is, bytes that are not UTF-8
 * replaced by U+FFFD.  -ENOBUFS when `out` is too small (three times raw.n is always enough). */
int baggage_value_decode(struct slice raw, char *out, size_t capacity, size_t *ret_n);

/* The reverse: everything the grammar does not allow in a value, and %, becomes %XX.  Three times
 * text.n is always enough. */
int baggage_value_encode(struct slice text, char *out, size_t capacity, size_t *ret_n);

#endif
