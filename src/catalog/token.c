/* catalog/token.c - bearer tokens: made, listed and revoked in the file.  Checking them against
 * the copy in memory is token_snapshot.c. */
#include "catalog/token.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/rng.h"
#include "catalog/catalog_int.h"
#include "catalog/token_int.h"

#define TOKEN_SECRET_BYTES 32
#define TOKEN_MAX_ROWS     100000 /* a catalogue, not a user database */
#define DETAIL_BYTES       200

static bool owner_char(char c, bool first)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	return !first && ((c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '@');
}

int owner_check(const char *name, struct error *e)
{
	size_t n = name ? strlen(name) : 0;

	if (n == 0)
		return error_set(e, -EINVAL, "a name is needed");
	if (n > OWNER_MAX_CHARS)
		return error_set(e, -EINVAL, "the name is longer than %d characters",
				 OWNER_MAX_CHARS);
	for (size_t i = 0; i < n; i++)
		if (!owner_char(name[i], i == 0))
			return error_at(e, -EINVAL, i,
					"a name is a letter, then letters, digits and . _ - @; "
					"'%.40s' is not",
					name);
	return 0;
}

/* 32 bytes give 43 characters, the last of which holds 4 bits; no padding. */
static void token_text(const uint8_t secret[TOKEN_SECRET_BYTES], char out[TOKEN_TEXT_CHARS + 1])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char *to = out + sizeof(TOKEN_PREFIX) - 1;
	uint32_t bits = 0;
	int have = 0;

	memcpy(out, TOKEN_PREFIX, sizeof(TOKEN_PREFIX) - 1);
	for (size_t i = 0; i < TOKEN_SECRET_BYTES; i++) {
		bits = bits << 8 | secret[i];
		for (have += 8; have >= 6; have -= 6)
			*to++ = digits[bits >> (have - 6) & 63];
	}
	*to++ = digits[bits << (6 - have) & 63];
	*to = '\0';
}

static int spec_check(const struct token_spec *spec, struct error *e)
{
	int r = owner_check(spec->owner, e);

	if (r < 0)
		return r;
	if (spec->roles == 0 || (spec->roles & ~(unsigned)ROLE_ALL))
		return error_set(e, -EINVAL, "a token needs at least one role");
	if (spec->expires_ns != 0 && spec->expires_ns <= clock_wall_ns())
		return error_set(e, -EINVAL, "the expiry is already past");
	return 0;
}

static int insert(struct catalog *cat, const struct token_spec *spec,
		  const uint8_t hash[TOKEN_HASH_BYTES], int64_t *ret_id, struct error *e)
{
	char detail[DETAIL_BYTES], roles[ROLES_TEXT_BYTES];
	int64_t id = 0;
	int r;

	r = catalog_exec(cat, e,
			 "INSERT INTO token (owner, hash, roles, created_ns, expires_ns, used_ns) "
			 "VALUES (?, ?, ?, ?, ?, 0)",
			 "sbiii", spec->owner, hash, (size_t)TOKEN_HASH_BYTES, (int64_t)spec->roles,
			 clock_wall_ns(), spec->expires_ns);
	if (r < 0)
		return r;
	id = sqlite3_last_insert_rowid(cat->db);
	roles_format(spec->roles, roles);
	snprintf(detail, sizeof(detail), "token %" PRId64 " of %s: %s", id, spec->owner, roles);
	r = audit_append(cat, spec->by, "token.add", detail, e);
	if (r == 0)
		*ret_id = id;
	return r;
}

