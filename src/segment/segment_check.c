/* segment/segment_check.c - is a segment sound?  Every checksum, every column, every invariant.
 *
 * What the reader verifies on its way is verified by reading everything; what it may rely on
 * without looking (zone maps, counts, the index) is computed again from the rows and compared. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "segment/group_int.h"
#include "segment/totals.h"
#include "segment/trace_bounds.h"

struct checking {
	struct segment *s;
	const struct segment_tables *t;
	void (*report)(void *context, const char *finding);
	void *context;
	uint64_t findings;
	uint64_t blocks, errors, indexed;
	uint32_t *shape_rows;              /* counted */
	const struct totals_table *totals; /* what the file says, or NULL */
	struct totals counted;
	struct trace_id last; /* of the group before, if that could be read */
	bool has_last;
};

static void found(struct checking *c, const char *what)
{
	char text[300];

	c->findings++;
	snprintf(text, sizeof(text), "%s: %s", c->s->name, what);
	if (c->report)
		c->report(c->context, text);
}

static void found_in(struct checking *c, uint32_t group, const char *what)
{
	char text[200];

	snprintf(text, sizeof(text), "group %u: %s", group, what);
	found(c, text);
}

/* Is it damage?  Then it was told; anything else ends the check. */
static int told(struct checking *c, int r, const char *text)
{
	if (r != -EBADMSG)
		return r;
	c->findings++;
	if (c->report)
		c->report(c->context, text);
	return 0;
}

static bool index_leads_to(struct checking *c, struct trace_id id, uint32_t group)
{
	uint32_t at = 0, candidate;

	while ((candidate = trace_index_next(&c->s->index, segment_id_hash(id), &at)) != UINT32_MAX)
		if (candidate == group)
			return true;
	return false;
}

static void check_piece(struct checking *c, struct segment_group *g, const struct group_piece *p,
			bool continues, const struct event_ref *refs)
{
	struct trace_bounds b = trace_bounds_begin();
	int64_t start, duration;
	bool errors = false;

	for (uint32_t i = 0; i < p->rows; i++) {
		const struct event *e = event_get(refs[p->first + i]);

		trace_bounds_add(&b, e);
		errors = errors || row_failed(e->type, e->status);
		c->errors += row_failed(e->type, e->status);
		c->blocks += e->type == EVENT_SPAN || e->type == EVENT_BEGIN;
	}
	trace_bounds_end(&b, &start, &duration);
	if (start != p->start_ns || duration != p->duration_ns || errors != p->errors)
		found_in(c, g->number, "a piece's start or duration is not that of its rows");
	if (continues && c->has_last && !trace_id_eq(p->id, c->last))
		found_in(c, g->number, "its first piece does not continue the one before");
	if (continues)
		return;
	if (index_leads_to(c, p->id, g->number))
		c->indexed++;
	else
		found_in(c, g->number, "a trace is missing from the index");
}

static void check_zone(struct checking *c, struct segment_group *g,
		       const struct group_piece *pieces, uint32_t n, uint64_t errors)
{
	const struct group_zone *z = g->zone;
	int64_t low = INT64_MAX, high = 0, longest = 0;

	for (uint32_t i = 0; i < n; i++) {
		longest = MAX(longest, pieces[i].duration_ns);
		low = MIN(low, pieces[i].start_ns);
		high = MAX(high, pieces[i].start_ns);
	}
	if (low != z->start_min_ns || high != z->start_max_ns || longest != z->duration_max_ns ||
	    errors != z->errors || pieces[0].rows != g->zone_place->first_rows ||
	    pieces[n - 1].rows != g->zone_place->last_rows)
		found_in(c, g->number, "its zone map does not say what its rows say");
	for (uint32_t i = 0; i < z->rows; i++)
		c->shape_rows[z->shapes[g->codes[i]]]++;
	for (uint32_t i = 0; i < z->shape_n; i++)
		if (g->counts[i] == 0) {
			found_in(c, g->number, "a shape of its list does not occur");
			break;
		}
}

/* --- the table of totals --- */

