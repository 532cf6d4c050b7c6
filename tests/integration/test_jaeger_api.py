"""Jaeger's API as its clients really use it: one test for each habit they have.  What whole answers mean is compared in
test_recorded_jaeger.py."""
import base64
import json
import re
import urllib.parse

import pytest

from messages import eventually, post, span, spans_of, text, traces
from recorded import frozen, jaeger_envelope, jaeger_tags, jaeger_traces
from server import Server

S = 1_000_000_000
T0 = 1_700_000_000 * S
SHOP, SHORT = 'c0ffee00000000000000000000000001', '00000000000000000000000000000abc'


def attribute(key, **value):
    return {'key': key, 'value': value}


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    """One trace over two services, one with a short id, one in a service whose name needs escapes."""

    event = {'timeUnixNano': str(T0 + 5000), 'name': 'retry', 'attributes': [text('reason', 'slow'), attribute('n', intValue='3')]}
    front = span(SHOP, 1, 'GET /', start=T0, duration=50 * S // 1000, attributes=[text('http.method', 'GET')])
    call = span(SHOP, 2, 'call', parent=1, start=T0 + 1000, duration=40 * S // 1000, kind=3, events=[event],
                status={'code': 2, 'message': 'refused'})
    serve = span(SHOP, 3, 'serve', parent=2, start=T0 + 2000, duration=30 * S // 1000,
                 attributes=[attribute('size', intValue=str(2**60)), attribute('ok', boolValue=True),
                             attribute('share', doubleValue=0.25), attribute('raw', bytesValue='AP8Q')])
    lost = span(SHOP, 4, 'lost', parent=99, start=T0 + 3000, duration=1000)
    with Server(causet, tmp_path_factory.mktemp('jaeger-api')) as server:
        for request in (traces(front, call, service='front'), traces(serve, lost, service='back'),
                        traces(span(SHORT, 5, 'short', start=T0 + S), service='front'),
                        traces(span(7, 6, 'odd/name + x', start=T0 + 2 * S, kind=0), service='a/b c')):
            assert post(server, request)[0] == 200
        yield server


def window(seconds_before=10, seconds_after=10, unit=1000):
    return f'start={(T0 - seconds_before * S) // unit}&end={(T0 + seconds_after * S) // unit}'


def search(shop, question, status=200):
    got, answer = shop.get(f'/api/traces?{window()}&{question}')
    assert got == status, answer
    return jaeger_traces(answer) if status == 200 else answer


# --- version 1: lists -----------------------------------------------------------------------------------------------

def test_services_and_their_operations(shop):
    assert shop.get('/api/services') == (200, {'data': ['a/b c', 'back', 'front'], 'total': 3, 'limit': 0, 'offset': 0,
                                               'errors': None})
    _, answer = shop.get('/api/services/front/operations')
    assert jaeger_envelope(answer) == ['GET /', 'call', 'short']


def test_a_services_name_may_be_escaped_in_a_path(shop):
    _, answer = shop.get('/api/services/a%2Fb%20c/operations')
    assert jaeger_envelope(answer) == ['odd/name + x']
    assert shop.get('/api/services/a%2/operations')[0] == 400


def test_operations_say_their_kind(shop):
    _, answer = shop.get('/api/operations?service=front')
    assert jaeger_envelope(answer) == [{'name': 'GET /', 'spanKind': 'server'}, {'name': 'call', 'spanKind': 'client'},
                                       {'name': 'short', 'spanKind': 'server'}]
    _, answer = shop.get('/api/operations?service=front&spanKind=client')
    assert [o['name'] for o in jaeger_envelope(answer)] == ['call']
    _, answer = shop.get('/api/operations?service=a%2Fb+c')
    assert jaeger_envelope(answer) == [{'name': 'odd/name + x', 'spanKind': ''}]
    assert shop.get('/api/operations')[0] == 400


# --- version 1: one trace -------------------------------------------------------------------------------------------

def the_trace(shop, path):
    status, answer = shop.get(path)
    assert status == 200, answer
    data, = jaeger_envelope(answer)
    return data


def test_a_trace_has_every_value_in_its_type(shop):
    trace = the_trace(shop, f'/api/traces/{SHOP}')
    by_name = {s['operationName']: s for s in trace['spans']}
    assert jaeger_tags(by_name['serve']['tags']) >= {('size', 'int64', 2**60), ('ok', 'bool', True), ('share', 'float64', 0.25),
                                                    ('raw', 'binary', 'AP8Q'), ('span.kind', 'string', 'server')}
    assert {t['key']: t['value'] for t in by_name['call']['tags']}['error'] is True
    log, = by_name['call']['logs']
    assert log['timestamp'] == (T0 + 5000) // 1000
    assert jaeger_tags(log['fields']) == {('event', 'string', 'retry'), ('reason', 'string', 'slow'), ('n', 'int64', 3)}
    assert by_name['serve']['references'] == [{'refType': 'CHILD_OF', 'traceID': SHOP, 'spanID': f'{2:016x}'}]
    assert (by_name['call']['startTime'], by_name['call']['duration']) == ((T0 + 1000) // 1000, 40_000)
    assert trace['processes'][by_name['serve']['processID']]['serviceName'] == 'back'


@pytest.mark.parametrize('written', [SHORT, 'abc', '0abc', '0000000000000ABC',
                                     urllib.parse.quote(base64.b64encode(bytes.fromhex(SHORT)).decode(), safe=''),
                                     base64.urlsafe_b64encode(bytes.fromhex(SHORT)).decode().rstrip('=')])
def test_an_id_may_lack_zeros_or_be_base64(shop, written):
    assert the_trace(shop, f'/api/traces/{written}')['traceID'] == '0000000000000abc'
    assert shop.get(f'/api/v3/traces/{written}')[0] == 200


@pytest.mark.parametrize('unit', [1, 1000, 1_000_000, 1_000_000_000], ids=['ns', 'µs', 'ms', 's'])
def test_the_unit_of_a_time_is_seen_by_its_size(shop, unit):
    """Grafana sends milliseconds with a trace's id, Jaeger's UI microseconds."""
    assert shop.get(f'/api/traces/{SHOP}?{window(unit=unit)}')[0] == 200
    status, answer = shop.get(f'/api/traces?service=front&{window(unit=unit)}')
    assert (status, set(jaeger_traces(answer))) == (200, {SHOP, '0000000000000abc'})


def test_raw_and_pretty_are_understood(shop):
    assert the_trace(shop, f'/api/traces/{SHOP}?raw=true&prettyPrint=true') == the_trace(shop, f'/api/traces/{SHOP}')


def test_what_is_not_there_is_404_with_a_reason(shop):
    status, answer = shop.get('/api/traces/' + 'd' * 32)
    assert status == 404 and answer['data'] is None and answer['errors'] == [{'code': 404, 'msg': 'trace not found'}]


def test_some_of_many_ids_may_be_missing(shop):
    status, answer = shop.get(f'/api/traces?traceID={SHOP}&traceID={"d" * 32}')
    assert status == 200 and set(jaeger_traces(answer)) == {SHOP}
    assert answer['errors'] == [{'code': 404, 'msg': 'trace not found', 'traceID': 'd' * 32}]


# --- version 1: search ----------------------------------------------------------------------------------------------

def tags(**pairs):
    return 'tags=' + urllib.parse.quote(json.dumps(pairs))


@pytest.mark.parametrize('question, found', [
    ('service=front', {SHOP, '0000000000000abc'}),
    ('service=front&operation=call', {SHOP}),
    ('service=back&operation=call', set()),
    ('service=front&' + tags(error='true'), {SHOP}),
    ('service=back&' + tags(error='true'), set()),
    ('service=back&' + tags(size=str(2**60), ok='true', share='0.25'), {SHOP}),
    ('service=front&' + tags(reason='slow'), {SHOP}),
    ('service=front&' + tags(event='retry'), {SHOP}),
    ('service=front&' + tags(**{'span.kind': 'client'}), {SHOP}),
    ('service=front&' + tags(**{'otel.status_description': 'refused'}), {SHOP}),
    ('service=front&' + tags(**{'http.method': 'GET', 'reason': 'slow'}), set()),  # not one span
    ('service=front&tag=http.method:GET', {SHOP}),
    ('service=front&minDuration=45ms', {SHOP}),
    ('service=back&minDuration=45ms', set()),  # of the span, not of the trace
    ('service=back&maxDuration=1us', {SHOP}),
    ('service=front&limit=1', {'0000000000000abc'}),  # the newest
    ('service=nobody', set()),
    ('service=front&operation=all&lookback=1h&unknown=1', {SHOP, '0000000000000abc'}),
])
def test_a_search_finds_traces_with_a_span_that_has_all_of_it(shop, question, found):
    assert set(search(shop, question)) == found


@pytest.mark.parametrize('question', ['', 'service=', 'service=front&tags=notjson', 'service=front&tags=%7B%22a%22%3A1%7D',
                                      'service=front&tags=%7B%22a%22%3A', 'service=front&limit=x', 'service=front&limit=-1',
                                      'service=front&limit=99999999999999999999', 'service=front&minDuration=fast',
                                      'service=front&minDuration=-1s', 'service=front&minDuration=2s&maxDuration=1s',
                                      'service=front&start=x', 'service=front&end=-5', 'service=front&tag=nothing',
                                      'service=front&operation=%zz', 'traceID=nothex',
                                      'service=front&' + '&'.join(f'tag=k{i}:v' for i in range(40))])
def test_a_bad_question_is_400_with_a_reason(shop, question):
    answer = search(shop, question, 400)
    assert answer['data'] is None and answer['errors'][0]['code'] == 400 and answer['errors'][0]['msg']


# --- version 1: the rest --------------------------------------------------------------------------------------------

def test_dependencies_are_counted_in_a_window(shop):
    end = (T0 + 10 * S) // 1_000_000
    _, answer = shop.get(f'/api/dependencies?endTs={end}&lookback=60000')
    assert set(map(frozen, jaeger_envelope(answer))) == set(map(frozen, [
        {'parent': 'front', 'child': 'front', 'callCount': 1}, {'parent': 'front', 'child': 'back', 'callCount': 1}]))
    _, answer = shop.get(f'/api/dependencies?endTs={end}&lookback=60000&service=back')
    assert [d['child'] for d in jaeger_envelope(answer)] == ['back']
    _, answer = shop.get(f'/api/dependencies?endTs={end - 3_600_000}&lookback=60000')
    assert jaeger_envelope(answer) == []


def test_a_file_of_otlp_becomes_jaegers(shop):
    request = traces(span(8, 1, 'a'), span(9, 1, 'b'), span(8, 2, 'c', parent=1), service='file')
    status, answer = shop.get('/api/transform', body=request)
    assert status == 200 and {t: len(s) for t, s in jaeger_traces(answer).items()} == {f'{8:016x}': 2, f'{9:016x}': 1}
    status, answer = shop.get('/api/transform', body=b'{"resourceSpans":7}', headers={'Content-Type': 'application/json'})
    assert status == 400 and answer['errors'][0]['msg']


# --- version 3 ------------------------------------------------------------------------------------------------------

FROM, TO = '2023-11-14T22:13:10Z', '2023-11-14T22:13:30.000000001Z'  # ten seconds around T0


def v3_url(path='traces', **fields):
    fields = {'start_time_min': FROM, 'start_time_max': TO, **fields}
    return f'/api/v3/{path}?' + '&'.join(f'query.{k}={v}' for k, v in fields.items())


def found_by(shop, url, **options):
    status, answer = shop.get(url, **options)
    return {s['traceId'] for s in spans_of([answer['result']])} if status == 200 else (status, answer['error']['message'])


def test_names_may_have_capitals_or_underscores(shop):
    assert found_by(shop, f'/api/v3/traces?query.serviceName=front&query.operationName=call&query.startTimeMin={FROM}'
                          f'&query.startTimeMax={TO}&query.searchDepth=5&query.rawTraces=true&query.durationMin=1ms'
                          '&query.durationMax=10s&query.attributes=%7B%22error%22%3A%22true%22%7D') == {SHOP}
    assert found_by(shop, v3_url(service_name='front', operation_name='call', num_traces=5, duration_min='1ms',
                                 duration_max='10s')) == {SHOP}


def test_a_plus_that_nobody_escaped_is_a_plus(shop):
    """Grafana sends 2023-11-14T23:13:10+01:00 as it is, and a '+' in a URL is a blank."""
    assert found_by(shop, v3_url(service_name='front', start_time_min='2023-11-14T23:13:10+01:00',
                                 start_time_max='2023-11-14T23:13:20.5+01:00')) == {SHOP}


def test_a_service_need_not_be_named(shop):
    assert found_by(shop, v3_url()) == {SHOP, SHORT, f'{7:032x}'}


def test_a_question_may_be_posted(shop):
    body = {'query': {'serviceName': 'front', 'startTimeMin': FROM, 'start_time_max': TO, 'attributes': {'reason': 'slow'},
                      'searchDepth': 3, 'durationMin': '0.001s', 'rawTraces': False, 'operationName': None}}
    assert found_by(shop, '/api/v3/traces', body=body) == {SHOP}
    body['query']['attributes'] = {'reason': 'fast'}
    assert found_by(shop, '/api/v3/traces', body=body) == (404, 'No traces found')


@pytest.mark.parametrize('fields', [{'start_time_min': 'x'}, {'start_time_max': ''}, {'num_traces': 'x'}, {'num_traces': -1},
                                    {'num_traces': 100000}, {'duration_min': 5}, {'attributes': 'x'}, {'filter': '%7B%7D'},
                                    {'duration_min': '2s', 'duration_max': '1s'}, {'service_name': '%zz'}])
def test_a_bad_question_of_version_3_is_400(shop, fields):
    status, why = found_by(shop, v3_url(**fields))
    assert status == 400 and why


@pytest.mark.parametrize('body', [b'', b'{', b'{"query":5}', b'{"query":{"startTimeMin":5}}', b'{"query":{"attributes":[]}}',
                                  b'{"query":{"filter":{"op":"eq"}}}', b'[]', b'\xff'])
def test_a_bad_body_is_400(shop, body):
    status, _, answer = shop.request('/api/v3/traces', body=body, headers={'Content-Type': 'application/json'}, method='POST')
    assert status == 400 and json.loads(answer)['error']['message']


def non_negative(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def test_summaries_pass_the_checks_of_the_ui(shop):
    """jaeger-ui refuses what its schema does not allow: ids of 32 digits, decimal strings, counts."""
    status, answer = shop.get(v3_url('trace-summaries', service_name='front'))
    assert status == 200 and set(answer) == {'summaries'}
    for summary in answer['summaries']:
        assert set(summary) == {'traceId', 'rootServiceName', 'rootOperationName', 'minStartTimeUnixNano', 'maxEndTimeUnixNano',
                                'spanCount', 'errorSpanCount', 'orphanSpanCount', 'services'}
        assert re.fullmatch('[0-9a-f]{32}', summary['traceId'])
        assert re.fullmatch(r'\d+', summary['minStartTimeUnixNano']) and re.fullmatch(r'\d+', summary['maxEndTimeUnixNano'])
        assert all(non_negative(summary[name]) for name in ('spanCount', 'errorSpanCount', 'orphanSpanCount'))
        for service in summary['services']:
            assert set(service) == {'name', 'spanCount', 'errorSpanCount'}
            assert non_negative(service['spanCount']) and non_negative(service['errorSpanCount'])
    first = next(s for s in answer['summaries'] if s['traceId'] == SHOP)
    assert first == {'traceId': SHOP, 'rootServiceName': 'front', 'rootOperationName': 'GET /',
                     'minStartTimeUnixNano': str(T0), 'maxEndTimeUnixNano': str(T0 + 50 * S // 1000), 'spanCount': 4,
                     'errorSpanCount': 1, 'orphanSpanCount': 1,
                     'services': [{'name': 'back', 'spanCount': 2, 'errorSpanCount': 0},
                                  {'name': 'front', 'spanCount': 2, 'errorSpanCount': 1}]}
    assert shop.get(v3_url('trace-summaries', service_name='nobody')) == (200, {'summaries': []})


def test_dependencies_of_version_3(shop):
    status, answer = shop.get(f'/api/v3/dependencies?startTime={FROM}&end_time={TO}')
    assert status == 200 and sorted((d['parent'], d['child'], d['callCount']) for d in answer['dependencies']) == [
        ('front', 'back', '1'), ('front', 'front', '1')]
    assert shop.get('/api/v3/dependencies')[0] == 400


def test_what_a_client_may_rely_on_is_told(shop):
    assert shop.get('/api/v3/capabilities') == (200, {'search': {'withoutServiceName': True, 'sameSpanConjunction': True}})


@pytest.mark.parametrize('flush', [[], ['--flush-interval', '1s']])
def test_tags_of_events_are_found_however_old_the_trace_is(causet, tmp_path, flush):
    """Trace 5 of 1500 has them, each value in another form; what spans have themselves is found beside it, newest first."""
    with Server(causet, tmp_path, *flush) as server:
        for first in range(0, 1500, 500):
            spans = []
            for n in range(first, first + 500):
                more = {}
                if n == 5:
                    more['events'] = [{'timeUnixNano': str(T0 + n * S), 'name': 'odd', 'attributes': [
                        text('where', 'here'), {'key': 'n', 'value': {'intValue': '17'}}, {'key': 'b', 'value': {'boolValue': True}}]},
                        {'timeUnixNano': str(T0 + n * S), 'name': 'odd', 'attributes': [text('where', 'there')]}]
                elif n % 3 == 0:
                    more['events'] = [{'timeUnixNano': str(T0 + n * S), 'name': f'even {n % 4}', 'attributes': [text('where', f'v{n % 7}')]}]
                if n in (2, 900):
                    more['attributes'] = [text('where', 'here')]
                spans.append(span(n + 1, 1, start=T0 + n * S, **more))
            assert post(server, traces(*spans, service='s'))[0] == 200
        if flush:
            eventually(lambda: b'causet_store_segments 0' not in server.request('/metrics')[2], why='nothing was flushed')

        def found(tags, **more):
            query = urllib.parse.urlencode({'service': 's', 'start': T0 // 1000, 'end': (T0 + 3600 * S) // 1000, 'tags': json.dumps(tags), **more})
            status, answer = server.get(f'/api/traces?{query}')
            assert status == 200
            return [int(t['traceID'], 16) - 1 for t in answer['data']]

        for tags, expected in (({'where': 'here'}, [900, 5, 2]), ({'where': 'there'}, [5]), ({'n': '17'}, [5]), ({'b': 'true'}, [5]), ({'event': 'odd'}, [5]),
                               ({'where': 'here', 'n': '17'}, [5]), ({'where': 'here', 'n': '18'}, []), ({'where': 'nowhere'}, []), ({'nobody': 'x'}, [])):
            assert found(tags) == expected, tags
        newest = [n for n in range(1499, -1, -1) if n % 3 == 0 and n % 7 == 3 and n != 5]
        assert found({'where': 'v3'}, limit=2) == newest[:2]
        assert found({'where': 'here'}, limit=2) == [900, 5]


@pytest.mark.parametrize('method, path, status', [
    ('POST', f'/api/archive/{SHOP}', 501), ('GET', '/api/quality-metrics?service=front&hours=6', 404), ('GET', '/analytics/v1/dependencies', 404),
    ('POST', '/api/ai/chat', 404)])
def test_what_is_not_there_says_so_and_why(shop, method, path, status):
    got, headers, body = shop.request(path, body=b'{}' if method == 'POST' else None, method=method)
    assert got == status and headers['Content-Type'].startswith('application/json')
    answer = json.loads(body)
    assert answer['errors'][0]['msg'] if status == 501 else answer['error']['message']
