/* cli/cli_store.h - what the verbs of `causet store` share. */
#ifndef CAUSET_CLI_CLI_STORE_H
#define CAUSET_CLI_CLI_STORE_H

#include "cli/cli.h"
#include "store/engine.h"
#include "store/store_check.h"

struct store_values {
	const char *format, *output;
	bool columns;
};

/* A server's folder, locked: nobody else works on it meanwhile. */
struct store_folder {
	const char *data;  /* the folder */
	const char *store; /* the store in it */
	int lock;
};

/* Locks it.  EXIT_OK, or an exit code after having said why not: it is not there, or a server uses
 * it.  With `busy`, the latter is EXIT_OK as well and *busy is true. */
int store_folder_open(struct cli *cli, const char *data, bool *busy,
		      struct store_folder *ret_folder);
void store_folder_close(struct store_folder *folder);

/* Opens its store without threads of its own; what is found wrong is said. */
int store_folder_engine(struct cli *cli, const struct store_folder *folder,
			struct store **ret_store);

/* "12.3 MiB", "98,765", "2026-01-02 03:04:05" in the arena; never NULL. */
const char *store_size(struct cli *cli, uint64_t bytes);
const char *store_moment(struct cli *cli, int64_t ns);

/* Appends a line for each part of the segments in a store, the largest first. */
int store_columns_print(struct cli *cli, const char *dir, struct buffer *out);

/* The larger verbs.  argv holds what stands behind the verb. */
int store_check_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_stat_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_compact_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_repair_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_export_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_backup_run(struct cli *cli, const struct store_values *v, int argc, char **argv);
int store_restore_run(struct cli *cli, const struct store_values *v, int argc, char **argv);

#endif
