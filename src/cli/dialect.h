/* cli/dialect.h - the choices of --dialect, in the order of enum lang_dialect. */
#ifndef CAUSET_CLI_DIALECT_H
#define CAUSET_CLI_DIALECT_H

#include "lang/ast.h"

static const char *const dialect_names[] = {
	[DIALECT_CAUSETQL] = "causetql", [DIALECT_TRACEQL] = "traceql", NULL};

#endif
