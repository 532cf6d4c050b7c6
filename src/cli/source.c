/* cli/source.c - the bytes of a file or of standard input, decompressed on the way. */
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/cleanup.h"

#define INPUT_BYTES ((size_t)256 << 10)

enum packing { PLAIN, GZIP, ZSTD };

struct source {
	int fd;
	const char *name;
	uint64_t position, size;
	char *input; /* INPUT_BYTES, as read from the file */
	size_t input_at, input_n;
	bool input_end;
	enum packing packing;
	z_stream gzip;
	ZSTD_DStream *zstd;
	bool inside; /* a compressed stream has begun and not ended */
};

/* Makes sure that there is input unless the file is at its end. */
static int fill(struct source *s, struct error *error)
{
	while (s->input_at == s->input_n && !s->input_end) {
		ssize_t n = read(s->fd, s->input, INPUT_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(error, -errno, "cannot read %s: %s", s->name,
					 strerror(errno));
		s->input_at = 0;
		s->input_n = (size_t)n;
		s->position += (uint64_t)n;
		s->input_end = n == 0;
	}
	return 0;
}

static int packing_init(struct source *s, struct error *error)
{
	const unsigned char *p = (const unsigned char *)s->input;

	if (s->input_n >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
		if (inflateInit2(&s->gzip, 15 + 16) != Z_OK)
			return error_set(error, -ENOMEM, "out of memory");
		s->packing = GZIP;
	} else if (s->input_n >= 4 && memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0) {
		s->zstd = ZSTD_createDStream();
		if (!s->zstd)
			return error_set(error, -ENOMEM, "out of memory");
		s->packing = ZSTD;
	}
	return 0;
}

int source_open(const char *path, struct source **ret_source, struct error *error)
{
	bool standard = strcmp(path, "-") == 0;
	_cleanup_(source_closep)
	struct source *s = calloc(1, sizeof(*s));
	struct stat st;
	int r;

	if (!s)
		return error_set(error, -ENOMEM, "out of memory");
	s->name = standard ? "standard input" : path;
	s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	s->input = malloc(INPUT_BYTES);
	if (!s->input)
		return error_set(error, -ENOMEM, "out of memory");
	if (s->fd < 0)
		return error_set(error, -errno, "cannot open %s: %s", path, strerror(errno));
	if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(error, -EISDIR, "%s is a folder", path);
	if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
		s->size = (uint64_t)st.st_size;
	r = fill(s, error);
	if (r == 0)
		r = packing_init(s, error);
	if (r < 0)
		return r;
	*ret_source = TAKE_PTR(s);
	return 0;
}

struct source *source_close(struct source *s)
{
	if (!s)
		return NULL;
	if (s->packing == GZIP)
		inflateEnd(&s->gzip);
	ZSTD_freeDStream(s->zstd);
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s->input);
	free(s);
	return NULL;
}

static int damaged(struct source *s, const char *why, struct error *error)
{
	return error_set(error, -EBADMSG, "%s: the compressed data is damaged: %s", s->name, why);
}

static ssize_t read_gzip(struct source *s, char *out, size_t room, struct error *error)
{
	int code;

	s->gzip.next_in = (unsigned char *)s->input + s->input_at;
	s->gzip.avail_in = (unsigned)(s->input_n - s->input_at);
	s->gzip.next_out = (unsigned char *)out;
	s->gzip.avail_out = (unsigned)MIN(room, (size_t)1 << 30);
	room = s->gzip.avail_out;
	s->inside = true;
	code = inflate(&s->gzip, Z_NO_FLUSH);
	s->input_at = s->input_n - s->gzip.avail_in;
	if (code == Z_STREAM_END) {
		s->inside = false;
		inflateReset(&s->gzip); /* another member may follow */
	} else if (code != Z_OK && code != Z_BUF_ERROR) {
		return damaged(s, s->gzip.msg ? s->gzip.msg : "not gzip", error);
	}
	return (ssize_t)(room - s->gzip.avail_out);
}

static ssize_t read_zstd(struct source *s, char *out, size_t room, struct error *error)
{
	ZSTD_inBuffer in = {s->input, s->input_n, s->input_at};
	ZSTD_outBuffer to = {out, room, 0};
	size_t code = ZSTD_decompressStream(s->zstd, &to, &in);

	s->input_at = in.pos;
	if (ZSTD_isError(code))
		return damaged(s, ZSTD_getErrorName(code), error);
	s->inside = code != 0;
	return (ssize_t)to.pos;
}

ssize_t source_read(struct source *s, char *out, size_t room, struct error *error)
{
	for (;;) {
		ssize_t n;
		int r = fill(s, error);

		if (r < 0)
			return r;
		if (s->packing == PLAIN) {
			n = (ssize_t)MIN(room, s->input_n - s->input_at);
			memcpy(out, s->input + s->input_at, (size_t)n);
			s->input_at += (size_t)n;
			return n;
		}
		if (s->input_at == s->input_n && s->input_end && !s->inside)
			return 0;
		n = s->packing == GZIP ? read_gzip(s, out, room, error)
				       : read_zstd(s, out, room, error);
		if (n != 0)
			return n;
		if (s->input_end && s->input_at == s->input_n && s->inside)
			return damaged(s, "it is cut off", error);
	}
}

uint64_t source_position(const struct source *s)
{
	return s->position - (s->input_n - s->input_at);
}

uint64_t source_size(const struct source *s)
{
	return s->size;
}

const char *source_name(const struct source *s)
{
	return s->name;
}
