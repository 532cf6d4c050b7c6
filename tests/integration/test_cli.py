"""`causet`'s commands with the real program: against a server and against files; output compared with tests/golden/cli.

GOLDEN=update rewrites the golden files; the diff is then to be read."""
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / 'golden/cli'
SHOP = GOLDEN / 'shop.json'
SHOP_ID = '5b8efff798038103d269b633813fc60c'


def check_golden(name, text):
    path = GOLDEN / name
    if os.environ.get('GOLDEN') == 'update':
        path.write_text(text)
    assert text == path.read_text(), f'{path} differs; GOLDEN=update rewrites it'


@pytest.fixture
def shop(server, run):
    """A server that has the shop's trace."""
    done = run('import', SHOP, server=server)
    assert done.returncode == 0, done.stderr
    return server


@pytest.mark.parametrize('name, arguments', [
    ('shop.txt', [SHOP]),
    ('shop-points.txt', [SHOP, '--points', '--attributes']),
    ('shop-hidden.txt', [SHOP, '--limit', '5', '--depth', '1']),
    ('shop-raw-json.txt', [SHOP, '--json']),
    ('native.txt', [GOLDEN / 'native.json', '--points']),
])
def test_a_trace_of_a_file_is_shown(run, name, arguments):
    done = run('trace', *arguments, environment={'COLUMNS': '100'})
    assert done.returncode == 0, done.stderr
    check_golden(name, done.stdout)


def test_text_from_outside_cannot_steer_the_terminal(run):
    done = run('trace', SHOP, '--points', '--attributes')
    assert 'no stock\ufffd[2J' in done.stdout and '\x1b' not in done.stdout


def test_server_and_file_give_the_same_trace(run, shop):
    from_file = run('trace', SHOP, '--attributes')
    from_server = run('trace', SHOP_ID, '--attributes', server=shop)
    assert from_server.returncode == 0, from_server.stderr
    assert from_server.stdout == from_file.stdout
    parent = run('trace', f'00-{SHOP_ID}-0000000000000001-01', '--attributes', server=shop)
    assert parent.stdout == from_file.stdout
    modelled = run('trace', SHOP_ID, '--json', server=shop).stdout
    status, _, body = shop.request(f'/api/v1/traces/{SHOP_ID}')
    assert status == 200 and json.loads(modelled) == json.loads(body)


def test_colours_only_where_they_are_wanted(causet, tmp_path):
    """On a terminal of its own (script -q) with and without NO_COLOR."""
    command = f'{causet} trace {SHOP}'

    def shown(**environment):
        done = subprocess.run(['script', '-qec', command, '/dev/null'], capture_output=True, text=True, timeout=60,
                              env={**os.environ, 'TERM': 'xterm', 'XDG_CONFIG_HOME': str(tmp_path), **environment})
        return done.stdout

    assert '\x1b[' in shown()
    assert '\x1b[' not in shown(NO_COLOR='1')
    assert '\x1b[' not in shown(TERM='dumb')


def test_lists(run, shop):
    services = run('services', server=shop)
    check_golden('services.txt', services.stdout)
    assert run('services', '--names', server=shop).stdout == 'cart\nfrontend\nworker\n'
    rows = [json.loads(line) for line in run('services', '--json', server=shop).stdout.splitlines()]
    assert [row['name'] for row in rows] == ['cart', 'frontend', 'worker']
    assert rows[1] == {'name': 'frontend', 'spans': 4, 'errors': 1,
                       'operations': ['GET /cart', 'audit.Write', 'cart.Get', 'render']}
    traces = run('traces', server=shop)
    check_golden('traces.txt', traces.stdout)
    row = json.loads(run('traces', '--json', server=shop).stdout)
    assert row['traceId'] == SHOP_ID and row['rootService'] == 'frontend' and row['spans'] == 7


@pytest.mark.parametrize('conditions, found', [
    (['--service', 'cart'], True), (['--service', 'nobody'], False),
    (['--service', 'frontend', '--operation', 'render'], True), (['--service', 'cart', '--operation', 'render'], False),
    (['--tag', 'http.route=/cart'], True), (['--tag', 'http.route=/cart', '--tag', 'http.response.status_code=500'], True),
    (['--tag', 'http.route=/else'], False), (['--errors'], True),
    (['--min-duration', '200ms'], True), (['--min-duration', '1s'], False), (['--max-duration', '200ms'], False),
    (['--start', '2023-11-14T22:13:20Z', '--end', '1700000001'], True), (['--start', '-1h'], False),
])
def test_conditions_choose_traces(run, shop, conditions, found):
    done = run('traces', *conditions, server=shop)
    assert done.returncode == (0 if found else 3), done.stderr
    assert (SHOP_ID in done.stdout) == found


