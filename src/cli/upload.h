/* cli/upload.h - sending requests to a server's ingest ports: where each format goes, trying again
 * when told to, and adding up what was refused. */
#ifndef CAUSET_CLI_UPLOAD_H
#define CAUSET_CLI_UPLOAD_H

#include "cli/remote.h"
#include "wire/codecs.h"

#define UPLOAD_DIRECT_MAX ((size_t)8 << 20) /* larger requests are sent in pieces */
#define UPLOAD_TRIES      10                /* while the server says 429 or 503 */

struct upload {
	struct remote *remote;
	uint64_t requests, bytes, waits;
	uint64_t rejected; /* rows the server refused */
	const char *where; /* "file, request 3", for messages */
	bool unreachable;  /* no answer came: further requests are pointless */
	char reason[200];  /* why the first was */
};

/* Sends one request of a file: as it is where a port takes its format, else (or when it is too
 * large) decoded and sent in pieces.  EXIT_OK or an exit code after having said why. */
int upload_request(struct upload *u, const struct codec *codec, struct slice request);

#endif
