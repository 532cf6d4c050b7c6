/* capture/protocols.c - the table of protocols.  Those with the surest signs come first. */
#include "capture/protocol.h"

const struct protocol *const protocols[] = {
	&proto_http2,
	&proto_http1,
	&proto_tls,
	&proto_mongodb,
	&proto_postgres,
	&proto_mysql,
	&proto_memcached_binary,
	&proto_kafka,
	&proto_thrift,
	&proto_redis,
	&proto_memcached,
	&proto_dns_tcp,
	&proto_dns,
	NULL,
};

bool protocol_has_port(const struct protocol *p, uint16_t port)
{
	for (size_t i = 0; i < sizeof(p->ports) / sizeof(p->ports[0]) && p->ports[i]; i++)
		if (p->ports[i] == port)
			return true;
	return false;
}
