"""Whatever is sent: a clear answer that names the place, or kept whole; the server stays up and its memory comes back.

Every test runs against the sanitized program, which ends with an error when a sanitizer has something to say.
"""
import gzip
import json
import random
import re
import socket
import struct
import subprocess
import time
import zlib

import pytest

from messages import (Refused, attributes_of, call, eventually, logs, post, protos, read_trace, records_of, span, spans_of,
                      text, to_protobuf, traces)
from server import Server

PLACE = re.compile(r'byte \d+')
JSON = {'Content-Type': 'application/json'}
PROTOBUF = {'Content-Type': 'application/x-protobuf'}


@pytest.fixture(scope='module')
def bad(causet, tmp_path_factory):
    """One server for everything in this file: what one test does must not hurt the next."""
    with Server(causet, tmp_path_factory.mktemp('bad'), '--max-body', '40MiB', '--max-decoded', '64MiB') as server:
        yield server


def send(server, body, headers, path='/v1/traces', port='otlp-http'):
    """(status, message)"""
    status, got, answer = server.request(path, port=port, body=body, headers=headers)
    if status == 200:
        return status, ''
    if got['Content-Type'] == 'application/x-protobuf':
        return status, protos().answers.Status.FromString(answer).message
    answer = json.loads(answer) if got['Content-Type'] == 'application/json' else {'message': answer.decode()}
    return status, answer['message'] if 'message' in answer else answer['error']['message']


def proto(request, message=None):
    return to_protobuf(request, message or protos().otlp.ExportTraceServiceRequest)


def rich(trace_id=1):
    """A request that has something of everything."""
    kinds = [{'stringValue': 'ß'}, {'intValue': '-5'}, {'doubleValue': 0.5}, {'boolValue': True}, {'bytesValue': 'AP8='},
             {'arrayValue': {'values': [{'intValue': '1'}, {'stringValue': 'x'}]}},
             {'kvlistValue': {'values': [text('k', 'v')]}}]
    attributes = [{'key': f'k{i}', 'value': value} for i, value in enumerate(kinds)]
    return traces(
        span(trace_id, 1, attributes=attributes, status={'code': 2, 'message': 'no'}, traceState='a=b',
             events=[{'name': 'e', 'timeUnixNano': '5', 'attributes': attributes}],
             links=[{'traceId': 'c' * 32, 'spanId': 'd' * 16, 'attributes': attributes}]),
        span(trace_id, 2, parent=1))


FORMS = {'protobuf': (lambda: proto(rich()), PROTOBUF), 'JSON': (lambda: json.dumps(rich()).encode(), JSON)}


@pytest.mark.parametrize('form', FORMS)
def test_truncated(bad, form):
    make, headers = FORMS[form]
    body = make()
    for n in range(1, len(body), 1 if form == 'protobuf' else 5):
        status, says = send(bad, body[:n], headers)
        # a protobuf message cut between two of its fields is a shorter message
        assert status == 400 and PLACE.search(says) or (status == 200 and form == 'protobuf'), (n, status, says)


@pytest.mark.parametrize('form', FORMS)
def test_bits_flipped(bad, form):
    make, headers = FORMS[form]
    body, rng = make(), random.Random(1)
    for _ in range(600):
        damaged = bytearray(body)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        status, says = send(bad, bytes(damaged), headers)
        assert status == 200 or (status == 400 and PLACE.search(says)), (damaged, status, says)


def test_bits_flipped_in_compressed_bodies(bad):
    body, rng = gzip.compress(proto(rich())), random.Random(2)
    for _ in range(200):
        damaged = bytearray(body)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        status, says = send(bad, bytes(damaged), {**PROTOBUF, 'Content-Encoding': 'gzip'})
        assert status == 200 or (status == 400 and says), (status, says)


