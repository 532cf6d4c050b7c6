"""OTLP for tests: requests to send, and what comes back in a form that can be compared.

A span or log record is compared as a plain dict: attributes become {key: value} with the value as OTLP's JSON has it
({'intValue': '7'}), fields that are absent or at their default are left out, ids are lower-case hex, times are text.
"""
import base64
import functools
import importlib
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time
import types

TOP = pathlib.Path(__file__).resolve().parents[2]
METHODS = {
    'traces': '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    'logs': '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
    'metrics': '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    'events': '/causet.v1.EventService/Export',
}
HEX = {'traceId', 'spanId', 'parentSpanId', 'linkTraceId', 'id1', 'id2', 'unit'}  # bytes that JSON has in hex
PATHS = {kind: f'/v1/{kind}' for kind in METHODS}


@functools.lru_cache(maxsize=None)
def protos():
    """protoc's modules by name: events, otlp, zipkin, answers, jaeger, tempo."""
    out = tempfile.mkdtemp(prefix='causet-protoc-')
    folders = {'events': 'docs/format', 'otlp': 'tests/wire', 'zipkin': 'tests/wire', 'answers': 'tests/integration',
               'jaeger': 'tests/integration', 'tempo': 'tests/integration'}
    for name, folder in folders.items():
        subprocess.run(['protoc', f'-I{TOP / folder}', '-I/usr/include', f'--python_out={out}', f'{name}.proto'], check=True)
    sys.path.insert(0, out)
    return types.SimpleNamespace(**{name: importlib.import_module(f'{name}_pb2') for name in folders})


def span(trace_id, span_id, name='work', parent='', start=1_700_000_000_000_000_000, duration=1000, **more):
    """One span in OTLP's JSON; ids are numbers or hex."""
    one = {'traceId': trace_id if isinstance(trace_id, str) else f'{trace_id:032x}',
           'spanId': span_id if isinstance(span_id, str) else f'{span_id:016x}', 'name': name, 'kind': 2,
           'startTimeUnixNano': str(start), 'endTimeUnixNano': str(start + duration), **more}
    if parent:
        one['parentSpanId'] = parent if isinstance(parent, str) else f'{parent:016x}'
    return one


def text(key, value):
    return {'key': key, 'value': {'stringValue': value}}


def traces(*spans, service='shop', scope=None):
    """A request of OTLP traces."""
    return {'resourceSpans': [{'resource': {'attributes': [text('service.name', service)]},
                               'scopeSpans': [{'scope': scope or {'name': 'tests'}, 'spans': list(spans)}]}]}


def logs(*records, service='shop'):
    return {'resourceLogs': [{'resource': {'attributes': [text('service.name', service)]},
                              'scopeLogs': [{'scope': {'name': 'tests'}, 'logRecords': list(records)}]}]}


def to_protobuf(request, message):
    """OTLP's JSON (ids in hex) as bytes, by protoc's code."""
    from google.protobuf import json_format

    def ids(value):
        if isinstance(value, list):
            return [ids(v) for v in value]
        if isinstance(value, dict):
            return {k: base64.b64encode(bytes.fromhex(v)).decode() if k in HEX else ids(v) for k, v in value.items()}
        return value
    return json_format.ParseDict(ids(request), message()).SerializeToString()


def strict(message, body):
    """The message in `body`; a field that its .proto does not know is a failure."""
    got = message.FromString(body)
    known = message.FromString(body)
    known.DiscardUnknownFields()
    assert known.SerializeToString(deterministic=True) == got.SerializeToString(deterministic=True), 'unknown fields'
    return got


# --- what came back -------------------------------------------------------------------------------------------------

def value_of(value):
    """An AnyValue, brought to one spelling."""
    if not value:
        return {}
    (kind, inner), = value.items()
    if kind == 'intValue':
        return {kind: str(inner)}
    if kind == 'doubleValue':
        inner = float(inner)
        return {kind: 'NaN' if math.isnan(inner) else inner}
    if kind == 'arrayValue':
        return {kind: [value_of(v) for v in inner.get('values', [])]}
    if kind == 'kvlistValue':
        return {kind: attributes_of(inner.get('values', []))}
    return {kind: inner}


def attributes_of(pairs):
    return {pair['key']: value_of(pair.get('value')) for pair in pairs}


def plain(element):
    """A span, event, link, log record, resource or scope as described at the top of this file."""
    out = {}
    for name, value in element.items():
        if name == 'attributes':
            value = attributes_of(value)
        elif name in ('events', 'links'):
            value = [plain(v) for v in value]
        elif name == 'body':
            value = value_of(value)
        elif name == 'status':
            value = plain(value)
        elif name.endswith('UnixNano') or name.startswith('dropped'):
            value = str(value)
        if value not in ('', 0, '0', [], {}, None):
            out[name] = value
    return out


def elements(documents, group, inner, leaf):
    """Every span (or record) of OTLP JSON documents, each with its resource and scope."""
    for document in documents:
        for outer in document.get(group, []):
            for scoped in outer.get(inner, []):
                for one in scoped.get(leaf, []):
                    yield {**plain(one), 'resource': plain(outer.get('resource', {})).get('attributes', {}),
                           'scope': plain(scoped.get('scope', {}))}


def spans_of(documents):
    return list(elements(documents, 'resourceSpans', 'scopeSpans', 'spans'))


def records_of(documents):
    return list(elements(documents, 'resourceLogs', 'scopeLogs', 'logRecords'))


def documents_of(body):
    """JSON values one behind the other, as exports write them."""
    decoder, body, at, out = json.JSONDecoder(), body.decode() if isinstance(body, bytes) else body, 0, []
    while True:
        while at < len(body) and body[at].isspace():
            at += 1
        if at == len(body):
            return out
        value, at = decoder.raw_decode(body, at)
        out.append(value)


def read_trace(server, trace_id):
    """The trace's OTLP JSON documents; [] when there is none."""
    trace_id = trace_id if isinstance(trace_id, str) else f'{trace_id:032x}'
    status, _, body = server.request(f'/api/v1/traces/{trace_id}?format=otlp-json')
    if status == 404:
        return []
    assert status == 200, body[:500]
    return documents_of(body)


def post(server, request, kind='traces', **headers):
    """(status, headers, body) of OTLP posted as JSON (a dict) or protobuf (bytes)."""
    form = 'application/json' if isinstance(request, dict) else 'application/x-protobuf'
    return server.request(PATHS[kind], port='otlp-http', body=request, headers={'Content-Type': form, **headers})


def eventually(condition, seconds=20, why='it did not happen'):
    """The first true value of condition()."""
    end = time.monotonic() + seconds
    while True:
        got = condition()
        if got:
            return got
        assert time.monotonic() < end, why
        time.sleep(0.05)


class Refused(Exception):
    """A call that failed: `code` is gRPC's name of the status, `details` the google.rpc.Status that came with it."""

    def __init__(self, code, message, details):
        super().__init__(f'{code}: {message}')
        self.code, self.message, self.details = code, message, details


def call(server, request, kind='traces', timeout=60):
    """The answer (bytes) to a message (bytes) over gRPC."""
    import grpc
    metadata = [('authorization', f'Bearer {server.token}')] if server.token else []
    with grpc.insecure_channel(f'127.0.0.1:{server.ports["otlp-grpc"]}',
                               options=[('grpc.max_send_message_length', -1)]) as channel:
        method = channel.unary_unary(METHODS[kind], request_serializer=None, response_deserializer=None)
        try:
            return method(request, metadata=metadata, timeout=timeout)
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata() or ()).get('grpc-status-details-bin')
            raise Refused(error.code().name, error.details(), details) from None
