"""What senders are told: what was kept and what not, in every protocol; when there is no room; and that twice is once."""
import json
import re

import pytest

from messages import Refused, call, logs, post, protos, read_trace, span, spans_of, text, to_protobuf, traces

# --- kept in part ---------------------------------------------------------------------------------------------------
# For each kind: a request in JSON, its protobuf message, how many elements are refused, the name of that number in
# JSON, and what the reason must speak of.


def metrics():
    points = [{'timeUnixNano': '1'}] * 2
    return {'resourceMetrics': [{'scopeMetrics': [{'metrics': [
        {'name': 'a', 'gauge': {'dataPoints': points}}, {'name': 'b', 'sum': {'dataPoints': points}},
        {'name': 'c', 'histogram': {'dataPoints': points}}]}]}]}


def events(*rows):
    return {'resourceEvents': [{'resource': {'attributes': [text('service.name', 'shop')]},
                                'scopeEvents': [{'events': list(rows)}]}]}


def partial_requests(pb):
    good = {'traceId': 'a' * 32, 'type': 'EVENT_TYPE_BEGIN', 'id1': 'b' * 16, 'timeUnixNano': '5', 'name': 'work'}
    return {
        'traces': (traces(span(1, 1), span(1, 2), span('0' * 32, 3), span(1, '0' * 16)), pb.otlp.ExportTraceServiceRequest,
                   2, 'rejectedSpans', 'without a trace'),
        'logs': (logs({'traceId': 'a' * 32, 'body': {'stringValue': 'kept'}, 'timeUnixNano': '7'},
                      {'body': {'stringValue': 'lost'}}, {'body': {'stringValue': 'lost, too'}}),
                 pb.otlp.ExportLogsServiceRequest, 2, 'rejectedLogRecords', 'without a trace'),
        'metrics': (metrics(), pb.answers.Metrics, 6, 'rejectedDataPoints', 'metrics are not stored'),
        'events': (events(good, {**good, 'type': 'EVENT_TYPE_UNSPECIFIED'}, {**good, 'traceId': '0' * 32},
                          {**good, 'id1': '0' * 16}), pb.events.ExportEventsRequest, 3, 'rejectedEvents', 'type'),
    }


def told_over_http_json(server, kind, request, message, name):
    status, headers, body = post(server, request, kind)
    assert (status, headers['Content-Type']) == (200, 'application/json'), body
    said = json.loads(body).get('partialSuccess')
    return said and (int(said[name]), said['errorMessage'])


def told_by_protobuf(body):
    answer = protos().answers.Export.FromString(body)
    if not answer.HasField('partial_success'):
        return None
    return answer.partial_success.rejected, answer.partial_success.error_message


def told_over_http_protobuf(server, kind, request, message, name):
    status, headers, body = post(server, to_protobuf(request, message), kind)
    assert (status, headers['Content-Type']) == (200, 'application/x-protobuf'), body
    return told_by_protobuf(body)


def told_over_grpc(server, kind, request, message, name):
    return told_by_protobuf(call(server, to_protobuf(request, message), kind))


PROTOCOLS = {'HTTP, JSON': told_over_http_json, 'HTTP, protobuf': told_over_http_protobuf, 'gRPC': told_over_grpc}


@pytest.mark.parametrize('protocol', PROTOCOLS)
@pytest.mark.parametrize('kind', ['traces', 'logs', 'metrics', 'events'])
def test_what_is_not_kept_is_counted_and_explained(server, protocol, kind):
    request, message, count, name, reason = partial_requests(protos())[kind]
    for _ in range(2):  # told again when it is sent again
        rejected, why = PROTOCOLS[protocol](server, kind, request, message, name)
        assert rejected == count
        assert reason in why, why


@pytest.mark.parametrize('protocol', PROTOCOLS)
def test_nothing_is_said_when_all_was_kept(server, protocol):
    request, message, *_, name, _ = partial_requests(protos())['traces']
    assert PROTOCOLS[protocol](server, 'traces', traces(span(1, 1)), message, name) is None
    assert PROTOCOLS[protocol](server, 'traces', {}, message, name) is None
    assert PROTOCOLS[protocol](server, 'metrics', {}, protos().answers.Metrics, 'rejectedDataPoints') is None


def test_what_was_good_in_a_request_is_kept(server):
    post(server, partial_requests(protos())['traces'][0])
    assert {s['spanId'] for s in spans_of(read_trace(server, 1))} == {f'{1:016x}', f'{2:016x}'}


