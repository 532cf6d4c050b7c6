/* api/tempo_message.h - Tempo's answers, each said once and written in either of two forms:
 * protobuf's JSON for HTTP, protobuf itself for gRPC.
 *
 *	struct tempo_message m = tempo_message(&out, proto);
 *	size_t begun = message_begin(&m, NULL, 0);
 *	message_text(&m, "traceID", 1, id);
 *	message_end(&m, begun);
 *
 * A field has a name, which JSON shows, and a number, which protobuf does.  Values that say nothing
 * (0, "") are left out, as protobuf does; lists are there, empty or not.  Errors are the buffer's.
 */
#ifndef CAUSET_API_TEMPO_MESSAGE_H
#define CAUSET_API_TEMPO_MESSAGE_H

#include "base/arena.h"
#include "exec/value.h"
#include "wire/json_writer.h"

struct tempo_message {
	struct buffer *out;
	struct json_writer json;
	bool proto;
};

struct tempo_message tempo_message(struct buffer *out, bool proto);

/* A message in a field; the outermost, and those of a list, have the name NULL.  The outermost has
 * the number 0.  What begin returns goes to end. */
size_t message_begin(struct tempo_message *m, const char *name, uint32_t number);
void message_end(struct tempo_message *m, size_t begun);

/* Around the elements of a repeated field: message_begin(m, NULL, number), message_item(). */
void message_list(struct tempo_message *m, const char *name);
void message_list_end(struct tempo_message *m);
/* An element that is text. */
void message_item(struct tempo_message *m, uint32_t number, struct slice text);

/* Around the entries of a map from texts to messages. */
void message_map(struct tempo_message *m, const char *name);
void message_map_end(struct tempo_message *m);
/* What begin filled in goes to end. */
struct message_entry {
	size_t entry, value;
};
struct message_entry message_entry(struct tempo_message *m, uint32_t number, struct slice key);
void message_entry_end(struct tempo_message *m, struct message_entry begun);

void message_text(struct tempo_message *m, const char *name, uint32_t number, struct slice text);
/* 32 bits are a number in JSON, 64 bits a text.  Beyond 32 bits is the most of them. */
void message_u32(struct tempo_message *m, const char *name, uint32_t number, uint64_t value);
void message_64(struct tempo_message *m, const char *name, uint32_t number, int64_t value);
void message_double(struct tempo_message *m, const char *name, uint32_t number, double value);

/* One KeyValue of OTLP, an element of a list; texts that the value needs are made in the arena. */
void message_pair(struct tempo_message *m, uint32_t number, struct slice key, struct value value,
		  struct arena *arena);

#endif
