"""Every parameter of every route that answers questions, with values nobody should send: an answer or a reason, never a 5xx,
and the server stays.

ROUTES says what each route takes, with a value that makes sense; a test compares it with the routes that the program prints,
so that a new one must be added.  Each parameter is then given every nonsense in turn, and all of them some at random."""
import http.client
import json
import random
import re
import subprocess
import urllib.parse

import grpc
import pytest

from messages import protos
from recorded import spans
from server import Server

pytestmark = pytest.mark.once

NAMES = ['service', 'operation', 'tags', 'tag', 'start', 'end', 'limit', 'lookback', 'minDuration', 'maxDuration', 'traceID', 'spanKind',
         'endTs', 'quantile', 'step', 'ratePer', 'groupByOperation', 'serviceName', 'remoteServiceName', 'spanName', 'annotationQuery',
         'traceIds', 'key', 'partition', 'cursor', 'order', 'format', 'errors', 'startTime', 'endTime', 'start_time', 'end_time', 'raw',
         'query.serviceName', 'query.service_name', 'query.startTimeMin', 'query.start_time_max', 'query.startTimeMax',
         'query.start_time_min', 'query.durationMin', 'query.duration_max', 'query.searchDepth', 'query.num_traces', 'query.attributes',
         'query.filter', 'query.operationName', 'rawTraces', 'prettyPrint', 'q', 'q', 'q', 'spss', 'scope', 'exemplars']
VALUES = ['', '0', '-1', '1', '2', '1.5', 'x', 'true', 'null', '99999999999999999999', '18446744073709551615', '9223372036854775807',
          '-9223372036854775808', '1e309', 'nan', '1794732544000000', '1794732844000000', '1794732544', '1794732844000', '1ms', '-5s', '1h',
          '9999999h', '2026-11-15T08:49:04Z', '2026-11-15T08:54:04+00:00', '0000-00-00', '{}', '{"a":"b"}', '{"a":1}', '{"a":{}}', '[', '"',
          '{"error":"true"}', 'odd-many', 'shop-pay', 'nobody', 'é\x00\n', '\ud7ff', 'a' * 5000, 'c0ffee00000000000000000000000001', '0' * 32,
          'a,b', ',', 'abcde,abcdf', 'k=v and', ' and ', '=', 'k=', '0/0', '1/2', '4/4', '1-1-1', 'server', 'SPAN_KIND_CLIENT', '../..', '%',
          '{ span.a = "b" }', '{ name =~ "(" }', '{}|rate() by (name)', '{} | select(', '{}>>{}', 'a=b "c d"=e', '{' * 300, '{ -1 }',
          '{} | quantile_over_time(duration, 2)', '{ 1 = 1 } | count() > -1', '{} | topk(0)', 'intrinsic']
SEGMENTS = ['c0ffee00000000000000000000000001', 'abcde', 'x', '%00', '%', '%zz', 'a' * 3000, '..%2f', 'odd-many', '%F0%9F', 'AAAA']
TRACE = 'c0ffee00000000000000000000000069'
T0, T1 = 1794732544, 1794732844  # around the spans of tests/recorded, in seconds

# What comes in has tests of its own: test_bad_input.py, tests/fuzz.
INGEST = {'/v1/traces', '/v1/logs', '/v1/metrics', '/v1/events', '/api/v2/spans'}

# Known, and answered with 501: there is no such thing here.
ABSENT = {'/api/archive/{id}'}

NONE = {}
MONITOR = {'service': 'odd-many', 'endTs': f'{T1}000', 'lookback': '300000', 'quantile': '0.95', 'step': '60000', 'ratePer': '60000',
           'spanKind': 'server', 'groupByOperation': 'true'}
OURS = {'service': 'odd-many', 'operation': 'op1', 'tag': 'http.method=POST', 'minDuration': '1ms', 'maxDuration': '1h', 'start': f'{T0}',
        'end': f'{T1}', 'errors': 'true', 'order': 'newest', 'limit': '5', 'cursor': '1-1-1', 'format': 'otlp-json', 'partition': '0/2'}