static int count_row(struct checking *c, const struct shape *shape, const struct event_ref *ref)
{
	const struct event *e = event_get(*ref);
	const struct totals_key key = {
		.source = shape->resource,
		.name = tables_find(c->t, batch_text(ref->batch, e->name)),
		.kind = e->kind,
		.status = e->status,
		.type = e->type,
	};
	uint32_t number;

	if ((e->type != EVENT_SPAN && e->type != EVENT_BEGIN) || c->counted.given_up)
		return 0;
	number = totals_number(&c->counted, &key);
	if (number == UINT32_MAX)
		return c->counted.given_up ? 0 : -ENOMEM;
	return totals_add(&c->counted, number, e->status == STATUS_ERROR,
			  e->type == EVENT_SPAN ? span_duration(e->time_ns, e->end_ns) : -1);
}

static bool total_agrees(const struct totals *t, const struct total *a, const struct total_row *b)
{
	for (uint32_t i = 0; i < b->place_n; i++) {
		uint32_t at = b->place + i - 1;
		uint16_t chunk = b->place + i ? a->chunks[at / PLACES_PER] : 0;
		uint64_t n = chunk ? totals_count(t, chunk, at % PLACES_PER) : 0;

		if (b->counts[i] != (b->place + i ? n : a->zeros))
			return false;
	}
	return memcmp(&a->key, &b->key, sizeof(a->key)) == 0 && a->kinds == b->kinds &&
	       a->spans == b->spans && a->errors == b->errors && a->timed == b->timed &&
	       a->sum == b->sum && a->longest == b->longest &&
	       (a->timed == 0 || a->shortest == b->shortest);
}

/* 1: the table says what was counted; 0: it does not.  -ENOMEM. */
static int totals_agree(struct checking *c)
{
	const struct totals_table *t = c->totals;
	_cleanup_(freep)
	bool *used = NULL;

	if (!t)
		return 1;
	while (c->counted.apart & ~t->apart) {
		int r = totals_coarsen(&c->counted);

		if (r < 0)
			return r;
	}
	if (c->counted.given_up || c->counted.apart != t->apart || c->counted.n != t->n)
		return 0;
	used = calloc((size_t)t->n + 1, sizeof(*used));
	if (!used)
		return -ENOMEM;
	/* Each key was counted once and has to be there once; mostly in the same order. */
	for (uint32_t i = 0, at = 0; i < t->n; i++, at++) {
		uint32_t tries = 0;

		while (tries++ < t->n && memcmp(&c->counted.rows[at % t->n].key, &t->rows[i].key,
						sizeof(t->rows[i].key)) != 0)
			at++;
		at %= t->n;
		if (used[at] || !total_agrees(&c->counted, &c->counted.rows[at], &t->rows[i]))
			return 0;
		used[at] = true;
	}
	return 1;
}

/* --- groups --- */

static int check_group(struct checking *c, struct segment_group *g)
{
	struct event_set set = {0};
	const struct group_piece *pieces;
	uint64_t errors = c->errors;
	uint32_t n = 0;
	int r = group_rows(g, 0, g->zone->rows, &set);

	if (r == 0)
		r = group_check_marks(g);
	if (r == 0)
		r = group_pieces(g, &pieces, &n);
	for (size_t i = 0; i < g->column_n && r == 0; i++)
		r = group_need_column(g, &g->columns[i]);
	for (size_t i = 0; i < set.batch_n && r == 0; i++)
		if ((i == 0 || set.batches[i] != set.batches[i - 1]) &&
		    !batch_check(set.batches[i]))
			found_in(c, g->number, "its rows refer to what is not there");
	if (r == 0) {
		for (uint32_t i = 0; i < n; i++)
			check_piece(c, g, &pieces[i], i == 0 && g->zone->continues, set.refs);
		check_zone(c, g, pieces, n, c->errors - errors);
		for (uint32_t i = 0; r == 0 && c->totals && i < g->zone->rows; i++)
			r = count_row(c, &c->t->shape_rows[g->zone->shapes[g->codes[i]]],
				      &set.refs[i]);
		c->last = pieces[n - 1].id;
	}
	c->has_last = r == 0;
	event_set_done(&set);
	return r;
}

