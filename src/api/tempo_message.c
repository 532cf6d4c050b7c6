/* api/tempo_message.c - Tempo's answers in JSON and in protobuf. */
#include "api/tempo_message.h"

#include "base/cleanup.h"
#include "core/utf8.h"
#include "wire/protobuf.h"

#define ANY_DEPTH 16

/* A string of protobuf is UTF-8, or clients refuse the whole message. */
static void put_string(struct buffer *out, uint32_t number, struct slice text)
{
	size_t begun;

	if (utf8_valid_prefix(text) == text.n) {
		pb_put_bytes(out, number, text);
		return;
	}
	begun = pb_begin(out, number);
	while (text.n > 0) {
		size_t good = utf8_valid_prefix(text);

		buffer_slice(out, slice_first(text, good));
		text = slice_from(text, good);
		if (text.n > 0) {
			buffer_text(out, "\xef\xbf\xbd");
			text = slice_from(text, 1);
		}
	}
	pb_end(out, begun);
}

struct tempo_message tempo_message(struct buffer *out, bool proto)
{
	return (struct tempo_message){.out = out, .json = json_write(out), .proto = proto};
}

size_t message_begin(struct tempo_message *m, const char *name, uint32_t number)
{
	if (m->proto)
		return number ? pb_begin(m->out, number) : 0;
	if (name)
		json_put_name(&m->json, name);
	json_begin_object(&m->json);
	return 0;
}

void message_end(struct tempo_message *m, size_t begun)
{
	if (!m->proto)
		json_end_object(&m->json);
	else if (begun)
		pb_end(m->out, begun);
}

void message_list(struct tempo_message *m, const char *name)
{
	if (m->proto)
		return;
	json_put_name(&m->json, name);
	json_begin_array(&m->json);
}

void message_list_end(struct tempo_message *m)
{
	if (!m->proto)
		json_end_array(&m->json);
}

void message_item(struct tempo_message *m, uint32_t number, struct slice text)
{
	if (m->proto)
		put_string(m->out, number, text);
	else
		json_put_string(&m->json, text);
}

void message_map(struct tempo_message *m, const char *name)
{
	if (m->proto)
		return;
	json_put_name(&m->json, name);
	json_begin_object(&m->json);
}

void message_map_end(struct tempo_message *m)
{
	if (!m->proto)
		json_end_object(&m->json);
}

struct message_entry message_entry(struct tempo_message *m, uint32_t number, struct slice key)
{
	struct message_entry begun = {0};

	if (m->proto) {
		begun.entry = pb_begin(m->out, number);
		put_string(m->out, 1, key);
		begun.value = pb_begin(m->out, 2);
	} else {
		json_put_key(&m->json, key);
		json_begin_object(&m->json);
	}
	return begun;
}

void message_entry_end(struct tempo_message *m, struct message_entry begun)
{
	if (m->proto) {
		pb_end(m->out, begun.value);
		pb_end(m->out, begun.entry);
	} else {
		json_end_object(&m->json);
	}
}

void message_text(struct tempo_message *m, const char *name, uint32_t number, struct slice text)
{
	if (text.n == 0)
		return;
	if (m->proto) {
		put_string(m->out, number, text);
		return;
	}
	json_put_name(&m->json, name);
	json_put_string(&m->json, text);
}

void message_u32(struct tempo_message *m, const char *name, uint32_t number, uint64_t value)
{
	if (value == 0)
		return;
	value = MIN(value, (uint64_t)UINT32_MAX);
	if (m->proto) {
		pb_put_varint(m->out, number, value);
		return;
	}
	json_put_name(&m->json, name);
	json_put_u64(&m->json, value);
}

void message_64(struct tempo_message *m, const char *name, uint32_t number, int64_t value)
{
	if (value == 0)
		return;
	if (m->proto) {
		pb_put_varint(m->out, number, (uint64_t)value);
		return;
	}
	json_put_name(&m->json, name);
	json_put_i64_text(&m->json, value);
}

static uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

void message_double(struct tempo_message *m, const char *name, uint32_t number, double value)
{
	if (value == 0)
		return;
	if (m->proto) {
		pb_put_fixed64(m->out, number, double_bits(value));
		return;
	}
	json_put_name(&m->json, name);
	json_put_double(&m->json, value);
}

/* --- OTLP's AnyValue: string_value = 1, bool_value = 2, int_value = 3, double_value = 4,
 * array_value = 5 { values = 1 }, bytes_value = 7 --- */

static void any_proto(struct buffer *out, struct value v, struct arena *arena, int depth)
{
	size_t begun;

	switch (v.type) {
	case V_BOOL:
		pb_put_varint(out, 2, v.b);
		break;
	case V_INT:
	case V_TIME:
		pb_put_varint(out, 3, (uint64_t)v.i);
		break;
	case V_FLOAT:
		pb_put_fixed64(out, 4, double_bits(v.f));
		break;
	case V_LIST:
		begun = pb_begin(out, 5);
		for (uint32_t i = 0; depth < ANY_DEPTH && i < v.n; i++) {
			size_t item = pb_begin(out, 1);

			any_proto(out, v.list[i], arena, depth + 1);
			pb_end(out, item);
		}
		pb_end(out, begun);
		break;
	case V_BYTES:
		pb_put_bytes(out, 7, value_slice(v));
		break;
	case V_NIL:
		pb_put_bytes(out, 1, SLICE("nil"));
		break;
	case V_STRING:
		put_string(out, 1, value_slice(v));
		break;
	default: /* durations, status, kind: as TraceQL writes them */
		put_string(out, 1, value_format(arena, v));
	}
}

static void any_json(struct json_writer *w, struct value v, struct arena *arena, int depth)
{
	json_begin_object(w);
	switch (v.type) {
	case V_BOOL:
		json_put_name(w, "boolValue");
		json_put_bool(w, v.b);
		break;
	case V_INT:
	case V_TIME:
		json_put_name(w, "intValue");
		json_put_i64_text(w, v.i);
		break;
	case V_FLOAT:
		json_put_name(w, "doubleValue");
		json_put_double(w, v.f);
		break;
	case V_LIST:
		json_put_name(w, "arrayValue");
		json_begin_object(w);
		json_put_name(w, "values");
		json_begin_array(w);
		for (uint32_t i = 0; depth < ANY_DEPTH && i < v.n; i++)
			any_json(w, v.list[i], arena, depth + 1);
		json_end_array(w);
		json_end_object(w);
		break;
	case V_BYTES:
		json_put_name(w, "bytesValue");
		json_put_base64(w, value_slice(v));
		break;
	case V_NIL:
		json_put_name(w, "stringValue");
		json_put_cstr(w, "nil");
		break;
	case V_STRING:
		json_put_name(w, "stringValue");
		json_put_string(w, value_slice(v));
		break;
	default:
		json_put_name(w, "stringValue");
		json_put_string(w, value_format(arena, v));
	}
	json_end_object(w);
}

void message_pair(struct tempo_message *m, uint32_t number, struct slice key, struct value value,
		  struct arena *arena)
{
	size_t pair, any;

	if (!m->proto) {
		json_begin_object(&m->json);
		json_put_name(&m->json, "key");
		json_put_string(&m->json, key);
		json_put_name(&m->json, "value");
		any_json(&m->json, value, arena, 0);
		json_end_object(&m->json);
		return;
	}
	pair = pb_begin(m->out, number);
	put_string(m->out, 1, key);
	any = pb_begin(m->out, 2);
	any_proto(m->out, value, arena, 0);
	pb_end(m->out, any);
	pb_end(m->out, pair);
}
