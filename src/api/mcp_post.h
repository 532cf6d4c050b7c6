/* api/mcp_post.h - POST /api/mcp: the Model Context Protocol over streamable HTTP. */
#ifndef CAUSET_API_MCP_POST_H
#define CAUSET_API_MCP_POST_H

#include "api/api.h"

struct mcp_calls;

/* What the route needs besides; NULL in struct api: it is off.  Read only once set up. */
struct mcp_door {
	uint8_t key[32];            /* signs the names of sessions */
	const char *const *origins; /* web pages that may ask, NULL-terminated; "*": any; or NULL */
	struct mcp_calls *calls;
};

/* -ENOMEM. */
int mcp_door_init(struct mcp_door *door, const char *const *origins);
void mcp_door_done(struct mcp_door *door);

void mcp_post(struct http_request *req, struct api *api);

#endif