V3 = {'query.service_name': 'odd-many', 'query.operation_name': 'op1', 'query.start_time_min': '2026-11-15T08:49:04Z',
      'query.start_time_max': '2026-11-15T08:54:04Z', 'query.duration_min': '1ms', 'query.duration_max': '1h', 'query.num_traces': '5',
      'query.search_depth': '5', 'query.attributes': '{"group":"g1"}', 'query.filter': '', 'query.raw_traces': 'true'}
TEMPO = {'start': f'{T0}', 'end': f'{T1}'}
TRACEQL = {**TEMPO, 'q': '{ name != "" }'}

RULE = {'name': 'fuzz', 'query': '{ status = error }', 'dialect': 'traceql', 'value': '', 'when': '>', 'threshold': 1, 'over': '1m', 'for': '1m',
        'every': '1h', 'delay': '1s', 'repeat': '1h', 'webhook': 'http://127.0.0.1:1/', 'labels': {'a': 'b'}, 'annotations': {'c': 'd'}}

# (method, path, port): its parameters.  {…} of the path is always tried with SEGMENTS, too.
ROUTES = {
    **{('GET', path, 'http'): NONE for path in ('/live', '/ready', '/metrics', '/metrics/spans', '/api/services', '/api/metrics/minstep',
                                                '/api/v3/services', '/api/v3/capabilities', '/api/query', '/api/tracepoints',
                                                '/api/openapi.json', '/api/v1/services', '/api/v1/tools')},
    ('GET', '/api/v2/services', 'zipkin'): NONE,
    ('GET', '/api/v2/spans', 'zipkin'): {'serviceName': 'odd-many'},
    ('GET', '/api/v2/remoteServices', 'zipkin'): {'serviceName': 'odd-many'},
    ('GET', '/api/v2/traces', 'zipkin'): {
        'serviceName': 'odd-many', 'spanName': 'op1', 'remoteServiceName': 'odd-db', 'annotationQuery': 'group=g1', 'minDuration': '1',
        'maxDuration': '9000000', 'endTs': f'{T1}000', 'lookback': '300000', 'limit': '5'},
    ('GET', '/api/v2/trace/{id}', 'zipkin'): NONE,
    ('GET', '/api/v2/traceMany', 'zipkin'): {'traceIds': f'{TRACE},c0ffee00000000000000000000000001'},
    ('GET', '/api/v2/dependencies', 'zipkin'): {'endTs': f'{T1}000', 'lookback': '300000'},
    ('GET', '/api/v2/autocompleteKeys', 'zipkin'): NONE,
    ('GET', '/api/v2/autocompleteValues', 'zipkin'): {'key': 'group'},
    ('GET', '/zipkin/config.json', 'zipkin'): NONE,
    ('GET', '/info', 'zipkin'): NONE,
    ('GET', '/health', 'zipkin'): NONE,
    ('GET', '/api/services/{service}/operations', 'http'): NONE,
    ('GET', '/api/operations', 'http'): {'service': 'odd-many', 'spanKind': 'server'},
    ('GET', '/api/traces', 'http'): {
        'service': 'odd-many', 'operation': 'op1', 'tags': '{"group":"g1"}', 'tag': 'group:g1', 'start': f'{T0}000000',
        'end': f'{T1}000000', 'lookback': 'custom', 'minDuration': '1ms', 'maxDuration': '1h', 'limit': '5', 'traceID': TRACE, 'raw': 'true'},
    ('GET', '/api/traces/{id}', 'http'): {'raw': 'true', 'start': f'{T0}000000', 'end': f'{T1}000000', 'prettyPrint': 'true'},
    ('GET', '/api/metrics/latencies', 'http'): MONITOR,
    ('GET', '/api/metrics/calls', 'http'): MONITOR,
    ('GET', '/api/metrics/errors', 'http'): MONITOR,
    ('GET', '/api/dependencies', 'http'): {'endTs': f'{T1}000', 'lookback': '300000'},
    ('GET', '/api/v3/operations', 'http'): {'service': 'odd-many', 'span_kind': 'server', 'spanKind': 'server'},
    ('GET', '/api/v3/traces', 'http'): V3,
    ('GET', '/api/v3/trace-summaries', 'http'): V3,
    ('GET', '/api/v3/traces/{id}', 'http'): {'start_time': '2026-11-15T08:49:04Z', 'end_time': '2026-11-15T08:54:04Z',
                                             'raw_traces': 'true'},
    ('GET', '/api/v3/dependencies', 'http'): {'start_time': '2026-11-15T08:49:04Z', 'end_time': '2026-11-15T08:54:04Z'},
    ('GET', '/api/echo', 'tempo'): NONE,
    ('GET', '/api/status/buildinfo', 'tempo'): NONE,
    ('GET', '/api/traces/{id}', 'tempo'): TEMPO,
    ('GET', '/api/v2/traces/{id}', 'tempo'): TEMPO,
    ('GET', '/api/search', 'tempo'): {**TRACEQL, 'limit': '5', 'spss': '2', 'tags': 'group=g1', 'minDuration': '1ms', 'maxDuration': '1h'},
    ('GET', '/api/metrics/query_range', 'tempo'): {**TEMPO, 'q': '{} | rate() by (name)', 'step': '10s', 'exemplars': '5', 'since': '1h'},
    ('GET', '/api/metrics/query', 'tempo'): {**TEMPO, 'q': '{} | rate() by (name)', 'exemplars': '5', 'since': '1h'},
    ('GET', '/api/search/tags', 'tempo'): {**TRACEQL, 'scope': 'span', 'limit': '5'},
    ('GET', '/api/v2/search/tags', 'tempo'): {**TRACEQL, 'scope': 'span', 'limit': '5'},
    ('GET', '/api/search/tag/{tag}/values', 'tempo'): {**TRACEQL, 'limit': '5'},
    ('GET', '/api/v2/search/tag/{tag}/values', 'tempo'): {**TRACEQL, 'limit': '5'},
    ('GET', '/api/v1/traces', 'http'): OURS,
    ('GET', '/api/v1/traces/{id}', 'http'): {'format': 'otlp-json', 'offset': '1'},
    ('GET', '/api/v1/bulk', 'http'): OURS,
    ('GET', '/api/v1/export', 'http'): OURS,
    ('GET', '/api/v1/alerts', 'http'): {'name': 'slow'},
    ('DELETE', '/api/v1/alerts/{name}', 'http'): NONE,
    ('DELETE', '/api/query/{id}', 'http'): NONE,
    ('DELETE', '/api/tracepoints/{name}', 'http'): NONE,
    ('GET', '/api/v1/alerts', 'http'): {'name': ''},
    ('DELETE', '/api/v1/alerts/{name}', 'http'): NONE,
}

