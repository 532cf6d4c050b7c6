"""Zipkin's query API about spans that came by OTLP and by Zipkin: one test for each habit of its clients.  What whole answers
mean is compared in test_recorded_zipkin.py."""
import json
import urllib.parse

import pytest

from messages import post, span, text, traces
from recorded import zipkin_trace
from server import Server

S = 1_000_000_000
T0 = 1_700_000_000 * S
END_MS = (T0 + 60 * S) // 1_000_000
FRONT, BACK = 'a' * 32, 'b' * 32


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('zipkin-api')) as server:
        requests = (
            traces(span(FRONT, 1, 'GET /', start=T0, duration=50_000_000, attributes=[text('http.path', '/')],
                        events=[{'timeUnixNano': str(T0 + 5), 'name': 'retry'}]),
                   span(FRONT, 2, 'call', parent=1, start=T0 + 1000, duration=40_000_000, kind=3,
                        attributes=[text('peer.service', 'back')], status={'code': 2, 'message': 'refused'}), service='front'),
            traces(span(FRONT, 3, 'serve', parent=2, start=T0 + 2000, duration=500, status={'code': 2}), service='back'),
            traces(span(BACK, 1, 'alone', start=T0 + S, duration=2_000_000), service='back'))
        for request in requests:
            assert post(server, request)[0] == 200
        yield server


def search(shop, status=200, **question):
    got, headers, body = shop.request('/api/v2/traces?' + urllib.parse.urlencode({'endTs': END_MS, 'lookback': 120_000, **question}), 'zipkin')
    assert got == status, body
    if status != 200:
        assert headers['Content-Type'].startswith('text/plain') and body
        return None
    answer = json.loads(body)
    for trace in answer:
        zipkin_trace(trace)  # strict
    return [trace[0]['traceId'][0] for trace in answer]


@pytest.mark.parametrize('question, found', [
    ({}, 'ba'), ({'limit': 1}, 'b'), ({'serviceName': 'front'}, 'a'), ({'serviceName': 'back'}, 'ba'), ({'serviceName': 'all'}, ''),
    ({'serviceName': 'front', 'spanName': 'GET /'}, 'a'), ({'serviceName': 'front', 'spanName': 'all'}, 'a'),
    ({'serviceName': 'back', 'spanName': 'GET /'}, ''), ({'spanName': 'alone'}, 'b'),
    ({'serviceName': 'front', 'remoteServiceName': 'back'}, 'a'), ({'serviceName': 'back', 'remoteServiceName': 'back'}, ''),
    ({'annotationQuery': 'http.path=/'}, 'a'), ({'annotationQuery': 'http.path'}, 'a'), ({'annotationQuery': 'http.path=/x'}, ''),
    ({'annotationQuery': 'error'}, 'a'), ({'annotationQuery': 'error=refused'}, 'a'), ({'annotationQuery': 'retry'}, 'a'),
    ({'annotationQuery': 'http.path=/ and error=refused and retry', 'serviceName': 'front'}, 'a'),  # on different spans
    ({'annotationQuery': 'http.path=/ and error=refused', 'serviceName': 'back'}, ''),
    ({'annotationQuery': 'otel.status_code=ERROR'}, 'a'), ({'annotationQuery': 'otel.scope.name=tests', 'serviceName': 'back'}, 'ba'),
    ({'minDuration': 45_000}, 'a'), ({'serviceName': 'back', 'minDuration': 1000}, 'b'), ({'minDuration': 1000, 'maxDuration': 3000}, 'b'),
    ({'lookback': 1}, ''), ({'endTs': END_MS - 59_500}, 'a'), ({'endTs': END_MS - 61_000}, '')])
def test_a_search_follows_zipkins_rules(shop, question, found):
    assert search(shop, **question) == list(found)


@pytest.mark.parametrize('question', [{'limit': 0}, {'limit': 'x'}, {'maxDuration': 5}, {'minDuration': 5, 'maxDuration': 4}, {'lookback': 0},
                                      {'endTs': 'x'}, {'minDuration': -1}, {'annotationQuery': ' and '.join(f'k{i}' for i in range(40))}])
def test_a_bad_question_is_400_with_a_reason(shop, question):
    search(shop, status=400, **question)


