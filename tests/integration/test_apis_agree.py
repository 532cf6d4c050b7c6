"""One store, many APIs: about random traces, Jaeger's three, Zipkin's, Tempo's, causet's own and CausetQL say the same.

What is true is computed here, from what was sent."""
import collections
import json
import random
import urllib.parse

import grpc
import pytest

from messages import post, protos, span, spans_of, strict, text, traces
from recorded import jaeger_traces
from server import Server

S = 1_000_000_000
T0 = 1_700_000_000 * S
SERVICES = ['front', 'back', 'db', 'a b/ü']
NAMES = ['GET /', 'put', 'list "things"', '']
UNNAMED = 'missing-service-name'  # what Jaeger calls a service that was not said
SEEDS = range(3)


class World:
    """Random traces, and the truth about them."""

    def __init__(self, server, seed):
        self.server, self.rng, self.spans = server, random.Random(seed), []
        self.services = SERVICES if seed == 1 else [*SERVICES, '']
        for trace in range(1, 61):
            ids = []
            for number in range(self.rng.randrange(1, 8)):
                self.add(trace, number + 1, self.rng.choice(ids) if ids and self.rng.random() < 0.9 else 0)
                ids.append(number + 1)
        batches = collections.defaultdict(list)
        for one in self.spans:
            batches[(one['service'], self.rng.randrange(3))].append(one['sent'])
        for (service, which), sent in batches.items():
            request = traces(*sent, service=service)
            if not service and which:  # not said, or said to be empty
                request['resourceSpans'][0]['resource'] = {}
            assert post(server, request)[0] == 200
        self.window = T0 - S, T0 + 1000 * S

    def add(self, trace, number, parent):
        rng = self.rng
        one = {'trace': f'{trace * 0x9e3779b97f4a7c15f39cc0605cedc835 % 2**128:032x}', 'id': number, 'parent': parent,
               'service': rng.choice(self.services), 'name': rng.choice(NAMES), 'kind': rng.randrange(6), 'error': rng.random() < 0.1,
               'start': T0 + trace * S + number * 1_000_000, 'duration': rng.randrange(1, 50) * 1_000_000, 'colour': rng.choice('rgb')}
        one['sent'] = span(one['trace'], number, one['name'], parent, one['start'], one['duration'], kind=one['kind'],
                           attributes=[text('colour', one['colour'])], status={'code': 2} if one['error'] else {})
        self.spans.append(one)

    def question(self):
        """{field: value} that a span must have, at random."""
        rng, asked = self.rng, {'service': self.rng.choice(self.services)}
        if rng.random() < 0.4:
            asked['name'] = rng.choice([n for n in NAMES if n])
        if rng.random() < 0.4:
            asked['colour'] = rng.choice('rgb')
        if rng.random() < 0.3:
            asked['error'] = True
        if rng.random() < 0.4:
            asked['least'] = rng.randrange(1, 50) * 1_000_000
        return asked

    def truth(self, asked):
        plain = {k: v for k, v in asked.items() if k != 'least'}
        return {s['trace'] for s in self.spans if all(s[k] == v for k, v in plain.items()) and s['duration'] >= asked.get('least', 0)}


@pytest.fixture(params=SEEDS)
def world(request, start_server):
    # Some stores are in memory, some partly in segments.
    return World(start_server(*[(), ('--flush-interval', '1s'), ('--sync', 'never')][request.param]), request.param)


# --- the same question, asked of each -------------------------------------------------------------------------------

def wanted_tags(asked):
    return {**({'colour': asked['colour']} if 'colour' in asked else {}), **({'error': 'true'} if 'error' in asked else {})}