@pytest.mark.parametrize('order', ['newest', 'slowest'])
def test_pages_go_on_where_the_last_one_ended(run, server, order):
    spans = [{'traceId': f'{i + 1:032x}', 'spanId': f'{i + 1:016x}', 'name': 'n', 'startTimeUnixNano': str(10**18 + i // 2),
              'endTimeUnixNano': str(10**18 + 10)} for i in range(25)]
    status, _, body = server.request('/v1/traces', port='otlp-http', body={'resourceSpans': [{'scopeSpans': [{'spans': spans}]}]})
    assert status == 200, body
    seen, cursor = [], None
    while True:
        more = ['--cursor', cursor] if cursor else []
        done = run('traces', '--json', '--limit', '7', '--order', order, *more, server=server)
        seen += [json.loads(line)['traceId'] for line in done.stdout.splitlines()]
        if '--cursor ' not in done.stderr:
            break
        cursor = done.stderr.split('--cursor ')[1].split(',')[0]
    assert len(seen) == 25 and len(set(seen)) == 25


def test_exports_can_be_read_again(run, shop, tmp_path):
    original = run('trace', SHOP, '--attributes', '--points').stdout
    for name in ('all.jsonl', 'all.otlp', 'all.events'):
        done = run('export', '-o', tmp_path / name, server=shop)
        assert done.returncode == 0, done.stderr
        assert run('trace', tmp_path / name, '--attributes', '--points').stdout == original
    one = run('export', SHOP_ID, '--format', 'otlp-json', server=shop)
    filtered = run('export', '--service', 'cart', server=shop)
    assert json.loads(one.stdout) == json.loads(filtered.stdout)
    assert run('export', '--service', 'nobody', server=shop).returncode == 3
    converted = run('export', '--file', SHOP, '--format', 'zipkin')
    assert {span['traceId'] for span in json.loads(converted.stdout)} == {SHOP_ID}


def test_an_export_has_as_many_traces_as_are_asked_for_however_many(run, server):
    spans = [{'traceId': f'{i + 1:032x}', 'spanId': f'{1:016x}', 'name': 'n', 'startTimeUnixNano': str(1700000000000000000 + i)} for i in range(12000)]
    body = {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'spans': spans}]}]}
    assert server.request('/v1/traces', 'otlp-http', json.dumps(body).encode(), {'Content-Type': 'application/json'})[0] == 200

    def ids(*arguments):
        lines = run('export', '--format', 'otlp-json', *arguments, server=server).stdout.splitlines()
        return {span['traceId'] for line in lines for r in json.loads(line)['resourceSpans'] for s in r['scopeSpans'] for span in s['spans']}
    assert ids() == {s['traceId'] for s in spans}
    assert ids('--limit', '10500') == {s['traceId'] for s in spans[-10500:]}
    assert run('export', '--limit', '1000001', server=server).returncode == 2
    assert server.request('/api/v1/export?limit=1000001')[0] == 400
    assert server.request('/api/v1/traces?limit=10001')[0] == 400


def test_an_export_may_take_longer_than_a_query(start_server):
    server = start_server('--query-time', '1ms')
    spans = [{'traceId': f'{i + 1:032x}', 'spanId': f'{1:016x}', 'name': 'n', 'startTimeUnixNano': str(1700000000000000000 + i)} for i in range(12000)]
    body = {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'spans': spans}]}]}
    assert server.request('/v1/traces', 'otlp-http', json.dumps(body).encode(), {'Content-Type': 'application/json'})[0] == 200
    status, _, body = server.request('/api/v1/export?limit=11000')
    assert status == 200 and body.count(b'"traceId"') == 11000


def test_an_export_that_fails_leaves_the_file_alone(run, shop, tmp_path):
    (tmp_path / 'kept').write_text('old')
    assert run('export', 'ffff', '-o', tmp_path / 'kept', '--format', 'otlp', server=shop).returncode == 3
    assert (tmp_path / 'kept').read_text() == 'old'
    assert run('export', '-o', '/nonexistent/x', server=shop).returncode == 1


