"""tempopb.StreamingQuerier, asked by gRPC's own client, read by protoc's code, and compared with what HTTP answers."""
import json
import threading
import time
from urllib.parse import urlencode

import grpc
import pytest
from google.protobuf import json_format

import tempo_answers
from messages import post, protos, span, strict, text, traces
from server import Server

S = 1_000_000_000
T0 = 1_700_000_000 * S
MANY = 2400  # traces: more than are looked at one by one
START, END = T0 // S - 60, T0 // S + MANY


@pytest.fixture(scope='module')
def many(causet, tmp_path_factory):
    """Trace n has n % 3 + 1 spans, began n seconds after T0, and is 10 (n + 1) us long; every 97th has failed."""
    with Server(causet, tmp_path_factory.mktemp('tempo-grpc')) as server:
        for first in range(0, MANY, 400):
            spans = []
            for n in range(first, first + 400):
                spans += [span(n + 1, k + 1, f'step {k}', parent=1 if k else '', start=T0 + n * S + 10 * k, duration=10_000 * (n + 1),
                               status={'code': 2} if n % 97 == 0 and k == 0 else {},
                               attributes=[{'key': 'n', 'value': {'intValue': str(n)}}, text('color', ('red', 'green', 'blue')[n % 3])])
                          for k in range(n % 3 + 1)]
            assert post(server, traces(*spans, service=f'service-{first // 1200}'))[0] == 200
        yield server


def pb():
    return protos().tempo


class Failed(Exception):
    pass


METHODS = {'Search': ('SearchRequest', 'SearchResponse'), 'SearchTags': ('SearchTagsRequest', 'SearchTagsResponse'),
           'SearchTagsV2': ('SearchTagsRequest', 'SearchTagsV2Response'),
           'SearchTagValues': ('SearchTagValuesRequest', 'SearchTagValuesResponse'),
           'SearchTagValuesV2': ('SearchTagValuesRequest', 'SearchTagValuesV2Response'),
           'MetricsQueryRange': ('QueryRangeRequest', 'QueryRangeResponse'),
           'MetricsQueryInstant': ('QueryInstantRequest', 'QueryInstantResponse')}


def path_of(method):
    return f'/tempopb.StreamingQuerier/{method}'


def ask(server, method, fields=None, raw=None):
    """The messages of an answer, as protobuf's JSON has them; unknown fields fail."""
    request, response = METHODS[method]
    raw = raw if raw is not None else getattr(pb(), request)(**(fields or {})).SerializeToString()
    with grpc.insecure_channel(f'127.0.0.1:{server.ports["tempo"]}') as channel:
        try:
            messages = list(channel.unary_stream(path_of(method))(raw, timeout=60))
        except grpc.RpcError as error:
            raise Failed(error.code().name, error.details()) from None
    return [json_format.MessageToDict(strict(getattr(pb(), response), m)) for m in messages]


def over_http(server, path, **fields):
    status, _, body = server.request(f'{path}?{urlencode(fields)}', 'tempo')
    assert status == 200, body
    return json.loads(body)


def whole(answer, *lists):
    """Protobuf leaves out lists that are empty; JSON over HTTP has them."""
    return {**{name: [] for name in lists}, **answer, 'metrics': answer.get('metrics', {})}


SEARCHES = ['{}', '{ span.n > 2390 }', '{ span.n < 5 }', '{ span.n = 77 }', '{ span.color = "red" && name = "step 0" }', '{ status = error }',
            '{ duration > 23980us }', '{ resource.service.name = "service-1" && span.n < 1210 }', '{ name = "step 0" } >> { name = "step 2" }',
            '{ span.n < 100 } | count() > 2', '{ .color = "no such" }', '{ span.n % 1000 = 7 }', '{ span.n < 9 || span.n > 2398 }',
            '{ traceDuration < 50us }', '{ nestedSetParent < 0 && span.n < 3 }']


@pytest.mark.parametrize('q', SEARCHES)
def test_a_search_ends_with_what_http_answers_and_takes_nothing_back(many, q):
    messages = [whole(m, 'traces') for m in ask(many, 'Search', {'Query': q, 'start': START, 'end': END, 'Limit': 7})]
    final = messages[-1]
    ours, http = tempo_answers.search(final), tempo_answers.search(over_http(many, '/api/search', q=q, start=START, end=END, limit=7))
    assert ours == http
    told = []
    for message in messages[:-1]:
        found, _ = tempo_answers.search(message)
        assert not set(found) & set(told), 'told twice'
        told += found
        assert all(ours[0][k] == v for k, v in found.items())
    assert told == list(ours[0])[:len(told)]
    assert final['metrics']['completedJobs'] == final['metrics']['totalJobs']


