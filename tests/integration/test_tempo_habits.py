"""Habits of Tempo's API that its recorded answers do not show, with what Tempo 2.8 answers written down by hand."""
import json
import urllib.parse

import pytest

from messages import post, span, text, traces
from server import Server

S = 1_000_000_000
T0 = 1_700_000_040 * S  # a whole minute


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('tempo-habits')) as server:
        assert post(server, traces(span('a' * 32, 1, 'GET /', start=T0 + S, kind=2, attributes=[text('kind', 'green')]),
                                   span('a' * 32, 2, 'query', parent=1, start=T0 + S, kind=3), service='front'))[0] == 200
        yield server


def test_version_1_lists_what_is_no_attribute_where_it_is_asked_for(shop):
    names = shop.get('/api/search/tags?scope=intrinsic', 'tempo')[1]['tagNames']
    assert names == sorted(names) and {'name', 'status', 'kind', 'duration', 'rootName', 'trace:rootService', 'span:status'} <= set(names)
    assert shop.get('/api/search/tags', 'tempo')[1]['tagNames'] == ['kind', 'service.name']
    assert shop.get('/api/search/tags?scope=resource', 'tempo')[1]['tagNames'] == ['service.name']
    scope, = shop.get('/api/v2/search/tags?scope=intrinsic', 'tempo')[1]['scopes']
    assert scope == {'name': 'intrinsic', 'tags': names}


@pytest.mark.parametrize('tag, values', [
    ('status.code', ['error', 'ok', 'unset']), ('status', []), ('kind', ['green']), ('span:kind', []), ('name', ['GET /', 'query']),
    ('root.name', ['GET /']), ('rootName', ['GET /']), ('root.service.name', ['front']), ('rootServiceName', ['front'])])
def test_version_1_has_names_of_its_own_for_what_is_no_attribute(shop, tag, values):
    assert sorted(shop.get(f'/api/search/tag/{tag}/values', 'tempo')[1]['tagValues']) == values


@pytest.mark.parametrize('tag, values', [('status', ['error', 'ok', 'unset']), ('span:status', ['error', 'ok', 'unset']),
                                         ('kind', ['client', 'consumer', 'internal', 'producer', 'server', 'unspecified'])])
def test_version_2_lists_words_whole(shop, tag, values):
    answer = shop.get(f'/api/v2/search/tag/{tag}/values', 'tempo')[1]['tagValues']
    assert sorted(answer, key=lambda v: v['value']) == [{'type': 'keyword', 'value': value} for value in values]


@pytest.mark.parametrize('function', ['rate', 'count_over_time'])
def test_counts_of_nothing_are_zero(shop, function):
    window = f'start={T0 // S}&end={T0 // S + 180}'
    query = urllib.parse.quote('{ name = "nobody" } | ' + function + '()')
    series, = shop.get(f'/api/metrics/query_range?{window}&step=60s&q={query}', 'tempo')[1]['series']
    assert [label['value']['stringValue'] for label in series['labels']] == [function]
    assert all(sample.get('value', 0) == 0 for sample in series['samples']) and len(series['samples']) >= 3
    series, = shop.get(f'/api/metrics/query?{window}&q={query}', 'tempo')[1]['series']
    assert series.get('value', 0) == 0


@pytest.mark.parametrize('function', ['rate() by (name)', 'min_over_time(duration)', 'quantile_over_time(duration, .9)',
                                      'histogram_over_time(duration)'])
def test_other_series_of_nothing_are_not_there(shop, function):
    window = f'start={T0 // S}&end={T0 // S + 180}'
    query = urllib.parse.quote('{ name = "nobody" } | ' + function)
    for path in ('query_range?step=60s&', 'query?'):
        assert json.loads(shop.request(f'/api/metrics/{path}{window}&q={query}', 'tempo')[2]).get('series', []) == []
