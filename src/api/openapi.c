/* api/openapi.c - the description of the query API, as openapi.json has it. */
#include "api/openapi.h"

#include <openapi_text.h> /* made from openapi.json when building */

void openapi_get(struct http_request *req, struct api *api)
{
	http_reply_static(req, 200, "application/json",
			  slice_of(openapi_text, sizeof(openapi_text)));
}
