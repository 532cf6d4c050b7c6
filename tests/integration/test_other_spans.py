"""Questions of Tempo's, Jaeger's and Zipkin's clients about spans that tests/recorded has none of: lists, keys that the span
and its resource both have, spans without a service, ids that two spans share.  Expectations are written by hand; they are
what Jaeger 2, Tempo 2.8 and Zipkin 3.5 answered about spans like these, or docs/interop.md says why they are not."""
import datetime
import json
from urllib.parse import quote

import pytest

import tempo_answers
from messages import post, span, text
from recorded import jaeger_traces
from server import Server

S = 1_790_000_000  # seconds: when it all began
MS = 1_000_000
PLACES = ['in memory', 'in segments']


def value(v):
    if isinstance(v, bool):
        return {'boolValue': v}
    if isinstance(v, int):
        return {'intValue': str(v)}
    if isinstance(v, float):
        return {'doubleValue': v}
    if isinstance(v, list):
        return {'arrayValue': {'values': [value(x) for x in v]}}
    return {'stringValue': v}


def attributes(**pairs):
    return [{'key': k, 'value': value(v)} for k, v in pairs.items()]


def resource(*spans, **pairs):
    pairs = {k.replace('__', '.'): v for k, v in pairs.items()}
    return {'resource': {'attributes': attributes(**pairs)}, 'scopeSpans': [{'scope': {'name': 'tests'}, 'spans': list(spans)}]}


def one(trace, number, name, parent='', at_ms=0, took_ms=10, kind=1, **pairs):
    return span(trace, number, name, parent, S * 1000 * MS + at_ms * MS, took_ms * MS, kind=kind, attributes=attributes(**pairs))


SPANS = {'resourceSpans': [
    resource(one(1, 1, 'lists', words=['x', 'y', ''], numbers=[1, 2, 3], mixed=['x', 1, True], none=[]),
             one(1, 2, 'more lists', 1, 1, words=['z'], numbers=[9]), one(1, 3, 'no list', 1, 2, words='x', numbers=2),
             service__name='lists', zones=['a', 'b']),
    resource(one(2, 1, 'both', same='span'), one(2, 2, 'one', 1, 1), service__name='twice', same='resource'),
    # A tree with its numbers: a(1,10) { b(2,5) { c(3,4) } d(6,9) { e(7,8) } }
    resource(one(3, 1, 'a', took_ms=50), one(3, 2, 'b', 1, 1), one(3, 3, 'c', 2, 2), one(3, 4, 'd', 1, 20), one(3, 5, 'e', 4, 21),
             service__name='tree'),
    resource(one(4, 1, 'orphan', 99), one(4, 2, 'below', 1, 1), service__name='orphans'),
    resource(one(5, 1, 'alone', at_ms=5000, took_ms=0, n=4), service__name='alone'),
]}


@pytest.fixture(scope='module', params=PLACES)
def loaded(request, causet, tmp_path_factory):
    folder = tmp_path_factory.mktemp('other')
    server = Server(causet, folder).start()
    assert post(server, SPANS)[0] == 200
    if request.param == 'in segments':
        server.stop()
        server = Server(causet, folder).start()
    yield server
    server.stop()


def search(server, q):
    """Names of the spans that are found, each with the attributes that are shown."""
    status, _, body = server.request(f'/api/search?q={quote(q + " | select(name)")}&limit=100&spss=100&start={S - 60}&end={S + 60}', 'tempo')
    assert status == 200, body
    found = tempo_answers.search(json.loads(body))[0]
    assert all(matched == len(spans) for _, matched, spans in found.values())
    return {s[1]: {k: v for k, _, v in s[4]} for _, _, spans in found.values() for s in spans}


@pytest.mark.parametrize('q,names', [
    ('span.words = "x"', {'lists', 'no list'}), ('span.words = "y"', {'lists'}), ('.words = "z"', {'more lists'}), ('span.words = ""', {'lists'}),
    ('"y" = span.words', {'lists'}), ('span.words = "xy"', set()), ('span.words =~ "x|z"', {'lists', 'more lists', 'no list'}),
    ('span.words != "x"', {'more lists'}), ('span.words !~ "x|z"', set()), ('span.words !~ "y"', {'more lists', 'no list'}),
    ('span.numbers = 2', {'lists', 'no list'}), ('span.numbers > 2', {'lists', 'more lists'}), ('span.numbers < 2', {'lists'}),
    ('span.numbers >= 9', {'more lists'}), ('span.numbers != 2', {'more lists'}), ('span.mixed = "x"', {'lists'}), ('span.mixed = true', {'lists'}),
    ('span.mixed = 1', {'lists'}), ('span.none = "x"', set()), ('span.none != nil', {'lists'}), ('resource.zones = "b" && name = "lists"', {'lists'}),
    ('.zones = "b" && name = "no list"', {'no list'}), ('span.words = "x" && span.numbers = 3', {'lists'}), ('.words = "y" || .words = "z"', {'lists', 'more lists'})])