def test_noise(bad):
    rng = random.Random(3)
    for _ in range(200):
        for headers in (JSON, PROTOBUF):
            status, says = send(bad, rng.randbytes(rng.randrange(1, 300)), headers)
            assert status == 200 or (status == 400 and PLACE.search(says)), (status, says)


def nested(depth, kind):
    value = {'stringValue': 'core'}
    for _ in range(depth):
        value = {'arrayValue': {'values': [value]}} if kind == 'array' else {'kvlistValue': {'values': [{'key': 'k', 'value': value}]}}
    return value


def nested_json(depth, kind):
    """The same as text, for depths at which Python's own writer gives up."""
    before, after = {'array': ('{"arrayValue":{"values":[', ']}}'),
                     'kvlist': ('{"kvlistValue":{"values":[{"key":"k","value":', '}]}}')}[kind]
    one = json.dumps(traces(span(depth, 1, attributes=[{'key': 'deep', 'value': {'stringValue': 'HERE'}}])))
    return one.replace('{"stringValue": "HERE"}', before * depth + '{"stringValue":"core"}' + after * depth).encode()


def nested_proto(depth):
    def field(number, content):
        length, head = len(content), bytearray([number << 3 | 2])
        while length > 127:
            head.append(length & 127 | 128)
            length >>= 7
        return bytes(head) + bytes([length]) + content
    value = field(1, b'core')
    for _ in range(depth):
        value = field(5, field(1, value))
    one = field(1, struct.pack('>QQ', 0, depth)) + field(2, bytes([9] * 8)) + field(9, field(1, b'deep') + field(2, value))
    return field(1, field(2, field(2, one)))


@pytest.mark.parametrize('kind', ['array', 'kvlist'])
def test_nesting_that_makes_sense_is_kept(bad, kind):
    for depth in (1, 5, 20):
        request = traces(span(f'{depth:031x}{1 if kind == "array" else 2}', 1, attributes=[{'key': 'deep', 'value': nested(depth, kind)}]))
        for body, headers in ((json.dumps(request).encode(), JSON), (proto(request), PROTOBUF)):
            assert send(bad, body, headers) == (200, '')
        got = spans_of(read_trace(bad, f'{depth:031x}{1 if kind == "array" else 2}'))
        assert got == spans_of([request]) or got == spans_of([request]) * 2


def test_deeper_nesting_is_refused_with_its_place(bad):
    for depth in (1000, 100_000):
        for body, headers in ((nested_json(depth, 'array'), JSON), (nested_json(depth, 'kvlist'), JSON), (nested_proto(depth), PROTOBUF),
                              (b'[' * depth, JSON), (b'{"a":' * depth, JSON),
                              (b'{"resourceSpans":[{"unknown":' + b'[' * depth + b']' * depth + b'}]}', JSON)):
            status, says = send(bad, body, headers)
            assert status == 400 and PLACE.search(says), (depth, body[:60], status, says)


WRONG = [  # JSON of one span with a field replaced, and what the answer must speak of
    ({'traceId': 7}, 'traceId'), ({'traceId': 'xyz'}, 'traceId'), ({'traceId': 'a' * 31}, 'traceId'),
    ({'spanId': 'b' * 17}, 'spanId'), ({'spanId': None, 'name': 5}, 'name'), ({'name': {}}, 'name'), ({'name': ['a']}, 'name'),
    ({'kind': 'WHATEVER'}, 'kind'), ({'startTimeUnixNano': 'soon'}, 'startTimeUnixNano'),
    ({'startTimeUnixNano': '-1'}, 'startTimeUnixNano'), ({'startTimeUnixNano': str(2**64)}, 'startTimeUnixNano'),
    ({'endTimeUnixNano': 1.5}, 'endTimeUnixNano'), ({'attributes': {}}, 'attributes'), ({'attributes': [5]}, 'attributes'),
    ({'attributes': [{'key': 5}]}, 'key'), ({'attributes': [{'key': 'a', 'value': 'text'}]}, 'value'),
    ({'attributes': [{'key': 'a', 'value': {'intValue': 'many'}}]}, 'intValue'),
    ({'attributes': [{'key': 'a', 'value': {'intValue': str(2**63)}}]}, 'intValue'),
    ({'attributes': [{'key': 'a', 'value': {'boolValue': 'true'}}]}, 'boolValue'),
    ({'attributes': [{'key': 'a', 'value': {'bytesValue': '*'}}]}, 'bytesValue'),
    ({'attributes': [{'key': 'a', 'value': {'arrayValue': []}}]}, 'arrayValue'),
    ({'events': {}}, 'events'), ({'links': 'no'}, 'links'), ({'links': [{'traceId': 'zz'}]}, 'link'),
    ({'status': 'bad'}, 'status'), ({'status': {'code': []}}, 'code'), ({'droppedAttributesCount': -1}, 'droppedAttributesCount'),
    ({'flags': 'x'}, 'flags'),
]


