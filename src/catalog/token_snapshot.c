/* catalog/token_snapshot.c - the tokens as a running server checks them: a copy in memory.
 *
 * Read whole from the file when it has changed and swapped in under a lock that is held for a
 * lookup or a pointer store, so no request waits for SQLite.  The only thing written back is when a
 * token was last used, coarsely. */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/map.h"
#include "base/vec.h"
#include "catalog/catalog_int.h"
#include "catalog/token.h"
#include "catalog/token_int.h"
#include "core/hash.h"

struct token {
	int64_t id;
	int64_t expires_ns;
	unsigned roles;
	int64_t stored_used_ns;  /* as the file has it */
	_Atomic int64_t used_ns; /* as we know it; written by any thread that holds tokens_lock */
	uint8_t hash[TOKEN_HASH_BYTES];
	char owner[OWNER_MAX_CHARS + 1];
};

struct token_snapshot {
	struct token *tokens; /* in order of id */
	size_t n, capacity;
	struct map by_hash;
};

int token_hash(struct slice text, uint8_t ret_hash[TOKEN_HASH_BYTES])
{
	unsigned n = 0;

	if (EVP_Digest(text.p, text.n, ret_hash, &n, EVP_sha256(), NULL) != 1 ||
	    n != TOKEN_HASH_BYTES)
		return -EIO;
	return 0;
}

static void snapshot_freep(struct token_snapshot **snapshot)
{
	struct token_snapshot *s = *snapshot;

	if (!s)
		return;
	map_done(&s->by_hash);
	free(s->tokens);
	free(s);
}

void tokens_free(struct catalog *cat)
{
	snapshot_freep(&cat->tokens);
	cat->tokens = NULL;
}

/* What the map is asked with is a digest nobody can steer, and the map's hash of it is seeded, so
 * which slots are visited tells nothing; the digest itself is compared in constant time. */
static bool same_hash(const void *context, uint32_t value, const void *key)
{
	const struct token_snapshot *s = context;

	return CRYPTO_memcmp(s->tokens[value].hash, key, TOKEN_HASH_BYTES) == 0;
}

static struct token *snapshot_find(const struct token_snapshot *s,
				   const uint8_t hash[TOKEN_HASH_BYTES])
{
	uint64_t slot = hash_bytes(hash, TOKEN_HASH_BYTES, s->by_hash.seed);
	uint32_t at = map_get(&s->by_hash, slot, same_hash, s, hash);

	return at == MAP_NONE ? NULL : &s->tokens[at];
}

/* One row: id, owner, hash, roles, expires_ns, used_ns.  False when out of memory. */
static bool snapshot_add(struct token_snapshot *s, sqlite3_stmt *row)
{
	const char *owner = (const char *)sqlite3_column_text(row, 1);
	const void *hash = sqlite3_column_blob(row, 2);
	struct token *t;

	if (!owner || !hash || s->n >= MAP_NONE ||
	    !vec_reserve(&s->tokens, &s->capacity, s->n + 1, sizeof(*s->tokens)))
		return false;
	t = &s->tokens[s->n];
	memset(t, 0, sizeof(*t));
	t->id = sqlite3_column_int64(row, 0);
	t->roles = (unsigned)sqlite3_column_int64(row, 3);
	t->expires_ns = sqlite3_column_int64(row, 4);
	t->stored_used_ns = sqlite3_column_int64(row, 5);
	t->used_ns = t->stored_used_ns;
	memcpy(t->hash, hash, TOKEN_HASH_BYTES); /* the schema checks the length */
	strncpy(t->owner, owner, OWNER_MAX_CHARS);
	if (!map_put(&s->by_hash, hash_bytes(t->hash, TOKEN_HASH_BYTES, s->by_hash.seed),
		     (uint32_t)s->n))
		return false;
	s->n++;
	return true;
}

/* Both are in order of id. */
static void keep_used_times(struct token_snapshot *to, const struct token_snapshot *from)
{
	for (size_t i = 0, j = 0; i < to->n && j < from->n;) {
		if (to->tokens[i].id < from->tokens[j].id) {
			i++;
		} else if (to->tokens[i].id > from->tokens[j].id) {
			j++;
		} else {
			int64_t used = atomic_load(&from->tokens[j++].used_ns);

			if (used > to->tokens[i].used_ns)
				to->tokens[i].used_ns = used;
			i++;
		}
	}
}

