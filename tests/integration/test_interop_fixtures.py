"""One fixture for each row and each habit of the clients that other tools have: a request, and the answer as it must be.

The data are those of tests/recorded.  Answers are read by strict decoders first (a field that the client does not know fails), then
compared with tests/golden/interop; GOLDEN=update rewrites those files, and the diff is to be read.
"""
import base64
import json
import os
import pathlib
import re
from urllib.parse import quote

import pytest
from google.protobuf import json_format

import tempo_answers
from messages import protos, strict, to_protobuf
from recorded import jaeger_envelope, jaeger_traces, spans, zipkin_links, zipkin_span, zipkin_trace
from server import Server

pytestmark = pytest.mark.once

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / 'golden/interop'
START, END = 1794732544, 1794732844  # seconds
US = f'start={START}000000&end={END}000000'
SECONDS = f'start={START}&end={END}'
V3 = 'query.start_time_min=2026-11-15T08:49:04Z&query.start_time_max=2026-11-15T08:54:04Z'
ODD = 'c0ffee0000000000000000000000000'  # and a digit: one trace for each oddity
PROTOBUF = {'Accept': 'application/protobuf'}


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('fixtures')) as server:
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        yield server


# --- decoders: what the client reads, or a failure ---

def as_json(body):
    return json.loads(body)


def envelope(body):
    answer = json.loads(body)
    jaeger_envelope(answer)
    return answer


def traces(body):
    answer = json.loads(body)
    assert jaeger_traces(answer)
    return answer


def families(body):
    """What the Monitor tab reads."""
    answer = json.loads(body)
    assert set(answer) == {'name', 'type', 'help', 'metrics'} and answer['type'] == 'GAUGE'
    for metric in answer['metrics']:
        assert set(metric) == {'labels', 'metricPoints'} and all(set(one) == {'name', 'value'} for one in metric['labels'])
        assert all(set(point) == {'gaugeValue', 'timestamp'} for point in metric['metricPoints'])
    return answer


def otlp(answer):
    """OTLP's JSON by protoc's code, which refuses fields it does not know."""
    to_protobuf(answer, protos().otlp.ExportTraceServiceRequest)
    return answer


def v3_traces(body):
    answer = json.loads(body)
    assert set(answer) == {'result'}
    otlp(answer['result'])
    return answer


def v3_error(body):
    answer = json.loads(body)
    assert set(answer) == {'error'} and {'httpCode', 'message'} <= set(answer['error']) <= {'grpcCode', 'httpCode', 'message', 'httpStatus'}
    return answer


def summaries(body):
    """The checks of jaeger-ui."""
    answer = json.loads(body)
    assert set(answer) == {'summaries'}
    for one in answer['summaries']:
        assert re.fullmatch('[0-9a-f]{32}', one['traceId'])
        assert re.fullmatch(r'\d+', one['minStartTimeUnixNano']) and re.fullmatch(r'\d+', one['maxEndTimeUnixNano'])
        assert all(isinstance(one[k], int) and one[k] >= 0 for k in ('spanCount', 'errorSpanCount', 'orphanSpanCount'))
        assert all(set(s) == {'name', 'spanCount', 'errorSpanCount'} for s in one['services'])
        assert set(one) == {'traceId', 'rootServiceName', 'rootOperationName', 'minStartTimeUnixNano', 'maxEndTimeUnixNano', 'spanCount',
                            'errorSpanCount', 'orphanSpanCount', 'services'}
    return answer


def tempo_trace(body):
    answer = strict(protos().tempo.TraceByIDResponse, body)
    trace = strict(protos().otlp.ExportTraceServiceRequest, answer.trace)
    return {**json_format.MessageToDict(answer), 'trace': json_format.MessageToDict(trace)}


def tempo_trace_v1(body):
    return json_format.MessageToDict(strict(protos().otlp.ExportTraceServiceRequest, body))


