/* infer/truth_read.c - reads the truth about a trace and finds its calls. */
#include "infer/truth_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

void truth_reader_init(struct truth_reader *r)
{
	*r = (struct truth_reader){0};
	names_init(&r->traces);
}

void truth_reader_done(struct truth_reader *r)
{
	free(r->rows);
	names_done(&r->traces);
	buffer_done(&r->carry);
}

static struct slice next_word(struct slice *line)
{
	struct slice word;
	size_t i = 0;

	while (i < line->n && (line->p[i] == ' ' || line->p[i] == '\t' || line->p[i] == '\r'))
		i++;
	word.p = line->p + i;
	for (word.n = 0; i + word.n < line->n; word.n++) {
		char c = line->p[i + word.n];

		if (c == ' ' || c == '\t' || c == '\r')
			break;
	}
	line->p = word.p + word.n;
	line->n -= i + word.n;
	return word;
}

static bool is_root(struct slice parent)
{
	return slice_eq(parent, slice_cstr("0")) || slice_eq(parent, slice_cstr("-"));
}

static int take_line(struct truth_reader *r, struct slice line, struct error *error)
{
	struct slice id, parent, trace;
	struct truth_row row = {0};
	int n;

	r->lines++;
	id = next_word(&line);
	if (id.n == 0 || id.p[0] == '#')
		return 0;
	parent = next_word(&line);
	trace = next_word(&line);
	if (trace.n == 0 || next_word(&line).n != 0)
		return error_set(error, -EINVAL, "line %llu: not 'id parent trace'",
				 (unsigned long long)r->lines);
	n = names_intern(&r->traces, trace, &row.trace);
	if (n < 0)
		return error_set(error, n, "line %llu: the trace's name is too long",
				 (unsigned long long)r->lines);
	if (!vec_reserve(&r->rows, &r->row_capacity, r->row_n + 1, sizeof(*r->rows)))
		return error_set(error, -ENOMEM, "out of memory");
	row.id = message_id_of_text(id);
	row.parent = is_root(parent) ? MESSAGE_NO_ID : message_id_of_text(parent);
	r->rows[r->row_n++] = row;
	return 0;
}

int truth_reader_feed(struct truth_reader *r, struct slice text, struct error *error)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;
		struct slice line = {text.p, n};
		int e;

		if (r->carry.n + n > TRUTH_MAX_LINE)
			return error_set(error, -EINVAL, "line %llu: longer than %d bytes",
					 (unsigned long long)r->lines + 1, TRUTH_MAX_LINE);
		if (!end || r->carry.n) {
			buffer_append(&r->carry, line.p, line.n);
			if (r->carry.failed)
				return error_set(error, -ENOMEM, "out of memory");
			line = buffer_get(&r->carry);
		}
		if (!end)
			return 0;
		e = take_line(r, line, error);
		if (e < 0)
			return e;
		buffer_clear(&r->carry);
		text.p += n + 1;
		text.n -= n + 1;
	}
	return 0;
}

int truth_reader_finish(struct truth_reader *r, struct error *error)
{
	int e = r->carry.n ? take_line(r, buffer_get(&r->carry), error) : 0;

	buffer_clear(&r->carry);
	return e;
}

struct by_id {
	uint64_t id;
	uint32_t call;
};

static int compare_ids(const void *a, const void *b)
{
	const struct by_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

/* The first call with that id that is not yet known. */
static uint32_t find_call(const struct by_id *ids, size_t n, uint64_t id,
			  const struct truth_of_calls *t, bool fresh)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && ids[low].id == id; low++)
		if (!fresh || !t->links[ids[low].call].decided)
			return ids[low].call;
	return LINK_NONE;
}

/* A number is written in digits, which read back as text. */
static uint64_t id_as_text(uint64_t id)
{
	char room[MESSAGE_ID_BYTES];

	return message_id_of_text(slice_cstr(message_id_format(id, room)));
}

int truth_match(const struct truth_reader *r, const struct calls *calls,
		struct truth_of_calls *ret_truth)
{
	_cleanup_(freep)
	struct by_id *ids = malloc((2 * calls->n + 1) * sizeof(*ids));
	struct truth_of_calls t = {.trace_n = r->traces.n};
	size_t id_n = 0;

	t.links = calloc(calls->n + 1, sizeof(*t.links));
	t.trace = malloc((calls->n + 1) * sizeof(*t.trace));
	if (!ids || !t.links || !t.trace) {
		truth_of_calls_done(&t);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < calls->n; i++) {
		uint64_t as_text = id_as_text(calls->at[i].id);

		ids[id_n++] = (struct by_id){calls->at[i].id, i};
		if (as_text != calls->at[i].id)
			ids[id_n++] = (struct by_id){as_text, i};
		t.links[i].parent = LINK_NONE;
		t.trace[i] = TRUTH_UNKNOWN;
	}
	qsort(ids, id_n, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < r->row_n; i++) {
		const struct truth_row *row = &r->rows[i];
		uint32_t call = find_call(ids, id_n, row->id, &t, true);

		if (call == LINK_NONE) {
			t.strangers++;
			continue;
		}
		t.trace[call] = row->trace;
		t.links[call].decided = true;
		t.links[call].confidence = 1;
		if (row->parent != MESSAGE_NO_ID)
			t.links[call].parent = find_call(ids, id_n, row->parent, &t, false);
	}
	*ret_truth = t;
	return 0;
}

void truth_of_calls_done(struct truth_of_calls *t)
{
	free(t->links);
	free(t->trace);
	*t = (struct truth_of_calls){0};
}