QUERY = {'query': '{ status = error }', 'dialect': 'traceql', 'explain': False, 'live': False, 'limit': 5, 'id': 'fuzz', 'start': T0, 'end': T1,
         'step': '10s', 'timeout': '5s', 'memory': '64MiB', 'files': {'a.csv': 'a,b'}}
V3_BODY = {'query': {'serviceName': 'odd-many', 'operationName': 'op1', 'startTimeMin': '2026-11-15T08:49:04Z',
                     'startTimeMax': '2026-11-15T08:54:04Z', 'attributes': {'group': 'g1'}, 'durationMin': '0.001s', 'durationMax': '9s',
                     'searchDepth': 5, 'numTraces': 5, 'rawTraces': True}}
TOOL = {'trace_id': TRACE, 'span_id': 'beef0000000000cd', 'span_ids': ['beef0000000000cd'], 'service': 'odd-many', 'operation': 'op1',
        'tags': ['group=g1'], 'errors': True, 'min_duration': '1ms', 'max_duration': '1h', 'start': f'{T0}', 'end': f'{T1}',
        'order': 'slowest', 'limit': 5, 'max_spans': 5, 'depth': 2, 'max_bytes': 4096, 'cursor': '00.1', 'query': '{ status = error }',
        'dialect': 'traceql', 'step': '10s', 'live': True, 'selected': '{ status = error }', 'rest': '{ }', 'name': 'span.group',
        'root_name': 'op1', 'topic': 'Series', 'find': 'rate'}
