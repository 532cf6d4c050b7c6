/* server/config.h - what can be set about `causet serve`: one table, one struct.
 *
 * A value comes from a flag, else from CAUSET_NAME in the environment, else from a file, else it is
 * the default.  --help, the man page, --print-config, --check-config and completion come from the
 * table, so a new setting is one row in config.c and one field here. */
#ifndef CAUSET_SERVER_CONFIG_H
#define CAUSET_SERVER_CONFIG_H

#include "base/option.h"
#include "store/wal.h"

#define CONFIG_ENVIRONMENT_PREFIX "CAUSET_"

enum config_store { STORE_DISK, STORE_MEMORY };

struct config {
	/* state */
	const char *data;
	int64_t store; /* enum config_store */
	const char *sync;
	int64_t flush_size, flush_interval_ns;
	int64_t retention_age_ns, retention_size;
	/* network */
	const char *listen;
	int64_t otlp_grpc_port, otlp_http_port, zipkin_port, http_port, jaeger_grpc_port,
		tempo_port;
	bool mcp;
	const char *port_file;
	struct option_list hosts, cors_origins;
	/* access */
	bool auth, insecure;
	const char *tls_cert, *tls_key, *tls_client_ca, *external_url;
	/* limits */
	int64_t memory_limit, max_body, max_decoded, body_memory, max_connections;
	int64_t loops, workers;
	int64_t query_time_ns, query_memory, queries_per_owner, queries;
	/* times */
	int64_t drain_ns, dedup_window_ns;
	/* what is made of what comes in */
	bool span_metrics;
	/* messages */
	int64_t log_level;
	/* what to do instead of serving */
	const char *config_file;
	bool print_config, print_routes, check_config;
};

extern const struct option config_options[]; /* ends with an empty row */

/* Completes a set over config_options that holds the command line: reads the file (the one that
 * `config` names, which must exist; else $XDG_CONFIG_HOME/causet/config, else /etc/causet/config),
 * the environment, fills in the default of `data`, and checks what one row cannot: a key without a
 * certificate, an open address without authentication.  `others` are tables that share the file. */
int config_complete(struct option_set *set, const struct option_set *const *others, size_t other_n,
		    char *const *environment, struct error *error);

/* Reads the value of `sync`.  -EINVAL. */
int config_sync(const char *text, enum wal_sync *ret_sync, int64_t *ret_interval_ns);

/* The checks alone. */
int config_check(const struct config *c, struct error *error);

/* The settings file that is read when none is named and one is there; in the arena, or NULL. */
const char *config_find_file(char *const *environment, struct arena *arena);

/* Reads a settings file into several sets; no path, nothing to read. */
int config_read_file(struct option_set *const *sets, size_t set_n,
		     const struct option_set *const *others, size_t other_n, const char *path,
		     struct error *error);

/* Where state goes when nobody says: $STATE_DIRECTORY (systemd), $XDG_STATE_HOME/causet,
 * ~/.local/state/causet; as root without a home /var/lib/causet.  In the arena; NULL: no memory. */
const char *config_data_default(char *const *environment, struct arena *arena);

/* Does the address reach only this machine?  "localhost", 127.0.0.0/8, ::1. */
bool config_is_loopback(const char *host);

#endif
