/* cli/cli_catalog.h - what the commands that change a server's catalogue share. */
#ifndef CAUSET_CLI_CLI_CATALOG_H
#define CAUSET_CLI_CLI_CATALOG_H

#include "catalog/catalog.h"
#include "cli/cli.h"

/* Opens the catalogue in the folder of --data.  With `make` both are created where they are
 * missing; without, a missing one is said to be.  0, or an exit code after a message. */
int cli_catalog_open(struct cli *cli, bool make, struct catalog **ret_catalog);

/* Who is at the command line, for the audit log: "alice@command-line". */
const char *cli_actor(struct cli *cli);

/* The sub-command's name in argv[0]: its index in `words`, or EXIT_USAGE said and -1. */
int cli_verb(struct cli *cli, const char *const *words, int argc, char **argv);

/* `remove ID…` of a command that keeps numbered rules: all that are there, and an exit code that
 * says whether all were. */
typedef int cli_rule_remove(struct catalog *cat, int64_t id, const char *by, struct error *e);
int cli_remove_rules(struct cli *cli, int argc, char **argv, cli_rule_remove *remove_one);

/* `drop NAME…` of a command that keeps named things: in the catalogue of the folder `data`, or,
 * where that is NULL, on the server (DELETE path/NAME).  An exit code that says whether all were
 * there. */
typedef int cli_named_drop(struct catalog *cat, const char *name, const char *by, struct error *e);
int cli_drop_named(struct cli *cli, const char *data, const char *path, int argc, char **argv,
		   cli_named_drop *drop_one);

#endif