int tokens_reload(struct catalog *cat, struct error *e)
{
	_cleanup_(snapshot_freep)
	struct token_snapshot *fresh = calloc(1, sizeof(*fresh));
	_cleanup_(sqlite_finalizep)
	sqlite3_stmt *s = NULL;
	struct token_snapshot *old;
	int rc;

	if (!fresh)
		return error_set(e, -ENOMEM, "out of memory");
	map_init(&fresh->by_hash);
	rc = sqlite3_prepare_v2(
		cat->watch,
		"SELECT id, owner, hash, roles, expires_ns, used_ns FROM token ORDER BY id", -1, &s,
		NULL);
	if (rc == SQLITE_OK)
		while ((rc = sqlite3_step(s)) == SQLITE_ROW)
			if (!snapshot_add(fresh, s))
				return error_set(e, -ENOMEM, "out of memory");
	if (rc != SQLITE_DONE)
		return catalog_fail(cat->watch, rc, e, "cannot read the catalogue");
	if (cat->tokens)
		keep_used_times(fresh, cat->tokens);

	pthread_rwlock_wrlock(&cat->tokens_lock);
	old = cat->tokens;
	cat->tokens = TAKE_PTR(fresh);
	pthread_rwlock_unlock(&cat->tokens_lock);
	snapshot_freep(&old);
	return 0;
}

static bool any_used(const struct token_snapshot *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (atomic_load(&s->tokens[i].used_ns) > s->tokens[i].stored_used_ns)
			return true;
	return false;
}

static int write_used(struct catalog *cat)
{
	int r = 0;

	for (size_t i = 0; i < cat->tokens->n && r == 0; i++) {
		struct token *t = &cat->tokens->tokens[i];
		int64_t used = atomic_load(&t->used_ns);

		if (used > t->stored_used_ns)
			r = catalog_exec(cat, NULL,
					 "UPDATE token SET used_ns = max(used_ns, ?) WHERE id = ?",
					 "ii", used, t->id);
	}
	return r;
}

/* Nobody waits for this: when the file is busy the times stay in memory until the next chance, and
 * synchronous=NORMAL spares the fsync, since losing a minute of last-used times harms nobody. */
void tokens_flush_used(struct catalog *cat, bool may_wait)
{
	int64_t now = clock_mono_ns();

	if (cat->read_only || (!may_wait && now - cat->used_flush_ns < TOKEN_USED_GRAIN_NS))
		return;
	cat->used_flush_ns = now;
	if (!any_used(cat->tokens) || pthread_mutex_trylock(&cat->write_lock) != 0)
		return;
	sqlite3_busy_timeout(cat->db, may_wait ? CATALOG_BUSY_TIMEOUT_MS : 0);
	sqlite3_exec(cat->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
	/* The commit is a change like any other: the next poll reads the times back. */
	if (sqlite3_exec(cat->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
	    (write_used(cat) < 0 || sqlite3_exec(cat->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK))
		sqlite3_exec(cat->db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(cat->db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
	sqlite3_busy_timeout(cat->db, CATALOG_BUSY_TIMEOUT_MS);
	pthread_mutex_unlock(&cat->write_lock);
}

int token_check(struct catalog *cat, struct slice text, struct token_identity *ret_identity)
{
	uint8_t hash[TOKEN_HASH_BYTES];
	struct token *t;
	int r = -EACCES;

	if (text.n != TOKEN_TEXT_CHARS || !slice_starts(text, SLICE(TOKEN_PREFIX)))
		return -EACCES;
	catalog_poll(cat);
	if (token_hash(text, hash) < 0)
		return -EACCES;

	pthread_rwlock_rdlock(&cat->tokens_lock);
	t = snapshot_find(cat->tokens, hash);
	if (t) {
		int64_t now = clock_wall_ns();

		r = t->expires_ns != 0 && now >= t->expires_ns ? -EKEYEXPIRED : 0;
		if (r == 0) {
			/* Once a second is enough, and keeps the cache line shared. */
			if (now - atomic_load_explicit(&t->used_ns, memory_order_relaxed) >
			    NS_PER_S)
				atomic_store_explicit(&t->used_ns, now, memory_order_relaxed);
			ret_identity->id = t->id;
			ret_identity->roles = t->roles;
			memcpy(ret_identity->owner, t->owner, sizeof(t->owner));
		}
	}
	pthread_rwlock_unlock(&cat->tokens_lock);
	return r;
}

size_t token_count(struct catalog *cat)
{
	size_t n;

	catalog_poll(cat);
	pthread_rwlock_rdlock(&cat->tokens_lock);
	n = cat->tokens->n;
	pthread_rwlock_unlock(&cat->tokens_lock);
	return n;
}