def reads(decoder):
    """A strict reader of tests/integration/tempo_answers.py."""
    def read(body):
        answer = json.loads(body)
        decoder(answer)
        del answer['metrics']  # how much was looked at is nobody's promise
        return answer
    return read


search, tags, values, series = (reads(one) for one in (tempo_answers.search, tempo_answers.tags, tempo_answers.values, tempo_answers.series))


def names(body):
    answer = json.loads(body)
    assert all(isinstance(one, str) for one in answer)
    return answer


def zipkin_list(body):
    answer = json.loads(body)
    assert all(zipkin_trace(one) for one in answer)
    return answer


def zipkin_one(body):
    answer = json.loads(body)
    assert all(zipkin_span(one) for one in answer)
    return answer


def links(body):
    answer = json.loads(body)
    zipkin_links(answer)
    return answer


def words(body):
    """Failures that are plain text."""
    assert body.strip()
    return body.decode()


def q(text, more=''):
    return f'/api/search?{SECONDS}&limit=3&q={quote(text)}{more}'


def measured(text, more=''):
    return f'/api/metrics/query_range?{SECONDS}&step=60&q={quote(text)}{more}'


MANY, SHOP = '{ resource.service.name = "odd-many" }', '{ resource.service.name =~ "shop-.*" }'

