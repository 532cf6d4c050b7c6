"""Every parameter of every route that answers questions, with values nobody should send: an answer or a reason, never a 5xx,
and the server stays."""
import json
import random
import subprocess
import urllib.parse

import pytest

from recorded import spans
from server import Server

NAMES = ['service', 'operation', 'tags', 'tag', 'start', 'end', 'limit', 'lookback', 'minDuration', 'maxDuration', 'traceID', 'spanKind',
         'endTs', 'quantile', 'step', 'ratePer', 'groupByOperation', 'serviceName', 'remoteServiceName', 'spanName', 'annotationQuery',
         'traceIds', 'key', 'partition', 'cursor', 'order', 'format', 'errors', 'startTime', 'endTime', 'start_time', 'end_time', 'raw',
         'query.serviceName', 'query.service_name', 'query.startTimeMin', 'query.start_time_max', 'query.startTimeMax',
         'query.start_time_min', 'query.durationMin', 'query.duration_max', 'query.searchDepth', 'query.num_traces', 'query.attributes',
         'query.filter', 'query.operationName', 'rawTraces', 'prettyPrint', 'q', 'q', 'q', 'spss', 'scope', 'exemplars']
VALUES = ['', '0', '-1', '1', '2', '1.5', 'x', 'true', 'null', '99999999999999999999', '18446744073709551615', '9223372036854775807',
          '-9223372036854775808', '1e309', 'nan', '1794732544000000', '1794732844000000', '1794732544', '1794732844000', '1ms', '-5s', '1h',
          '9999999h', '2026-11-15T08:49:04Z', '2026-11-15T08:54:04+00:00', '0000-00-00', '{}', '{"a":"b"}', '{"a":1}', '{"a":{}}', '[', '"',
          '{"error":"true"}', 'odd-many', 'shop-pay', 'nobody', 'é\x00\n', '\ud7ff', 'a' * 5000, 'c0ffee00000000000000000000000001', '0' * 32,
          'a,b', ',', 'abcde,abcdf', 'k=v and', ' and ', '=', 'k=', '0/0', '1/2', '4/4', '1-1-1', 'server', 'SPAN_KIND_CLIENT', '../..', '%',
          '{ span.a = "b" }', '{ name =~ "(" }', '{}|rate() by (name)', '{} | select(', '{}>>{}', 'a=b "c d"=e', '{' * 300, '{ -1 }',
          '{} | quantile_over_time(duration, 2)', '{ 1 = 1 } | count() > -1', '{} | topk(0)', 'intrinsic']
SEGMENTS = ['c0ffee00000000000000000000000001', 'abcde', 'x', '%00', '%', '%zz', 'a' * 3000, '..%2f', 'odd-many', '%F0%9F', 'AAAA']
PORTS = {'http', 'zipkin', 'tempo'}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('fuzz')) as server:
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        assert server.request('/api/v2/spans', 'zipkin', spans('zipkin.json'), {'Content-Type': 'application/json'})[0] == 202
        yield server


def routes(causet):
    done = subprocess.run([causet, 'serve', '--print-routes'], capture_output=True, text=True, check=True)
    return [(r['path'], sorted(set(r['ports']) & PORTS)[0]) for r in map(json.loads, done.stdout.splitlines())
            if r['method'] == 'GET' and set(r['ports']) & PORTS]


def test_no_question_breaks_the_server(loaded, causet):
    rng = random.Random(6)
    asked = 0
    for template, port in routes(causet):
        for _ in range(40):
            path = template
            while '{' in path:
                head, _, rest = path.partition('{')
                path = head + rng.choice(SEGMENTS) + rest.partition('}')[2]
            pairs = [(rng.choice(NAMES), rng.choice(VALUES)) for _ in range(rng.randrange(6))]
            query = urllib.parse.urlencode(pairs, errors='replace') if rng.random() < 0.9 else rng.choice(['&&=', '%', 'a=%zz', '=&=', '?'])
            status, _, body = loaded.request(f'{path}?{query}', port)
            assert status < 500, (status, port, path, query, body[:300])
            assert status < 400 or body or port == 'tempo', 'a reason'
            asked += 1
    assert asked > 1000


def test_questions_that_are_half_typed_get_an_answer(loaded):
    """What a search box sends while somebody types."""
    whole = '{"http.method":"GET","error":"true"}'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'service': 'odd-many', 'start': 1794732544000000, 'end': 1794732844000000, 'tags': whole[:n]})
        status, answer = loaded.get('/api/traces?' + query)
        assert status == (200 if n in (0, len(whole)) else 400) and (status == 200 or answer['errors'][0]['msg'])
    whole = 'http.path=/ and error and wr'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'endTs': 1794732844000, 'lookback': 3600000, 'annotationQuery': whole[:n]})
        assert loaded.request('/api/v2/traces?' + query, 'zipkin')[0] == 200

    whole = '{ resource.service.name = "odd-many" && duration > 80ms } >> { } | count() > 1'
    for n in range(len(whole) + 1):
        query = urllib.parse.urlencode({'q': whole[:n]})
        assert loaded.request('/api/search?' + query, 'tempo')[0] in (200, 400)
        assert loaded.request('/api/v2/search/tags?' + query, 'tempo')[0] == 200
        assert loaded.request('/api/v2/search/tag/name/values?' + query, 'tempo')[0] == 200


@pytest.mark.parametrize('path', ['/api/v3/traces', '/api/v3/trace-summaries', '/api/transform'])
def test_bodies_that_are_no_question_are_400(loaded, path):
    rng = random.Random(7)
    whole = json.dumps({'query': {'serviceName': 'odd-many', 'startTimeMin': '2026-11-15T08:49:04Z', 'startTimeMax': '2026-11-15T08:54:04Z',
                                  'attributes': {'group': 'g1'}, 'searchDepth': 5}}).encode()
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        body = bytes(body[:rng.randrange(len(body) + 1)])
        status, _, answer = loaded.request(path, body=body, headers={'Content-Type': 'application/json'}, method='POST')
        assert status < 500, (body, answer)