@pytest.mark.parametrize('replaced, field', WRONG)
def test_wrong_types_are_named(bad, replaced, field):
    body = json.dumps(traces({**span(9, 9), **replaced})).encode()
    status, headers, answer = bad.request('/v1/traces', port='otlp-http', body=body, headers=JSON)
    answer = json.loads(answer)
    says = answer['message'] if status == 400 else answer['partialSuccess']['errorMessage']
    assert status in (200, 400) and PLACE.search(says) and field in says, says


@pytest.mark.parametrize('body', [b'', b'null', b'[]', b'5', b'"text"', b'{"resourceSpans":5}', b'{"resourceSpans":[null]}',
                                  b'{}{}', b'{} x', b'\xef\xbb\xbf{}', b'{"resourceSpans":[]', b'{"a":1,}', b"{'a':1}", b'nul'])
def test_what_is_no_request_is_refused_or_empty(bad, body):
    status, says = send(bad, body, JSON)
    assert status == 200 or (status == 400 and PLACE.search(says)), (status, says)


def test_wrong_wire_types_and_lengths_in_protobuf(bad):
    for body in (b'\x08\x01', b'\x0a\xff\xff\xff\xff\x0f', b'\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01', b'\x0b', b'\x0f\x01', b'\x00',
                 b'\x0a\x02\x12\x7f', b'\x0a\x04\x12\x02\x12\x7f', b'\x80' * 11, b'\x0a\x80'):
        status, says = send(bad, body, PROTOBUF)
        assert status == 200 or (status == 400 and PLACE.search(says)), (body, status, says)


@pytest.mark.parametrize('broken', [b'\xff', b'\xc0\xaf', b'\xed\xa0\x80', b'\xf4\x90\x80\x80', b'\xe2\x82', b'a\x80b'])
def test_invalid_utf8(bad, broken):
    """In JSON an error; protobuf's senders are sloppier, so there it may also be kept byte for byte."""
    marker = b'MARKER!!'
    as_json = json.dumps(traces(span(9, 9, name=marker.decode()))).encode().replace(marker, broken)
    status, says = send(bad, as_json, JSON)
    assert status == 400 and PLACE.search(says), (status, says)
    trace_id = f'{0xff00 + broken[0]:032x}'
    as_proto = proto(traces(span(trace_id, 9, name=marker.decode()[:len(broken)].ljust(len(broken), '!'))))
    as_proto = as_proto.replace(marker[:len(broken)].ljust(len(broken), b'!'), broken)
    status, says = send(bad, as_proto, PROTOBUF)
    assert status in (200, 400)
    if status == 400:
        assert PLACE.search(says), says
    else:
        _, _, kept = bad.request(f'/api/v1/traces/{trace_id}?format=otlp')
        assert broken in kept
        as_json = bad.request(f'/api/v1/traces/{trace_id}?format=otlp-json')[2]
        as_json.decode()  # what is written as JSON is valid
        assert bad.request(f'/api/v1/traces/{trace_id}')[2].decode()