static int check_groups(struct checking *c)
{
	_cleanup_(group_closep)
	struct segment_group *g = NULL;
	char text[200];

	for (uint32_t i = 0; i < c->t->zone_n; i++) {
		int r = g ? group_reopen_int(g, i, READ_WHOLE)
			  : group_open_int(c->s, i, READ_WHOLE, &g);

		if (r == 0)
			r = check_group(c, g);
		if (g)
			snprintf(text, sizeof(text), "%s", group_error(g));
		else
			snprintf(text, sizeof(text), "%s: group %u: the directory is damaged",
				 c->s->name, i);
		r = told(c, r, text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_totals(struct checking *c)
{
	const struct segment_footer *f = &c->s->footer;
	uint64_t end = SEGMENT_HEADER_BYTES;
	int agree;

	if (c->t->zone_n)
		end = c->t->zones[c->t->zone_n - 1].offset + c->t->zones[c->t->zone_n - 1].bytes;
	if (end != f->sections[SECTION_INDEX].offset ||
	    f->sections[SECTIONS - 1].offset + f->sections[SECTIONS - 1].bytes + f->totals_bytes +
			    sizeof(*f) !=
		    c->s->info.bytes)
		found(c, "there are bytes that belong to nothing");
	if (c->findings) /* counts of what could not be read are off anyway */
		return 0;
	if (c->blocks != f->blocks || c->errors != f->errors || c->indexed != f->pieces)
		found(c, "the footer does not count what there is");
	for (uint32_t i = 0; i < c->t->shapes.n; i++)
		if (c->shape_rows[i] != c->t->shape_rows[i].rows) {
			found(c, "a shape does not count its rows");
			break;
		}
	agree = totals_agree(c);
	if (agree == 0)
		found(c, "the totals are not those of its rows");
	return agree < 0 ? agree : 0;
}

static void check_split(struct checking *c, const struct trace_id *ids, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (memcmp(&ids[i - 1], &ids[i], sizeof(*ids)) >= 0) {
			found(c, "the list of split traces is not in order");
			return;
		}
}

static int check_header(struct checking *c)
{
	char header[SEGMENT_HEADER_BYTES];
	int r = fs_read_all(c->s->fs, c->s->fd, header, sizeof(header), 0);

	if (r == 0 && memcmp(header, SEGMENT_MAGIC "\1\0\0\0\0\0\0", sizeof(header)) != 0)
		found(c, "the header is damaged");
	return r;
}

static int check_pinned(struct checking *c)
{
	const struct trace_id *split;
	size_t split_n;
	int r = check_header(c);

	c->shape_rows = calloc((size_t)c->t->shapes.n + 1, sizeof(*c->shape_rows));
	if (!c->shape_rows)
		return -ENOMEM;
	if (r == 0) {
		r = segment_split(c->s, &split, &split_n);
		if (r == 0)
			check_split(c, split, split_n);
		else
			r = told(c, r, "the list of split traces is damaged");
	}
	if (r == 0) {
		r = segment_totals(c->s, &c->totals);
		if (r == -EBADMSG)
			found(c, "the totals are damaged");
		r = r == -ENOENT || r == -EBADMSG ? 0 : r;
	}
	totals_init(&c->counted, c->t->batch);
	if (r == 0)
		r = check_groups(c);
	if (r == 0)
		r = check_totals(c);
	totals_done(&c->counted);
	free(c->shape_rows);
	return r;
}

static int check_tables(struct checking *c)
{
	struct error error = {0};
	int r = segment_pin_error(c->s, &c->t, &error);

	if (r < 0)
		return told(c, r, error.text);
	r = segment_pin_index(c->s);
	if (r == 0) {
		r = check_pinned(c);
		segment_unpin(c->s);
	} else if (r == -EBADMSG) {
		found(c, "the index is damaged");
		r = 0;
	}
	segment_unpin(c->s);
	return r;
}

int segment_check(struct fs *fs, const char *dir, uint64_t number,
		  void (*report)(void *context, const char *finding), void *context)
{
	_cleanup_(segment_unrefp)
	struct segment *s = NULL;
	struct error error = {0};
	struct checking c = {.report = report, .context = context};
	int r = segment_open(fs, dir, number, &s, &error);

	if (r < 0) {
		r = told(&c, r, error.text);
		return r < 0 ? r : -EBADMSG;
	}
	c.s = s;
	r = check_tables(&c);
	return r < 0 ? r : c.findings ? -EBADMSG : 0;
}
