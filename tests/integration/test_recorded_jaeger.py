"""The requests that Jaeger 2 was asked, put to causet: the same status, and answers that mean the same.  Where causet
differs on purpose, DIFFERENT says what it must answer instead, and docs/interop.md says why under the same name."""
import json

import pytest

from recorded import FOLDER, body_of, entries, frozen, jaeger_envelope, jaeger_traces, spans
from messages import spans_of
from server import Server

ENTRIES = entries('jaeger')
META = json.loads((FOLDER / 'meta.json').read_text())
WINDOW = f'&start={META["start_us"]}&end={META["end_us"]}'
# The server's clock is not the one of the day when Jaeger was asked.
CLOCK = {'search lookback'}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('jaeger')) as server:
        status, _, body = server.request('/v1/traces', 'otlp-http', spans('spans.otlp'),
                                         {'Content-Type': 'application/x-protobuf'})
        assert (status, body) == (200, b''), body
        yield server


def ids(traces):
    return {key[-4:] for key in traces}


def newest(*traces):
    """A limit takes the newest."""
    return lambda answer, recorded: ids(jaeger_traces(answer)) == set(traces)


def failed_spans_of(service):
    """Traces with a failed span of the service, by what was sent."""
    sent = spans_of([json.loads(spans('spans.otlp.json'))])
    expected = {s['traceId'] for s in sent if s['resource']['service.name'] == {'stringValue': service}
                and s.get('status', {}).get('code') == 2}
    assert expected

    def check(answer, recorded):
        assert jaeger_traces(recorded) == {}, 'Jaeger does find them now: this is no difference any more'
        return set(jaeger_traces(answer)) == expected
    return check


DIFFERENT = {
    'search limit': newest('006f', '006e', '006d'),
    'search lookback': newest('006f', '006e'),
    'search error': failed_spans_of('odd-many'),
    'search shop error': failed_spans_of('shop-pay'),
    'search status': failed_spans_of('odd-events'),
}


def meaning(path, answer):
    path = path.partition('?')[0]
    if path.startswith('/api/traces'):
        return jaeger_traces(answer)
    data = jaeger_envelope(answer)
    return data and frozenset(map(frozen, data))


def v1(entry):
    return not entry['path'].startswith('/api/v3')


@pytest.mark.parametrize('entry', filter(v1, ENTRIES), ids=[e['name'] for e in filter(v1, ENTRIES)])
def test_causet_answers_what_jaeger_answered(loaded, entry):
    path = entry['path'] + (WINDOW if entry['name'] in CLOCK else '')
    status, headers, body = loaded.request(path, headers=entry['headers'])
    assert status == entry['status'], body
    answer, recorded = json.loads(body), json.loads(body_of(entry))
    if status != 200:
        assert answer['data'] is None and answer['errors'][0]['code'] == status and answer['errors'][0]['msg']
    elif entry['name'] in DIFFERENT:
        assert DIFFERENT[entry['name']](answer, recorded)
    else:
        assert meaning(path, answer) == meaning(path, recorded)
        assert answer['total'] == recorded['total']


def test_every_difference_is_explained(top):
    page = (top / 'docs/interop.md').read_text()
    for name in DIFFERENT:
        assert f'`{name}`' in page, name