def test_jaegers_download_comes_in_and_goes_out(run, shop, tmp_path):
    """Jaeger's JSON: written, shown, and sent in again."""
    done = run('export', SHOP_ID, '--format', 'jaeger', '-o', tmp_path / 'trace.json', server=shop)
    assert done.returncode == 0, done.stderr
    jaeger = json.loads((tmp_path / 'trace.json').read_text())
    assert {span['operationName'] for span in jaeger['data'][0]['spans']} >= {'GET /cart', 'render', 'send mail'}
    shown = run('trace', tmp_path / 'trace.json')
    assert shown.returncode == 0 and '7 spans, 1 inferred' in shown.stdout, shown.stderr
    assert run('import', tmp_path / 'trace.json', server=shop).returncode == 0


def test_native_events_leave_as_spans(run, server):
    assert run('import', GOLDEN / 'native.json', server=server).returncode == 0
    done = run('export', '--format', 'otlp-json', server=server)
    spans = [s for line in done.stdout.splitlines() for r in json.loads(line)['resourceSpans']
             for c in r['scopeSpans'] for s in c['spans']]
    assert sorted(s['name'] for s in spans) == ['accept', 'resize']


def test_import_takes_many_files_and_compression(run, server, tmp_path):
    lines = []
    for i in range(1, 200):
        lines.append(json.dumps({'resourceSpans': [{'resource': {'attributes': [
            {'key': 'service.name', 'value': {'stringValue': f's{i % 7}'}}]}, 'scopeSpans': [{'spans': [
                {'traceId': f'{i:032x}', 'spanId': f'{i:016x}', 'name': 'x', 'startTimeUnixNano': str(i),
                 'endTimeUnixNano': str(i + 5)}]}]}]}))
    text = ('\n'.join(lines) + '\n').encode()
    (tmp_path / 'a.jsonl').write_bytes(text[:len(lines[0]) + 1])
    with gzip.open(tmp_path / 'b.jsonl.gz', 'wb') as out:
        out.write(text)
    subprocess.run(['zstd', '-q', tmp_path / 'a.jsonl', '-o', tmp_path / 'c.zst'], check=True)
    done = run('import', tmp_path / 'a.jsonl', tmp_path / 'b.jsonl.gz', tmp_path / 'c.zst', '--json', server=server)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {'files': 3, 'failed': 0, 'requests': 201, 'bytes': json.loads(done.stdout)['bytes'],
                                       'rejected': 0}
    assert sum(s['spans'] for s in server.get('/api/v1/services')[1]['services']) == 199  # the same body is stored once
    again = run('import', '-', server=server, input='\n'.join(lines))
    assert again.returncode == 0


def test_what_is_not_accepted_is_told(run, server):
    bad = {'resourceSpans': [{'scopeSpans': [{'spans': [{'name': 'no ids'}, {
        'traceId': '1' * 32, 'spanId': '2' * 16, 'name': 'good', 'startTimeUnixNano': '1', 'endTimeUnixNano': '2'}]}]}]}
    done = run('import', '-', server=server, input=json.dumps(bad))
    assert done.returncode == 4
    assert '1 was not accepted' in done.stderr
    broken = run('import', '-', server=server, input='{"resourceSpans": [')
    assert broken.returncode == 1 and 'standard input' in broken.stderr


def test_a_large_request_goes_in_pieces(run, start_server, tmp_path):
    server = start_server('--max-body', '300k')
    spans = [{'traceId': SHOP_ID, 'spanId': f'{i + 1:016x}', 'name': f'n{i}', 'startTimeUnixNano': '1', 'endTimeUnixNano': '2',
              'attributes': [{'key': 'k', 'value': {'stringValue': 'v' * 100}}]} for i in range(5000)]
    (tmp_path / 'one.json').write_text(json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': spans}]}]}))
    done = run('import', tmp_path / 'one.json', server=server)
    assert done.returncode == 0, done.stderr
    assert server.get('/api/v1/traces')[1]['traces'][0]['spans'] == 5000


class Busy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        self.server.asked += 1
        busy = self.server.asked == 1
        self.send_response(429 if busy else 200)
        if busy:
            self.send_header('Retry-After', '1')
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'{}')

    def log_message(self, *_):
        pass