ALERT = {'name': 'slow', 'query': '{ } | quantile_over_time(duration, .99) by (name)', 'when': '>', 'threshold': '500ms', 'over': '5m', 'for': '10m',
         'every': '1h', 'delay': '10s', 'repeat': '4h', 'webhook': 'http://127.0.0.1:9/', 'labels': {'a': 'b'}, 'annotations': {'a': 'b'}}
# (path, a body that makes sense)
BODIES = {
    '/api/v3/traces': V3_BODY,
    '/api/v3/trace-summaries': V3_BODY,
    '/api/transform': {'resourceSpans': [{'resource': {'attributes': []}, 'scopeSpans': [{'scope': {}, 'spans': [
        {'traceId': TRACE, 'spanId': 'beef0000000000cd', 'name': 'a', 'startTimeUnixNano': '1', 'endTimeUnixNano': '2', 'kind': 2}]}]}]},
    '/api/query': QUERY,
    '/api/tracepoints': {'text': 'Tracepoint Fuzz = { }'},
    '/api/v1/alerts': RULE,
    '/api/v1/alerts/test': RULE,
    '/api/v1/alerts': ALERT,
    '/api/v1/alerts/test': ALERT,
    '/api/v1/tools/{name}': TOOL,
    '/api/mcp': {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'search', 'arguments': {'limit': 5}}},
    '/api/v1/backup': {},
}
NONSENSE = [None, True, 0, -1, 1.5, 1e300, 2 ** 63, 2 ** 64, -2 ** 63, '', 'x', [], {}, [[]], [{}], {'a': 1}, '\x00', 'é', 'a' * 5000, '99999999999h',
            '-1h', 'nan', '{', '{} | rate()', '{ name =~ "(" }', '(' * 400, '{' * 400, '1e309', '2026-13-45T99:99:99Z', '0' * 32]

PORTS = {'http', 'zipkin', 'tempo'}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('fuzz'), '--mcp') as server:
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        assert server.request('/api/v2/spans', 'zipkin', spans('zipkin.json'), {'Content-Type': 'application/json'})[0] == 202
        yield server


class Asker:
    """Connections that stay open: there are many questions."""

    def __init__(self, server):
        self.server, self.open = server, {}

    def ask(self, method, path, port, body=None, headers=None):
        connection = self.open.get(port)
        if not connection:
            connection = self.open[port] = http.client.HTTPConnection('127.0.0.1', self.server.ports[port], timeout=120)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as broken:
            self.open.pop(port).close()
            raise AssertionError(f'{method} {path[:300]} on {port}: {broken!r}') from broken
        if answer.will_close:
            self.open.pop(port).close()
        what = (answer.status, method, port, path[:600], body if body is None else body[:600], text[:300])
        assert answer.status < 500, what
        assert answer.status < 400 or text or port == 'tempo' or path.startswith('/tempo/'), f'a reason: {what}'
        return answer.status


