"""Stores of every version stay readable.

tests/golden/store-vN/store is a store as `causet store backup` leaves one: a segment, hashes of requests, and a log; rows.jsonl is
what it holds, in events-json, a row a line, sorted.  GOLDEN=update makes the one of the current version anew; that is only right
before a version is in use, or when its number was raised."""
import ctypes
import json
import os
import pathlib
import shutil
import signal

import pytest

from messages import documents_of, logs, post, span, text, traces

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / 'golden'
CURRENT = 1
START = 1_763_200_000_000_000_000
TYPES = {  # with a second id, with none, with a link, with a value
    'BEGIN': {'id2': 0x10}, 'END': {}, 'POINT': {'id2': 0x20}, 'LOG': {'severityNumber': 9}, 'UNIT': {}, 'EDGE': {'id2': 0x30, 'end': 9},
    'SEND': {'id2': 0x40}, 'RECEIVE': {'id2': 0x40}, 'CLIENT_SEND': {'id2': 0x50}, 'SERVER_RECEIVE': {'id2': 0x50},
    'SERVER_SEND': {'id2': 0x50}, 'CLIENT_RECEIVE': {'id2': 0x50}, 'CLIENT_QUEUE': {'id2': 0x51}, 'ENQUEUE': {'id2': 0x60},
    'DEQUEUE': {'id2': 0x60}, 'COMPLETE': {'id2': 0x60}, 'LOCK_REQUEST': {'id2': 0x70}, 'LOCK_ACQUIRE': {'id2': 0x70},
    'LOCK_RELEASE': {'id2': 0x70}, 'COUNTER': {'value': 4096}, 'LINK': {'id2': 0x80, 'link': 9}, 'SPAN': {'id2': 0x10, 'end': 500},
}


def xxh3(data):
    """The check of the log's headers, by the library that the program uses."""
    function = ctypes.CDLL('libxxhash.so.0').XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    return function(data, len(data))


def native(trace):
    """One event of every type."""
    events = []
    for n, (kind, more) in enumerate(TYPES.items()):
        event = {'traceId': f'{trace:032x}', 'type': kind, 'id1': f'{n + 1:016x}', 'seq': str(n), 'timeUnixNano': str(START + n),
                 'name': kind.lower(), 'attributes': [text('what', kind)]}
        if 'id2' in more:
            event['id2'] = f'{more["id2"]:016x}'
        if 'end' in more:
            event['endTimeUnixNano'] = str(START + n + more['end'])
        if 'link' in more:
            event['linkTraceId'] = f'{more["link"]:032x}'
        if 'value' in more:
            event['value'] = {'intValue': str(more['value'])}
        if 'severityNumber' in more:
            event['severityNumber'] = more['severityNumber']
        events.append(event)
    return {'resourceEvents': [{'resource': {'attributes': [text('service.name', 'native')]},
                                'scopeEvents': [{'scope': {'name': 'golden', 'version': '1'}, 'events': events}]}]}


def told(trace):
    """Spans with everything OTLP has: all types of values, events, links, states."""
    values = [{'key': 'text', 'value': {'stringValue': 'µ'}}, {'key': 'yes', 'value': {'boolValue': True}},
              {'key': 'int', 'value': {'intValue': str(-2**63)}}, {'key': 'double', 'value': {'doubleValue': 0.1}},
              {'key': 'bytes', 'value': {'bytesValue': 'AAH/'}}, {'key': 'empty', 'value': {}},
              {'key': 'array', 'value': {'arrayValue': {'values': [{'stringValue': 'a'}, {'intValue': '1'}]}}},
              {'key': 'map', 'value': {'kvlistValue': {'values': [text('k', 'v')]}}},
              text('url', 'http://shop/5b8efff7-9803-4103-a269-b633813fc60c/cart?n=17')]
    spans = [span(trace, 1, name='root', start=START, duration=10_000, attributes=values, traceState='ot=th:c',
                  status={'code': 2, 'message': 'no'}, droppedAttributesCount=3,
                  events=[{'timeUnixNano': str(START + 5), 'name': 'half', 'attributes': values[:2]}],
                  links=[{'traceId': f'{7:032x}', 'spanId': f'{8:016x}', 'attributes': values[2:4]}])]
    spans += [span(trace, n, name=f'part {n % 3}', parent=1, start=START + n, duration=100 * n, attributes=[text('n', str(n))])
              for n in range(2, 30)]
    return traces(*spans, service=f'shop {trace % 2}')


def rows_of(body):
    out = set()
    for document in documents_of(body):
        for group in document['resourceEvents']:
            for scoped in group['scopeEvents']:
                for event in scoped['events']:
                    out.add(json.dumps([group.get('resource'), scoped.get('scope'), event], sort_keys=True))
    return sorted(out)


