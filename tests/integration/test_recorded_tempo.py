"""The requests that Tempo was asked and that need no TraceQL, put to causet on Tempo's port and under /tempo."""
import json

import pytest
from google.protobuf import json_format

from messages import protos, strict
from recorded import body_of, entries, spans
from server import Server

NO_LANGUAGE = [e for e in entries('tempo') if '/search' not in e['path'] and '/metrics/' not in e['path']]
PLACES = {'on its own port': ('tempo', ''), 'under a prefix': ('http', '/tempo')}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('tempo')) as server:
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        yield server


def plain(message):
    """A message as protoc's code sees it; attributes are a set, a status that says nothing is none, and flags, which Tempo
    drops, do not count."""
    def sort(value):
        if isinstance(value, list):
            return [sort(v) for v in value]
        if isinstance(value, dict):
            return {k: sorted(sort(v), key=json.dumps) if k == 'attributes' else sort(v) for k, v in value.items()
                    if (k, v) != ('status', {}) and k != 'flags'}
        return value
    return json.dumps(sort(json_format.MessageToDict(message)), sort_keys=True)


def canonical(trace):
    """Every span with its resource and scope."""
    return sorted((plain(resource.resource), plain(scope.scope), plain(one)) for resource in trace.resource_spans
                  for scope in resource.scope_spans for one in scope.spans)


def from_json(value):
    """Protobuf's own JSON mapping, read by protoc's code, which refuses a field it does not know."""
    request = protos().otlp.ExportTraceServiceRequest
    return json_format.ParseDict({'resourceSpans': value}, request())


def meaning(entry, status, body):
    """What came, decoded as strictly as Grafana does, or more so."""
    path, protobuf = entry['path'], 'protobuf' in entry['headers'].get('Accept', '')
    request = protos().otlp.ExportTraceServiceRequest
    if status != 200:
        return status
    if 'echo' in path:
        return body.strip()
    if 'buildinfo' in path:
        return sorted(json.loads(body))
    if protobuf and '/v2/' in path:
        answer = strict(protos().tempo.TraceByIDResponse, body)
        return canonical(strict(request, answer.trace)), answer.status
    if protobuf:
        return canonical(strict(request, body))
    value = json.loads(body)
    if '/v2/' in path:
        assert set(value) == {'trace', 'metrics'} and set(value['trace']) <= {'resourceSpans'}
        return canonical(from_json(value['trace'].get('resourceSpans', [])))
    assert set(value) == {'batches'}
    return canonical(from_json(value['batches']))


@pytest.mark.parametrize('place', PLACES)
@pytest.mark.parametrize('entry', NO_LANGUAGE, ids=[e['name'] for e in NO_LANGUAGE])
def test_causet_answers_what_tempo_answered(loaded, entry, place):
    port, prefix = PLACES[place]
    status, headers, body = loaded.request(prefix + entry['path'], port, headers=entry['headers'])
    assert status == entry['status'], body
    if status == 200:
        assert headers['Content-Type'].split(';')[0] == entry['type'].split(';')[0]
    assert meaning(entry, status, body) == meaning(entry, entry['status'], body_of(entry))


@pytest.mark.parametrize('path', ['/api/traces/' + '0' * 32, '/api/traces/' + 'a' * 33, '/api/v2/traces/x', '/api/v2/traces/1?start=x',
                                  '/api/traces/1?end=-1'])
def test_a_bad_question_is_400_with_a_reason(loaded, path):
    status, _, body = loaded.request(path, 'tempo')
    assert status == 400 and body


def test_an_id_may_lack_its_zeros_and_the_window_is_a_hint(loaded):
    assert loaded.request('/api/v2/traces/abcde?start=1&end=2', 'tempo')[0] == 200
    assert json.loads(loaded.request('/api/traces/abcde?start=1&end=2', 'tempo')[2])['batches']
