/* api/receive.c - what programs post: the routes into ingest. */
#include "api/receive.h"

#include "ingest/ingest.h"

static void take(struct http_request *req, struct api *api, enum ingest_kind kind)
{
	ingest_take(api->ingest, req, api_request(req)->who.owner, kind);
}

void receive_traces(struct http_request *req, struct api *api)
{
	take(req, api, INGEST_TRACES);
}

void receive_logs(struct http_request *req, struct api *api)
{
	take(req, api, INGEST_LOGS);
}

void receive_metrics(struct http_request *req, struct api *api)
{
	take(req, api, INGEST_METRICS);
}

void receive_events(struct http_request *req, struct api *api)
{
	take(req, api, INGEST_EVENTS);
}

void receive_zipkin(struct http_request *req, struct api *api)
{
	take(req, api, INGEST_ZIPKIN);
}
