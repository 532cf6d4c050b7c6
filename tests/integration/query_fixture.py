"""The traces that docs/language.md and tests/golden/query ask about, small enough to compute answers by hand.

Times are milliseconds after START.  A row: id, parent, process, name, kind, begin, duration, attributes, and what is
rare about it.  Ids are numbers; the trace's number is in its id's last digits.

shop    Web requests.  Traces 1 to 6: `GET /cart` and `POST /checkout` of `frontend`, which calls `cart` and `payment`;
        `cart` asks `db`.  Trace 4 fails in `payment`, trace 6 calls `db` from `frontend` itself, which it must not.
hdfs    The paper's world (Pivot Tracing, queries Q1 to Q9).  Traces 11 to 14: a stress test asks the name node where a
        file is and reads from a data node.  Trace 15: a job with three calls and its end.
page    Canopy's figure 8: trace 21, native events with execution units, points and edges.
sampled Traces 31 to 34 were kept with probability 1/2: each stands for two.
"""
import json

START = 1767225600000  # 2026-01-01T00:00:00Z

INTERNAL, SERVER, CLIENT = 1, 2, 3
ERROR = 2

#           process     service        host    pid  executable
PROCESSES = {
    'front':   ('frontend', 'web-1', 101, None),
    'cart':    ('cart', 'app-1', 201, None),
    'pay':     ('payment', 'app-2', 301, None),
    'db':      ('db', 'db-1', 401, 'postgres'),
    'stressA': ('StressTest', 'A', 1, 'StressTest'),
    'stressB': ('StressTest', 'B', 2, 'StressTest'),
    'name':    ('NameNode', 'N', 3, 'NameNode'),
    'dataB':   ('DataNode', 'B', 4, 'DataNode'),
    'dataC':   ('DataNode', 'C', 5, 'DataNode'),
    'hget':    ('HGet', 'A', 6, 'HGet'),
    'jobs':    ('JobTracker', 'J', 7, 'JobTracker'),
    'rpc':     ('RpcServer', 'R', 8, 'RpcServer'),
    'sampled': ('sampled', 'app-3', 501, None),
}


def request(trace, at, route, cart, db, pay=None, failed=False, user='u1'):
    """One web request; cart, db and pay are how long those calls take."""
    whole = 20 + cart + (pay or 0)
    method, path = route.split(' ')
    rows = [
        (1, 0, 'front', route, SERVER, at, whole,
         {'http.route': path, 'http.request.method': method, 'user.id': user, 'http.response.status_code': 500 if failed else 200},
         {'status': ERROR} if failed else {}),
        (2, 1, 'front', 'call cart', CLIENT, at + 5, cart, {}, {}),
        (3, 2, 'cart', 'Cart.Get', SERVER, at + 6, cart - 2, {'items': trace}, {}),
        (4, 3, 'cart', 'SELECT', CLIENT, at + 8, db, {'db.system': 'postgresql'}, {}),
        (5, 4, 'db', 'query', SERVER, at + 9, db - 2, {'rows': 10 * trace}, {}),
    ]
    if pay:
        rows += [
            (6, 1, 'front', 'call payment', CLIENT, at + 10 + cart, pay, {}, {'status': ERROR} if failed else {}),
            (7, 6, 'pay', 'Payment.Charge', SERVER, at + 11 + cart, pay - 2, {'amount': 9.5},
             {'status': ERROR, 'message': 'card declined', 'events': [(at + 12 + cart, 'exception', {'exception.type': 'Declined'})]}
             if failed else {}),
        ]
    return trace, rows


def stress(trace, at, host, reader, file, replicas, deltas):
    """A stress test on a host reads a file: where is it, then the data."""
    rows = [
        (1, 0, 'stress' + host, 'DoNextOp', INTERNAL, at, 100, {'op': 'read'}, {}),
        (2, 1, 'stress' + host, 'ClientProtocol', CLIENT, at + 5, 20, {}, {}),
        (3, 2, 'name', 'GetBlockLocations', SERVER, at + 10, 10, {'src': file, 'replicas': replicas}, {}),
        (4, 1, 'stress' + host, 'readBlock', CLIENT, at + 30, 50, {}, {}),
        (5, 4, reader, 'DataTransferProtocol', SERVER, at + 35, 40, {}, {}),
    ]
    for i, delta in enumerate(deltas):
        rows.append((6 + i, 5, reader, 'incrBytesRead', INTERNAL, at + 40 + 10 * i, 1, {'delta': delta}, {}))
    return trace, rows