@pytest.mark.parametrize('q, expected', [
    ('{ span.n < 5 }', [4, 3, 2, 1, 0]), ('{ span.n % 1000 = 7 }', [2007, 1007, 7]), ('{ status = error }', list(range(2328, 2328 - 7 * 97, -97))),
    ('{ duration > 23980us }', [2399, 2398]), ('{ span.n < 9 || span.n > 2398 }', [2399, 8, 7, 6, 5, 4, 3]),
    ('{ resource.service.name = "service-0" }', [1199, 1198, 1197, 1196, 1195, 1194, 1193])])
def test_the_newest_are_found_however_far_away(many, q, expected):
    final = whole(ask(many, 'Search', {'Query': q, 'Limit': 7})[-1], 'traces')
    assert [int(t['traceID'], 16) - 1 for t in final['traces']] == expected
    for trace in final['traces']:
        n = int(trace['traceID'], 16) - 1
        assert trace['spanSets'][0]['matched'] == (1 if 'status' in q else n % 3 + 1)
        failed = {'errorCount': 1} if n % 97 == 0 else {}
        assert trace['serviceStats'] == {f'service-{n // 1200}': {'spanCount': n % 3 + 1, **failed}}


def test_what_is_far_away_is_searched_in_steps(many):
    messages = ask(many, 'Search', {'Query': '{ span.n < 2300 && span.n % 100 = 5 }', 'Limit': 12})
    counts = [len(m.get('traces', [])) for m in messages]
    assert len(messages) > 3 and counts[0] == 0 and 0 < counts[-2] < counts[-1] == 12


@pytest.mark.parametrize('fields, n', [
    ({'Tags': {'color': 'red'}}, 20), ({'Tags': {'color': 'red', 'n': '9'}}, 1), ({'MinDurationMs': 23}, 20), ({'MaxDurationMs': 1, 'Limit': 300}, 100),
    ({'MinDurationMs': 23, 'MaxDurationMs': 24, 'Limit': 300}, 100), ({}, 20)])
def test_the_older_form(many, fields, n):
    final = ask(many, 'Search', fields)[-1]
    assert len(final['traces']) == n
    assert all('spanSets' not in t for t in final['traces'])