# --- no room --------------------------------------------------------------------------------------------------------

def fill(server):
    """Sends until the server says no; the number of traces it has acknowledged."""
    filler = 'x' * 50_000
    for n in range(1, 1000):
        status, headers, body = post(server, traces(span(n, n, attributes=[text('filler', f'{n}{filler}')])))
        if status != 200:
            return n - 1, status, headers, body
    raise AssertionError('it never was full')


def test_a_full_store_says_so_and_keeps_answering(start_server):
    server = start_server('--store', 'memory', '--memory-limit', '1MiB')
    kept, status, headers, body = fill(server)
    assert status == 429 and headers['Retry-After'] == '1' and kept > 3
    assert 'memory-limit' in json.loads(body)['message']
    request = to_protobuf(traces(span(5000, 1, attributes=[text('filler', 'y' * 60_000)])), protos().otlp.ExportTraceServiceRequest)
    answers = protos().answers

    status, headers, body = post(server, request)
    assert status == 429 and headers['Retry-After'] == '1'
    said = answers.Status.FromString(body)
    assert said.code == 14 and 'memory-limit' in said.message

    with pytest.raises(Refused) as refused:
        call(server, request)
    assert refused.value.code == 'UNAVAILABLE'
    said = answers.Status.FromString(refused.value.details)
    (detail,) = said.details
    assert said.code == 14 and detail.type_url == 'type.googleapis.com/google.rpc.RetryInfo'
    assert answers.RetryInfo.FromString(detail.value).retry_delay.seconds == 1

    # What was acknowledged is there, what was refused is not, and is not remembered as seen.
    status, found = server.get('/api/v1/traces?limit=1000')
    assert status == 200 and len(found['traces']) == kept
    assert post(server, request)[0] == 429
    _, _, metrics_text = server.request('/metrics')
    assert re.search(rb'\n\w*refused\w*\{[^}]*kind="traces"[^}]*\} [3-9]', metrics_text), metrics_text.decode()


# --- twice is once --------------------------------------------------------------------------------------------------

def span_count(server, trace_id):
    return len(spans_of(read_trace(server, trace_id)))


def summary(server):
    (row,) = server.get('/api/v1/traces')[1]['traces']
    return row


def test_a_request_that_comes_again_is_acknowledged_and_not_stored_again(server):
    body = to_protobuf(traces(span(7, 1), span(7, 2, parent=1)), protos().otlp.ExportTraceServiceRequest)
    for _ in range(3):
        assert post(server, body)[0] == 200
    call(server, body)  # by another way, too
    assert summary(server)['spans'] == 2 and span_count(server, 7) == 2
    _, _, metrics_text = server.request('/metrics')
    assert re.search(rb'repeated\w*\{[^}]*kind="traces"[^}]*\} 3\n', metrics_text), metrics_text.decode()


def test_the_same_bytes_from_another_owner_are_another_request(start_server, run):
    server = start_server('--auth')
    tokens = [run('token', 'add', name, '--roles', 'all', '--data', server.folder / 'data').stdout.strip() for name in 'ab']
    body = json.dumps(traces(span(7, 1))).encode()
    from messages import eventually
    for server.token in tokens:
        eventually(lambda: server.request('/v1/traces', port='otlp-http', body=body,
                                          headers={'Content-Type': 'application/json'})[0] == 200)
    _, _, metrics_text = server.request('/metrics')
    assert re.search(rb'repeated\w*\{[^}]*kind="traces"[^}]*\} 0\n', metrics_text), metrics_text.decode()


def test_a_span_that_comes_again_with_others_counts_once(server):
    assert post(server, traces(span(7, 1), span(7, 2, parent=1)))[0] == 200
    assert post(server, traces(span(7, 2, parent=1), span(7, 3, parent=1)))[0] == 200
    assert span_count(server, 7) == 3
    assert summary(server)['spans'] == 3
    status, trace = server.get(f'/api/v1/traces/{7:032x}')
    assert status == 200
    assert len([b for b in trace['blocks'] if 'inferred' not in json.dumps(b)]) >= 3


def test_the_same_id_with_other_content_is_kept_beside_it(server):
    assert post(server, traces(span(7, 1)))[0] == 200
    assert post(server, traces(span(7, 1, attributes=[text('late', 'update')])))[0] == 200
    got = spans_of(read_trace(server, 7))
    assert [s['spanId'] for s in got] == [f'{1:016x}'] * 2
    assert [s.get('attributes') for s in got] == [None, {'late': {'stringValue': 'update'}}]