def export(run, data):
    done = run('store', 'export', '--format', 'events-json', data)
    assert done.returncode == 0, done.stderr
    return rows_of(done.stdout)


def make(start_server, run, folder):
    server = start_server()
    for trace in range(1, 4):
        assert post(server, told(trace))[0] == 200
    assert server.request('/v1/events', port='otlp-http', body=native(100))[0] == 200
    server.stop()  # to a segment
    server.start()
    assert post(server, traces(span(2, 99, parent=1, start=START + 50)))[0] == 200  # a trace in both
    assert post(server, told(4))[0] == 200
    assert server.request('/v1/events', port='otlp-http', body=native(101))[0] == 200
    record = {'traceId': f'{4:032x}', 'spanId': f'{1:016x}', 'timeUnixNano': str(START), 'body': {'stringValue': 'a line'}}
    assert post(server, logs(record), kind='logs')[0] == 200
    server.stop(signal.SIGKILL, -signal.SIGKILL)  # stays in the log
    shutil.rmtree(folder, ignore_errors=True)
    done = run('store', 'backup', server.folder / 'data', folder)
    assert done.returncode == 0, done.stderr
    (folder / 'catalog.db').unlink()
    (folder / 'lock').unlink(missing_ok=True)
    shutil.copytree(folder, server.folder / 'copy')
    (folder / 'rows.jsonl').write_text('\n'.join(export(run, server.folder / 'copy')) + '\n')


@pytest.mark.parametrize('version', range(1, CURRENT + 1))
def test_a_store_of_every_version_is_readable(version, start_server, run, tmp_path):
    golden = GOLDEN / f'store-v{version}'
    if os.environ.get('GOLDEN') == 'update' and version == CURRENT:
        make(start_server, run, golden)
    rows = (golden / 'rows.jsonl').read_text().splitlines()
    assert {json.loads(row)[2]['type'] for row in rows} == {f'EVENT_TYPE_{kind}' for kind in TYPES}
    data = tmp_path / 'data'
    shutil.copytree(golden / 'store', data / 'store')
    done = run('store', 'check', data)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(run('store', 'stat', '--json', data).stdout)['logBatches'] > 0
    assert export(run, data) == rows
    assert run('store', 'compact', data).returncode == 0
    assert export(run, data) == rows
    assert run('store', 'check', data).returncode == 0


def test_a_server_opens_and_goes_on_with_an_old_store(start_server, run):
    server = start_server()
    server.stop()
    data = server.folder / 'data'
    shutil.rmtree(data / 'store')
    shutil.copytree(GOLDEN / 'store-v1/store', data / 'store')
    server.start()
    status, found = server.get('/api/v1/traces?service=native')
    assert status == 200 and len(found['traces']) == 2
    assert post(server, told(200))[0] == 200
    server.stop()
    rows = (GOLDEN / 'store-v1/rows.jsonl').read_text().splitlines()
    assert set(rows) < set(export(run, data))


@pytest.mark.parametrize('kind', ('manifest', 'segment', 'log'))
def test_a_newer_version_is_refused_and_left_alone(kind, causet, run, tmp_path):
    data = tmp_path / 'data'
    store = data / 'store'
    shutil.copytree(GOLDEN / 'store-v1/store', store)
    if kind == 'manifest':
        path = store / 'MANIFEST'
        path.write_bytes(path.read_bytes().replace(b'causet store 1\n', b'causet store 2\n'))
    elif kind == 'segment':
        path = next(store.glob('seg-*.cst'))
        body = bytearray(path.read_bytes())
        assert body[8] == 1 and body[-16] == 1
        body[8] = body[-16] = 2
        path.write_bytes(body)
    else:
        path = next(store.glob('wal-*.log'))
        body = bytearray(path.read_bytes())
        body[8] = 2
        body[56:64] = xxh3(bytes(body[:56])).to_bytes(8, 'little')
        path.write_bytes(body)
    before = {p.name: p.read_bytes() for p in store.iterdir()}
    for arguments in (('store', 'check', data), ('store', 'repair', data), ('store', 'export', data),
                      ('serve', '--data', data, '--otlp-grpc-port', '0', '--otlp-http-port', '0', '--zipkin-port', '0',
                       '--http-port', '0', '--jaeger-grpc-port', '0', '--tempo-port', '0')):
        done = run(*arguments)
        assert done.returncode == 1 and '2' in done.stderr, (arguments, done.stderr)
        assert 'version' in done.stderr or 'format' in done.stderr or 'newer' in done.stderr
    assert {p.name: p.read_bytes() for p in store.iterdir()} == before
