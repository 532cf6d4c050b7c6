"""jaeger.api_v3.QueryService on its own port, asked by gRPC's own client and read by protoc's code."""
import threading
import time

import grpc
import pytest
from google.protobuf import json_format

from messages import post, protos, span, strict, text, traces
from recorded import spans
from server import Server

S = 1_000_000_000
T0 = 1_700_000_000 * S
BIG, BIG_SPANS = 'b' * 32, 4000


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('jaeger-grpc')) as server:
        for request in (
                traces(span(1, 1, 'GET /', start=T0, duration=50_000_000),
                       span(1, 2, 'call', parent=1, start=T0 + 1000, duration=40_000_000, kind=3, status={'code': 2}),
                       service='front'),
                traces(span(1, 3, 'serve', parent=2, start=T0 + 2000, duration=1000), service='back'),
                traces(span(2, 1, 'GET /', start=T0 + S, duration=1000, attributes=[text('user', 'u1')]), service='front'),
                traces(*[span(BIG, i + 1, 'step', start=T0 + 2 * S + i, attributes=[text('pad', 'x' * 1000)])
                         for i in range(BIG_SPANS)], service='big')):
            assert post(server, request)[0] == 200
        yield server


def pb():
    return protos().jaeger


class Failed(Exception):
    pass


def ask(server, method, request=b'', service='QueryService', stream=False, **options):
    """The messages (bytes) of an answer; Failed(code, text)."""
    request = request if isinstance(request, bytes) else request.SerializeToString()
    path = f'/jaeger.api_v3.{service}/{method}'
    with grpc.insecure_channel(f'127.0.0.1:{server.ports["jaeger-grpc"]}') as channel:
        try:
            if stream:
                return list(channel.unary_stream(path)(request, timeout=60, **options))
            return channel.unary_unary(path)(request, timeout=60, **options)
        except grpc.RpcError as error:
            raise Failed(error.code().name, error.details()) from None


def question(start=T0 - S, end=T0 + 60 * S, **fields):
    request = pb().FindTracesRequest()
    request.query.start_time_min.FromNanoseconds(start)
    request.query.start_time_max.FromNanoseconds(end)
    attributes = fields.pop('attributes', {})
    for name in ('duration_min', 'duration_max'):
        if name in fields:
            getattr(request.query, name).FromNanoseconds(fields.pop(name))
    for name, value in fields.items():
        setattr(request.query, name, value)
    request.query.attributes.update(attributes)
    return request


def spans_in(messages):
    """{trace id: number of spans} of TracesData messages."""
    out = {}
    for message in messages:
        for resource in strict(protos().otlp.ExportTraceServiceRequest, message).resource_spans:
            for scope in resource.scope_spans:
                for one in scope.spans:
                    out[one.trace_id.hex()] = out.get(one.trace_id.hex(), 0) + 1
    return out


def test_services_and_operations(shop):
    assert list(strict(pb().GetServicesResponse, ask(shop, 'GetServices')).services) == ['back', 'big', 'front']
    answer = strict(pb().GetOperationsResponse, ask(shop, 'GetOperations', pb().GetOperationsRequest(service='front')))
    assert [(o.name, o.span_kind) for o in answer.operations] == [('GET /', 'server'), ('call', 'client')]
    answer = strict(pb().GetOperationsResponse,
                    ask(shop, 'GetOperations', pb().GetOperationsRequest(service='front', span_kind='client')))
    assert [o.name for o in answer.operations] == ['call']


@pytest.mark.parametrize('fields, found', [
    ({'service_name': 'front'}, {1: 3, 2: 1}), ({'service_name': 'front', 'operation_name': 'call'}, {1: 3}),
    ({'service_name': 'front', 'attributes': {'user': 'u1'}}, {2: 1}), ({'attributes': {'error': 'true'}}, {1: 3}),
    ({'service_name': 'front', 'duration_min': 30_000_000}, {1: 3}), ({'service_name': 'front', 'duration_max': 2000}, {2: 1}),
    ({'service_name': 'front', 'search_depth': 1}, {2: 1}), ({'service_name': 'nobody'}, {}),
    ({'service_name': 'front', 'end': T0 + S}, {1: 3})])
def test_traces_are_found(shop, fields, found):
    assert spans_in(ask(shop, 'FindTraces', question(**fields), stream=True)) == {f'{k:032x}': n for k, n in found.items()}


def test_summaries(shop):
    messages = ask(shop, 'FindTraceSummaries', question(service_name='back'), stream=True)
    summary, = [s for m in messages for s in strict(pb().FindTraceSummariesResponse, m).summaries]
    assert json_format.MessageToDict(summary) == {
        'traceId': f'{1:032x}', 'rootServiceName': 'front', 'rootOperationName': 'GET /', 'minStartTimeUnixNano': str(T0),
        'maxEndTimeUnixNano': str(T0 + 50_000_000), 'spanCount': 3, 'errorSpanCount': 1,
        'services': [{'name': 'back', 'spanCount': 1}, {'name': 'front', 'spanCount': 2, 'errorSpanCount': 1}]}