def job(trace, at):
    """A job: three calls of 5, 10 and 30 ms between the server's receiving and its response, then its end."""
    rows = [(1, 0, 'jobs', 'Job', INTERNAL, at, 300, {}, {})]
    for i, took in enumerate((5, 10, 30)):
        begin = at + 10 + 60 * i
        rows += [
            (2 + 2 * i, 1, 'jobs', 'rpc', CLIENT, begin, 50, {}, {}),
            (3 + 2 * i, 2 + 2 * i, 'rpc', 'handle', SERVER, begin + 2, 46, {},
             {'events': [(begin + 4, 'ReceiveRequest', {}), (begin + 4 + took, 'SendResponse', {})]}),
        ]
    rows.append((20, 1, 'jobs', 'JobComplete', INTERNAL, at + 250, 1, {'id': 'job-1'}, {}))
    return trace, rows


TRACES = [
    request(1, 0, 'GET /cart', cart=40, db=20),
    request(2, 1000, 'GET /cart', cart=60, db=40, user='u2'),
    request(3, 2000, 'POST /checkout', cart=40, db=20, pay=100),
    request(4, 3000, 'POST /checkout', cart=40, db=20, pay=300, failed=True, user='u2'),
    request(5, 62000, 'GET /cart', cart=50, db=30),
    (6, [(1, 0, 'front', 'GET /admin', SERVER, 63000, 100, {'http.route': '/admin', 'http.response.status_code': 200}, {}),
         (2, 1, 'front', 'SELECT', CLIENT, 63010, 50, {'db.system': 'postgresql'}, {}),
         (3, 2, 'db', 'query', SERVER, 63011, 48, {'rows': 1000}, {})]),
    stress(11, 10000, 'A', 'dataB', 'file1', ['B', 'C', 'D'], [100, 50]),
    stress(12, 11000, 'A', 'dataC', 'file2', ['C', 'D', 'E'], [10]),
    stress(13, 12000, 'B', 'dataB', 'file1', ['B', 'C', 'D'], [7]),
    (14, [(1, 0, 'hget', 'ClientProtocol', CLIENT, 13000, 90, {}, {}),
          (2, 1, 'dataC', 'DataTransferProtocol', SERVER, 13010, 70, {}, {}),
          (3, 2, 'dataC', 'incrBytesRead', INTERNAL, 13020, 1, {'delta': 1000}, {})]),
    job(15, 20000),
] + [(30 + i, [(1, 0, 'sampled', 'tick', INTERNAL, 30000 + 100 * i, 10 * i, {'n': i}, {'state': 'ot=th:8'})]) for i in (1, 2, 3, 4)]


def trace_id(trace):
    """The lower 56 bits decide what is sampled: high enough to be kept by any threshold."""
    return f'{trace:016d}00fffffffffff{trace:03d}'


def value(v):
    if isinstance(v, bool):
        return {'boolValue': v}
    if isinstance(v, int):
        return {'intValue': str(v)}
    if isinstance(v, float):
        return {'doubleValue': v}
    if isinstance(v, list):
        return {'arrayValue': {'values': [value(x) for x in v]}}
    return {'stringValue': v}


def attributes(pairs):
    return [{'key': k, 'value': value(v)} for k, v in pairs.items()]


def nanoseconds(ms):
    return str(START * 1000000 + ms * 1000000)


def resource(process):
    service, host, pid, executable = PROCESSES[process]
    named = {'service.name': service, 'host.name': host, 'process.pid': pid}
    if executable:
        named['process.executable.name'] = executable
    return {'attributes': attributes(named)}


def otlp():
    """Everything but the page, as one OTLP request."""
    spans = {}
    for trace, rows in TRACES:
        for number, parent, process, name, kind, begin, took, attrs, extra in rows:
            span = {'traceId': trace_id(trace), 'spanId': f'{number:016x}', 'name': name, 'kind': kind,
                    'startTimeUnixNano': nanoseconds(begin), 'endTimeUnixNano': nanoseconds(begin + took),
                    'attributes': attributes(attrs)}
            if parent:
                span['parentSpanId'] = f'{parent:016x}'
            if 'status' in extra:
                span['status'] = {'code': extra['status'], 'message': extra.get('message', '')}
            if 'state' in extra:
                span['traceState'] = extra['state']
            span['events'] = [{'timeUnixNano': nanoseconds(at), 'name': event, 'attributes': attributes(a)}
                              for at, event, a in extra.get('events', [])]
            spans.setdefault(process, []).append(span)
    return {'resourceSpans': [{'resource': resource(process), 'scopeSpans': [{'scope': {'name': 'fixture'}, 'spans': rows}]}
                              for process, rows in spans.items()]}


