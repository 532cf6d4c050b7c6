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


# --- version 3 ------------------------------------------------------------------------------------------------------

def v3(entry):
    return not v1(entry)


def v3_spans(answer):
    """Spans with what was sent: Jaeger adds its warnings to the attributes."""
    assert set(answer) == {'result'} and set(answer['result']) == {'resourceSpans'}
    out = []
    for span in spans_of([answer['result']]):
        span.get('attributes', {}).pop('@jaeger@warnings', None)
        if not span.get('attributes', True):
            del span['attributes']
        span['events'] = sorted(span.get('events', []), key=json.dumps)
        out.append(json.dumps(span, sort_keys=True))
    return sorted(out)


def traces_of(answer):
    return {span['traceId'][-4:] for span in spans_of([answer['result']])}


def found(*traces):
    return lambda answer: traces_of(answer) == set(traces)


# Jaeger fails where the search depth is left out, and takes other traces under a limit.
V3_DIFFERENT = {
    'v3 find': found('006f', '006e', '006d'),
    'v3 find operation': found('0066', '0069', '006c', '006f'),
    'v3 find duration': found('006d', '006e', '006f'),
    'v3 find attributes': found('0065', '0067', '0069', '006b', '006d', '006f'),
}


@pytest.mark.parametrize('entry', filter(v3, ENTRIES), ids=[e['name'] for e in filter(v3, ENTRIES)])
def test_causet_answers_what_jaeger_answered_in_version_3(loaded, entry):
    status, headers, body = loaded.request(entry['path'], headers=entry['headers'])
    answer, recorded = json.loads(body), json.loads(body_of(entry))
    assert headers['Content-Type'] == 'application/json'
    if entry['name'] in V3_DIFFERENT:
        assert status == 200 and V3_DIFFERENT[entry['name']](answer)
        return
    assert status == entry['status'], body
    if status != 200:
        assert set(answer['error']) <= {'grpcCode', 'httpCode', 'message', 'httpStatus'}
        assert answer['error']['httpCode'] == status and answer['error']['message']
    elif '/api/v3/traces' in entry['path']:
        assert v3_spans(answer) == v3_spans(recorded)
    else:
        assert set(answer) == set(recorded)
        for name in answer:
            assert set(map(frozen, answer[name])) == set(map(frozen, recorded[name]))


def test_every_difference_of_version_3_is_explained(top):
    page = (top / 'docs/interop.md').read_text()
    for name in V3_DIFFERENT:
        assert f'`{name}`' in page, name