def test_a_trace_that_began_before_the_window_counts_if_it_reaches_into_it(causet, tmp_path):
    with Server(causet, tmp_path) as server:
        for n, back in enumerate([30, 90, 4000, 100_000]):
            assert post(server, traces(span(n + 1, 1, 'long', start=T0 - back * S, duration=(back + 9) * S),
                                       span(n + 1, 2, 'late', parent=1, start=T0 + S), service='a'))[0] == 200
        for q, found in (('{ name = "late" }', [1, 2, 3, 4]), ('{ name = "long" }', []), ('{}', [1, 2, 3, 4])):
            final = whole(ask(server, 'Search', {'Query': q, 'start': T0 // S, 'end': T0 // S + 60})[-1], 'traces')
            assert [int(t['traceID'], 16) for t in final['traces']] == found
            assert all(t['spanSets'][0]['matched'] == 1 for t in final['traces'])


def test_a_span_that_came_as_begin_and_end_is_one_span(causet, tmp_path):
    """What is asked of a span may stand in either; so the store must not rule out rows."""
    events = protos().events
    request = events.ExportEventsRequest()
    group = request.resource_events.add()
    group.resource.attributes.add(key='service.name').value.string_value = 'worker'
    scope = group.scope_events.add()
    for kind, key, at in (('BEGIN', 'a', T0), ('END', 'b', T0 + 9 * S)):
        event = scope.events.add(trace_id=bytes(15) + b'\x07', id1=bytes(7) + b'\x01', type=events.EventType.Value(f'EVENT_TYPE_{kind}'),
                                 time_unix_nano=at, name='job')
        event.attributes.add(key=key).value.string_value = 'x'
    with Server(causet, tmp_path) as server:
        assert post(server, traces(span(1, 1, 'plain', attributes=[text('a', 'x')])))[0] == 200
        assert post(server, request.SerializeToString(), 'events')[0] == 200
        for q, found in (('{ span.a = "x" && span.b = "x" }', [7]), ('{ span.a = "x" }', [7, 1]), ('{ span.b = "x" && duration > 8s }', [7])):
            final = whole(ask(server, 'Search', {'Query': q})[-1], 'traces')
            assert sorted(int(t['traceID'], 16) for t in final['traces']) == sorted(found), q


@pytest.mark.parametrize('fields', [{}, {'scope': 'span'}, {'scope': 'resource'}, {'scope': 'intrinsic'}, {'query': '{ span.n = 5 }'},
                                    {'query': '{ span.n = '}, {'maxTagsPerScope': 1}])
def test_tags(many, fields):
    http = {{'query': 'q', 'maxTagsPerScope': 'limit'}.get(k, k): v for k, v in fields.items()}
    second = [whole(m, 'scopes') for m in ask(many, 'SearchTagsV2', fields)]
    assert tempo_answers.tags(second[-1]) == tempo_answers.tags(over_http(many, '/api/v2/search/tags', **http))
    first = [whole(m, 'tagNames') for m in ask(many, 'SearchTags', fields)]
    assert tempo_answers.tags(first[-1]) == tempo_answers.tags(over_http(many, '/api/search/tags', **http))
    for messages in (first, second):
        seen = [tag for m in messages[:-1] for tag in ([m['tagNames']] if 'tagNames' in m else [s['tags'] for s in m['scopes']])]
        assert len(sum(seen, [])) == len(set(sum(seen, []))), 'told twice'
        assert messages[-1]['metrics']['completedJobs'] == messages[-1]['metrics']['totalJobs']
    if not fields:
        assert len(second) > 5  # 500 traces were read


@pytest.mark.parametrize('tag, fields', [
    ('span.color', {}), ('span.n', {'maxTagValues': 3}), ('resource.service.name', {}), ('status', {}), ('name', {'query': '{ span.n = 2 }'}),
    ('span.color', {'query': '{ span.n ='}), ('no such', {}), ('span.color', {'start': START, 'end': START + 61})])
def test_values(many, tag, fields):
    http = {{'query': 'q', 'maxTagValues': 'limit'}.get(k, k): v for k, v in fields.items()}
    escaped = tag.replace(' ', '%20')
    second = [whole(m, 'tagValues') for m in ask(many, 'SearchTagValuesV2', {'tagName': tag, **fields})]
    assert tempo_answers.values(second[-1]) == tempo_answers.values(over_http(many, f'/api/v2/search/tag/{escaped}/values', **http))
    first = [whole(m, 'tagValues') for m in ask(many, 'SearchTagValues', {'tagName': tag, **fields})]
    assert tempo_answers.values(first[-1]) == tempo_answers.values(over_http(many, f'/api/search/tag/{escaped}/values', **http))


@pytest.mark.parametrize('q', ['{} | rate()', '{} | count_over_time() by (span.color)', '{} | quantile_over_time(duration, .5, .9)',
                               '{} | histogram_over_time(duration)', '{ span.n < 60 } | max_over_time(duration) by (name)',
                               '({} | rate()) / ({ span.color = "red" } | rate())', '{} | rate() by (span.color) | topk(1)',
                               '{} | rate() by (resource.service.name) | topk(1)', '{} | count_over_time() by (resource.service.name) | bottomk(1)',
                               '{} | rate() with(step=5m)', '{ span.n < 700 } | count_over_time() by (span.color) with(step=1000s)',
                               '{} | compare({ status = error })'])
def test_metrics_over_a_range(many, q):
    messages = [whole(m, 'series') for m in ask(many, 'MetricsQueryRange', {'query': q, 'start': START * S, 'end': END * S, 'step': 600 * S, 'exemplars': 5})]
    http = over_http(many, '/api/metrics/query_range', q=q, start=START, end=END, step=600, exemplars=5)
    final = tempo_answers.series(messages[-1])
    assert final.keys() == tempo_answers.series(http).keys() and final
    for labels, samples in tempo_answers.series(http).items():
        assert final[labels] == pytest.approx(samples)
    assert tempo_answers.exemplars(messages[-1]) == tempo_answers.exemplars(http)
    for message in messages[:-1]:
        for labels, samples in tempo_answers.series(message).items():
            assert samples.items() <= final[labels].items()


def test_a_range_that_ends_where_time_does(many):
    q, end = '{ span.n = 77 } | count_over_time()', 2**63 - 1
    final = tempo_answers.series(whole(ask(many, 'MetricsQueryRange', {'query': q, 'start': 2 * 10**6, 'end': end, 'step': 10**15})[-1], 'series'))
    assert final == tempo_answers.series(over_http(many, '/api/metrics/query_range', q=q, start=2 * 10**6, end=end, step=10**6))
    [samples] = final.values()
    assert len(samples) == end // 10**15 - 1 and sum(samples.values()) == 3


def test_one_number(many):
    q = '{ status = error } | count_over_time() by (resource.service.name)'
    final = whole(ask(many, 'MetricsQueryInstant', {'query': q, 'start': START * S, 'end': END * S})[-1], 'series')
    found = tempo_answers.series(final)
    assert found == tempo_answers.series(over_http(many, '/api/metrics/query', q=q, start=START, end=END))
    assert found == {(('resource.service.name', 'service-0'),): 13, (('resource.service.name', 'service-1'),): 12}


@pytest.mark.parametrize('method, fields, raw, code', [
    ('Search', {'Query': '{'}, None, 'INVALID_ARGUMENT'), ('Search', {'Query': '{} | rate()'}, None, 'INVALID_ARGUMENT'),
    ('Search', {'Query': '{}', 'Limit': 1_000_000}, None, 'INVALID_ARGUMENT'), ('Search', {'Query': '{}', 'start': 9, 'end': 5}, None, 'INVALID_ARGUMENT'),
    ('Search', {'Query': '{' + 'x' * 70000}, None, 'INVALID_ARGUMENT'),
    ('Search', None, b'\xff\xff', 'INVALID_ARGUMENT'), ('Search', None, b'\x0a\x02\x0a\x00', 'INVALID_ARGUMENT'),
    ('SearchTagsV2', {'scope': 'nobody'}, None, 'INVALID_ARGUMENT'), ('SearchTags', None, b'\x12\xff', 'INVALID_ARGUMENT'),
    ('SearchTagValuesV2', {}, None, 'INVALID_ARGUMENT'), ('SearchTagValues', None, b'\xff', 'INVALID_ARGUMENT'),
    ('MetricsQueryRange', {'query': '{}'}, None, 'INVALID_ARGUMENT'), ('MetricsQueryRange', None, b'\x0a\xff', 'INVALID_ARGUMENT'),
    ('MetricsQueryRange', {'query': '{} | rate()', 'start': 2**64 - 1}, None, 'INVALID_ARGUMENT'),
    ('MetricsQueryRange', {'query': '{} | rate()', 'start': START * S, 'end': END * S, 'step': S // 10}, None, 'INVALID_ARGUMENT'),
    ('Search', {'Tags': {f'k{i}': 'v' for i in range(65)}}, None, 'INVALID_ARGUMENT'),
    ('MetricsQueryInstant', {'query': '{} | rate()'}, None, 'INVALID_ARGUMENT')])
def test_a_bad_question_gets_a_status_and_a_reason(many, method, fields, raw, code):
    with pytest.raises(Failed) as failed:
        ask(many, method, fields, raw)
    assert failed.value.args[0] == code and failed.value.args[1]


def test_texts_that_are_no_utf8_break_no_message(causet, tmp_path):
    request = protos().otlp.ExportTraceServiceRequest()
    one = request.resource_spans.add().scope_spans.add().spans.add(
        trace_id=bytes(15) + b'\x01', span_id=bytes(7) + b'\x01', start_time_unix_nano=T0, end_time_unix_nano=T0 + 5)
    one.attributes.add(key='k').value.string_value = 'aXXb'
    with Server(causet, tmp_path) as server:
        body = request.SerializeToString().replace(b'aXXb', b'a\xff\xc3b')
        assert server.request('/v1/traces', 'otlp-http', body, {'Content-Type': 'application/x-protobuf'})[0] == 200
        final = ask(server, 'Search', {'Query': '{ span.k != nil }'})[-1]
        assert len(final['traces']) == 1


def test_clients_that_leave_leave_nothing_behind(many):
    """Cancelled before, while and after the answer is made; the server answers on, and stops clean (the fixture checks)."""
    raw = pb().SearchRequest(Query='{ span.n % 1000 = 7 }').SerializeToString()

    def come_and_go(delay):
        with grpc.insecure_channel(f'127.0.0.1:{many.ports["tempo"]}') as channel:
            stream = channel.unary_stream(path_of('Search'))(raw, timeout=60)
            time.sleep(delay)
            stream.cancel()
    threads = [threading.Thread(target=come_and_go, args=(i * 0.005,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # those that were cancelled have to notice
        try:
            assert len(ask(many, 'Search', {'Query': '{ span.n % 1000 = 7 }'})[-1]['traces']) == 3
            return
        except Failed as failed:
            assert failed.args[0] == 'UNAVAILABLE', failed
    raise AssertionError('too many queries are still running')


def test_a_slow_reader_gets_everything(many):
    raw = pb().SearchRequest(Query='{}', Limit=2400, SpansPerSpanSet=3).SerializeToString()
    with grpc.insecure_channel(f'127.0.0.1:{many.ports["tempo"]}') as channel:
        stream = channel.unary_stream(path_of('Search'))(raw, timeout=60)
        time.sleep(1)
        messages = list(stream)
    assert len(strict(pb().SearchResponse, messages[-1]).traces) == 2400
