"""The requests that Zipkin 3.5 was asked, put to causet: the same status, and answers that mean the same."""
import json

import pytest

from recorded import body_of, entries, spans, zipkin_links, zipkin_trace
from server import Server

ENTRIES = entries('zipkin')
# Names of the back end and of its parts, which are ours here.
OWN_WORDS = {'info', 'health'}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('zipkin')) as server:
        status, _, body = server.request('/api/v2/spans', 'zipkin', spans('zipkin.json'),
                                         {'Content-Type': 'application/json'})
        assert status == 202, body
        yield server


def meaning(entry, body):
    path = entry['path'].partition('?')[0]
    if entry['status'] != 200 or entry['name'] in OWN_WORDS:
        return None
    value = json.loads(body)
    if path == '/api/v2/traces' or path == '/api/v2/traceMany':
        traces = [zipkin_trace(trace) for trace in value]
        return traces if path.endswith('traces') else frozenset(traces)  # Lens shows a search as it comes: newest first
    if path.startswith('/api/v2/trace/'):
        return zipkin_trace(value)
    if path == '/api/v2/dependencies':
        return zipkin_links(value)
    return value


@pytest.mark.parametrize('entry', ENTRIES, ids=[e['name'] for e in ENTRIES])
def test_causet_answers_what_zipkin_answered(loaded, entry):
    status, headers, body = loaded.request(entry['path'], 'zipkin', headers=entry['headers'])
    assert status == entry['status'], body
    if status == 200:
        assert headers['Content-Type'].startswith('application/json')
    else:
        assert headers['Content-Type'].startswith('text/plain') and body.strip(), 'a reason, for people'
    assert meaning(entry, body) == meaning(entry, body_of(entry))


UNDER_API = [e for e in ENTRIES if e['path'].startswith('/api/')]


@pytest.mark.parametrize('entry', UNDER_API, ids=[e['name'] for e in UNDER_API])
def test_lens_asks_beside_itself(loaded, entry):
    assert loaded.request('/zipkin' + entry['path'], 'zipkin')[::2] == loaded.request(entry['path'], 'zipkin')[::2]
