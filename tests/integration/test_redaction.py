"""A redaction rule hides what it should from everybody: the bytes are in no answer, in no export format, in no file."""
import itertools
import json
import subprocess

import pytest

from messages import eventually, logs, post, protos, span, spans_of, read_trace, text, to_protobuf, traces
from server import Server

SECRET = 'hunter2-correct-horse'
CARD = '4111-1111-1111-1111'
FORMATS = ('causet', 'otlp', 'otlp-logs', 'otlp-json', 'events', 'events-json', 'zipkin', 'zipkin-proto', 'jaeger')


def deep(value):
    return {'kvlistValue': {'values': [{'key': 'user.password', 'value': {'stringValue': value}}, text('kept', 'yes')]}}


def request(trace_id):
    secret = text('user.password', SECRET)
    attributes = [secret, text('plain', 'stays'), text('card', CARD), {'key': 'nested', 'value': deep(SECRET)}]
    return traces(span(trace_id, 1, attributes=attributes, events=[{'name': 'e', 'timeUnixNano': '5', 'attributes': attributes}],
                       links=[{'traceId': 'c' * 32, 'spanId': 'd' * 16, 'attributes': attributes}]),
                  scope={'name': 'tests', 'attributes': [secret]})


@pytest.fixture
def redacting(causet, tmp_path):
    data = tmp_path / 'data'
    for rule in (['--key', '*password*', '--action', 'drop'], ['--key', 'card', '--value', '^[0-9-]+$', '--action', 'hash']):
        subprocess.run([causet, 'redact', 'add', *rule, '--data', data], check=True, capture_output=True)
    with Server(causet, tmp_path) as server:
        yield server


def everything_said(server, causet, trace_id):
    """Every way to get data out: (where, bytes)."""
    for path in itertools.chain((f'/api/v1/traces/{trace_id:032x}?format={form}' for form in FORMATS),
                                ('/api/v1/traces', '/api/v1/services', '/metrics', f'/api/v1/traces?tag=user.password%3D{SECRET}')):
        status, _, body = server.request(path)
        assert status in (200, 400), (path, body)
        yield path, body
    for form in FORMATS[1:]:
        done = subprocess.run([causet, 'export', '--server', server.url(), '--format', form], capture_output=True)
        yield f'export {form}', done.stdout + done.stderr
    shown = subprocess.run([causet, 'trace', f'{trace_id:032x}', '--server', server.url(), '--points', '--attributes'], capture_output=True)
    assert shown.returncode == 0, shown.stderr
    yield 'trace', shown.stdout
    for file in server.folder.rglob('*'):
        if file.is_file():
            yield str(file), file.read_bytes()


@pytest.mark.parametrize('protocol', ['OTLP JSON', 'OTLP protobuf', 'logs', 'zipkin', 'events'])
def test_what_a_rule_hides_is_nowhere(redacting, causet, protocol):
    server, trace_id = redacting, 0x5ec
    if protocol == 'OTLP JSON':
        assert post(server, request(trace_id))[0] == 200
    elif protocol == 'OTLP protobuf':
        assert post(server, to_protobuf(request(trace_id), protos().otlp.ExportTraceServiceRequest))[0] == 200
    elif protocol == 'logs':
        assert post(server, logs({'traceId': f'{trace_id:032x}', 'timeUnixNano': '5', 'body': deep(SECRET),
                                  'attributes': [text('user.password', SECRET), text('card', CARD), text('plain', 'stays')]}), 'logs')[0] == 200
    elif protocol == 'zipkin':
        row = {'traceId': f'{trace_id:032x}', 'id': '1', 'timestamp': 5, 'tags': {'user.password': SECRET, 'card': CARD, 'plain': 'stays'}}
        assert server.request('/api/v2/spans', port='zipkin', body=[row])[0] == 202
    else:
        assert post(server, {'resourceEvents': [{'scopeEvents': [{'events': [
            {'traceId': f'{trace_id:032x}', 'type': 'EVENT_TYPE_BEGIN', 'id1': '1' * 16, 'timeUnixNano': '5', 'name': 'work',
             'attributes': [text('user.password', SECRET), text('card', CARD), text('plain', 'stays')]}]}]}]}, 'events')[0] == 200
    stays = 0
    for where, said in everything_said(server, causet, trace_id):
        if 'user.password%3D' not in where:
            assert SECRET.encode() not in said, where
        assert CARD.encode() not in said, where
        stays += b'stays' in said
    assert stays >= 3, 'what no rule names is gone, too'


def test_the_hash_is_the_same_for_the_same_value(redacting):
    for trace_id in (1, 2):
        assert post(redacting, request(trace_id))[0] == 200
    cards = {json.dumps(s['attributes']['card']) for trace_id in (1, 2) for s in spans_of(read_trace(redacting, trace_id))}
    assert len(cards) == 1 and CARD not in cards.pop()


def test_a_rule_added_to_a_running_server_takes_effect(causet, server):
    assert post(server, request(1))[0] == 200
    assert SECRET in json.dumps(read_trace(server, 1))
    subprocess.run([causet, 'redact', 'add', '--key', '*password', '--action', 'drop', '--data', server.folder / 'data'],
                   check=True, capture_output=True)
    numbers = itertools.count(2)

    def hidden():
        n = next(numbers)
        assert post(server, request(n))[0] == 200
        return SECRET not in json.dumps(read_trace(server, n))

    eventually(hidden, why='the rule is not in force')
