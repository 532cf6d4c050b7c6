"""Questions of Tempo's, Jaeger's and Zipkin's clients about spans that tests/recorded has none of: lists, keys that the span
and its resource both have, spans without a service, ids that two spans share.  Expectations are written by hand; they are
what Jaeger 2, Tempo 2.8 and Zipkin 3.5 answered about spans like these, or docs/interop.md says why they are not."""
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
