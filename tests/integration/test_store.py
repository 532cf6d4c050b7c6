"""What is kept: across ends of every kind, once, and as long as it should be."""
import json
import signal
import time

from messages import post, read_trace, span, spans_of, traces


def metric(server, name):
    _, _, body = server.request('/metrics')
    for line in body.decode().splitlines():
        if line.startswith(name + ' '):
            return float(line.split()[-1])
    raise AssertionError(f'no {name}')


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


def put(server, number, spans=3):
    request = traces(*[span(number, n + 1) for n in range(spans)])
    assert post(server, request)[0] == 200
    return request


def names(server, number):
    return spans_of(read_trace(server, number))


def test_a_killed_server_has_lost_nothing(start_server):
    server = start_server()
    for number in range(1, 6):
        put(server, number)
    server.stop(signal.SIGKILL, -signal.SIGKILL)
    server.start()
    for number in range(1, 6):
        assert len(names(server, number)) == 3
    server.stop()
    server.start()
    for number in range(1, 6):
        assert len(names(server, number)) == 3


def test_what_came_before_a_restart_is_not_stored_again(start_server):
    server = start_server()
    request = put(server, 1)
    server.stop(signal.SIGKILL, -signal.SIGKILL)
    server.start()
    assert post(server, request)[0] == 200
    assert metric(server, 'causet_store_spans') == 3
    put(server, 2)
    server.stop()  # now it is in a segment, and its log is gone
    server.start()
    assert post(server, request)[0] == 200
    assert metric(server, 'causet_store_spans') == 6


def test_old_events_are_written_to_a_segment_and_found_there(start_server):
    server = start_server('--flush-interval', '1s')
    put(server, 1)
    wait_for(lambda: metric(server, 'causet_store_segments') >= 1)
    assert metric(server, 'causet_store_bytes') == 0
    assert len(names(server, 1)) == 3
    put(server, 1, spans=5)
    assert len(names(server, 1)) == 5
    status, found = server.get('/api/v1/traces')
    assert status == 200 and len(found['traces']) == 1 and found['traces'][0]['spans'] == 5


def test_retention_by_size_removes_what_came_first(start_server):
    server = start_server('--flush-interval', '1s', '--retention-size', '1')
    for number in (1, 2):
        put(server, number)
        wait_for(lambda: metric(server, 'causet_store_flushes_total') >= number)
    wait_for(lambda: metric(server, 'causet_store_removed_segments_total') >= 1)
    assert server.get('/api/v1/traces/' + f'{1:032x}')[0] == 404
    assert len(names(server, 2)) == 3


def test_a_store_in_memory_forgets(start_server):
    server = start_server('--store', 'memory')
    put(server, 1)
    assert len(names(server, 1)) == 3
    server.stop()
    server.start()
    assert server.get('/api/v1/traces/' + f'{1:032x}')[0] == 404


def test_every_way_of_syncing_keeps_what_a_kill_leaves(start_server):
    for sync in ('interval=50ms', 'never'):
        server = start_server('--sync', sync)
        put(server, 1)
        server.stop(signal.SIGKILL, -signal.SIGKILL)
        server.start()
        assert len(names(server, 1)) == 3


def test_a_trace_can_be_read_by_pages(server):
    spans = [{'traceId': 'ab' * 16, 'spanId': f'{i:016x}', 'parentSpanId': f'{i // 4:016x}' if i > 1 else '', 'name': 'work',
              'startTimeUnixNano': str(10**18 + i), 'endTimeUnixNano': str(10**18 + 100 + i)} for i in range(1, 26)]
    body = {'resourceSpans': [{'scopeSpans': [{'spans': spans}]}]}
    assert server.request('/v1/traces', port='otlp-http', body=body)[0] == 200
    for form in ('', '&format=otlp-json'):
        path, sizes, ids = f'/api/v1/traces/{"ab" * 16}?limit=10{form}', [], set()
        while path:
            status, headers, answer = server.request(path)
            assert status == 200
            found = {one['spanId'] for one in spans if f'"spanId":"{one["spanId"]}"'.encode() in answer} if form else \
                {block['id'] for block in json.loads(answer)['blocks'] if 'id' in block}
            sizes.append(len(found))
            ids |= found
            path = headers['Link'].split('>')[0][1:] if headers['Link'] else None
        assert len(sizes) == 3 and (not form or (sizes == [10, 10, 5] and len(ids) == 25))
    assert server.request(f'/api/v1/traces/{"ab" * 16}?offset=25')[0] == 404
    assert server.request(f'/api/v1/traces/{"ab" * 16}?offset=x')[0] == 400