def test_a_large_trace_comes_in_small_messages(shop):
    messages = ask(shop, 'GetTrace', pb().GetTraceRequest(trace_id=BIG), stream=True)
    assert spans_in(messages) == {BIG: BIG_SPANS}
    assert len(messages) > 10 and max(map(len, messages)) < 1 << 20


def test_a_slow_reader_holds_nobody_up(shop):
    """More than fits on the way waits, without a worker; another question is answered meanwhile."""
    path = '/jaeger.api_v3.QueryService/GetTrace'
    with grpc.insecure_channel(f'127.0.0.1:{shop.ports["jaeger-grpc"]}') as channel:
        slow = [channel.unary_stream(path)(pb().GetTraceRequest(trace_id=BIG).SerializeToString(), timeout=60) for _ in range(4)]
        first = [next(one) for one in slow]
        assert spans_in(ask(shop, 'FindTraces', question(service_name='back'), stream=True)) == {f'{1:032x}': 3}
        for one in slow[2:]:
            one.cancel()
        for head, rest in zip(first[:2], slow[:2]):
            assert spans_in([head, *rest]) == {BIG: BIG_SPANS}


def test_dependencies(shop):
    request = pb().GetDependenciesRequest()
    request.start_time.FromNanoseconds(T0 - S)
    request.end_time.FromNanoseconds(T0 + 60 * S)
    answer = strict(pb().DependenciesResponse, ask(shop, 'GetDependencies', request))
    assert [(d.parent, d.child, d.call_count) for d in answer.dependencies] == [('front', 'back', 1), ('front', 'front', 1)]


def test_capabilities(shop):
    answer = strict(pb().GetCapabilitiesResponse, ask(shop, 'GetCapabilities', service='Capabilities'))
    assert answer.search.without_service_name and answer.search.same_span_conjunction


@pytest.mark.parametrize('method, request_, code', [
    ('GetTrace', lambda: pb().GetTraceRequest(trace_id='d' * 32), 'NOT_FOUND'),
    ('GetTrace', lambda: pb().GetTraceRequest(trace_id='nothex!'), 'INVALID_ARGUMENT'),
    ('GetTrace', lambda: b'\xff\xff', 'INVALID_ARGUMENT'),
    ('FindTraces', lambda: b'', 'INVALID_ARGUMENT'),
    ('FindTraces', lambda: b'\x0a\xff', 'INVALID_ARGUMENT'),
    ('FindTraces', lambda: question(search_depth=-1), 'INVALID_ARGUMENT'),
    ('FindTraces', lambda: question(search_depth=1_000_000), 'INVALID_ARGUMENT'),
    ('FindTraces', lambda: question(filter=b''  b'\x0a\x02eq'), 'INVALID_ARGUMENT'),
    ('FindTraceSummaries', lambda: question(start=-5), 'INVALID_ARGUMENT'),
    ('GetDependencies', lambda: b'', 'INVALID_ARGUMENT'),
    ('GetOperations', lambda: b'\x0a\xff', 'INVALID_ARGUMENT'),
    ('NoSuch', lambda: b'', 'UNIMPLEMENTED')])
def test_a_bad_question_gets_a_status_and_a_reason(shop, method, request_, code):
    with pytest.raises(Failed) as failed:
        ask(shop, method, request_(), stream=method in ('GetTrace', 'FindTraces', 'FindTraceSummaries'))
    assert failed.value.args[0] == code and failed.value.args[1]


def test_clients_that_leave_leave_nothing_behind(shop):
    """Cancelled before, while and after the answer is made; the server answers on, and stops clean (the fixture checks)."""
    path = '/jaeger.api_v3.QueryService/GetTrace'
    request = pb().GetTraceRequest(trace_id=BIG).SerializeToString()

    def come_and_go(delay):
        with grpc.insecure_channel(f'127.0.0.1:{shop.ports["jaeger-grpc"]}') as channel:
            stream = channel.unary_stream(path)(request, timeout=60)
            time.sleep(delay)
            stream.cancel()
    threads = [threading.Thread(target=come_and_go, args=(i * 0.003,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spans_in(ask(shop, 'GetTrace', pb().GetTraceRequest(trace_id=f'{2:032x}'), stream=True)) == {f'{2:032x}': 1}


def test_the_same_as_over_http(causet, tmp_path):
    """Recorded questions about recorded spans, both ways."""
    with Server(causet, tmp_path) as server:
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        start, end = '2026-11-15T08:49:04Z', '2026-11-15T08:54:04Z'
        _, answer = server.get(f'/api/v3/trace-summaries?query.start_time_min={start}&query.start_time_max={end}')
        request = pb().FindTracesRequest()
        request.query.start_time_min.FromJsonString(start)
        request.query.start_time_max.FromJsonString(end)
        messages = ask(server, 'FindTraceSummaries', request, stream=True)
        over_grpc = {s.trace_id: s.span_count for m in messages for s in strict(pb().FindTraceSummariesResponse, m).summaries}
        assert over_grpc == {s['traceId']: s['spanCount'] for s in answer['summaries']} and len(over_grpc) == 31
        assert spans_in(ask(server, 'FindTraces', request, stream=True)) == over_grpc