def by_jaeger(world, asked):
    start, end = world.window
    query = {'service': asked['service'] or UNNAMED, 'start': start // 1000, 'end': end // 1000, 'limit': 1000, 'tags': json.dumps(wanted_tags(asked))}
    if 'name' in asked:
        query['operation'] = asked['name']
    if 'least' in asked:
        query['minDuration'] = f'{asked["least"]}ns'
    _, answer = world.server.get('/api/traces?' + urllib.parse.urlencode(query))
    return {key.zfill(32) for key in jaeger_traces(answer)}


def by_jaeger_3(world, asked):
    query = {'query.serviceName': asked['service'] or UNNAMED, 'query.startTimeMin': '2023-11-14T00:00:00Z', 'query.searchDepth': 1000,
             'query.startTimeMax': '2023-11-16T00:00:00Z', 'query.attributes': json.dumps(wanted_tags(asked))}
    if 'name' in asked:
        query['query.operationName'] = asked['name']
    if 'least' in asked:
        query['query.durationMin'] = f'{asked["least"]}ns'
    _, answer = world.server.get('/api/v3/trace-summaries?' + urllib.parse.urlencode(query))
    return {s['traceId'] for s in answer['summaries']}


def by_grpc(world, asked):
    pb = protos().jaeger
    request = pb.FindTracesRequest()
    request.query.service_name, request.query.search_depth = asked['service'] or UNNAMED, 1000
    request.query.start_time_min.FromNanoseconds(world.window[0])
    request.query.start_time_max.FromNanoseconds(world.window[1])
    request.query.operation_name = asked.get('name', '')
    request.query.attributes.update(wanted_tags(asked))
    request.query.duration_min.FromNanoseconds(asked.get('least', 0))
    with grpc.insecure_channel(f'127.0.0.1:{world.server.ports["jaeger-grpc"]}') as channel:
        messages = channel.unary_stream('/jaeger.api_v3.QueryService/FindTraceSummaries')(request.SerializeToString(), timeout=60)
        return {s.trace_id for m in messages for s in strict(pb.FindTraceSummariesResponse, m).summaries}


def by_causetql(world, asked):
    terms = [f's.service == {json.dumps(asked["service"], ensure_ascii=False) if asked["service"] else "nil"}']
    if 'name' in asked:
        terms.append(f's.name == {json.dumps(asked["name"])}')
    if 'colour' in asked:
        terms.append(f's.colour == "{asked["colour"]}"')
    if 'error' in asked:
        terms.append('s.status == error')
    if 'least' in asked:
        terms.append(f's.duration >= {asked["least"]}ns')
    query = f'From s In spans Where {" && ".join(terms)} GroupBy s.trace_id Select s.trace_id, COUNT'
    status, answer = world.server.get('/api/query', body={'query': query, 'limit': 5000})
    assert status == 200, answer
    return {row[0] for row in answer['results'][0]['rows']}


WAYS = {'Jaeger': by_jaeger, 'Jaeger 3': by_jaeger_3, 'gRPC': by_grpc, 'CausetQL': by_causetql}


def test_searches_find_the_same_traces(world):
    some = 0
    for _ in range(25):
        asked = world.question()
        truth = world.truth(asked)
        some += bool(truth)
        for name, way in WAYS.items():
            assert way(world, asked) == truth, (name, asked)
    assert some > 10


def test_searches_without_durations_of_spans_agree_with_our_own_and_zipkins(world):
    """Zipkin lets different spans of a service have what is asked; so it is asked for one thing at a time."""
    start, end = world.window
    for service in SERVICES:
        for asked in ({}, {'name': 'put'}, {'colour': 'r'}):
            truth = world.truth({'service': service, **asked})
            query = {'service': service, 'limit': 1000, **({'operation': asked['name']} if 'name' in asked else {}),
                     **({'tag': f'colour={asked["colour"]}'} if 'colour' in asked else {})}
            own = world.server.get('/api/v1/traces?' + urllib.parse.urlencode(query))[1]['traces']
            assert {t['traceId'] for t in own} == truth
            query = {'serviceName': service, 'limit': 1000, 'endTs': end // 1_000_000, 'lookback': (end - start) // 1_000_000,
                     **({'spanName': asked['name']} if 'name' in asked else {}),
                     **({'annotationQuery': f'colour={asked["colour"]}'} if 'colour' in asked else {})}
            _, answer = world.server.get('/api/v2/traces?' + urllib.parse.urlencode(query), 'zipkin')
            assert {trace[0]['traceId'].zfill(32) for trace in answer} == truth
            text = ' && '.join([f'resource.service.name = {json.dumps(service, ensure_ascii=False)}',
                                *([f'name = {json.dumps(asked["name"], ensure_ascii=False)}'] if 'name' in asked else []),
                                *([f'span.colour = {json.dumps(asked["colour"])}'] if 'colour' in asked else [])])
            _, answer = world.server.get('/api/search?' + urllib.parse.urlencode({'q': '{ ' + text + ' }', 'limit': 1000}), 'tempo')
            assert {trace['traceID'].zfill(32) for trace in answer['traces']} == truth


def test_a_trace_has_the_same_spans_everywhere(world):
    server = world.server
    for trace in {s['trace'] for s in world.spans}:
        truth = sorted(f'{s["id"]:016x}' for s in world.spans if s['trace'] == trace)
        assert sorted(b['id'] for b in server.get(f'/api/v1/traces/{trace}')[1]['blocks'] if 'id' in b) == truth
        (_, spans), = jaeger_traces(server.get(f'/api/traces/{trace}')[1]).items()
        assert sorted(s[1] for s in spans) == truth
        assert sorted(s['spanId'] for s in spans_of([server.get(f'/api/v3/traces/{trace}')[1]['result']])) == truth
        assert sorted(s['id'] for s in server.get(f'/api/v2/trace/{trace}', 'zipkin')[1]) == truth
        body = server.request(f'/api/traces/{trace}', 'tempo', headers={'Accept': 'application/protobuf'})[2]
        proto = strict(protos().otlp.ExportTraceServiceRequest, body)
        assert sorted(s.span_id.hex() for r in proto.resource_spans for c in r.scope_spans for s in c.spans) == truth


def test_lists_and_counts_are_the_same(world):
    server = world.server
    services = sorted({s['service'] for s in world.spans}, key=str.encode)
    assert [s['name'] for s in server.get('/api/v1/services')[1]['services']] == services
    known = sorted((s or UNNAMED for s in services), key=str.encode)
    assert server.get('/api/services')[1]['data'] == server.get('/api/v3/services')[1]['services'] == known
    assert server.get('/api/v2/services', 'zipkin')[1] == [s for s in services if s]
    for service in services:
        names = {s['name'] for s in world.spans if s['service'] == service}
        quoted = urllib.parse.quote(service or UNNAMED, safe='')
        assert set(server.get(f'/api/services/{quoted}/operations')[1]['data']) == names
        assert {o.get('name', '') for o in server.get(f'/api/v3/operations?service={quoted}')[1]['operations']} == names
        assert not service or set(server.get(f'/api/v2/spans?serviceName={quoted}', 'zipkin')[1]) == names - {''}
    rows = server.get('/api/query', body={'query': 'From s In spans GroupBy s.service Select s.service, COUNT'})[1]['results'][0]['rows']
    assert {(service or '', n) for service, n in rows} == set(collections.Counter(s['service'] for s in world.spans).items())
    _, _, metrics = server.request('/metrics/spans')
    counted = collections.Counter()
    for line in metrics.decode().splitlines():
        if line.startswith('traces_spanmetrics_calls_total{'):
            counted[line.split('service="')[1].split('"')[0]] += float(line.rsplit(' ', 1)[1])
    assert counted == collections.Counter(s['service'] for s in world.spans)


def zipkin_calls(by_id):
    """A call is a server's span, or a client's of another service with nothing below it; the caller is the nearest span above
    that has a kind.  All but a trace's first root are below that."""
    above = {key: (key[0], s['parent'] or 1) for key, s in by_id.items() if key[1] != 1}
    below = set(above.values())
    calls = collections.Counter()
    for key, s in by_id.items():
        up = above.get(key)
        while up and by_id[up]['kind'] < 2:
            up = above.get(up)
        if up and (s['kind'] == 2 or (s['kind'] == 3 and key not in below and by_id[up]['service'] != s['service'])):
            calls[by_id[up]['service'], s['service']] += 1
    return calls


def test_dependencies_are_the_same(world):
    by_id = {(s['trace'], s['id']): s for s in world.spans}
    calls = collections.Counter((by_id[s['trace'], s['parent']]['service'] or UNNAMED, s['service'] or UNNAMED) for s in world.spans if s['parent'])
    end = world.window[1] // 1_000_000
    _, answer = world.server.get(f'/api/dependencies?endTs={end}&lookback=86400000')
    assert {(d['parent'], d['child']): d['callCount'] for d in answer['data']} == calls
    _, answer = world.server.get('/api/v3/dependencies?start_time=2023-11-14T00:00:00Z&end_time=2023-11-16T00:00:00Z')
    assert {(d['parent'], d['child']): int(d['callCount']) for d in answer['dependencies']} == calls
    if '' in world.services:
        return  # Zipkin has rules of its own for spans of nobody
    _, answer = world.server.get(f'/api/v2/dependencies?endTs={end}&lookback=86400000', 'zipkin')
    assert {(d['parent'], d['child']): d['callCount'] for d in answer} == zipkin_calls(by_id)


def test_what_is_shown_can_be_searched_by_the_tools_own_rules(causet, tmp_path):
    """Lists are shown as JSON; Zipkin's name, tag and duration may each be of another span of the service; what takes less
    than a microsecond counts as one."""
    start = 1_700_000_000_000_000_000
    listed = {'key': 'l', 'value': {'arrayValue': {'values': [{'stringValue': 'x'}, {'intValue': '2'}]}}}
    tagged = {'key': 'k', 'value': {'stringValue': 'v'}}

    def one(trace, number, name, duration, *attributes):
        return {'traceId': f'{trace:032x}', 'spanId': f'{number:016x}', 'name': name, 'startTimeUnixNano': str(start),
                'endTimeUnixNano': str(start + duration), 'attributes': list(attributes)}
    spans = [one(1, 1, 'named', 5_000_000), one(1, 2, 'slow', 900_000_000), one(1, 3, 'tagged', 1_000_000, tagged),
             one(2, 1, 'listed', 1_000_000, listed), one(3, 1, 'short', 300)]
    body = {'resourceSpans': [{'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 's'}}]},
                               'scopeSpans': [{'spans': spans}]}]}
    with Server(causet, tmp_path) as server:
        assert server.request('/v1/traces', 'otlp-http', json.dumps(body).encode(), {'Content-Type': 'application/json'})[0] == 200

        def jaeger(**parameters):
            path = '/api/traces?' + urllib.parse.urlencode({'service': 's', 'start': start // 1000 - 1000, 'end': start // 1000 + 1000, **parameters})
            return sorted(int(t['traceID'], 16) for t in json.loads(server.request(path)[2])['data'])

        def zipkin(**parameters):
            path = '/api/v2/traces?' + urllib.parse.urlencode({'serviceName': 's', 'endTs': start // 1_000_000 + 1, 'lookback': 1000, **parameters})
            return sorted(int(t[0]['traceId'], 16) for t in json.loads(server.request(path, 'zipkin')[2]))
        assert jaeger(tags='{"l":"[\\"x\\",2]"}') == [2] and jaeger(tags='{"l":"[\\"x\\"]"}') == []
        assert jaeger(minDuration='800ms') == [1] and jaeger(minDuration='800ms', operation='named') == []
        assert jaeger(maxDuration='1us') == [3] and jaeger(minDuration='1ms', maxDuration='1ms') == [1, 2]
        assert zipkin(annotationQuery='l=["x",2]') == [2]
        assert zipkin(spanName='named', annotationQuery='k=v') == [1] and zipkin(spanName='named', minDuration=800_000) == [1]
        assert zipkin(annotationQuery='k=v', minDuration=800_000) == [1] and zipkin(annotationQuery='k=v', minDuration=901_000) == []
        assert zipkin(minDuration=1, maxDuration=1) == [3] and zipkin(minDuration=1) == [1, 2, 3]