TIMES = [0, 1, 2**31 * 10**9, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]  # the fourth is 2262-04-11


def test_times_at_the_edges_are_kept(bad):
    spans = [span(0x7000, i + 1, start=0, startTimeUnixNano=str(start), endTimeUnixNano=str(end), events=[{'name': 'e', 'timeUnixNano': str(end)}])
             for i, (start, end) in enumerate((s, e) for s in TIMES for e in TIMES)]
    refused = []
    for body, headers in ((json.dumps(traces(*spans)).encode(), JSON), (proto(traces(*spans)), PROTOBUF)):
        status, says = send(bad, body, headers)
        if status == 200:
            got = {s['spanId']: s for s in spans_of(read_trace(bad, 0x7000))}
            assert got == {s['spanId']: s for s in spans_of([traces(*spans)])}
        else:
            refused.append(says)
            assert status == 400 and PLACE.search(says)
    assert not refused
    assert bad.request(f'/api/v1/traces/{0x7000:032x}')[0] == 200
    assert bad.get('/api/v1/traces?limit=100')[0] == 200


@pytest.mark.parametrize('form', FORMS)
def test_100000_distinct_keys_on_one_span(bad, form):
    trace_id = 0x8000 + (form == 'JSON')
    request = traces(span(trace_id, 1, attributes=[text(f'key.{i}', f'value {i}') for i in range(100_000)]))
    body = json.dumps(request).encode() if form == 'JSON' else proto(request)
    status, says = send(bad, body, FORMS[form][1])
    assert (status, says) == (200, '')
    (got,) = spans_of(read_trace(bad, trace_id))
    assert got['attributes'] == attributes_of(request['resourceSpans'][0]['scopeSpans'][0]['spans'][0]['attributes'])


def test_100000_distinct_keys_on_as_many_spans(bad):
    request = traces(*(span(0x8100, i + 1, name=f'n{i}', attributes=[text(f'key.{i}', 'v')]) for i in range(100_000)))
    assert send(bad, proto(request), PROTOBUF) == (200, '')
    got = spans_of(read_trace(bad, 0x8100))
    assert len(got) == 100_000 and {k for s in got for k in s['attributes']} == {f'key.{i}' for i in range(100_000)}


@pytest.mark.parametrize('form', FORMS)
def test_values_of_a_mebibyte(bad, form):
    trace_id = 0x8200 + (form == 'JSON')
    large = 'x"\\ß\n' * (1 << 18)
    request = traces(span(trace_id, 1, name=large[:1 << 20], attributes=[text('a', large), {'key': 'b', 'value': {'bytesValue': 'AAAA' * (1 << 18)}},
                                                                       text('k' * (1 << 20), '')]))
    body = json.dumps(request).encode() if form == 'JSON' else proto(request)
    assert send(bad, body, FORMS[form][1]) == (200, '')
    assert spans_of(read_trace(bad, trace_id)) == spans_of([request])


def test_a_log_body_of_a_mebibyte(bad):
    request = logs({'traceId': f'{0x8300:032x}', 'timeUnixNano': '5', 'body': {'stringValue': 'log ' * (1 << 18)}})
    assert post(bad, request, 'logs')[0] == 200
    assert records_of(read_trace(bad, 0x8300)) == records_of([request])


# --- compression and size -------------------------------------------------------------------------------------------

def zstd(data, *arguments):
    return subprocess.run(['zstd', '-q', '-c', *arguments], input=data, capture_output=True, check=True).stdout


def bombs():
    zeros = bytes(80 << 20)  # over --max-decoded, under a hundredth of it compressed
    yield 'gzip', gzip.compress(zeros, 9)
    yield 'gzip', gzip.compress(bytes(10 << 20), 9) * 20  # many members, each small enough
    yield 'deflate', zlib.compress(zeros, 9)
    yield 'zstd', zstd(zeros, '-19')
    yield 'zstd', zstd(bytes(10 << 20)) * 20
    yield 'gzip', gzip.compress(zeros, 9)[:-4] + b'\x01\0\0\0'  # lies about its length


