/* feature/alert_consumer.h - the thread that evaluates rules, and the one that tells webhooks.
 *
 * A rule is asked about one window after the other, a step of "every" apart; each window ends at
 * least "delay" before the moment it is asked about.  Windows that passed while the server was
 * down, or too busy, are caught up with, up to ALERT_CATCH_UP of them.  The feed says which rows
 * came too late for every window of a rule: they are counted, and shown with the rule.
 *
 * What an evaluation changes and the notification about it are one transaction of the catalogue, so
 * a notification is sent at least once, whatever happens: it may come again after a crash. */
#ifndef CAUSET_FEATURE_ALERT_CONSUMER_H
#define CAUSET_FEATURE_ALERT_CONSUMER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ALERT_CATCH_UP 60 /* windows of a rule */

struct alert_consumer;
struct catalog;
struct store;

struct alert_options {
	struct store *store; /* borrowed, as is the catalogue */
	struct catalog *catalog;
	int64_t query_time_ns; /* of one evaluation */
	size_t query_memory;
	struct share *share; /* of the processors, borrowed; may be NULL */
};

/* Only ever added to, but for the last four; for /metrics. */
struct alert_counters {
	_Atomic uint64_t evaluations, evaluation_failures, windows_skipped;
	_Atomic uint64_t notifications, notification_failures, notifications_dropped;
	_Atomic uint64_t late_rows, overflowed;
	_Atomic uint64_t rules, pending, firing, waiting;
};

/* Negative errno. */
int alert_consumer_start(const struct alert_options *options, struct alert_consumer **ret_consumer);

/* Waits for both threads; a webhook that is being told is given up.  Accepts NULL, returns NULL. */
struct alert_consumer *alert_consumer_stop(struct alert_consumer *c);

const struct alert_counters *alert_consumer_counters(const struct alert_consumer *c);

/* Where alerts say that they come from; copied.  Nothing is evaluated before it is said.  Any
 * thread. */
void alert_consumer_set_url(struct alert_consumer *c, const char *url);

/* Posts one notification, on the caller's thread: for trying out a webhook.  The HTTP status, or a
 * negative errno with the reason. */
int alert_consumer_post(const char *webhook, const char *body, const _Atomic bool *cancel,
			struct error *error);

/* The URL that was set. */
void alert_consumer_url(struct alert_consumer *c, char ret_url[256]);

#endif
