/* store/wal_int.h - the log's insides: layouts on the disk, records, files, hashes.
 *
 * docs/format/wal.md says what the bytes mean; what stands here holds the compiler to it. */
#ifndef CAUSET_STORE_WAL_INT_H
#define CAUSET_STORE_WAL_INT_H

#include "base/arena.h"
#include "base/pages.h"
#include "store/wal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the log holds arrays as they are");

#define WAL_VERSION          1
#define WAL_CURSORS_MOST     64
#define WAL_CURSOR_NAME_MOST 255

/* --- layouts --- */

struct wal_file_header {
	char magic[8];
	uint32_t version, bytes;
	uint64_t number;
	uint64_t first;
	uint64_t seed;
	int64_t created_ns;
	uint64_t previous;
	uint64_t check;
};
_Static_assert(sizeof(struct wal_file_header) == 64, "docs/format/wal.md");

struct wal_record_header {
	uint32_t magic;
	uint32_t header_check;
	uint64_t payload_check;
	uint64_t bytes;
	uint64_t seq, previous, synced;
	int64_t received_ns;
	uint8_t body_hash[16];
	uint32_t bits; /* enum wal_record_bits */
	uint32_t cursor_n, cursor_bytes;
	uint32_t owner, sender;
	uint32_t strings, text_n, event_n, attr_n, nested_n, extra_n, resource_n, scope_n;
	uint32_t place_n; /* 0 or event_n */
	uint64_t kept_threshold;
	uint32_t wide_n;
	uint32_t zero_end;
};
_Static_assert(sizeof(struct wal_record_header) == 144, "docs/format/wal.md");

enum wal_record_bits { WAL_HAS_HASH = 1, WAL_HAS_BATCH = 2 };

struct wal_seen_header {
	char magic[8];
	uint32_t version, bytes;
	uint64_t number, seed, entries;
	uint64_t check;
};
_Static_assert(sizeof(struct wal_seen_header) == 48, "docs/format/wal.md");

struct wal_hash {
	uint8_t hash[16];
	int64_t received_ns;
};
_Static_assert(sizeof(struct wal_hash) == 24, "docs/format/wal.md");

/* The batch's arrays are part of the format. */
_Static_assert(sizeof(struct event) == 88 && offsetof(struct event, time_ns) == 32 &&
		       offsetof(struct event, name) == 48 && offsetof(struct event, attrs) == 60 &&
		       offsetof(struct event, kind) == 76 && offsetof(struct event, type) == 84 &&
		       offsetof(struct event, bits) == 86,
	       "docs/format/wal.md");
_Static_assert(sizeof(struct event_place) == 16 && offsetof(struct event_place, seq) == 8,
	       "docs/format/wal.md");
_Static_assert(sizeof(struct attr) == 8 && offsetof(struct attr, word) == 4, "docs/format/wal.md");
_Static_assert(sizeof(struct event_extra) == 64 && offsetof(struct event_extra, link_trace) == 32 &&
		       offsetof(struct event_extra, observed_ns) == 48 &&
		       offsetof(struct event_extra, body) == 56,
	       "docs/format/wal.md");
_Static_assert(sizeof(struct resource) == 32 && offsetof(struct resource, entities) == 24,
	       "docs/format/wal.md");
_Static_assert(sizeof(struct scope) == 32 && offsetof(struct scope, attrs) == 12 &&
		       offsetof(struct scope, unknown_group) == 28,
	       "docs/format/wal.md");
_Static_assert(sizeof(struct batch) == 312, "what is new in a batch belongs in its record");
_Static_assert(EVENT_TYPES == 22 && VALUE_RAW_PAIR == 9 && FORMAT_NATIVE == 3,
	       "new numbers are a new version of the log: docs/format/wal.md");

/* --- records (wal_record.c) --- */

/* A record on its way to the disk.  Borrows the batch and the cursors' bytes. */
struct wal_item {
	uint64_t seq, checksum;
	size_t bytes;
	struct batch *batch; /* or NULL */
	uint8_t body_hash[16];
	bool has_body_hash;
	uint32_t cursor_n;
	struct slice cursors; /* as they lie in the file */
};

/* Parts of a record at most: the header, ten arrays, cursors, and their paddings. */
#define WAL_PARTS_MOST 23

/* Fills `bytes` and `checksum` of an append.  -E2BIG when its cursors are too many or too long. */
int wal_append_measure(struct store_append *append);

/* The item of an append; what it needs of memory is in the arena.  False: none. */
bool wal_item_of(const struct store_append *append, struct arena *arena, struct wal_item *ret_item);

/* What is to be written: fills the header (previous and synced are the caller's, set before) and
 * the parts.  Returns how many. */
size_t wal_item_parts(const struct wal_item *item, uint64_t check_seed,
		      struct wal_record_header *header, struct iovec parts[WAL_PARTS_MOST]);

/* The seed of the header checks of one file. */
static inline uint64_t wal_check_seed(uint64_t seed, uint64_t number)
{
	return seed ^ number;
}

/* Bytes behind the header, by its counts. */
uint64_t wal_payload_bytes(const struct wal_record_header *h);