def page():
    """Trace 21: a browser loads a page.  The client waits for two resources, css (10 to 60 ms, 3000 bytes) and an image (70 to
    90 ms, 500 bytes), each over an edge, and shows the page at 100 ms."""
    at = 40000
    t = {'traceId': trace_id(21)}

    def event(type_, ms, **fields):
        return {**t, 'type': type_, **({'timeUnixNano': nanoseconds(at + ms)} if ms is not None else {}), **fields}

    client, server = f'{0xc1:016x}', f'{0x51:016x}'
    load, css, image = f'{1:016x}', f'{2:016x}', f'{3:016x}'
    browser = [
        event('UNIT', 0, id1=client, name='Client'),
        event('BEGIN', 0, id1=load, unit=client, seq='1', name='page load', kind=INTERNAL),
        event('POINT', 1, id1=load, unit=client, seq='2', name='begin'),
        event('POINT', 100, id1=load, unit=client, seq='7', name='display', attributes=attributes({'marker': 'display_done'})),
        event('END', 110, id1=load, unit=client, seq='8'),
        event('EDGE', 5, id1=load, id2=css, endTimeUnixNano=nanoseconds(at + 10), name='request'),
        event('EDGE', 60, id1=css, id2=load, endTimeUnixNano=nanoseconds(at + 65), name='resource',
              attributes=attributes({'type': 'resource', 'resource': 'css', 'bytes': 3000})),
        event('EDGE', 66, id1=load, id2=image, endTimeUnixNano=nanoseconds(at + 70), name='request'),
        event('EDGE', 90, id1=image, id2=load, endTimeUnixNano=nanoseconds(at + 95), name='resource',
              attributes=attributes({'type': 'resource', 'resource': 'image', 'bytes': 500})),
    ]
    www = [
        event('UNIT', 0, id1=server, name='Server'),
        event('BEGIN', 10, id1=css, id2=load, unit=server, seq='1', name='GET css', kind=SERVER),
        event('COUNTER', 30, id1=css, name='cpu', value={'doubleValue': 0.5}),
        event('END', 60, id1=css, unit=server, seq='2'),
        event('BEGIN', 70, id1=image, id2=load, unit=server, seq='3', name='GET image', kind=SERVER),
        event('END', 90, id1=image, unit=server, seq='4'),
    ]
    named = lambda service, host: {'attributes': attributes({'service.name': service, 'host.name': host})}
    return {'resourceEvents': [
        {'resource': named('browser', 'laptop'), 'scopeEvents': [{'scope': {'name': 'fixture'}, 'events': browser}]},
        {'resource': named('www', 'web-9'), 'scopeEvents': [{'scope': {'name': 'fixture'}, 'events': www}]}]}


TRACEPOINTS = '''
Tracepoint DataNodeMetrics.incrBytesRead = { name = "incrBytesRead" } Exports { delta = span.delta };
Tracepoint ClientProtocols = { name = "ClientProtocol" };
Tracepoint DN.DataTransferProtocol = { name = "DataTransferProtocol" && resource.service.name = "DataNode" };
Tracepoint NN.GetBlockLocations = { name = "GetBlockLocations" } Exports { src = span.src, replicas = span.replicas };
Tracepoint StressTest.DoNextOp = { name = "DoNextOp" };
Tracepoint ReceiveRequest = { name = "ReceiveRequest" };
Tracepoint SendResponse = { name = "SendResponse" };
Tracepoint JobComplete = { name = "JobComplete" } Exports { id = span.id };
'''


OWNERS = '''service,owner
frontend,web
payment,money
cart,shop
'''


def load(server):
    """Into a running server."""
    for path, body in (('/v1/traces', otlp()), ('/v1/events', page())):
        status, _, answer = server.request(path, port='otlp-http', body=body)
        assert status == 200 and b'rejected' not in answer, answer
    status, _, answer = server.request('/api/tracepoints', body={'text': TRACEPOINTS})
    assert status == 200, answer


if __name__ == '__main__':
    print(json.dumps(otlp()))