def test_lists(shop):
    assert shop.get('/api/v2/services', 'zipkin')[1] == ['back', 'front']
    assert shop.get('/api/v2/spans?serviceName=back', 'zipkin')[1] == ['alone', 'serve']
    assert shop.get('/api/v2/remoteServices?serviceName=front', 'zipkin')[1] == ['back']
    assert shop.get('/api/v2/remoteServices?serviceName=back', 'zipkin')[1] == []
    assert shop.get('/api/v2/autocompleteKeys', 'zipkin')[1] == []
    assert shop.request('/api/v2/autocompleteValues', 'zipkin')[0] == 400


@pytest.mark.parametrize('question, found', [
    ({'serviceName': 'FRONT'}, 'a'), ({'serviceName': 'Front', 'spanName': 'get /'}, 'a'), ({'spanName': 'get /'}, 'a'),
    ({'spanName': 'ALONE'}, 'b'), ({'serviceName': 'BACK', 'spanName': 'GET /'}, ''), ({'serviceName': 'FRONTS'}, ''),
    ({'serviceName': 'nobody', 'spanName': 'ALONE'}, ''), ({'remoteServiceName': 'BACK'}, 'a'),
    ({'serviceName': 'front', 'annotationQuery': 'HTTP.PATH'}, '')])  # tags are not names
def test_names_are_found_in_any_case(shop, question, found):
    assert search(shop, **question) == list(found)


def test_lists_are_found_in_any_case(shop):
    assert shop.get('/api/v2/spans?serviceName=BACK', 'zipkin')[1] == ['alone', 'serve']
    assert shop.get('/api/v2/remoteServices?serviceName=Front', 'zipkin')[1] == ['back']
    assert shop.get('/api/v2/spans?serviceName=', 'zipkin')[1] == []


def test_dependencies_count_errors(shop):
    _, links = shop.get(f'/api/v2/dependencies?endTs={END_MS}&lookback=120000', 'zipkin')
    assert links == [{'parent': 'front', 'child': 'back', 'callCount': 1, 'errorCount': 1}]
    assert shop.get(f'/api/v2/dependencies?endTs={END_MS - 120_000}&lookback=1000', 'zipkin')[1] == []


def test_some_of_many_traces_may_be_missing(shop):
    _, answer = shop.get(f'/api/v2/traceMany?traceIds={FRONT},{"d" * 32}', 'zipkin')
    assert [len(trace) for trace in answer] == [3]