def routes(causet):
    done = subprocess.run([causet, 'serve', '--print-routes'], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def filled(template, segment):
    while '{' in template:
        head, _, rest = template.partition('{')
        template = head + segment + rest.partition('}')[2]
    return template


def test_every_route_is_in_the_tables(causet):
    printed = {(r['method'], r['path'], port) for r in routes(causet) for port in r['ports'] if r['path'] not in INGEST or r['method'] == 'GET'}
    questions = {(m, p, port) for m, p, port in printed if port in PORTS and m != 'POST' and p not in ('/live', '/ready')}
    assert questions == {key for key in ROUTES if key[1] not in ('/live', '/ready')}
    assert {p for m, p, port in printed if m == 'POST' and port in PORTS and 'pb.' not in p} == set(BODIES) | ABSENT
    assert {p for m, p, port in printed if m == 'POST' and ('jaeger.' in p or 'tempopb.' in p)} == set(METHODS)


@pytest.mark.parametrize('port', sorted(PORTS))
def test_every_parameter_with_every_nonsense(loaded, port):
    asker = Asker(loaded)
    for (method, template, where), parameters in ROUTES.items():
        if where != port:
            continue
        status = asker.ask(method, f'{filled(template, TRACE)}?{urllib.parse.urlencode(parameters)}', port)
        assert status != 404 or '{' in template, (template, 'makes sense')
        for segment in SEGMENTS if '{' in template else ():
            asker.ask(method, f'{filled(template, segment)}?{urllib.parse.urlencode(parameters)}', port)
        for name in parameters:
            for value in VALUES:
                query = urllib.parse.urlencode({**parameters, name: value}, errors='replace')
                asker.ask(method, f'{filled(template, TRACE)}?{query}', port)
            rest = {k: v for k, v in parameters.items() if k != name}
            asker.ask(method, f'{filled(template, TRACE)}?{urllib.parse.urlencode(rest)}', port)
            asker.ask(method, f'{filled(template, TRACE)}?{urllib.parse.urlencode([*parameters.items(), (name, "x")])}', port)


def test_questions_at_random(loaded):
    rng, asker = random.Random(6), Asker(loaded)
    for method, template, port in ROUTES:
        for _ in range(15):
            pairs = [(rng.choice(NAMES), rng.choice(VALUES)) for _ in range(rng.randrange(6))]
            query = urllib.parse.urlencode(pairs, errors='replace') if rng.random() < 0.9 else rng.choice(['&&=', '%', 'a=%zz', '=&=', '?'])
            asker.ask(method, f'{filled(template, rng.choice(SEGMENTS))}?{query}', port)
            if port == 'tempo':
                asker.ask(method, f'/tempo{filled(template, rng.choice(SEGMENTS))}?{query}', 'http')


def nonsenses(body):
    """The body with each part of it, however deep, replaced by every nonsense, left out, or beside something unknown."""
    if isinstance(body, dict):
        yield {**body, 'unheardOf': 1}
        for name, value in body.items():
            yield {k: v for k, v in body.items() if k != name}
            for other in nonsenses(value):
                yield {**body, name: other}
    elif isinstance(body, list) and body:
        for other in nonsenses(body[0]):
            yield [other, *body[1:]]
    yield from NONSENSE


TOOLS = ['services', 'dependencies', 'attributes', 'search', 'trace_summary', 'subtree', 'span_details', 'critical_path', 'compare', 'patterns',
         'query', 'explain', 'tracepoints', 'docs']


def bodies_of(loaded, path):
    """(path, body, headers) that are tried."""
    headers = {'Content-Type': 'application/json'}
    if path == '/api/v1/tools/{name}':
        listed = loaded.get('/api/v1/tools')[1]['tools']
        assert [tool['name'] for tool in listed] == TOOLS
        for tool in listed:
            known = {name: TOOL[name] for name in tool['inputSchema']['properties'] if name != 'cursor'}
            for body in nonsenses(known):
                yield f'/api/v1/tools/{tool["name"]}', body, headers
        for segment in SEGMENTS:
            yield f'/api/v1/tools/{segment}', {}, headers
        return
    if path == '/api/mcp':
        begin = {'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': {'protocolVersion': '2025-11-25'}}
        _, answered, _ = loaded.request(path, body=begin)
        headers['Mcp-Session-Id'] = answered['Mcp-Session-Id']
        for body in nonsenses(begin):
            yield path, body, headers
    for body in nonsenses(BODIES[path]):
        yield path, body, headers


@pytest.mark.parametrize('path', sorted(BODIES))
def test_every_field_of_every_body_with_every_nonsense(loaded, path):
    asker = Asker(loaded)
    for at, body, headers in bodies_of(loaded, path):
        asker.ask('POST', at, 'http', json.dumps(body).encode(), headers)
    for body in (b'', b'{', b'[]', b'null', b'\xff\xfe', b'\x00' * 100, b'[' * 600, b'{"query":' * 300, b'{"a":' + b'9' * 5000 + b'}'):
        asker.ask('POST', filled(path, 'services'), 'http', body, {'Content-Type': 'application/json'})
        asker.ask('POST', filled(path, 'services'), 'http', body, {'Content-Type': 'text/plain'})


@pytest.mark.parametrize('path', sorted(ABSENT))
def test_what_is_not_there_says_so_whatever_is_asked(loaded, path):
    for segment in [TRACE, *SEGMENTS]:
        status, _, body = loaded.request(filled(path, segment), body=b'', method='POST')
        assert status == 501 and body, segment


# --- gRPC ---

J, S = '/jaeger.api_v3.QueryService/', '/tempopb.StreamingQuerier/'
# method: (port, module, message, fields that make sense; None: the message is empty)
METHODS = {
    J + 'GetServices': ('jaeger-grpc', None, None, None),
    '/jaeger.api_v3.Capabilities/GetCapabilities': ('jaeger-grpc', None, None, None),
    J + 'GetOperations': ('jaeger-grpc', 'jaeger', 'GetOperationsRequest', {'service': 'odd-many'}),
    J + 'GetDependencies': ('jaeger-grpc', 'jaeger', 'GetDependenciesRequest', {'start_time': {'seconds': T0}, 'end_time': {'seconds': T1}}),
    J + 'GetTrace': ('jaeger-grpc', 'jaeger', 'GetTraceRequest', {'trace_id': TRACE}),
    J + 'FindTraces': ('jaeger-grpc', 'jaeger', 'FindTracesRequest', {'query': {
        'start_time_min': {'seconds': T0}, 'start_time_max': {'seconds': T1}}}),
    J + 'FindTraceSummaries': ('jaeger-grpc', 'jaeger', 'FindTracesRequest', {'query': {
        'start_time_min': {'seconds': T0}, 'start_time_max': {'seconds': T1}}}),
    S + 'Search': ('tempo', 'tempo', 'SearchRequest', {'Query': '{ }', 'start': T0, 'end': T1}),
    S + 'SearchTags': ('tempo', 'tempo', 'SearchTagsRequest', {'query': '{ }', 'start': T0, 'end': T1}),
    S + 'SearchTagsV2': ('tempo', 'tempo', 'SearchTagsRequest', {'query': '{ }', 'start': T0, 'end': T1}),
    S + 'SearchTagValues': ('tempo', 'tempo', 'SearchTagValuesRequest', {'tagName': 'span.group', 'start': T0, 'end': T1}),
    S + 'SearchTagValuesV2': ('tempo', 'tempo', 'SearchTagValuesRequest', {'tagName': 'span.group', 'start': T0, 'end': T1}),
    S + 'MetricsQueryRange': ('tempo', 'tempo', 'QueryRangeRequest', {'query': '{} | rate() by (name)', 'start': T0 * 10 ** 9, 'end': T1 * 10 ** 9,
                                                                        'step': 10 ** 10, 'exemplars': 5}),
    S + 'MetricsQueryInstant': ('tempo', 'tempo', 'QueryInstantRequest', {'query': '{} | rate() by (name)', 'start': T0 * 10 ** 9,
                                                                            'end': T1 * 10 ** 9}),
}
TEXTS = ['', 'x', 'odd-many', TRACE, '{ }', '{ name =~ "(" }', '{} | rate() by (name)', '{' * 300, 'a' * 5000, 'span.group', '\x00', 'é', '..']
REFUSED = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
           grpc.StatusCode.DATA_LOSS, grpc.StatusCode.ABORTED}