def test_compression_bombs(bad):
    for encoding, body in bombs():
        for headers in (JSON, PROTOBUF):
            status, says = send(bad, body, {**headers, 'Content-Encoding': encoding})
            assert status in (400, 413) and says, (encoding, status, says)
            assert status == 413 or 'damaged' in says
    assert send(bad, b'x', {**JSON, 'Content-Encoding': 'br'})[0] in (400, 415)


def test_a_body_over_the_limit(bad):
    status, says = send(bad, bytes(41 << 20), PROTOBUF)
    assert status == 413 and str(40 << 20) in says
    with pytest.raises(Refused) as refused:
        call(bad, bytes(41 << 20))
    assert refused.value.code == 'RESOURCE_EXHAUSTED'


# --- connections ----------------------------------------------------------------------------------------------------

def raw(server, *pieces, port='otlp-http', end=False):
    """What comes back for these bytes; with `end` we say that nothing more will come."""
    with socket.create_connection(('127.0.0.1', server.ports[port]), timeout=60) as s:
        try:
            for piece in pieces:
                s.sendall(piece)
            if end:
                s.shutdown(socket.SHUT_WR)
            answer = b''
            while True:
                more = s.recv(65536)
                if not more:
                    return answer
                answer += more
                if not end and re.match(rb'HTTP/1.1 \d+ [^\r]*\r\n(?s:.*?)\r\n\r\n', answer) and b'100 Continue' not in answer:
                    return answer
        except ConnectionResetError:
            return b''


def head(*lines):
    return '\r\n'.join(('POST /v1/traces HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', *lines, '', '')).encode()


@pytest.mark.parametrize('lines, body, end', [
    (['Content-Length: 1000'], b'{"resourceSpans":[]}', True),
    (['Content-Length: -1'], b'{}', False),
    (['Content-Length: +2'], b'{}', False),
    (['Content-Length: 2x'], b'{}', False),
    (['Content-Length: 99999999999999999999999'], b'{}', False),
    (['Content-Length: 18446744073709551615'], b'{}', False),
    (['Content-Length: 2', 'Content-Length: 3'], b'{}x', False),
    (['Content-Length: 2', 'Transfer-Encoding: chunked'], b'0\r\n\r\n', False),
    (['Transfer-Encoding: gzip, identity'], b'{}', False),
    (['Transfer-Encoding: chunked'], b'zz\r\n{}\r\n0\r\n\r\n', False),
    (['Transfer-Encoding: chunked'], b'-2\r\n{}\r\n0\r\n\r\n', False),
    (['Transfer-Encoding: chunked'], b'ffffffffffffffffff\r\n{}', False),
    (['Transfer-Encoding: chunked'], b'7fffffffffffffff\r\n{}', False),
    (['Transfer-Encoding: chunked'], b'2\r\n{}XX0\r\n\r\n', False),
    (['Transfer-Encoding: chunked'], b'2;' + b'x' * 100_000 + b'\r\n{}\r\n0\r\n\r\n', False),
    (['Transfer-Encoding: chunked'], b'2\r\n{}\r\n', True),
])
def test_lengths_that_lie_are_no_request(bad, lines, body, end):
    before = bad.request('/metrics')[2]
    answer = raw(bad, head(*lines), body, end=end)
    assert answer == b'' or re.match(rb'HTTP/1.1 (4\d\d|501) ', answer), answer
    requests = re.compile(rb'causet_ingest_requests_total\{[^}]*kind="traces"[^}]*\} (\d+)')
    assert requests.search(bad.request('/metrics')[2])[1] == requests.search(before)[1], 'it was taken for one'


