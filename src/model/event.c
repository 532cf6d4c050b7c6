/* model/event.c - names of the event types. */
#include "model/event.h"

const char *event_type_name(enum event_type type)
{
	static const char *const names[EVENT_TYPES] = {
		[EVENT_SPAN] = "span",
		[EVENT_BEGIN] = "begin",
		[EVENT_END] = "end",
		[EVENT_POINT] = "point",
		[EVENT_LOG] = "log",
		[EVENT_LINK] = "link",
		[EVENT_UNIT] = "unit",
		[EVENT_EDGE] = "edge",
		[EVENT_SEND] = "send",
		[EVENT_RECEIVE] = "receive",
		[EVENT_CLIENT_SEND] = "client_send",
		[EVENT_SERVER_RECEIVE] = "server_receive",
		[EVENT_SERVER_SEND] = "server_send",
		[EVENT_CLIENT_RECEIVE] = "client_receive",
		[EVENT_CLIENT_QUEUE] = "client_queue",
		[EVENT_ENQUEUE] = "enqueue",
		[EVENT_DEQUEUE] = "dequeue",
		[EVENT_COMPLETE] = "complete",
		[EVENT_LOCK_REQUEST] = "lock_request",
		[EVENT_LOCK_ACQUIRE] = "lock_acquire",
		[EVENT_LOCK_RELEASE] = "lock_release",
		[EVENT_COUNTER] = "counter",
	};

	return type < EVENT_TYPES ? names[type] : "?";
}