def variants(message, make):
    """make() with each field, however deep, set to values at its ends; `message` is the part at hand of what make() gives."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type and field.message_type.GetOptions().map_entry:
            for text in TEXTS:
                whole, part = make()
                getattr(part, field.name)[text] = text
                yield whole
        elif field.message_type and field.label != field.LABEL_REPEATED:
            def inner(field=field):
                whole, part = make()
                getattr(part, field.name).SetInParent()
                return whole, getattr(part, field.name)
            yield inner()[0]
            yield from variants(inner()[1], inner)
        elif field.label != field.LABEL_REPEATED:
            kind = field.cpp_type
            ends = {field.CPPTYPE_STRING: TEXTS if field.type == field.TYPE_STRING else [t.encode() for t in TEXTS],
                    field.CPPTYPE_BOOL: [True, False], field.CPPTYPE_DOUBLE: [0, -1, 1e308, float('nan')],
                    field.CPPTYPE_FLOAT: [0, -1, 1e38, float('nan')],
                    field.CPPTYPE_INT32: [0, 1, -1, 2 ** 31 - 1, -2 ** 31], field.CPPTYPE_UINT32: [0, 1, 2 ** 32 - 1],
                    field.CPPTYPE_INT64: [0, 1, -1, T0, T1, 2 ** 63 - 1, -2 ** 63],
                    field.CPPTYPE_UINT64: [0, 1, T0, T1, T0 * 10 ** 9, 2 ** 63, 2 ** 64 - 1]}.get(kind, [])
            for value in ends:
                whole, part = make()
                setattr(part, field.name, value)
                yield whole


@pytest.mark.parametrize('path', sorted(METHODS))
def test_every_field_of_every_message_with_every_nonsense(loaded, path):
    port, module, name, fields = METHODS[path]
    rng = random.Random(8)
    sent = [b'', b'\xff', b'\x0a\x05ab', b'\x00' * 50, b'\x0b' * 200, rng.randbytes(300)]
    if module:
        type_ = getattr(getattr(protos(), module), name)

        def make():
            whole = type_(**fields)
            return whole, whole
        for one in variants(type_(), make):
            sent.append(one.SerializeToString())
        whole = [raw for raw in sent[6:] if 0 < len(raw) < 400]
        for _ in range(200):
            raw = bytearray(rng.choice(whole))
            for _ in range(rng.randrange(1, 5)):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
            sent.append(bytes(raw[:rng.randrange(1, len(raw) + 1)]))
    with grpc.insecure_channel(f'127.0.0.1:{loaded.ports[port]}') as channel:
        call = channel.unary_stream(path)
        for raw in sent:
            try:
                list(call(raw, timeout=120))
            except grpc.RpcError as error:
                assert error.code() not in REFUSED and error.details(), (path, raw[:300], error.code(), error.details())


def test_questions_that_are_half_typed_get_an_answer(loaded):
    """What a search box sends while somebody types."""
    whole = '{"http.method":"GET","error":"true"}'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'service': 'odd-many', 'start': 1794732544000000, 'end': 1794732844000000, 'tags': whole[:n]})
        status, answer = loaded.get('/api/traces?' + query)
        assert status == (200 if n in (0, len(whole)) else 400) and (status == 200 or answer['errors'][0]['msg'])
    whole = 'http.path=/ and error and wr'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'endTs': 1794732844000, 'lookback': 3600000, 'annotationQuery': whole[:n]})
        assert loaded.request('/api/v2/traces?' + query, 'zipkin')[0] == 200

    whole = '{ resource.service.name = "odd-many" && duration > 80ms } >> { } | count() > 1'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'q': whole[:n]})
        assert loaded.request('/api/search?' + query, 'tempo')[0] in (200, 400)
        assert loaded.request('/api/v2/search/tags?' + query, 'tempo')[0] == 200
        assert loaded.request('/api/v2/search/tag/name/values?' + query, 'tempo')[0] == 200


@pytest.mark.parametrize('path', ['/api/v3/traces', '/api/v3/trace-summaries', '/api/transform', '/api/query', '/api/v1/tools/search', '/api/mcp'])
def test_bodies_that_are_no_question_are_400(loaded, path):
    rng = random.Random(7)
    whole = json.dumps({'query': {'serviceName': 'odd-many', 'startTimeMin': '2026-11-15T08:49:04Z', 'startTimeMax': '2026-11-15T08:54:04Z',
                                  'attributes': {'group': 'g1'}, 'searchDepth': 5}}).encode()
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        body = bytes(body[:rng.randrange(len(body) + 1)])
        status, _, answer = loaded.request(path, body=body, headers={'Content-Type': 'application/json'}, method='POST')
        assert status < 500, (body, answer)


# --- queries: the language's own examples, taken apart and put together wrongly ---

TOKEN = re.compile(r'"[^"]*"|[A-Za-z_][\w.:]*|\d+(?:\.\d+)?[a-z]*|>>|<<|->|&&|\|\||[<>!=~]=?|.', re.S)
SPICE = ['0', '-1', '9223372036854775807', '1e308', '0s', '99999h', 'nil', '""', '"("', '{', '}', '(', ')', '|', '>>', '!>>', '&&', '!', 'duration', 'name',
         'span.group', 'resource.service.name', 'status', 'error', 'count()', 'rate()', 'by (name)', 'topk(1)', 'Limit 0', 'Select COUNT',
         'GroupBy s.name', 'Over last 1h', '/ 0', '% 0', '^ 99', 'Within 0s', 'quantile_over_time(duration, .5)', 'compare({})',
         'histogram_over_time(duration)', 'Union', 'OrderBy COUNT Desc', 'with (step = 1ns)', 'avg_over_time(span.n)']


def examples(top):
    text = (top / 'docs/language.md').read_text()
    return [piece for block in re.findall(r'```causetql\n(.*?)```', text, re.S) for piece in [block.strip()] if 'csv(' not in piece]


def kind_of(token):
    return 'text' if token[0] == '"' else 'number' if token[0].isdigit() else 'word' if token[0].isalpha() else token


NUMBERS = ['0', '1', '9223372036854775807', '1e308', '0s', '1ns', '1ms', '99999h', '0.5', '3']


def mixed(rng, whole):
    """Often still a query: words and numbers in the place of others; seldom not: pieces anywhere."""
    tokens = TOKEN.findall(rng.choice(whole))
    for _ in range(rng.randrange(1, 4)):
        at, other = rng.randrange(len(tokens)), TOKEN.findall(rng.choice(whole))
        if rng.random() < 0.7:
            alike = [t for t in other if kind_of(t) == kind_of(tokens[at])]
            if kind_of(tokens[at]) == 'number' and rng.random() < 0.7:
                alike = NUMBERS
            tokens[at] = rng.choice(alike or tokens[at:at + 1])
        else:
            cut = rng.randrange(len(other))
            tokens[at:at + rng.randrange(3)] = rng.choice([[' ', rng.choice(SPICE), ' '], other[cut:cut + rng.randrange(1, 12)], []])
    return ''.join(tokens)


@pytest.mark.parametrize('seed', range(4))
def test_queries_put_together_wrongly_get_an_answer_or_a_reason(loaded, top, seed):
    rng, asker, whole = random.Random(seed), Asker(loaded), examples(top)
    assert len(whole) > 50
    right = 0
    for _ in range(250):
        query = mixed(rng, whole)
        body = json.dumps({'query': query, 'limit': 20, 'timeout': '5s', 'dialect': rng.choice(['causetql', 'traceql']),
                           'start': rng.choice([T0, T0, T0, 1, '1970-01-01']), 'end': rng.choice([T1, T1, 2 ** 62])}).encode()
        right += asker.ask('POST', '/api/query', 'http', body, {'Content-Type': 'application/json'}) == 200
        line = urllib.parse.urlencode({'q': query, 'start': T0, 'end': T1, 'step': rng.choice(['1s', '1m', '1h'])})
        asker.ask('GET', '/api/search?' + line, 'tempo')
        asker.ask('GET', '/api/metrics/query_range?' + line, 'tempo')
        asker.ask('GET', '/api/metrics/query?' + line, 'tempo')
        asker.ask('GET', '/api/v2/search/tag/name/values?' + line, 'tempo')
    assert right > 30, f'{right} still make sense'
