"""The requests that Tempo was asked, put to causet on Tempo's port; those that need no TraceQL also under /tempo."""
import json
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from google.protobuf import json_format

import tempo_answers
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


# docs/interop.md has the reasons.
OTHER_ROOT = {'c0ffee00000000000000000000000004', 'c0ffee00000000000000000000000005'}
SEARCHES = [e for e in entries('tempo') if urlsplit(e['path']).path == '/api/search']


def is_shown(theirs, ours):
    """The same span, with at least the name and the attributes that Tempo shows; of a list it shows the element that was found."""
    def has(attribute, shown):
        key, kind, value = attribute
        return attribute in shown or any(k == key and t == 'arrayValue' and str({kind: value}) in v for k, t, v in shown)
    return any(theirs[0] == o[0] and theirs[1] in ('', o[1]) and theirs[2:4] == o[2:4] and all(has(a, o[4]) for a in theirs[4]) for o in ours)


@pytest.mark.parametrize('entry', SEARCHES, ids=[e['name'] for e in SEARCHES])
def test_a_search_finds_what_tempo_found(loaded, entry):
    status, headers, body = loaded.request(entry['path'], 'tempo')
    assert status == entry['status'], body
    if status != 200:
        assert body
        return
    assert headers['Content-Type'] == 'application/json'
    asked = parse_qs(urlsplit(entry['path']).query)
    limit = int(asked.get('limit', ['20'])[0])
    spans_most = int(asked.get('spss', ['3'])[0])
    ours, order = tempo_answers.search(json.loads(body))
    theirs, _ = tempo_answers.search(json.loads(body_of(entry)))
    assert order == sorted(order, reverse=True), 'newest first'
    assert len(ours) == len(theirs)
    if len(theirs) < limit:
        assert set(ours) == set(theirs)
    else:
        assert min(order) >= min(about[2] for about, _, _ in theirs.values()), 'a limit takes the newest'
    for one in set(ours) & set(theirs):
        about, matched, shown = ours[one]
        assert matched == theirs[one][1]
        assert about == theirs[one][0] or one in OTHER_ROOT
        if not theirs[one][2]:
            assert not shown
        elif matched <= spans_most:
            assert len(shown) == matched and all(is_shown(span, shown) for span in theirs[one][2])
        else:
            assert len(shown) == spans_most
    ours, theirs = ({t['traceID']: tempo_answers.service_stats(t.get('serviceStats', {})) for t in json.loads(b)['traces']}
                    for b in (body, body_of(entry)))
    assert all(ours[one] == theirs[one] for one in set(ours) & set(theirs) if theirs[one])


@pytest.mark.parametrize('query', ['q={}&limit=0', 'q={}&limit=100001', 'q={}&limit=-1', 'q={}&spss=x', 'q={}&start=2&end=1', 'q={}&start=x',
                                   'q={}%20|%20rate()', 'q=%ff', 'tags=a', 'tags=a="b', 'tags==', 'minDuration=1', 'maxDuration=x',
                                   'q=' + '{' * 70000])
def test_a_bad_search_is_400_with_a_reason(loaded, query):
    status, _, body = loaded.request('/api/search?' + query, 'tempo')
    assert status in (400, 414, 431) and (body or status != 400)


@pytest.mark.parametrize('query,n', [
    ('q={%20status=error%20}%20with(most_recent=true)', 3), ('tags=', 20), ('tags=n=11', 1), ('tags=b=true', 1), ('tags=name="GET%20/"&limit=1', 1),
    ('tags=status.code=error', 3), ('tags=root.name=op1', 4), ('tags=group=g1%20db.system=nosuch', 0), ('', 20),
    ('q={%20name=%22with%20(x)%22%20}', 0), ('q={%20.n=11%20}|select(rootName,trace:start)', 1)])
def test_hints_tags_and_no_question_at_all_are_understood(loaded, query, n):
    status, _, body = loaded.request('/api/search?' + query, 'tempo')
    assert status == 200, body
    assert len(tempo_answers.search(json.loads(body))[0]) == n


TAGS = [e for e in entries('tempo') if '/search/tag' in urlsplit(e['path']).path]


@pytest.mark.parametrize('entry', TAGS, ids=[e['name'] for e in TAGS])
def test_tags_and_their_values_are_those_of_tempo(loaded, entry):
    status, _, body = loaded.request(entry['path'], 'tempo')
    assert status == entry['status'], body
    if status == 200:
        read = tempo_answers.tags if '/tags' in entry['path'] else tempo_answers.values
        ours, theirs = read(json.loads(body)), read(json.loads(body_of(entry)))
        if entry['name'] == 'tags v2 of a query':  # docs/interop.md has the reasons
            theirs['span'] = ['group', 'http.method', 'n']
        if entry['name'] == 'values v2 rootServiceName':
            theirs = sorted({('string', 'odd-orphan'), *theirs} - {('string', '')})
        assert ours == theirs