int token_add(struct catalog *cat, const struct token_spec *spec,
	      char ret_text[TOKEN_TEXT_CHARS + 1], int64_t *ret_id, struct error *e)
{
	uint8_t secret[TOKEN_SECRET_BYTES], hash[TOKEN_HASH_BYTES];
	char text[TOKEN_TEXT_CHARS + 1];
	int64_t id = 0;
	int r;

	r = spec_check(spec, e);
	if (r < 0)
		return r;
	if (token_count(cat) >= TOKEN_MAX_ROWS)
		return error_set(e, -ENOSPC, "there are %d tokens already: revoke some",
				 TOKEN_MAX_ROWS);
	rng_secret(secret, sizeof(secret));
	token_text(secret, text);
	explicit_bzero(secret, sizeof(secret));
	r = token_hash(slice_of(text, TOKEN_TEXT_CHARS), hash);
	if (r < 0)
		return error_set(e, r, "SHA-256 is not available");

	r = catalog_begin(cat, e);
	if (r < 0)
		return r;
	r = catalog_end(cat, insert(cat, spec, hash, &id, e), e);
	if (r < 0)
		return r;
	memcpy(ret_text, text, sizeof(text));
	explicit_bzero(text, sizeof(text));
	if (ret_id)
		*ret_id = id;
	return 0;
}

static int list_rows(sqlite3_stmt *s, int (*each)(void *context, const struct token_info *token),
		     void *context, int *ret_rc)
{
	int r = 0;

	while (r == 0 && (*ret_rc = sqlite3_step(s)) == SQLITE_ROW) {
		const struct token_info token = {
			.id = sqlite3_column_int64(s, 0),
			.owner = (const char *)sqlite3_column_text(s, 1),
			.roles = (unsigned)sqlite3_column_int64(s, 2),
			.created_ns = sqlite3_column_int64(s, 3),
			.expires_ns = sqlite3_column_int64(s, 4),
			.used_ns = sqlite3_column_int64(s, 5),
		};

		if (!token.owner) {
			*ret_rc = SQLITE_NOMEM;
			break;
		}
		r = each(context, &token);
	}
	return r;
}

int token_list(struct catalog *cat, int (*each)(void *context, const struct token_info *token),
	       void *context, struct error *e)
{
	sqlite3_stmt *s = NULL;
	int rc, r = 0;

	pthread_mutex_lock(&cat->write_lock);
	rc = sqlite3_prepare_v2(
		cat->db,
		"SELECT id, owner, roles, created_ns, expires_ns, used_ns FROM token ORDER BY id",
		-1, &s, NULL);
	if (rc == SQLITE_OK)
		r = list_rows(s, each, context, &rc);
	if (r == 0 && rc != SQLITE_DONE)
		r = catalog_fail(cat->db, rc, e, "cannot read the catalogue");
	sqlite3_finalize(s);
	pthread_mutex_unlock(&cat->write_lock);
	return r;
}

/* Names start with a letter, so digits alone are a number. */
static int remove_rows(struct catalog *cat, const char *name_or_id, const char *by, struct error *e)
{
	char detail[DETAIL_BYTES];
	uint64_t id = 0;
	int r, gone;

	if (slice_parse_u64(slice_cstr(name_or_id), &id) == 0 && id <= INT64_MAX) {
		r = catalog_exec(cat, e, "DELETE FROM token WHERE id = ?", "i", (int64_t)id);
		snprintf(detail, sizeof(detail), "token %" PRIu64, id);
	} else {
		r = catalog_exec(cat, e, "DELETE FROM token WHERE owner = ?", "s", name_or_id);
		snprintf(detail, sizeof(detail), "every token of %s", name_or_id);
	}
	if (r < 0)
		return r;
	gone = sqlite3_changes(cat->db);
	if (gone == 0)
		return error_set(e, -ENOENT, "there is no token '%.80s'", name_or_id);
	r = audit_append(cat, by, "token.revoke", detail, e);
	return r < 0 ? r : gone;
}

int token_revoke(struct catalog *cat, const char *name_or_id, const char *by, struct error *e)
{
	int r = catalog_begin(cat, e);

	if (r < 0)
		return r;
	return catalog_end(cat, remove_rows(cat, name_or_id, by, e), e);
}
