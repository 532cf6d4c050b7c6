"""A running server follows its catalogue: tokens and redaction rules changed by the command line count at once."""
import json
import re
import subprocess
import time

SECRET = 'hunter2-plain-text'
TRACE = '5b8efff798038103d269b633813fc60c'
PATIENCE_SECONDS = 30  # only ends a failing test; it takes about one


def run(server, *arguments):
    done = subprocess.run([server.program, *arguments, '--data', server.folder / 'data'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def eventually(condition):
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def span(number):
    return {'resourceSpans': [{'scopeSpans': [{'spans': [{
        'traceId': TRACE, 'spanId': f'{number:016x}', 'name': 'login',
        'startTimeUnixNano': '1700000000000000000', 'endTimeUnixNano': '1700000000000000001',
        'attributes': [{'key': 'user.password', 'value': {'stringValue': f'{SECRET}-{number}'}}]}]}]}]}


def test_a_revoked_token_stops_working(start_server):
    server = start_server('--auth')
    token = run(server, 'token', 'add', '--name', 'shop', '--roles', 'read')
    bearer = {'Authorization': f'Bearer {token}'}
    assert server.request('/api/v1/services')[0] == 401
    eventually(lambda: server.request('/api/v1/services', headers=bearer)[0] == 200)
    run(server, 'token', 'revoke', 'shop')
    eventually(lambda: server.request('/api/v1/services', headers=bearer)[0] == 401)


def test_a_rule_redacts_what_comes_after_it(server):
    numbers = iter(range(1, 1000))

    def hashed():
        assert server.request('/v1/traces', 'otlp-http', span(next(numbers)))[0] == 200
        metrics = server.request('/metrics')[2].decode()
        return int(re.search(r'^causet_ingest_attributes_hashed_total (\d+)$', metrics, re.M)[1])
    assert hashed() == 0
    run(server, 'redact', 'add', '--key', '*password*', '--value', SECRET, '--action', 'hash')
    eventually(lambda: hashed() > 0)


def test_a_share_keeps_whole_traces_and_counts_the_others(server):
    def body(first):
        return {'resourceSpans': [{'scopeSpans': [{'spans': [{
            'traceId': f'{trace:032x}', 'spanId': f'{trace * 2 + half:016x}', 'name': 'work',
            'startTimeUnixNano': '1700000000000000000', 'endTimeUnixNano': '1700000000000000001'}
            for trace in range(first, first + 400) for half in (0, 1)]}]}]}

    def sampled_out():
        metrics = server.request('/metrics')[2].decode()
        return int(re.search(r'^causet_ingest_sampled_out_total (\d+)$', metrics, re.M)[1])
    firsts = iter(range(1, 10 ** 9, 400))

    def send():
        before = sampled_out()
        assert server.request('/v1/traces', 'otlp-http', body(next(firsts)))[0] == 200
        return sampled_out() - before
    assert send() == 0
    assert 'every trace' in run(server, 'keep', 'show')
    assert 'one stands for 4' in run(server, 'keep', 'set', '25%')
    eventually(lambda: send() > 0)
    dropped = send()
    assert dropped % 2 == 0  # both spans of a trace or none
    assert 450 < dropped < 700  # of 800; a fixed set of ids, far from the edges
    listed = server.request('/api/v1/traces?limit=1000')[2]
    assert all(trace['spans'] == 2 for trace in json.loads(listed)['traces'])
    run(server, 'keep', 'set', '1')
    eventually(lambda: send() == 0)