@pytest.mark.parametrize('tag,values', [
    ('event:name', {'accepted', 'after the end', 'early', 'exception'}), ('span.quote%22d', {'a"b\\c\n'}),
    ('span.unicode.%D0%BA%D0%BB%D1%8E%D1%87', {'значение ✓'}), ('name)%20by%20(kind', set()), ('%7B%7D', set()), ('span.', set()), ('"', set()),
    ('event.exception.type', {'E', 'CardError'}), ('instrumentation:name', {'odd', 'shop.client', 'shop.server'})])
def test_values_of_odd_tags_are_listed_or_none_are(loaded, tag, values):
    status, _, body = loaded.request(f'/api/v2/search/tag/{tag}/values', 'tempo')
    assert status == 200, body
    assert {v for _, v in tempo_answers.values(json.loads(body))} == values


@pytest.mark.parametrize('q', ['{', '{ span.', '{ name = "', '{} | rate()', '%ff%fe', '}}', '{ name = "op1" } |'])
def test_half_a_question_narrows_nothing(loaded, q):
    for path in ('/api/v2/search/tags', '/api/v2/search/tag/name/values', '/api/search/tags', '/api/search/tag/service.name/values'):
        status, _, body = loaded.request(f'{path}?q={quote(q, safe="%")}', 'tempo')
        assert status == 200 or q.startswith('%'), body
        assert status in (200, 400)


MEASURED = [e for e in entries('tempo') if '/metrics/' in e['path']]
MINUTE = 1794732600000


# Tempo had not got round to most of them when it was asked, so what the spans say is expected: twelve of odd-many, 10 ms to
# 120 ms long, and one of odd-db for each; all in one minute.
EXPECTED = {
    'range: rate': {(('__name__', 'rate'),): 0.2},
    'range: exemplars': {(('__name__', 'rate'),): 0.2},
    'range: rate by': {(('resource.service.name', 'odd-db'),): 0.2, (('resource.service.name', 'odd-many'),): 0.2},
    'range: count by': {(('span.group', 'g0'),): 6, (('span.group', 'g1'),): 6},
    'range: min': {(('__name__', 'min_over_time'),): 0.01},
    'range: topk': {(('resource.service.name', 'odd-db'),): 0.2, (('resource.service.name', 'odd-many'),): 0.2},
    'range: histogram': {(('__bucket', '0.016777216'),): 1, (('__bucket', '0.033554432'),): 2, (('__bucket', '0.067108864'),): 3,
                         (('__bucket', '0.134217728'),): 6},
    'range: quantile': {(('p', '0.5'),): 0.065, (('p', '0.9'),): 0.11},
    'range: arithmetic': {(('__name__', 'value'),): 3 / 157},
    'instant': {(('name', f'op{i}'),): 4 for i in range(3)},
}


@pytest.mark.parametrize('entry', MEASURED, ids=[e['name'] for e in MEASURED])
def test_metrics_have_tempos_labels_and_the_spans_numbers(loaded, entry):
    status, _, body = loaded.request(entry['path'], 'tempo')
    assert status == entry['status'], body
    if status != 200:
        assert body
        return
    ours, theirs = tempo_answers.series(json.loads(body)), tempo_answers.series(json.loads(body_of(entry)))
    assert set(theirs) <= set(ours)
    if entry['name'] == 'instant':
        assert ours == theirs == EXPECTED['instant']
    elif entry['name'] != 'range: compare':
        assert set(ours) == set(EXPECTED[entry['name']])
        for labels, samples in ours.items():
            assert samples.pop(MINUTE) == pytest.approx(EXPECTED[entry['name']][labels], rel=0.1)
            assert not any(samples.values())


def ask_series(server, q, step=4):
    status, _, body = server.request(f'/api/metrics/query_range?q={quote(q)}&step={step}&start=1794732544&end=1794732844', 'tempo')
    assert status == 200, body
    return tempo_answers.series(json.loads(body))


def test_a_comparison_counts_spans_by_step_and_attribute(loaded):
    many, selected = 'resource.service.name = "odd-many"', 'duration > 50ms'
    found = ask_series(loaded, f'{{ {many} }} | compare({{ {selected} }}, 20)')
    keys = {labels[1][0] for labels in found}
    assert {'name', 'kind', 'status', 'span.group', 'span.http.method', 'resource.service.name'} <= keys
    for side, question in (('selection', f'{many} && {selected}'), ('baseline', f'{many} && duration <= 50ms')):
        for key in ('span.group', 'name', 'kind', 'resource.service.name'):
            counted = ask_series(loaded, f'{{ {question} }} | count_over_time() by ({key})')
            ours = {labels[1:]: samples for labels, samples in found.items() if labels[0] == ('__meta_type', side) and labels[1][0] == key}
            assert ours == counted and len(ours) > 0
            # Some of all of them have it at each step.
            total = found[('__meta_type', side + '_total'), (key, 'nil')]
            assert total == {at: sum(samples[at] for samples in ours.values()) for at in total}
            assert len({at for at, n in total.items() if n}) > 1
    assert {labels[1] for labels in found if labels[0][1].endswith('_total')} == {(key, 'nil') for key in keys}


