/* cli/formats.h - names of formats on the command line. */
#ifndef CAUSET_CLI_FORMATS_H
#define CAUSET_CLI_FORMATS_H

#include "cli/cli.h"
#include "wire/codecs.h"

#define FORMATS_DOC                                                                                \
	"format: otlp, otlp-json, zipkin, jaeger, events, …; a wrong name lists them all"

/* The codec of that name; NULL and EXIT_OK for a NULL name.  EXIT_USAGE after having said which
 * there are. */
int format_find(const struct cli *cli, const char *name, const struct codec **ret_codec);

#endif