def test_a_list_has_what_one_of_its_elements_is(loaded, q, names):
    assert set(search(loaded, '{ ' + q + ' }')) == names


@pytest.mark.parametrize('q,names', [('.same = "span"', {'both'}), ('.same = "resource"', {'one'}), ('span.same = "resource"', set()),
                                     ('resource.same = "resource"', {'both', 'one'}), ('resource.same = "span"', set())])
def test_the_span_comes_before_its_resource(loaded, q, names):
    assert set(search(loaded, '{ ' + q + ' }')) == names


def test_nested_sets_are_numbered_as_tempo_numbers_them(loaded):
    shown = search(loaded, '{ resource.service.name = "tree" } | select(nestedSetLeft, nestedSetRight, nestedSetParent)')
    assert {name: tuple(int(a[k]) for k in ('nestedSetLeft', 'nestedSetRight', 'nestedSetParent')) for name, a in shown.items()} == {
        'a': (1, 10, -1), 'b': (2, 5, 1), 'c': (3, 4, 2), 'd': (6, 9, 1), 'e': (7, 8, 6)}
    assert set(search(loaded, '{ nestedSetRight = 2 }')) == {'alone'}


def test_only_a_span_without_a_parent_is_a_root(loaded):
    assert set(search(loaded, '{ nestedSetParent < 0 }')) == {'lists', 'both', 'a', 'alone'}
    assert set(search(loaded, '{ nestedSetParent = 0 }')) == {'orphan'}


@pytest.mark.parametrize('q,names', [('duration = 0', {'alone'}), ('duration > 40000000', {'a'}), ('10000001 < duration', {'a'}), ('traceDuration < 1', {'alone'}),
                                     ('traceDuration >= 50000000.0 && name = "c"', {'c'})])
def test_a_number_beside_a_duration_counts_nanoseconds(loaded, q, names):
    assert set(search(loaded, '{ ' + q + ' }')) == names


def test_a_number_beside_a_duration_that_is_counted(loaded):
    assert set(search(loaded, '{ resource.service.name = "tree" } | max(duration) > 49000000')) == {'a', 'b', 'c', 'd', 'e'}


def test_hints_that_only_tempo_knows_ask_for_nothing(loaded):
    status, _, body = loaded.request('/api/search?q=' + quote('{ name = "alone" } with (nosuch=true)'), 'tempo')
    assert status == 200 and len(json.loads(body)['traces']) == 1
    assert loaded.request('/api/search?q=' + quote('{ name = "alone" } with (sample=5)'), 'tempo')[0] == 400


@pytest.mark.parametrize('q,shown', [('{ name = "alone" } | max(span.n) > 3', {'n': '4'}), ('{ span.n = 4 } | by(status) | count() > 0', {'n': '4', 'status': 'unset'}),
                                     ('{ resource.service.name = "alone" } | by(kind) | count() = 1', {'service.name': 'alone', 'kind': 'internal'})])
def test_what_groups_and_aggregates_name_is_shown(loaded, q, shown):
    assert search(loaded, q)['alone'] == shown


@pytest.mark.parametrize('q,named', [('{ .n = 4 }', False), ('{ .n = 4 } | by(name)', True), ('{ .n = 4 } | select(span:name)', True),
                                     ('{ .n = 4 && .x != "name" }', False), ('{ .n = 4 } | select(span.name, resource.service.name)', False)])
def test_a_span_is_named_where_the_question_asks_for_names(loaded, q, named):
    status, _, body = loaded.request('/api/search?q=' + quote(q), 'tempo')
    assert status == 200, body
    if 'span.n = 4' in q or '.x' not in q:
        assert [('name' in s) for t in json.loads(body)['traces'] for s in t['spanSet']['spans']] == [named]


# --- Jaeger ---------------------------------------------------------------------------------------------------------