def test_more_than_was_announced_is_no_second_request(bad):
    answer = raw(bad, head('Content-Length: 2'), b'{}garbage that is no request line\r\n\r\n', end=True)
    assert answer.startswith(b'HTTP/1.1 200 ') and answer.count(b'HTTP/1.1 ') <= 2
    assert answer.count(b'HTTP/1.1 ') == 1 or b'HTTP/1.1 400 ' in answer


@pytest.mark.parametrize('start', [b'', b'G', b'GET /ready HTT', b'POST /v1/traces HTTP/1.1\r\nHost: x', b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
                                   b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\4\0\0\0\0\0' + b'\0\0\5\1',
                                   head('Content-Length: 100') + b'{"resource', b'\x16\x03\x01\x02\x00\x01'])
def test_half_open_connections_hinder_nobody(bad, start):
    many = []
    try:
        for i in range(100):
            s = socket.create_connection(('127.0.0.1', bad.ports['otlp-http' if i % 2 else 'otlp-grpc']), timeout=60)
            many.append(s)
            try:
                s.sendall(start)
            except (BrokenPipeError, ConnectionResetError):
                pass
        assert send(bad, json.dumps(traces(span(1, 1))).encode(), JSON) == (200, '')
    finally:
        for i, s in enumerate(many):
            if i % 3 == 0:  # some go with a reset
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            s.close()
    eventually(lambda: re.search(rb'\ncauset_http_connections(_open)? [0-9]\n', bad.request('/metrics')[2]), why='connections stay open')


def test_frames_that_are_no_grpc(bad):
    import grpc
    with grpc.insecure_channel(f'127.0.0.1:{bad.ports["otlp-grpc"]}') as channel:
        method = channel.unary_unary('/opentelemetry.proto.collector.trace.v1.TraceService/Export', request_serializer=None,
                                     response_deserializer=None)
        for body in (b'\xff', b'\x0a\x7f', nested_proto(1000), b'\x00' * 100):
            with pytest.raises(grpc.RpcError) as refused:
                method(body, timeout=60)
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT and PLACE.search(refused.value.details())


# --- memory ---------------------------------------------------------------------------------------------------------

MARGIN = 48 << 20  # what may stay after hundreds of MiB have gone through: arenas and buffers kept for the next request


@pytest.mark.once
def test_memory_returns_to_its_level(causet_release, tmp_path):
    """The release build takes, and refuses, far more than it may keep."""
    with Server(causet_release, tmp_path, '--max-body', '64MiB', '--max-decoded', '256MiB') as server:
        for _ in range(3):
            send(server, json.dumps(traces(span(1, 1))).encode(), JSON)
        level = server.rss()
        ugly = [(b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b','.join([json.dumps(span(1, 1)).encode()] * 100_000) + b',!', JSON),
                (proto(rich()) * 20_000 + b'\xff', PROTOBUF), (bytes(60 << 20), PROTOBUF), (b'[' * (1 << 20), JSON)]
        for body, headers in ugly:
            assert send(server, body, headers)[0] == 400
        for encoding, body in bombs():
            send(server, body, {**JSON, 'Content-Encoding': encoding})
        halves = [socket.create_connection(('127.0.0.1', server.ports['otlp-http'])) for _ in range(300)]
        for s in halves:
            s.sendall(head('Content-Length: 1000000') + b' ' * 200_000)
        peak = server.high_water()
        time.sleep(5)  # so that what the half requests hold goes after the server has tidied up once
        for s in halves:
            s.close()
        eventually(lambda: server.rss() < level + MARGIN, seconds=120,
                   why=f'{server.rss() >> 20} MiB stay of {peak >> 20}; before it was {level >> 20}')
        print(f'{level >> 20} MiB before, {peak >> 20} MiB at the peak, {server.rss() >> 20} MiB after')
        assert peak > level + MARGIN, 'the test is too kind'
