"""Native events through a running server: posted in every form, given back as protoc's code wrote them."""
import pytest

from messages import METHODS, post, protos

TRACE = '0102030405060708090a0b0c0d0e0f10'


def a_request():
    """Every type of event, in one trace."""
    events = protos().events
    request = events.ExportEventsRequest()
    group = request.resource_events.add(schema_url='https://example.org/1')
    group.resource.attributes.add(key='service.name').value.string_value = 'shop'
    scope = group.scope_events.add()
    scope.scope.name = 'worker'
    for number, name in enumerate(events.EventType.keys()[1:], start=1):
        event = scope.events.add(trace_id=bytes.fromhex(TRACE), type=number, id1=number.to_bytes(8, 'big'),
                                 id2=(100 + number).to_bytes(8, 'big'), unit=(7).to_bytes(8, 'big'), seq=number,
                                 time_unix_nano=1_763_200_000_000_000_000 + number, name=name.lower())
        event.attributes.add(key='n').value.int_value = number
        if name == 'EVENT_TYPE_LINK':
            event.link_trace_id = bytes(15) + b'\1'
        if name == 'EVENT_TYPE_COUNTER':
            event.value.double_value = 0.5
        if name == 'EVENT_TYPE_LOG':
            event.value.string_value = 'hello'
            event.severity_number = 9
    return request


def events_of(request):
    return sorted((event.SerializeToString(deterministic=True) for group in request.resource_events
                   for scope in group.scope_events for event in scope.events))


def stored(server):
    """The trace in native protobuf, read by protoc's code."""
    status, _, body = server.request(f'/api/v1/traces/{TRACE}?format=events')
    assert status == 200, body
    return protos().events.ExportEventsRequest.FromString(body)


def send_protobuf(server, request):
    status, _, body = post(server, request.SerializeToString(), 'events')
    return status, protos().events.ExportEventsResponse.FromString(body)


def send_json(server, request):
    from google.protobuf import json_format

    tree = json_format.MessageToDict(request)
    for group in tree['resourceEvents']:
        for scope in group['scopeEvents']:
            for event, source in zip(scope['events'], request.resource_events[0].scope_events[0].events):
                for key, field in (('traceId', 'trace_id'), ('id1', 'id1'), ('id2', 'id2'), ('unit', 'unit'),
                                   ('linkTraceId', 'link_trace_id')):
                    if key in event:
                        event[key] = getattr(source, field).hex()
    status, _, body = post(server, tree, 'events')
    return status, json_format.Parse(body, protos().events.ExportEventsResponse())


def send_grpc(server, request):
    import grpc

    with grpc.insecure_channel(f"127.0.0.1:{server.ports['otlp-grpc']}") as channel:
        call = channel.unary_unary(METHODS['events'], request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=protos().events.ExportEventsResponse.FromString)
        return 200, call(request, timeout=60)


@pytest.mark.parametrize('send', [send_protobuf, send_json, send_grpc])
def test_every_event_arrives_and_comes_back(server, send):
    request = a_request()
    status, answer = send(server, request)
    assert status == 200 and not answer.HasField('partial_success')
    assert events_of(stored(server)) == events_of(request)
    assert stored(server).resource_events[0].resource.attributes[0].value.string_value == 'shop'


@pytest.mark.parametrize('send', [send_protobuf, send_json, send_grpc])
def test_what_cannot_be_accepted_is_counted_and_the_rest_is_stored(server, send):
    request = a_request()
    scope = request.resource_events[0].scope_events[0]
    scope.events.add(trace_id=bytes.fromhex(TRACE), type=2)
    scope.events.add(trace_id=bytes.fromhex(TRACE), type=99, id1=b'12345678')
    scope.events.add(type=2, id1=b'12345678')
    status, answer = send(server, request)
    assert status == 200
    assert answer.partial_success.rejected_events == 3
    assert 'begin event with no id1' in answer.partial_success.error_message
    assert events_of(stored(server)) == events_of(a_request())


@pytest.mark.parametrize('body, form, says', [
    (b'\x62\x05\x12', 'application/x-protobuf', 'byte 0'),
    (b'{"resourceEvents": 7}', 'application/json', 'byte 19'),
    (b'', 'text/plain', 'takes application/x-protobuf, application/json'),
])
def test_what_is_no_request_is_refused_with_the_place(server, body, form, says):
    status, _, answer = server.request('/v1/events', port='otlp-http', body=body, headers={'Content-Type': form})
    assert status in (400, 415)
    assert says.encode() in answer