def test_a_busy_server_is_asked_again(run):
    with http.server.HTTPServer(('127.0.0.1', 0), Busy) as busy:
        busy.asked = 0
        threading.Thread(target=busy.serve_forever, daemon=True).start()
        done = run('import', SHOP, '--otlp', f'http://127.0.0.1:{busy.server_port}')
        busy.shutdown()
    assert done.returncode == 0, done.stderr
    assert busy.asked == 2


def test_tokens_are_asked_for_and_sent(run, start_server, tmp_path):
    server = start_server('--auth')
    nobody = run('services', server=server)
    assert nobody.returncode == 1 and '--token' in nobody.stderr
    made = run('token', 'add', 'alice', '--roles', 'read', '--data', server.folder / 'data')
    assert made.returncode == 0, made.stderr
    token = next(word for word in made.stdout.split() if word.startswith('causet_'))
    deadline = time.monotonic() + 30  # another process's change is noticed within about a second
    while run('services', '--token', token, server=server).returncode != 3:
        assert time.monotonic() < deadline
    (tmp_path / 'token').write_text(token + '\n')
    assert run('services', '--token-file', tmp_path / 'token', server=server).returncode == 3
    assert run('services', server=server, environment={'CAUSET_TOKEN': token}).returncode == 3
    refused = run('import', SHOP, '--token', token, server=server)
    assert refused.returncode == 1 and 'lacks the role ingest' in refused.stderr


@pytest.mark.parametrize('arguments, code, says', [
    ([], 2, ''),
    (['tracs'], 2, 'did you mean trace'),
    (['trace'], 2, 'which trace?'),
    (['trace', 'not-a-file'], 2, 'neither a trace id'),
    (['trace', '--depht', '3', 'x'], 2, 'did you mean --depth?'),
    (['import'], 2, 'which file?'),
    (['import', '/nonexistent'], 1, 'cannot open /nonexistent'),
    (['import', '--format', 'xml', SHOP], 2, 'otlp-json'),
    (['export', '--file', SHOP, '--service', 'x'], 2, 'do not go with --file'),
    (['services', 'x'], 2, 'takes no argument'),
    (['completion', 'tcsh'], 2, 'bash, zsh and fish'),
    (['services', '--server', 'http://127.0.0.1:1'], 1, "is 'causet serve' running there?"),
    (['trace', SHOP, 'x'], 2, 'one trace at a time'),
    (['trace', '--file', SHOP, 'ff'], 3, 'there is no trace ff'),
])
def test_mistakes_are_explained(run, arguments, code, says):
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr


def test_a_server_that_does_not_answer_times_out(run):
    with http.server.HTTPServer(('127.0.0.1', 0), Busy) as silent:  # listens, and nobody serves
        done = run('services', '--server', f'http://127.0.0.1:{silent.server_port}', '--timeout', '200ms')
    assert done.returncode == 124


def test_help_and_completion(run):
    overview = run('--help').stdout
    for command in ('serve', 'import', 'export', 'services', 'traces', 'trace', 'token', 'version', 'completion', 'help'):
        assert f'\n  {command} ' in overview
        help_ = run(command, '--help')
        assert help_.returncode == 0 and help_.stdout.startswith(f'Usage: causet {command} ')
        assert '.SH OPTIONS' in run(command, '--help-man').stdout
    assert run('help', 'trace').stdout == run('trace', '--help').stdout
    assert run('version').stdout.startswith('causet ')
    assert json.loads(run('version', '--json').stdout)['name'] == 'causet'
    assert subprocess.run(['bash', '-n'], input=run('completion', 'bash').stdout, text=True).returncode == 0
    assert '#compdef causet' in run('completion', 'zsh').stdout
    assert 'complete -c causet' in run('completion', 'fish').stdout


def test_completion_asks_the_server_for_services(run, shop, causet, tmp_path):
    (tmp_path / 'completion').write_text(run('completion', 'bash').stdout)
    script = f'source {tmp_path}/completion; COMP_WORDS=(causet traces --service c) COMP_CWORD=3; _causet; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, timeout=60,
                          env={**os.environ, 'PATH': f'{causet.parent}:{os.environ["PATH"]}', 'CAUSET_SERVER': shop.url()})
    assert done.stdout == 'cart\n', done.stderr
