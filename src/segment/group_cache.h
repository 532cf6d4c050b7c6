/* segment/group_cache.h - groups that nobody is reading, kept with what was decoded of them.
 *
 * Questions come back to the same groups: the newest, those of a trace in several places.  A group
 * that is closed goes here, and whoever opens it next finds its columns decoded; whoever opens
 * another one, when there is no room for more or some have not been wanted for seconds, gets the
 * memory of the one that was not wanted for longest.  What is here pins nothing and holds no file
 * open: a segment takes its groups out when it lets go of its tables or is closed. */
#ifndef CAUSET_SEGMENT_GROUP_CACHE_H
#define CAUSET_SEGMENT_GROUP_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct group_cache;
struct segment;
struct segment_group;

/* Keeps groups up to so many bytes in all.  NULL: out of memory. */
struct group_cache *group_cache_new(size_t bytes);
struct group_cache *group_cache_ref(struct group_cache *c);
/* NULL-safe; returns NULL. */
struct group_cache *group_cache_unref(struct group_cache *c);

/* --- for group.c and segment.c; any thread --- */

/* The group itself; or another one for its memory; or NULL.  The caller
 * has pinned the segment. */
struct segment_group *group_cache_take(struct group_cache *c, const struct segment *s,
				       uint32_t number);

/* Takes a group over, before its segment is unpinned. */
void group_cache_give(struct group_cache *c, struct segment_group *g);

/* Frees the groups of a segment. */
void group_cache_forget(struct group_cache *c, const struct segment *s);

/* Frees groups that nobody has wanted since then (core/clock.h, monotonic). */
void group_cache_age(struct group_cache *c, int64_t since_ns);

#endif