/* Is this a header of that file, with a length that fits its counts? */
bool wal_record_header_ok(const struct wal_record_header *h, uint64_t check_seed);

/* Is the payload (all behind the header) what the header says, a batch without wrong indices? */
struct wal_loaded {
	struct batch *batch;
	struct store_cursor cursors[WAL_CURSORS_MOST];
	struct pages *pages; /* when no batch owns it */
};
/* `payload` lies in `pages`, aligned to 8; that reference is taken over in any case.  -EBADMSG,
 * -ENOMEM. */
int wal_record_load(const struct wal_record_header *h, struct pages *pages, char *payload,
		    struct wal_loaded *ret);
void wal_loaded_done(struct wal_loaded *loaded);

/* --- reading one file (wal_read.c) --- */

struct wal_reader {
	struct fs *fs;
	int fd;
	uint64_t number, size, check_seed;
	struct pages *whole; /* all of the file; or NULL, and */
	char *window;        /* a stretch of it */
	uint64_t window_at;
	size_t window_n;
};

enum wal_header_state {
	WAL_HEADER_GOOD,
	WAL_HEADER_EMPTY,   /* too short, or zeros: nothing was ever acknowledged in it */
	WAL_HEADER_DAMAGED, /* something else */
	WAL_HEADER_NEWER,   /* a version we do not know */
};

/* Opens for reading.  Negative errno as of open.  `whole` may be set then, to all of its bytes. */
int wal_reader_open(struct wal_reader *r, struct fs *fs, const char *path, uint64_t number);
void wal_reader_done(struct wal_reader *r);
/* Its header, and what to think of it.  -EIO … when it cannot be read. */
int wal_reader_header(struct wal_reader *r, struct wal_file_header *ret_header,
		      enum wal_header_state *ret_state);
/* The record header at `at`.  1: there is a good one; 0: there is not.  Negative: errno. */
int wal_reader_at(struct wal_reader *r, uint64_t at, struct wal_record_header *ret_header);
/* The same, at the first place at or behind `from` that has one.  Skips what cannot be read. */
int wal_reader_find(struct wal_reader *r, uint64_t from, uint64_t *ret_at,
		    struct wal_record_header *ret_header);
/* Is everything from `from` to the end zero? */
bool wal_reader_zero(struct wal_reader *r, uint64_t from);
/* The record whose header stands at `at`.  -EBADMSG, -EIO …, -ENOMEM. */
int wal_reader_load(struct wal_reader *r, uint64_t at, const struct wal_record_header *h,
		    struct wal_loaded *ret_loaded);

/* --- hashes (wal_seen.c) --- */

/* Of one file, in the order of its records. */
struct wal_hashes {
	struct wal_hash *items;
	size_t n, capacity;
};

bool wal_hashes_add(struct wal_hashes *h, const uint8_t hash[16], int64_t received_ns);
/* Writes those younger than `since_ns` to the .seen file; nothing if there is none.  Durable on
 * return. */
int wal_seen_write(struct fs *fs, const char *dir, uint64_t number, uint64_t seed,
		   const struct wal_hashes *hashes, int64_t since_ns);
/* Reads one.  -EBADMSG when it is damaged. */
int wal_seen_read(struct fs *fs, const char *dir, uint64_t number, uint64_t *ret_seed,
		  struct wal_hashes *ret_hashes);
/* The newest, or INT64_MIN. */
int64_t wal_hashes_newest(const struct wal_hashes *h);

/* --- the folder (wal_folder.c) --- */

/* One log file that is not being written. */
struct wal_file {
	uint64_t number;
	uint64_t last;  /* the highest number in it that counts, or 0 */
	uint64_t bytes; /* up to the end of what counts */
	uint64_t size;  /* of the file */
	bool damaged;   /* goes to set-aside/, not away */
	struct wal_hashes hashes;
};

/* Hashes of a file that is gone. */
struct wal_seen {
	uint64_t number;
	int64_t newest_ns;
};

struct wal_folder {
	struct wal_file *files; /* by number */
	size_t file_n, file_capacity;
	struct wal_seen *seen; /* by number */
	size_t seen_n, seen_capacity;
	uint64_t seed; /* 0: none was found */
	uint64_t last; /* the highest number that counts, or after_seq */
	uint64_t next_number;
};

void wal_folder_done(struct wal_folder *f);
/* Reads everything: replay() and finding() of the options are called.  Changes nothing. */
int wal_folder_read(const struct wal_options *options, struct wal_folder *ret_folder,
		    struct error *error);
/* Then: removes what is empty, cuts what is to be cut, sets aside what cannot be read.  As far as
 * the disk allows; what fails does no harm. */
void wal_folder_tidy(const struct wal_options *options, struct wal_folder *folder);

enum wal_name { WAL_NAME_LOG, WAL_NAME_SEEN };
/* "DIR/wal-….log" for free(), or NULL. */
char *wal_path(const char *dir, enum wal_name kind, uint64_t number);
bool wal_name_parse(const char *name, enum wal_name *ret_kind, uint64_t *ret_number);
/* Moves a file of the folder to set-aside/, under a name that is free there. */
int wal_set_aside(struct fs *fs, const char *dir, enum wal_name kind, uint64_t number);

#endif
