/* cli/commands.h - the subcommands, one per cmd_<name>.c. */
#ifndef CAUSET_CLI_COMMANDS_H
#define CAUSET_CLI_COMMANDS_H

#include "cli/cli.h"

extern const struct command command_serve;
extern const struct command command_alerts;
extern const struct command command_import;
extern const struct command command_export;
extern const struct command command_fmt;
extern const struct command command_infer;
extern const struct command command_lint;
extern const struct command command_make_trace;
extern const struct command command_query;
extern const struct command command_explain;
extern const struct command command_check;
extern const struct command command_mcp;
extern const struct command command_tracepoints;
extern const struct command command_services;
extern const struct command command_skew;
extern const struct command command_traces;
extern const struct command command_trace;
extern const struct command command_token;
extern const struct command command_redact;
extern const struct command command_keep;
extern const struct command command_thin;
extern const struct command command_store;
extern const struct command command_completion;
extern const struct command command_version;
extern const struct command command_help;

#endif
