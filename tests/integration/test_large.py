"""One very large trace: imported, shown and exported, each process within 1.5 GiB (release build).

CAUSET_LARGE_SPANS says how many spans.
"""
import json
import os
import struct
import subprocess
import time

import pytest

from messages import protos
from server import Server

pytestmark = pytest.mark.once
SPANS = int(os.environ.get('CAUSET_LARGE_SPANS', '1000000'))
MOST = 3 << 29  # 1.5 GiB
TRACE = bytes(range(1, 17))
SERVICES = 8
PER_REQUEST = 500  # spans, as exporters send them


def field(number, content):
    n, head = len(content), bytearray([number << 3 | 2])
    while n > 127:
        head.append(n & 127 | 128)
        n >>= 7
    head.append(n)
    return bytes(head) + content


def write_trace(path, count):
    """OTLP in protobuf, about 480 bytes a span with ten attributes; span i is a child of span i / 8."""
    otlp = protos().otlp

    def pair(key, value):
        one = otlp.KeyValue(key=key)
        if isinstance(value, int):
            one.value.int_value = value
        else:
            one.value.string_value = value
        return field(9, one.SerializeToString())

    resources = [field(1, otlp.Resource(attributes=[
        otlp.KeyValue(key='service.name', value=otlp.AnyValue(string_value=f'service-{s}')),
        otlp.KeyValue(key='host.name', value=otlp.AnyValue(string_value=f'host-{s}'))]).SerializeToString()) for s in range(SERVICES)]
    usual = [b''.join([pair('http.request.method', 'GET'), pair('http.route', f'/api/items/{k}/{{id}}'), pair('server.port', 8000 + k),
                       pair('http.response.status_code', 200), pair('network.peer.address', f'10.0.0.{k}'),
                       pair('user_agent.original', 'shopper/1.0 (linux; x86_64) like a real one'),
                       pair('thread.name', f'worker-{k}'), pair('code.function.name', f'com.example.shop.Cart.handle{k}')])
             for k in range(64)]
    names = [field(5, f'GET /api/items/{k}'.encode()) + b'\x30\x02' for k in range(64)]
    start = 1_700_000_000_000_000_000
    with open(path, 'wb') as out:
        for first in range(1, count + 1, PER_REQUEST):
            spans = []
            for i in range(first, min(first + PER_REQUEST, count + 1)):
                k = i * 2654435761 >> 7 & 63
                unique = f'{i * 0x9e3779b97f4a7c15 & 2**64 - 1:016x}'
                spans.append(field(2, b''.join((
                    field(1, TRACE), b'\x12\x08', struct.pack('>Q', i), b'\x22\x08' + struct.pack('>Q', i // 8) if i > 1 else b'', names[k],
                    b'\x39', struct.pack('<Q', start + i * 100), b'\x41', struct.pack('<Q', start + i * 100 + (count - i) * 1000 + 5000),
                    usual[k], field(9, b'\x0a\x0aitem.count\x12\x02\x18' + bytes([i & 127])),
                    field(9, field(1, b'request.id') + field(2, field(1, unique.encode())))))))
            out.write(field(1, resources[first // PER_REQUEST % SERVICES] + field(2, field(1, b'\x0a\x05tests') + b''.join(spans))))


def run(*command, environment, **options):
    """(process, its largest resident size)"""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, env=environment, **options)
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (command, error.decode()[-2000:])
    print(f'{" ".join(map(str, command[1:]))[:60]:60} {usage.ru_maxrss >> 10:6} MiB  {time.monotonic() - began:6.1f} s')
    assert usage.ru_maxrss * 1024 <= MOST, command
    return usage.ru_maxrss * 1024


def count(path, needle):
    """How often the bytes stand in a file that may not fit into memory twice."""
    found, tail = 0, b''
    with open(path, 'rb') as file:
        while True:
            piece = file.read(1 << 24)
            if not piece:
                return found
            piece = tail + piece
            found += piece.count(needle)
            tail = piece[-(len(needle) - 1):]


def test_one_large_trace_is_imported_shown_and_exported(causet_release, tmp_path):
    source = tmp_path / 'large.otlp'
    write_trace(source, SPANS)
    print(f'{SPANS} spans, {source.stat().st_size / SPANS:.0f} bytes each')
    with Server(causet_release, tmp_path, '--memory-limit', '1GiB') as server:
        environment = {**{k: v for k, v in os.environ.items() if not k.startswith('CAUSET_')}, 'XDG_CONFIG_HOME': str(tmp_path),
                       'CAUSET_SERVER': server.url(), 'CAUSET_OTLP': server.url(port='otlp-http')}
        program = causet_release

        def step(*arguments, **options):
            run(program, *arguments, environment=environment, **options)
            most = server.high_water()
            print(f'{"":60} {most >> 20:6} MiB of the server')
            assert most <= MOST

        step('import', '--quiet', source)
        status, found = server.get('/api/v1/traces')
        assert status == 200 and [row['spans'] for row in found['traces']] == [SPANS]

        tree = tmp_path / 'tree.txt'
        with open(tree, 'wb') as out:
            step('trace', TRACE.hex(), '--limit', '0', stdout=out)
        assert count(tree, b'  service-') >= SPANS
        tree.unlink()
        with open(tmp_path / 'trace.json', 'wb') as out:
            step('trace', TRACE.hex(), '--json', stdout=out)
        assert count(tmp_path / 'trace.json', b'"request.id"') == SPANS
        (tmp_path / 'trace.json').unlink()

        # the model made by the server, and each format of its own
        for query in ('', '?format=otlp-json', '?format=jaeger'):
            answer = tmp_path / 'answer'
            run('curl', '-sSf', '-o', answer, server.url(f'/api/v1/traces/{TRACE.hex()}{query}'), environment=environment)
            print(f'{"":60} {server.high_water() >> 20:6} MiB of the server')
            assert server.high_water() <= MOST
            assert count(answer, b'"request.id"') == SPANS
            answer.unlink()

        for form, needle in (('otlp', b'request.id'), ('otlp-json', b'"request.id"'), ('events', b'request.id'),
                             ('zipkin', b'"request.id"'), ('jaeger', b'"request.id"')):
            step('export', '--quiet', '--format', form, '--output', tmp_path / form)
            assert count(tmp_path / form, needle) == SPANS, form
            if form != 'otlp-json':
                (tmp_path / form).unlink()
    again = tmp_path / 'again.otlp'
    run(program, 'export', '--quiet', '--file', tmp_path / 'otlp-json', '--format', 'otlp', '--output', again, environment=environment)
    assert count(again, b'request.id') == SPANS
    run(program, 'trace', TRACE.hex(), '--file', again, '--limit', '10', environment=environment, stdout=subprocess.DEVNULL)


SHAPES = {  # the parent of span i of n
    'chain': lambda i, n: i - 1, 'flat': lambda i, n: int(i > 1), 'circle': lambda i, n: i - 1 or n, 'orphans': lambda i, n: i + n,
    'roots': lambda i, n: 0, 'one id': lambda i, n: 5,
}


@pytest.mark.parametrize('shape', SHAPES)
def test_large_traces_of_unusual_shapes(causet_release, tmp_path, shape):
    """As deep as they are large, going round in circles, without roots: nothing recurses, nothing is quadratic."""
    n, spans = 100_000, []
    for i in range(1, n + 1):
        parent = SHAPES[shape](i, n)
        spans.append(field(2, b''.join((
            field(1, TRACE), b'\x12\x08', struct.pack('>Q', 7 if shape == 'one id' else i),
            b'\x22\x08' + struct.pack('>Q', parent) if parent else b'', field(5, b'work'),
            b'\x39', struct.pack('<Q', 1_700_000_000_000_000_000 + i), b'\x41', struct.pack('<Q', 1_700_000_000_000_000_000 + 2 * n - i)))))
    with Server(causet_release, tmp_path) as server:
        status, _, body = server.request('/v1/traces', port='otlp-http', body=field(1, field(2, b''.join(spans))),
                                         headers={'Content-Type': 'application/x-protobuf'})
        assert (status, body) == (200, b'')
        status, trace = server.get(f'/api/v1/traces/{TRACE.hex()}')
        assert status == 200 and len(trace['blocks']) >= n
        for form in ('otlp', 'otlp-json', 'zipkin', 'jaeger', 'events'):
            status, _, body = server.request(f'/api/v1/traces/{TRACE.hex()}?format={form}')
            assert status == 200 and body.count(b'work') >= n, form
        shown = subprocess.run([causet_release, 'trace', TRACE.hex(), '--server', server.url(), '--limit', '50'], capture_output=True)
        assert shown.returncode == 0, shown.stderr
