/* infer/message.c - ids and operations of messages as text and as numbers.
 *
 *   id   63..60 length 1-10   59..0 that many characters of 6 bits, the first one highest
 *        63..60 14            59..0 a number
 *        63..60 15            59..0 hash of a longer text
 *        0                    none */
#include "infer/message.h"

#include <stdio.h>

#include "core/hash.h"

#define ID_PACKED_MAX  10
#define ID_TAG_NUMBER  14ULL
#define ID_TAG_HASH    15ULL
#define ID_PAYLOAD     ((1ULL << 60) - 1)
#define ID_HASH_SEED   0x5eed0f1d5ULL /* fixed: two readers of one id must agree */
#define ID_NO_SUCH_SIX 64

static const char id_alphabet[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";

static unsigned six_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'A' && c <= 'Z')
		return (unsigned)(c - 'A') + 10;
	if (c >= 'a' && c <= 'z')
		return (unsigned)(c - 'a') + 36;
	return c == '_' ? 62 : c == '-' ? 63 : ID_NO_SUCH_SIX;
}

uint64_t message_id_of_text(struct slice text)
{
	uint64_t id = 0;

	if (text.n == 0 || (text.n == 1 && text.p[0] == '-'))
		return MESSAGE_NO_ID;
	if (text.n <= ID_PACKED_MAX) {
		unsigned six = 0;

		for (size_t i = 0; i < text.n; i++) {
			six = six_of(text.p[i]);
			if (six == ID_NO_SUCH_SIX)
				break;
			id = id << 6 | six;
		}
		if (six != ID_NO_SUCH_SIX)
			return (uint64_t)text.n << 60 | id;
	}
	return ID_TAG_HASH << 60 | (hash_bytes(text.p, text.n, ID_HASH_SEED) & ID_PAYLOAD);
}

uint64_t message_id_of_number(uint64_t number)
{
	return ID_TAG_NUMBER << 60 | (number & ID_PAYLOAD);
}

const char *message_id_format(uint64_t id, char out[MESSAGE_ID_BYTES])
{
	uint64_t tag = id >> 60, payload = id & ID_PAYLOAD;

	if (tag >= 1 && tag <= ID_PACKED_MAX) {
		for (uint64_t i = tag; i-- > 0; payload >>= 6)
			out[i] = id_alphabet[payload & 63];
		out[tag] = 0;
	} else if (tag == ID_TAG_NUMBER) {
		snprintf(out, MESSAGE_ID_BYTES, "%llu", (unsigned long long)payload);
	} else if (id == MESSAGE_NO_ID) {
		snprintf(out, MESSAGE_ID_BYTES, "-");
	} else {
		snprintf(out, MESSAGE_ID_BYTES, "~%015llx", (unsigned long long)payload);
	}
	return out;
}

const char *message_op_name(uint8_t op, uint8_t sight)
{
	static const char *const names[3][3] = {{"CALL", "CALL_SENT", "CALL_RECV"},
						{"RET", "RET_SENT", "RET_RECV"},
						{"MSG", "MSG_SENT", "MSG_RECV"}};

	return op < 3 && sight < 3 ? names[op][sight] : "?";
}