def test_a_span_of_otlp_is_a_span_of_zipkin(shop):
    _, trace = shop.get(f'/api/v2/trace/{FRONT}', 'zipkin')
    call = next(s for s in trace if s['name'] == 'call')
    assert (call['kind'], call['parentId'], call['timestamp'], call['duration']) == ('CLIENT', f'{1:016x}', (T0 + 1000) // 1000, 40_000)
    assert call['localEndpoint'] == {'serviceName': 'front'} and call['remoteEndpoint'] == {'serviceName': 'back'}
    assert call['tags']['error'] == 'refused' and call['tags']['otel.status_code'] == 'ERROR'
    assert next(s for s in trace if s['name'] == 'GET /')['annotations'] == [{'timestamp': T0 // 1000, 'value': 'retry'}]


def zipkin_span(trace, number, parent=0, kind=None, local=None, remote=None, error=None, shared=False):
    made = {'traceId': f'{trace:016x}', 'id': f'{number:016x}', 'name': 'x', 'timestamp': T0 // 1000 + trace * 1_000_000, 'duration': 5}
    made |= {'shared': True} if shared else {}
    made |= {'parentId': f'{parent:016x}'} if parent else {}
    made |= {'kind': kind} if kind else {}
    made |= {'localEndpoint': {'serviceName': local}} if local else {}
    made |= {'remoteEndpoint': {'serviceName': remote}} if remote else {}
    return made | ({'tags': {'error': error}} if error is not None else {})


LINKS = [
    # A peer that sent nothing is known from the client that names it.
    ([(1, 0, 'CLIENT', 'app', 'db')], {'app>db': (1, 0)}),
    ([(1, 0, 'CLIENT', 'app', 'db', '')], {'app>db': (1, 1)}),  # any value of the tag, and none
    ([(1, 0, 'CLIENT', 'app', None)], {}),
    ([(1, 0, None, 'app', 'db')], {'app>db': (1, 0)}), ([(1, 0, None, 'app', None)], {}),
    # With something below it, that says who it is.
    ([(1, 0, 'CLIENT', 'app', 'db'), (2, 1, 'SERVER', 'store')], {'app>store': (1, 0)}),
    ([(1, 0, 'CLIENT', 'app', 'db', 'no'), (2, 1, 'SERVER', 'store')], {'app>store': (1, 1)}),
    ([(1, 0, 'CLIENT', 'app', 'db'), (2, 1, None, 'app')], {}),
    ([(1, 0, 'CLIENT', 'app', None), (1, 0, 'SERVER', 'store', None, None, True)], {'app>store': (1, 0)}),
    # Spans of no kind in between are looked through.
    ([(1, 0, 'SERVER', 'web'), (2, 1, None, 'web'), (3, 2, None, 'web'), (4, 3, 'SERVER', 'app')], {'web>app': (1, 0)}),
    # A client inside a service that nobody was seen to call.
    ([(1, 0, 'SERVER', 'web'), (2, 1, 'CLIENT', 'app', 'db', 'no')], {'web>app': (1, 0), 'app>db': (1, 1)}),
    # Who calls a first server is known if the server says so.
    ([(1, 0, 'SERVER', 'web')], {}), ([(1, 0, 'SERVER', 'web', 'phone')], {'phone>web': (1, 0)}),
    ([(1, 0, 'CLIENT', 'phone', 'x'), (2, 1, 'SERVER', 'web', 'other')], {'phone>web': (1, 0)}),
    # A service may call itself.
    ([(1, 0, 'CLIENT', 'app', None), (2, 1, 'SERVER', 'app')], {'app>app': (1, 0)}), ([(1, 0, None, 'app', 'app')], {'app>app': (1, 0)}),
    # Messages go through the broker, which both sides name.
    ([(1, 0, 'PRODUCER', 'app', 'queue'), (2, 1, 'CONSUMER', 'mail', 'queue')], {'app>queue': (1, 0), 'queue>mail': (1, 0)}),
    ([(1, 0, 'PRODUCER', 'app'), (2, 1, 'CONSUMER', 'mail')], {}),
    # A parent that is missing is taken to be the root.
    ([(1, 0, 'SERVER', 'web'), (3, 2, 'SERVER', 'app')], {'web>app': (1, 0)}), ([(3, 2, 'SERVER', 'app')], {})]


@pytest.fixture(scope='module')
def linked(causet, tmp_path_factory):
    """Each case is a trace of its own second."""
    body = [zipkin_span(trace, *span) for trace, (spans, _) in enumerate(LINKS, 1) for span in spans]
    with Server(causet, tmp_path_factory.mktemp('zipkin-links')) as server:
        assert server.request('/api/v2/spans', 'zipkin', json.dumps(body).encode(), {'Content-Type': 'application/json'})[0] == 202
        yield server


@pytest.mark.parametrize('trace', range(1, len(LINKS) + 1))
def test_links_are_counted_as_zipkin_does(linked, trace):
    _, answer = linked.get(f'/api/v2/dependencies?endTs={T0 // 1_000_000 + trace * 1000 + 500}&lookback=1000', 'zipkin')
    assert {f'{x["parent"]}>{x["child"]}': (x['callCount'], x.get('errorCount', 0)) for x in answer} == LINKS[trace - 1][1]


def test_a_peer_of_otlp_is_linked(causet, tmp_path):
    with Server(causet, tmp_path) as server:
        assert post(server, traces(
            span(FRONT, 1, 'GET /', start=T0, kind=2), span(FRONT, 2, 'query', parent=1, start=T0 + 1, kind=3,
                                                            attributes=[text('server.address', 'db.local')], status={'code': 2}),
            span(FRONT, 3, 'get', parent=1, start=T0 + 2, kind=3, attributes=[text('peer.service', 'cache'), text('server.address', 'x')]),
            service='front'))[0] == 200
        _, links = server.get(f'/api/v2/dependencies?endTs={END_MS}&lookback=120000', 'zipkin')
        assert links == [{'parent': 'front', 'child': 'cache', 'callCount': 1},
                         {'parent': 'front', 'child': 'db.local', 'callCount': 1, 'errorCount': 1}]
        # Jaeger counts spans that were sent, each below its parent.
        assert server.get(f'/api/dependencies?endTs={END_MS}&lookback=120000')[1]['data'] == [
            {'parent': 'front', 'child': 'front', 'callCount': 2}]