def rfc3339(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')


WINDOW = f'start={(S - 60) * 10**6}&end={(S + 60) * 10**6}'


@pytest.fixture(scope='module')
def unnamed(causet, tmp_path_factory):
    """Spans whose service nobody said, one of another that calls them, and one without a kind or a name."""
    with Server(causet, tmp_path_factory.mktemp('unnamed')) as server:
        assert post(server, {'resourceSpans': [
            resource(one(1, 1, 'call', kind=3), service__name='caller'),
            resource(one(1, 2, 'serve', 1, 1, kind=2, k='v'), one(1, 3, '', 2, 2, kind=0), host__name='h')]})[0] == 200
        yield server


def test_spans_without_a_service_have_the_one_that_jaeger_gives_them(unnamed):
    name = 'missing-service-name'
    assert unnamed.get('/api/services')[1]['data'] == ['caller', name]
    assert unnamed.get('/api/v3/services')[1] == {'services': ['caller', name]}
    assert sorted(unnamed.get(f'/api/services/{name}/operations')[1]['data']) == ['', 'serve']
    trace = unnamed.get(f'/api/traces/{1:032x}')[1]['data'][0]
    assert {trace['processes'][s['processID']]['serviceName'] for s in trace['spans'] if s['operationName'] != 'call'} == {name}
    for more, n in (('', 1), ('&operation=serve', 1), ('&operation=call', 0), ('&tags=' + quote('{"k":"v"}'), 1), ('&tags=' + quote('{"host.name":"h"}'), 1)):
        assert len(jaeger_traces(unnamed.get(f'/api/traces?service={name}&{WINDOW}{more}')[1])) == n, more
    assert len(jaeger_traces(unnamed.get(f'/api/traces?service=caller&{WINDOW}')[1])) == 1


def test_calls_and_summaries_name_them_so_too(unnamed):
    name = 'missing-service-name'
    end = (S + 60) * 1000
    links = unnamed.get(f'/api/dependencies?endTs={end}&lookback=600000')[1]['data']
    assert [(d['parent'], d['child'], d['callCount']) for d in links] == [('caller', name, 1), (name, name, 1)]
    window = f'query.startTimeMin={rfc3339(S - 60)}&query.startTimeMax={rfc3339(S + 60)}'
    summary, = unnamed.get(f'/api/v3/trace-summaries?query.serviceName={name}&{window}')[1]['summaries']
    assert summary['rootServiceName'] == 'caller' and {s['name']: s['spanCount'] for s in summary['services']} == {'caller': 1, name: 2}
    rates = unnamed.get(f'/api/metrics/calls?service={name}&endTs={end}&lookback=600000&step=60000&ratePer=60000')[1]
    assert [label['value'] for m in rates['metrics'] for label in m['labels'] if label['name'] == 'service_name'] == [name]


def test_a_service_that_is_really_called_so_is_the_same_one(server):
    name = 'missing-service-name'
    twice = resource(one(2, 1, 'named', kind=2), service__name='first')
    twice['resource']['attributes'] += attributes(**{'service.name': ''})  # the last one counts
    assert post(server, {'resourceSpans': [resource(one(1, 1, 'named', kind=3), one(1, 2, 'other'), service__name=name), twice,
                                           resource(one(3, 1, 'a'), service__name='zoo')]})[0] == 200
    assert server.get('/api/services')[1]['data'] == server.get('/api/v3/services')[1]['services'] == [name, 'zoo']
    assert server.get(f'/api/services/{name}/operations')[1]['data'] == ['named', 'other']
    kinds = [(o['name'], o['spanKind']) for o in server.get(f'/api/operations?service={name}')[1]['data']]
    assert kinds == [('named', 'server'), ('named', 'client'), ('other', 'internal')]
    found = server.get(f'/api/traces?service={name}&{WINDOW}')[1]['data']
    assert {p['serviceName'] for t in found for p in t['processes'].values()} == {name} and len(found) == 2


def test_what_an_operation_lacks_is_left_out_in_version_3(unnamed):
    listed = unnamed.get('/api/v3/operations?service=missing-service-name')[1]['operations']
    assert sorted(listed, key=str) == [{'name': 'serve', 'spanKind': 'server'}, {}]
    assert {'name': '', 'spanKind': ''} in unnamed.get('/api/operations?service=missing-service-name')[1]['data']


@pytest.mark.parametrize('path', ['/api/operations?service=', '/api/operations?service=&spanKind=server', f'/api/traces/{1:032x}?raw=x'])
def test_jaeger_is_asked_wrongly(loaded, path):
    status, answer = loaded.get(path)
    assert status == 400 and answer['errors'][0]['msg']


@pytest.mark.parametrize('query,status', [('raw_traces=x', 400), ('rawTraces=maybe', 400), ('start_time=x', 400), ('endTime=soon', 400), ('raw_traces=true', 200),
                                          ('rawTraces=F&start_time=2020-01-01T00:00:00Z', 200), ('start_time=&raw_traces=', 200)])
def test_hints_about_one_trace_are_to_be_right(loaded, query, status):
    got, answer = loaded.get(f'/api/v3/traces/{1:032x}?{query}')
    assert got == status and (status == 200 or answer['error']['message'])
    assert loaded.get(f'/api/traces/{1:032x}?raw=True&start={S * 10**6}')[0] == 200


@pytest.mark.parametrize('tags,n', [({'same': 'resource'}, 1), ({'same': 'span'}, 1), ({'same': 'other'}, 0)])
def test_a_tag_is_found_on_the_span_and_on_its_resource(loaded, tags, n):
    assert len(jaeger_traces(loaded.get(f'/api/traces?service=twice&{WINDOW}&tags={quote(json.dumps(tags))}')[1])) == n


def test_a_list_is_a_tag_of_json_for_jaeger(loaded):
    for value_, n in (('["x","y",""]', 1), ('["z"]', 1), ('y', 0), ('x', 1)):  # one span has the text x
        assert len(jaeger_traces(loaded.get(f'/api/traces?service=lists&{WINDOW}&tags={quote(json.dumps({"words": value_}))}')[1])) == n, value_


# --- Tempo's other questions ----------------------------------------------------------------------------------------

@pytest.mark.parametrize('path', ['/api/search?minDuration=5s&maxDuration=1s', f'/api/traces/{1:032x}?start=5&end=1', f'/api/v2/traces/{1:032x}?start=2&end=1'])
def test_bounds_that_are_the_wrong_way_round_are_refused(loaded, path):
    status, _, body = loaded.request(path, 'tempo')
    assert status == 400 and body


@pytest.mark.parametrize('query', ['maxDuration=0s', 'minDuration=0s&maxDuration=0ms', 'minDuration=&maxDuration=&tags=', 'q=&tags=&minDuration=&maxDuration=',
                                   'tags=&limit=20&start=&end=', 'minDuration=5ms&maxDuration=0s'])
def test_what_is_empty_or_0_asks_for_nothing(loaded, query):
    status, _, body = loaded.request(f'/api/search?{query}', 'tempo')
    assert status == 200 and len(json.loads(body)['traces']) == (4 if 'minDuration=5ms' in query else 5), body


# --- Zipkin ---------------------------------------------------------------------------------------------------------

def test_annotations_stand_in_the_order_of_their_times_each_once(server):
    at = S * 10**6
    notes = [{'timestamp': at + 5, 'value': 'b'}, {'timestamp': at + 5, 'value': 'a'}, {'timestamp': at + 5, 'value': 'b'}, {'timestamp': at + 1, 'value': 'z'}]
    sent = [{'traceId': 'a7', 'id': 'a7', 'name': 'all', 'timestamp': at, 'duration': 9, 'localEndpoint': {'serviceName': 'all'}, 'annotations': notes},
            {'traceId': 'a8', 'id': 'a8', 'name': 'lost', 'timestamp': at, 'duration': 9}]
    assert server.request('/api/v2/spans', 'zipkin', sent)[0] == 202
    assert server.get('/api/v2/trace/a7', 'zipkin')[1][0]['annotations'] == [notes[3], notes[1], notes[0]]
    window = f'endTs={S * 1000 + 1000}&lookback=60000'
    assert len(server.get(f'/api/v2/traces?{window}&spanName=all', 'zipkin')[1]) == 2  # Zipkin's first UI means any
    assert len(server.get(f'/api/v2/traces?{window}&serviceName=all', 'zipkin')[1]) == 1
    assert server.get('/api/v2/spans?serviceName=', 'zipkin')[1] == []
    assert server.request(f'/api/v2/traces?{window}&limit=99999999999', 'zipkin')[0] == 400
    assert server.request('/api/v2/autocompleteValues?key=', 'zipkin')[0] == 400