def test_a_comparison_shows_the_values_that_most_spans_have(loaded):
    few = ask_series(loaded, '{ resource.service.name = "odd-many" } | compare({ duration > 50ms }, 1)', 60)
    names = {labels: sum(samples.values()) for labels, samples in few.items() if labels[1][0] == 'name'}
    everything = ask_series(loaded, '{ resource.service.name = "odd-many" } | compare({ duration > 50ms })', 60)
    for side in ('selection', 'baseline'):
        shown = [n for labels, n in names.items() if labels[0][1] == side]
        assert shown == [max(sum(samples.values()) for labels, samples in everything.items()
                             if labels[0][1] == side and labels[1][0] == 'name')]
        assert names[('__meta_type', side + '_total'), ('name', 'nil')] > shown[0]


@pytest.mark.parametrize('path,status', [
    ('query_range?q={}|rate()&step=0', 400), ('query_range?q={}|rate()&step=x', 400), ('query_range?q={}|rate()&step=-5s', 400),
    ('query_range?q={}|rate()&step=1m', 200), ('query_range?q={}|rate()&start=1&end=1794732844&step=1', 400), ('query_range', 400),
    ('query_range?q={', 400), ('query?q={}', 400), ('query?q={}|rate()', 400), ('query?q={}|rate()&start=1794732544&end=1794732844', 200),
    ('query?q={}|rate()%20>%203&start=1794732544&end=1794732844', 400), ('query?q={}|count_over_time()', 200),
    ('query_range?q={}|histogram_over_time(duration)%20with(sample=true)', 200)])
def test_bad_metrics_are_400_with_a_reason(loaded, path, status):
    got, _, body = loaded.request('/api/metrics/' + path, 'tempo')
    assert got == status and body, body


def test_one_number_for_a_range_is_what_its_steps_come_to(loaded):
    window = 'start=1794732544&end=1794732844'
    rate = tempo_answers.series(json.loads(loaded.request(f'/api/metrics/query?q={{}}|rate()&{window}', 'tempo')[2]))
    count = tempo_answers.series(json.loads(loaded.request(f'/api/metrics/query_range?q={{}}|count_over_time()&step=10&{window}', 'tempo')[2]))
    assert rate[('__name__', 'rate'),] == pytest.approx(sum(count[('__name__', 'count_over_time'),].values()) / 300)


@pytest.mark.parametrize('q,expected', [
    ('rate()', {(('__name__', 'rate'),): 10}), ('rate() by (span.group)', {(('span.group', 'g0'),): None, (('span.group', 'g1'),): None}),
    ('max_over_time(duration) by (name, kind)', {(('name', f'op{i}'), ('kind', 'server')): None for i in range(3)}),
    ('quantile_over_time(duration, .5, .9)', {(('p', '0.9'),): 10}), ('count_over_time() with(sample=true)', {(('__name__', 'count_over_time'),): 10}),
    ('rate() | topk(1)', {(('__name__', 'rate'),): 10})])
def test_exemplars_are_spans_that_the_series_counts(loaded, q, expected):
    """Span number n of odd-many began n seconds after the first, is 10 (n + 1) ms long, and in the trace of its number."""
    text = quote('{ resource.service.name = "odd-many" || name = "a | rate()" } | ' + q)
    status, _, body = loaded.request(f'/api/metrics/query_range?q={text}&step=60&start=1794732544&end=1794732844&exemplars=10', 'tempo')
    assert status == 200, body
    series, found = tempo_answers.series(json.loads(body)), tempo_answers.exemplars(json.loads(body))
    assert set(found) == set(expected) and sum(map(len, found.values())) == 10
    for labels, rows in found.items():
        assert expected[labels] in (None, len(rows))
        for trace, time_ms, value in rows:
            number = int(trace, 16) - 0xc0ffee00000000000000000000000064
            assert time_ms == 1794732604020 + 1000 * number
            assert value == pytest.approx((number + 1) / 100 if 'duration' in q else series[labels][MINUTE])
            assert dict(labels).get('name', f'op{number % 3}') == f'op{number % 3}'


def test_an_exemplar_of_a_histogram_lies_in_its_bucket(loaded):
    text = quote('{ resource.service.name = "odd-many" } | histogram_over_time(duration)')
    body = loaded.request(f'/api/metrics/query_range?q={text}&step=60&start=1794732544&end=1794732844&exemplars=100', 'tempo')[2]
    found = tempo_answers.exemplars(json.loads(body))
    assert {float(k[0][1]): len(rows) for k, rows in found.items()} == {0.016777216: 1, 0.033554432: 2, 0.067108864: 3, 0.134217728: 6}
    assert all(float(k[0][1]) / 2 < value <= float(k[0][1]) for k, rows in found.items() for _, _, value in rows)


@pytest.mark.parametrize('q', ['({}|rate())/({}|rate())', '{}|compare({status=error})'])
def test_what_has_no_spans_of_its_own_has_no_exemplars(loaded, q):
    status, _, body = loaded.request(f'/api/metrics/query_range?q={quote(q)}&exemplars=10', 'tempo')
    assert status == 200 and not tempo_answers.exemplars(json.loads(body)), body
