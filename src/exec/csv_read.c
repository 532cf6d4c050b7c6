/* exec/csv_read.c - a CSV file as a source of rows. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "exec/equi_join.h"

#define CSV_BYTES_MOST  ((size_t)256 << 20)
#define CSV_FIELDS_MOST 4096
#define CSV_NUMBER_MOST 15 /* characters: ids are longer and stay text */

struct csv {
	const char *at, *end;
	size_t line;
	struct arena arena; /* of the line at hand: fields with quotes */
	struct slice fields[CSV_FIELDS_MOST];
	bool quoted[CSV_FIELDS_MOST];
	uint32_t n;
};

static int quoted_field(struct csv *c, struct slice *ret)
{
	char *out = arena_alloc(&c->arena, (size_t)(c->end - c->at) + 1);
	size_t n = 0;

	if (!out)
		return -ENOMEM;
	for (c->at++; c->at < c->end; c->at++) {
		if (*c->at == '"') {
			if (c->at + 1 == c->end || c->at[1] != '"')
				break;
			c->at++;
		}
		if (*c->at == '\n')
			c->line++;
		out[n++] = *c->at;
	}
	if (c->at == c->end)
		return -EINVAL;
	c->at++;
	*ret = slice_of(out, n);
	return 0;
}

/* 1: a line; 0: the end. */
static int csv_next(struct csv *c)
{
	arena_clear(&c->arena);
	c->n = 0;
	while (c->at < c->end && (*c->at == '\n' || *c->at == '\r'))
		c->line += *c->at++ == '\n';
	if (c->at == c->end)
		return 0;
	c->line++;
	for (;;) {
		struct slice *field = &c->fields[c->n];
		int r;

		if (c->n == CSV_FIELDS_MOST)
			return -E2BIG;
		c->quoted[c->n] = c->at < c->end && *c->at == '"';
		if (c->quoted[c->n]) {
			r = quoted_field(c, field);
			if (r < 0)
				return r;
		} else {
			const char *from = c->at;

			while (c->at < c->end && *c->at != ',' && *c->at != '\n')
				c->at++;
			*field = slice_trim(slice_of(from, (size_t)(c->at - from)));
		}
		c->n++;
		while (c->at < c->end && *c->at != ',' && *c->at != '\n')
			c->at++; /* what stands behind a closing quote */
		if (c->at == c->end || *c->at++ == '\n')
			return 1;
	}
}

static struct value field_value(const struct csv *c, uint32_t i)
{
	struct slice s = i < c->n ? c->fields[i] : SLICE("");
	char text[CSV_NUMBER_MOST + 1], *end;
	bool whole = true;
	double f;

	if (s.n == 0 && (i >= c->n || !c->quoted[i]))
		return value_nil();
	if (c->quoted[i] || s.n > CSV_NUMBER_MOST || (s.n > 1 && s.p[0] == '0' && s.p[1] != '.'))
		return value_text(s);
	for (size_t k = 0; k < s.n; k++) {
		if (!strchr("0123456789.-", s.p[k]) || !s.p[k])
			return value_text(s);
		whole &= s.p[k] != '.';
	}
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	if (whole) {
		long long v = strtoll(text, &end, 10);

		return *end == '\0' && end != text ? value_int(v) : value_text(s);
	}
	f = strtod(text, &end);
	return *end == '\0' ? value_float(f) : value_text(s);
}

/* Which field of a line each column is. */
static int find_columns(const struct csv *c, const struct plan_node *node, uint32_t *at,
			struct error *error)
{
	for (uint32_t i = 0; i < node->column_n; i++) {
		at[i] = UINT32_MAX;
		for (uint32_t k = 0; k < c->n; k++)
			if (slice_eq(c->fields[k], node->columns[i].name))
				at[i] = k;
		if (at[i] == UINT32_MAX)
			return error_set(error, -EINVAL,
					 "the file %.*s has no column named %.*s; its first line "
					 "names %u columns, the first %.*s",
					 SLICE_ARG(node->csv.path),
					 SLICE_ARG(node->columns[i].name), c->n,
					 SLICE_ARG(c->fields[0]));
	}
	return 0;
}

static int read_rows(struct csv *c, struct query_at *run, const struct plan_node *node,
		     const struct run_sink *sink)
{
	_cleanup_(freep)
	uint32_t *at = calloc(node->column_n + 1, sizeof(*at));
	_cleanup_(freep)
	struct value *values = calloc(node->column_n + 1, sizeof(*values));
	int r = csv_next(c);

	if (!at || !values)
		return -ENOMEM;
	if (r == 0)
		return error_set(run->error, -EINVAL, "the file %.*s is empty",
				 SLICE_ARG(node->csv.path));
	if (r > 0)
		r = find_columns(c, node, at, run->error);
	while (r == 0 && (r = csv_next(c)) > 0) {
		for (uint32_t i = 0; i < node->column_n; i++)
			values[i] = field_value(c, at[i]);
		r = sink->row(sink->context, values, NULL);
		if (r == 0 && c->line % 1024 == 0)
			r = budget_check(&run->budget);
	}
	if (r == -E2BIG)
		return error_set(run->error, -EINVAL, "line %zu of %.*s has too many fields",
				 c->line, SLICE_ARG(node->csv.path));
	return r;
}

/* Bytes of a file that came along.  -ENOENT. */
static int sent_file(const struct query_run *options, struct slice name, struct slice *ret_bytes)
{
	for (size_t i = 0; i < options->sent_n; i++)
		if (slice_eq(options->sent[i].name, name)) {
			*ret_bytes = options->sent[i].bytes;
			return 0;
		}
	return -ENOENT;
}

/* Bytes of a file of this machine, for free(). */
static int own_file(struct query_at *run, struct slice file, char **ret_bytes, size_t *ret_n)
{
	const char *folder = run->options->files_at;
	struct arena names = {0};
	char *path;
	int r;

	if (!run->options->files)
		return error_set(run->error, -EPERM,
				 "csv(\"%.*s\"): a server opens no files for a query; send it "
				 "along as \"files\", as 'causet query' does",
				 SLICE_ARG(file));
	path = folder && (file.n == 0 || file.p[0] != '/')
		       ? arena_printf(&names, "%s/%.*s", folder, SLICE_ARG(file))
		       : arena_printf(&names, "%.*s", SLICE_ARG(file));
	r = path ? fs_load(fs_real(), path, CSV_BYTES_MOST, ret_bytes, ret_n) : -ENOMEM;
	if (r < 0 && r != -ENOMEM)
		error_set(run->error, r, "the file %.*s: %s", SLICE_ARG(file), strerror(-r));
	arena_done(&names);
	return r;
}

int run_csv(struct query_at *run, const struct plan_node *node, const struct run_sink *sink)
{
	_cleanup_(freep)
	struct csv *c = calloc(1, sizeof(*c));
	_cleanup_(freep)
	char *own = NULL;
	struct slice bytes = {0};
	int r = c ? sent_file(run->options, node->csv.path, &bytes) : -ENOMEM;

	if (r == -ENOENT) {
		r = own_file(run, node->csv.path, &own, &bytes.n);
		bytes.p = own;
	}
	if (r < 0)
		return r;
	c->at = bytes.p;
	c->end = bytes.p + bytes.n;
	r = read_rows(c, run, node, sink);
	arena_done(&c->arena);
	return r;
}