# name: (path, status, decoder, headers, body)
JAEGER = {
    'services': ('/api/services', 200, envelope),
    'operations of a service': ('/api/services/shop-front/operations', 200, envelope),
    'operations with their kinds': ('/api/operations?service=shop-front', 200, envelope),
    'operations of a kind': ('/api/operations?service=shop-front&spanKind=client', 200, envelope),
    'search: service and operation': (f'/api/traces?service=odd-many&operation=op1&limit=2&{US}', 200, traces),
    'search: tags': (f'/api/traces?service=odd-many&limit=2&{US}&tags={quote(json.dumps({"group": "g1"}))}', 200, traces),
    'search: Go durations': (f'/api/traces?service=odd-many&minDuration=100ms&maxDuration=110ms&{US}', 200, traces),
    'search: lookback': (f'/api/traces?service=odd-many&operation=op0&limit=1&lookback=1h&{US}', 200, traces),
    'search: ids': (f'/api/traces?traceID={ODD}1&traceID={ODD}7', 200, traces),
    'trace: every type of value': (f'/api/traces/{ODD}1', 200, traces),
    'trace: events': (f'/api/traces/{ODD}2', 200, traces),
    'trace: links are references': (f'/api/traces/{ODD}3', 200, traces),
    'trace: raw, pretty': (f'/api/traces/{ODD}7?raw=true&prettyPrint=true', 200, traces),
    'trace: times in milliseconds, as Grafana sends them': (f'/api/traces/{ODD}1?start={START}000&end={END}000', 200, traces),
    'trace: times in microseconds': (f'/api/traces/{ODD}1?{US}', 200, traces),
    'trace: id without zeros': ('/api/traces/abcde', 200, traces),
    'trace: id of 16 digits': ('/api/traces/00000000000abcde', 200, traces),
    'trace: id in base64': (f'/api/traces/{quote(base64.b64encode(bytes.fromhex(ODD + "1")).decode(), safe="")}', 200, traces),
    'trace: unknown': ('/api/traces/' + 'd' * 32, 404, envelope),
    'trace: malformed': ('/api/traces/nothex', 400, envelope),
    'dependencies': (f'/api/dependencies?endTs={END}000&lookback=300000', 200, envelope),
    'monitor: latencies': (f'/api/metrics/latencies?service=odd-many&quantile=0.95&groupByOperation=true&endTs={END}000&lookback=300000&step=60000&ratePer=60000&spanKind=server', 200, families),
    'monitor: calls': (f'/api/metrics/calls?service=odd-many&endTs={END}000&lookback=300000&step=60000&ratePer=60000&spanKind=server', 200, families),
    'monitor: errors': (f'/api/metrics/errors?service=odd-many&endTs={END}000&lookback=300000&step=60000&ratePer=60000&spanKind=server', 200, families),
    'archive': (f'/api/archive/{ODD}1', 501, envelope, {}, b'{}'),
    'transform': ('/api/transform', 200, traces, {'Content-Type': 'application/json'}, json.dumps({'resourceSpans': [{
        'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 'file'}}]},
        'scopeSpans': [{'spans': [{'traceId': f'{5:032x}', 'spanId': f'{6:016x}', 'name': 'from a file', 'kind': 3, 'startTimeUnixNano': '5000',
                                   'endTimeUnixNano': '9000', 'status': {'code': 2}}]}]}]}).encode()),
    'quality metrics': ('/api/quality-metrics?service=odd-many', 404, as_json),
    'analytics': ('/analytics/v1/dependencies', 404, as_json),
    'assistant': ('/api/ai/chat', 404, as_json, {}, b'{}'),
    'v3 services': ('/api/v3/services', 200, as_json),
    'v3 operations': ('/api/v3/operations?service=shop-front&spanKind=server', 200, as_json),
    'v3 traces': (f'/api/v3/traces?{V3}&query.service_name=odd-many&query.operation_name=op1&query.search_depth=1', 200, v3_traces),
    'v3 traces: num_traces': (f'/api/v3/traces?{V3}&query.service_name=odd-many&query.num_traces=1', 200, v3_traces),
    'v3 traces: capitals': ('/api/v3/traces?query.startTimeMin=2026-11-15T08:49:04Z&query.startTimeMax=2026-11-15T08:54:04.000000001Z'
                            '&query.serviceName=odd-many&query.durationMin=110ms&query.searchDepth=1', 200, v3_traces),
    'v3 traces: a plus that nobody escaped': ('/api/v3/traces?query.start_time_min=2026-11-15T09:49:04+01:00&query.start_time_max=2026-11-15T09:54:04+01:00'
                                             '&query.service_name=odd-types', 200, v3_traces),
    'v3 traces: attributes': (f'/api/v3/traces?{V3}&query.service_name=odd-many&query.search_depth=1&query.attributes={quote(json.dumps({"group": "g1"}))}', 200, v3_traces),
    'v3 traces: posted': ('/api/v3/traces', 200, v3_traces, {'Content-Type': 'application/json'}, json.dumps({'query': {
        'serviceName': 'odd-types', 'startTimeMin': '2026-11-15T08:49:04Z', 'startTimeMax': '2026-11-15T08:54:04Z'}}).encode()),
    'v3 traces: none': (f'/api/v3/traces?{V3}&query.service_name=nobody', 404, v3_error),
    'v3 traces: without times': ('/api/v3/traces?query.service_name=odd-many', 400, v3_error),
    'v3 traces: filter': (f'/api/v3/traces?{V3}&query.filter=%7B%7D', 400, v3_error),
    'v3 trace': (f'/api/v3/traces/{ODD}1', 200, v3_traces),
    'v3 trace: raw, with times': (f'/api/v3/traces/{ODD}2?rawTraces=true&startTime=2026-11-15T08:49:04Z&endTime=2026-11-15T08:54:04Z', 200, v3_traces),
    'v3 trace: unknown': ('/api/v3/traces/' + 'd' * 32, 404, v3_error),
    'v3 summaries': (f'/api/v3/trace-summaries?{V3}&query.service_name=shop-front', 200, summaries),
    'v3 summaries: posted': ('/api/v3/trace-summaries', 200, summaries, {'Content-Type': 'application/json'}, json.dumps({'query': {
        'service_name': 'odd-types', 'start_time_min': '2026-11-15T08:49:04Z', 'start_time_max': '2026-11-15T08:54:04Z'}}).encode()),
    'v3 summaries: none': (f'/api/v3/trace-summaries?{V3}&query.service_name=nobody', 200, summaries),
    'v3 dependencies': ('/api/v3/dependencies?startTime=2026-11-15T08:49:04Z&endTime=2026-11-15T08:54:04Z', 200, as_json),
    'v3 capabilities': ('/api/v3/capabilities', 200, as_json),
}
TEMPO = {
    'echo': ('/api/echo', 200, words),
    'trace v2': (f'/api/v2/traces/{ODD}1?{SECONDS}', 200, tempo_trace, PROTOBUF),
    'trace v2: new parameters': (f'/api/v2/traces/{ODD}1?q=%7B%7D&keep_hierarchy=true&match_depth=1', 200, tempo_trace, PROTOBUF),
    'trace v2: unknown': ('/api/v2/traces/' + 'd' * 32, 200, tempo_trace, PROTOBUF),
    'trace v1': (f'/api/traces/{ODD}1', 200, tempo_trace_v1, PROTOBUF),
    'trace v1: unknown': ('/api/traces/' + 'd' * 32, 404, lambda body: body.decode(), PROTOBUF),
    'search': (q(MANY), 200, search),
    'search: one span a set': (q(SHOP, '&spss=1'), 200, search),
    'search: logfmt': (f'/api/search?{SECONDS}&limit=2&tags={quote("group=g1 service.name=odd-many")}&minDuration=50ms&maxDuration=1s', 200, search),
    'search: root spans': (q('{ nestedSetParent < 0 } | select(nestedSetLeft, nestedSetRight, nestedSetParent)'), 200, search),
    'search: intrinsics': (q('{ rootName = "op1" && rootServiceName = "odd-many" && traceDuration > 1ms && kind = server && status != error } | select(status, kind, name, duration)'), 200, search),
    'search: exceptions': (q('{ event.exception.type != nil } | select(event.exception.message, event.exception.type)'), 200, search),
    'search: descendants and both sides': (q('{ resource.service.name = "odd-many" } &>> { name = "SELECT" }'), 200, search),
    'search: either': (q('{ name = "op1" } || { name = "op2" }'), 200, search),
    'search: most recent': (q('{} with(most_recent=true)'), 200, search),
    'search: half typed': (q('{ span.gr'), 400, words),
    'tags': (f'/api/v2/search/tags?{SECONDS}&limit=5&maxStaleValues=3', 200, tags),
    'tags: scope': ('/api/v2/search/tags?scope=resource', 200, tags),
    'tags: of a question': ('/api/v2/search/tags?scope=span&q=' + quote(MANY), 200, tags),
    'tags v1': ('/api/search/tags', 200, tags),
    'values': (f'/api/v2/search/tag/resource.service.name/values?{SECONDS}', 200, values),
    'values: of half a question': ('/api/v2/search/tag/span.group/values?limit=10&q=' + quote('{ resource.service.name ='), 200, values),
    'values: of a question': ('/api/v2/search/tag/name/values?q=' + quote(MANY), 200, values),
    'values v1': ('/api/search/tag/service.name/values', 200, values),
    'range: rate': (measured(MANY + ' | rate() by (name)'), 200, series),
    'range: quantiles': (measured(MANY + ' | quantile_over_time(duration, .9)'), 200, series),
    'range: histogram': (measured(MANY + ' | histogram_over_time(duration) with(sample=true)'), 200, series),
    'range: compare': (measured('{ nestedSetParent < 0 && resource.service.name = "odd-many" } | compare({ status = error })'), 200, series),
    'range: compare, two values, a range': (measured(f'{MANY} | compare({{ status = error }}, 2, {START}000000000, {END}000000000)'), 200, series),
    'range: exemplars': (measured(MANY + ' | count_over_time()', '&exemplars=2'), 200, series),
    'range: not metrics': (measured('{}'), 400, words),
    'instant': (f'/api/metrics/query?{SECONDS}&q=' + quote(MANY + ' | count_over_time() by (name)'), 200, series),
    'diff': ('/api/v2/traces/diff', 405, as_json, {}, b'{}'),
    'ready': ('/ready', 200, words),
}
ZIPKIN = {
    'services': ('/api/v2/services', 200, names),
    'span names': ('/api/v2/spans?serviceName=shop-front', 200, names),
    'remote services': ('/api/v2/remoteServices?serviceName=shop-front', 200, names),
    'traces: service and name': (f'/api/v2/traces?serviceName=odd-many&spanName=op1&limit=1&endTs={END}000&lookback=300000', 200, zipkin_list),
    'traces: annotation query': (f'/api/v2/traces?serviceName=odd-many&annotationQuery={quote("group=g1")}&limit=1&endTs={END}000&lookback=300000', 200, zipkin_list),
    'traces: durations': (f'/api/v2/traces?minDuration=100000&maxDuration=115000&serviceName=odd-many&endTs={END}000&lookback=300000', 200, zipkin_list),
    'traces: remote service': (f'/api/v2/traces?remoteServiceName=nobody&endTs={END}000&lookback=300000', 200, zipkin_list),
    'trace: 32 digits': (f'/api/v2/trace/{ODD}1', 200, zipkin_one),
    'trace: 16 digits': ('/api/v2/trace/00000000000abcde', 200, zipkin_one),
    'trace: unknown': ('/api/v2/trace/' + 'd' * 32, 404, words),
    'many traces': (f'/api/v2/traceMany?traceIds={ODD}1,{ODD}7', 200, zipkin_list),
    'dependencies': (f'/api/v2/dependencies?endTs={END}000&lookback=300000', 200, links),
    'autocomplete keys': ('/api/v2/autocompleteKeys', 200, names),
    'autocomplete values': ('/api/v2/autocompleteValues?key=x', 200, names),
    'configuration of Lens': ('/zipkin/config.json', 200, as_json),
    'spans': ('/api/v2/spans', 202, lambda body: body.decode(), {'Content-Type': 'application/json'}, json.dumps([{
        'traceId': f'{0xfeed:016x}', 'id': f'{1:016x}', 'name': 'late', 'timestamp': 1_000_000, 'duration': 5, 'localEndpoint': {'serviceName': 'z'}}]).encode()),
}
ALL = [(api, name, *one) for api, table in (('jaeger', JAEGER), ('tempo', TEMPO), ('zipkin', ZIPKIN)) for name, one in table.items()]
PORTS = {'jaeger': 'http', 'tempo': 'tempo', 'zipkin': 'zipkin'}
UPDATE = os.environ.get('GOLDEN') == 'update'


def golden(api):
    path = GOLDEN / f'{api}.json'
    return json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.parametrize('api, name, path, status, decoder, more', [(*one[:5], one[5:]) for one in ALL], ids=[f'{one[0]}: {one[1]}' for one in ALL])
def test_a_request_has_the_answer_its_client_expects(loaded, api, name, path, status, decoder, more):
    headers, body = more[0] if more else {}, more[1] if len(more) > 1 else None
    got, _, answer = loaded.request(path, PORTS[api], body, headers)
    assert got == status, answer
    decoded = decoder(answer)
    kept = golden(api)
    if UPDATE:
        kept[name] = {'path': path, 'status': status, 'answer': decoded}
        GOLDEN.mkdir(parents=True, exist_ok=True)
        (GOLDEN / f'{api}.json').write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + '\n')
    assert kept[name] == {'path': path, 'status': status, 'answer': decoded}, f'{GOLDEN / api}.json differs; GOLDEN=update rewrites it'


@pytest.mark.parametrize('api', PORTS)
def test_no_answer_is_kept_for_a_request_that_nobody_makes(api):
    assert set(golden(api)) == {name for one, name, *_ in ALL if one == api}
