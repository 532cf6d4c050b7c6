"""Language models: the Model Context Protocol's own client lists and calls every tool, over standard input and output (of a
server, of a folder) and over HTTP; and what no client sends."""
import http.client
import http.server
import json
import pathlib
import subprocess
import threading
import time

import pytest

from messages import eventually
from recorded import spans
from server import Server

HERE = pathlib.Path(__file__).resolve().parent
ODD = 'c0ffee00000000000000000000000069'  # a trace of tests/recorded that failed
SPAN = 'beef0000000000cd'
LIVE = '2025-11-25'
TOKENS = ('all', 'read')

# Every tool, with arguments that have an answer, and what must be in it.
CALLS = [
    ('services', {}, 'shop-front'),
    ('services', {'service': 'odd-many'}, 'op1'),
    ('dependencies', {}, 'shop-cart'),
    ('attributes', {}, 'http.method'),
    ('attributes', {'name': 'span.http.method', 'service': 'odd-many'}, 'POST'),
    ('search', {'errors': True, 'limit': 2}, 'trace_id'),
    ('search', {'service': 'odd-many', 'tags': ['http.method=POST'], 'min_duration': '1ms', 'order': 'slowest', 'limit': 5}, 'op'),
    ('trace_summary', {'trace_id': ODD}, 'odd-many'),
    ('subtree', {'trace_id': ODD, 'depth': 0}, 'hidden_below'),
    ('span_details', {'trace_id': ODD, 'span_ids': [SPAN]}, 'http.method'),
    ('critical_path', {'trace_id': ODD}, 'self'),
    ('critical_path', {'trace_id': ODD, 'span_id': SPAN}, 'self'),
    ('compare', {'selected': '{ status = error }', 'limit': 5}, 'status'),
    ('compare', {'selected': '{ duration > 50ms }', 'rest': '{ duration <= 50ms }', 'limit': 5}, 'difference'),
    ('patterns', {'service': 'shop-front'}, 'POST /checkout'),
    ('query', {'query': '{ status = error }'}, ODD),
    ('query', {'query': 'From s In spans GroupBy s.service Select s.service, COUNT, p99(s.duration)'}, 'odd-db'),
    ('explain', {'query': '{ status = error } | rate()'}, 'status'),
    ('tracepoints', {}, 'Slow'),
    ('docs', {}, 'Sequences'),
    ('docs', {'topic': 'sequences'}, 'Within'),
    ('docs', {'find': 'critical path'}, 'CriticalPath'),
]

# What is wrong, and what the model must be told.
WRONG = [
    ('services', {'service': 'nobody'}, 'without arguments'),
    ('services', {'servise': 'x'}, 'did you mean service?'),
    ('services', {'zzz': 1}, 'it takes service'),
    ('services', {'service': 5}, 'a text is wanted'),
    ('services', {'max_bytes': 10}, 'from 2048 to'),
    ('services', {'max_bytes': 1e300}, 'whole number'),
    ('services', {'max_bytes': -1}, 'whole number'),
    ('services', {'limit': 0}, 'from 1 to 10000'),
    ('services', {'limit': '5'}, 'whole number'),
    ('services', {'cursor': 'x'}, 'without it'),
    ('services', {'cursor': '0' * 32 + '.5'}, 'without it'),
    ('services', {'cursor': ''}, 'without it'),
    ('search', {'start': 'yesterday'}, 'RFC 3339'),
    ('search', {'start': '2026-01-02T00:00:00Z', 'end': '2026-01-01T00:00:00Z'}, 'before end'),
    ('search', {'min_duration': 5}, 'with its unit'),
    ('search', {'min_duration': '-5s'}, 'with its unit'),
    ('search', {'tags': ['x']}, 'key=value'),
    ('search', {'tags': ['a=b'] * 65}, 'at most 64'),
    ('search', {'tags': [5]}, 'texts'),
    ('search', {'errors': 'yes'}, 'true or false'),
    ('search', {'order': 'oldest'}, '"newest", "slowest"'),
    ('trace_summary', {}, 'trace_id is wanted'),
    ('trace_summary', {'trace_id': 'x'}, 'hex digits'),
    ('trace_summary', {'trace_id': '0'}, 'hex digits'),
    ('trace_summary', {'trace_id': 'abc'}, 'search finds traces'),
    ('subtree', {'trace_id': ODD, 'span_id': '1'}, 'starts at its roots'),
    ('subtree', {'trace_id': ODD, 'depth': -1}, 'whole number'),
    ('span_details', {'trace_id': ODD}, 'span_ids is wanted'),
    ('span_details', {'trace_id': ODD, 'span_ids': ['g']}, 'hex digits'),
    ('span_details', {'trace_id': ODD, 'span_ids': ['1']}, 'subtree lists'),
    ('span_details', {'trace_id': ODD, 'span_ids': []}, 'subtree lists'),
    ('compare', {'selected': '{ status = }'}, 'selected:1:'),
    ('compare', {'selected': '{ } | count()'}, 'a set of spans'),
    ('compare', {'selected': '{ }', 'rest': 'From s In spans Select s'}, 'rest'),
    ('query', {'query': ''}, 'empty'),
    ('query', {'query': 'From s In spanz Select s'}, "did you mean 'spans'?"),
    ('query', {'query': '{' * 5000}, 'query:1:'),
    ('query', {'query': 'From r In csv("/etc/passwd") Select r.a'}, ''),
    ('query', {'query': '{ }', 'dialect': 'sql'}, '"causetql", "traceql"'),
    ('explain', {'query': '{ a'}, 'query:1:'),
    ('attributes', {'name': ''}, 'span.http.route'),
    ('docs', {'topic': 'cooking'}, 'lists the topics'),
]


@pytest.fixture(scope='module')
def loaded(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('mcp'), '--mcp', '--auth', '--cors-origins', 'https://app.example.org') as server:
        data = server.folder / 'data'
        for roles in TOKENS:
            done = subprocess.run([causet, 'token', 'add', f'model-{roles}', '--roles', roles, '--data', data], capture_output=True,
                                  text=True, check=True)
            setattr(server, f'token_{roles}', done.stdout.strip())
        server.token = server.token_all
        eventually(lambda: server.request('/api/v1/services')[0] == 200)
        assert server.request('/v1/traces', 'otlp-http', spans('spans.otlp'), {'Content-Type': 'application/x-protobuf'})[0] == 200
        assert server.request('/api/tracepoints', body={'text': 'Tracepoint Slow = { duration > 50ms }'})[0] == 200
        yield server


def plan_for(way, causet, server, token=None):
    token = token or server.token_all
    if way == 'http':
        return {'url': server.url('/api/mcp'), 'headers': {'Authorization': f'Bearer {token}'}}
    if way == 'folder':
        return {'command': [str(causet), 'mcp', '--data', str(server.folder / 'data')], 'env': {'PATH': '/usr/bin:/bin'}}
    return {'command': [str(causet), 'mcp', '--server', server.url()], 'env': {'PATH': '/usr/bin:/bin', 'CAUSET_TOKEN': token}}


def drive(node, plan, calls, tmp_path):
    assert (HERE / 'node/node_modules/@modelcontextprotocol').is_dir(), 'run `npm ci` in tests/integration/node, or ./test one test_mcp.py'
    (tmp_path / 'plan.json').write_text(json.dumps({**plan, 'calls': calls}))
    done = subprocess.run([node, 'mcp.mjs', tmp_path / 'plan.json', tmp_path / 'out.json'], cwd=HERE / 'node', capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / 'out.json').read_text())


def calls_of(rows, **more):
    return [{'name': name, 'arguments': arguments, **more} for name, arguments, _ in rows]


def without_cursor(page):
    return {k: v for k, v in page['structuredContent'].items() if k != 'next'}


def test_the_sdk_lists_and_calls_every_tool_over_every_transport(node, causet, loaded, tmp_path):
    answers = {}
    for way in ('http', 'server', 'folder'):
        got = drive(node, plan_for(way, causet, loaded), calls_of(CALLS), tmp_path)
        assert got['latest'] == LIVE, 'the SDK knows a newer protocol: look at what changed'
        assert got['server']['name'] == 'causet' and got['server']['version']
        assert 'max_bytes' in got['instructions'] and 'tools' in got['capabilities']
        assert {tool['name'] for tool in got['tools']} == {name for name, _, _ in CALLS}, 'every tool is called'
        for tool in got['tools']:
            assert tool['annotations']['readOnlyHint'] is True and tool['annotations']['destructiveHint'] is False
            assert tool['description'] and tool['title'] and tool['inputSchema']['additionalProperties'] is False
            assert {'max_bytes', 'cursor'} <= set(tool['inputSchema']['properties'])
            assert all(p['description'] for p in tool['inputSchema']['properties'].values())
        for (name, arguments, part), result in zip(CALLS, got['results']):
            assert 'error' not in result, (way, name, arguments, result)
            page = result['pages'][0]
            assert not page.get('isError'), (way, name, arguments, page)
            assert json.loads(page['content'][0]['text']) == page['structuredContent']
            assert part in page['content'][0]['text'], (way, name, arguments, page['content'][0]['text'])
            assert page['structuredContent']['returned'] > 0
        answers[way] = [without_cursor(result['pages'][0]) for result in got['results']]
    assert answers['http'] == answers['server'] == answers['folder']


def rows_of(page):
    content = page['structuredContent']
    named = [k for k, v in content.items() if isinstance(v, list) and k in ('rows', 'traces', 'spans', 'segments', 'operations', 'plan',
                                                                           'paragraphs')]
    return content[named[-1]]


@pytest.mark.parametrize('way', ['http', 'folder'])
def test_an_answer_never_has_more_bytes_than_asked_for_and_its_pages_are_the_whole(node, causet, loaded, tmp_path, way):
    small = [{'name': n, 'arguments': {**a, 'max_bytes': 2048}, 'follow': True} for n, a, _ in CALLS]
    large = [{'name': n, 'arguments': {**a, 'limit' if 'span' not in n and n not in ('subtree', 'critical_path') else 'max_spans': 10000,
                                       'max_bytes': 1000000}} for n, a, _ in CALLS]
    got = drive(node, plan_for(way, causet, loaded), small + large, tmp_path)
    turned = 0
    for index, (name, arguments, _) in enumerate(CALLS):
        pages, whole = got['results'][index]['pages'], got['results'][index + len(CALLS)]['pages'][0]
        whole_rows = rows_of(whole)
        assert not whole['structuredContent']['truncated'], (name, arguments)
        read = []
        for page in pages:
            assert not page.get('isError'), (name, page)
            assert len(page['content'][0]['text'].encode()) <= 2048, (name, arguments)
            content = page['structuredContent']
            assert content['total'] == len(whole_rows) and content['returned'] == len(rows_of(page))
            assert content['truncated'] == ('next' in content)
            read += rows_of(page)
        assert len(read) == len(whole_rows)
        for one, other in zip(read, whole_rows):
            assert one == other or 'alone has' in one['omitted'], (name, one, other)
        turned += len(pages) > 1
    assert turned > 5, 'some do not fit'


@pytest.mark.parametrize('way', ['http', 'server', 'folder'])
def test_what_is_wrong_is_told_to_the_model(node, causet, loaded, tmp_path, way):
    got = drive(node, plan_for(way, causet, loaded), calls_of(WRONG) + [{'name': 'serch', 'arguments': {}}], tmp_path)
    for (name, arguments, part), result in zip(WRONG, got['results']):
        assert 'error' not in result, (name, arguments, result)
        page = result['pages'][0]
        assert page['isError'] is True and 'structuredContent' not in page, (name, arguments, page)
        assert part in page['content'][0]['text'], (name, arguments, page['content'][0]['text'])
    assert got['results'][-1]['error']['code'] == -32602 and 'did you mean search?' in got['results'][-1]['error']['message']


@pytest.mark.parametrize('way', ['http', 'server'])
def test_a_token_without_the_role_query_can_look_but_not_ask(node, causet, loaded, tmp_path, way):
    calls = [{'name': 'services', 'arguments': {}}, {'name': 'query', 'arguments': {'query': '{ }'}}]
    looked, asked = drive(node, plan_for(way, causet, loaded, loaded.token_read), calls, tmp_path)['results']
    assert not looked['pages'][0].get('isError')
    assert asked['pages'][0]['isError'] and 'lacks the role query' in asked['pages'][0]['content'][0]['text']


@pytest.mark.parametrize('way', ['http', 'server', 'folder'])
def test_a_cancelled_call_ends_and_the_next_is_answered(node, causet, loaded, tmp_path, way):
    heavy = {'name': 'query', 'arguments': {'query': '{ } >> { } | count() by (name)'}, 'cancel_ms': 0}
    got = drive(node, plan_for(way, causet, loaded), [heavy, heavy, {'name': 'services', 'arguments': {}}], tmp_path)
    assert not got['results'][-1]['pages'][0].get('isError')
    eventually(lambda: loaded.get('/api/query')[1]['queries'] == [], why='a cancelled call still runs')


def test_a_server_that_is_not_there_is_told_to_the_model(causet, run):
    message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'services'}}
    done = run('mcp', '--server', 'http://127.0.0.1:9', input=json.dumps(message) + '\n')
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer['result']['isError'] and 'causet serve' in answer['result']['content'][0]['text']
    done = run('mcp', '--data', '/nonexistent', input=json.dumps(message))
    assert 'there is no store' in json.loads(done.stdout)['result']['content'][0]['text']


def test_a_server_that_is_another_program_is_told_to_the_model(run):
    for body in (b'[]', b'{} {}', b'{"a":', b'<html>', b'', b'null', b'{"summary":"x"}'):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers['Content-Length']))
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(('127.0.0.1', 0), Other) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'services'}}
            done = run('mcp', '--server', f'http://127.0.0.1:{other.server_port}', input=json.dumps(message) + '\n')
            other.shutdown()
        result = json.loads(done.stdout)['result']
        assert result.get('isError', False) == (b'summary' not in body), body
        assert b'summary' in body or 'not with a JSON object' in result['content'][0]['text']


def test_a_folder_is_only_read_and_a_catalogue_that_cannot_be_is_told(causet, run, tmp_path):
    with Server(causet, tmp_path) as server:
        assert server.request('/api/tracepoints', body={'text': 'Tracepoint Slow = { duration > 50ms }'})[0] == 200
    data = tmp_path / 'data'
    catalog = data / 'catalog.db'
    before = catalog.read_bytes()

    def call(name, **arguments):
        message = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': name, 'arguments': arguments}}
        result = json.loads(run('mcp', '--data', str(data), input=json.dumps(message) + '\n').stdout)['result']
        return result.get('isError', False), result['content'][0]['text']

    failed, text = call('tracepoints')
    assert not failed and 'Slow' in text and catalog.read_bytes() == before
    catalog.write_bytes(b'this is no catalogue ' * 100)
    failed, text = call('tracepoints')
    assert failed and 'catalog.db' in text
    failed, text = call('query', query='From s In Slow Select s.name')
    assert failed and 'catalog.db' in text
    assert not call('services')[0], 'nothing else needs it'
    catalog.unlink()
    assert not call('tracepoints')[0] and not catalog.exists()


# --- messages that no client sends ---

# text, JSON-RPC code, part of the message
NONSENSE = [
    ('x', -32700, 'not JSON'),
    ('{', -32700, 'not JSON'),
    ('{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700, 'not JSON'),
    ('"x"', -32600, 'object'),
    ('[]', -32600, 'one at a time'),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, 'one at a time'),
    ('{}', -32600, '2.0'),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, '2.0'),
    ('{"jsonrpc":2,"id":1,"method":"ping"}', -32600, '2.0'),
    ('{"jsonrpc":"2.0","id":1}', -32600, 'method'),
    ('{"jsonrpc":"2.0","id":1,"method":5}', -32600, 'method'),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, 'id is'),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, 'id is'),
    ('{"jsonrpc":"2.0","id":"%s","method":"ping"}' % ('x' * 200), -32600, 'id is'),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":5}', -32602, 'params'),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 'params'),
    ('{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601, 'nope'),
    ('{"jsonrpc":"2.0","id":1,"method":"%s"}' % ('m' * 5000), -32601, 'mmm'),
    ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601, 'only tools'),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', -32602, 'cursor'),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602, 'name'),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602, 'name'),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x\\u0000"}}', -32602, 'Unknown tool'),
    ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"services","arguments":[]}}', -32602, 'arguments'),
]


class Wire:
    """One HTTP connection that says what it is told to."""

    def __init__(self, server):
        self.server = server
        self.session = None

    def send(self, body, method='POST', **headers):
        connection = http.client.HTTPConnection('127.0.0.1', self.server.ports['http'], timeout=60)
        sent = {'Content-Type': 'application/json', 'Accept': 'application/json, text/event-stream',
                'Authorization': f'Bearer {self.server.token}', **({'Mcp-Session-Id': self.session} if self.session else {})}
        sent.update({k.replace('_', '-'): v for k, v in headers.items()})
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method, '/api/mcp', body, {k: v for k, v in sent.items() if v is not None})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, json.loads(text) if answer.headers.get('Content-Type') == 'application/json' else None

    def begin(self, version=LIVE):
        status, headers, answer = self.send({'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': {
            'protocolVersion': version, 'capabilities': {}, 'clientInfo': {'name': 't', 'version': '1'}}})
        assert status == 200
        self.session = headers['Mcp-Session-Id']
        assert self.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})[0] == 202
        return answer['result']


PING = {'jsonrpc': '2.0', 'id': 'a\\"b', 'method': 'ping'}


@pytest.mark.parametrize('asked, got', [(LIVE, LIVE), ('2025-06-18', '2025-06-18'), ('2025-03-26', '2025-03-26'),
                                        ('2024-11-05', '2024-11-05'), ('1999-01-01', LIVE), ('x' * 99, LIVE), (5, LIVE), (None, LIVE)])
def test_the_version_is_theirs_where_it_is_known(loaded, asked, got):
    assert Wire(loaded).begin(asked)['protocolVersion'] == got


def test_nonsense_is_refused_with_its_reason_and_the_connection_goes_on(run, loaded):
    wire = Wire(loaded)
    wire.begin()
    for text, code, part in NONSENSE:
        status, _, answer = wire.send(text.encode())
        assert status in (200, 400) and answer['error']['code'] == code and part in answer['error']['message'], (text, answer)
    lines = '\n'.join(text for text, _, _ in NONSENSE) + '\n' + json.dumps(PING) + '\n\n' + 'y' * (2 << 20) + '\n' + json.dumps(PING)
    done = run('mcp', '--server', loaded.url(), input=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(answers) == len(NONSENSE) + 3
    for (text, code, part), answer in zip(NONSENSE, answers):
        assert answer['error']['code'] == code and part in answer['error']['message'], (text, answer)
    assert answers[-3] == answers[-1] == {'jsonrpc': '2.0', 'id': PING['id'], 'result': {}}
    assert 'mebibyte' in answers[-2]['error']['message']


def test_what_wants_no_answer_gets_none(run, loaded):
    wire = Wire(loaded)
    wire.begin()
    silent = [{'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 99}},
              {'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {}}, {'jsonrpc': '2.0', 'method': 'notifications/cancelled'},
              {'jsonrpc': '2.0', 'method': 'notifications/unheard-of'}, {'jsonrpc': '2.0', 'id': 5, 'result': {}}]
    for message in silent:
        assert wire.send(message)[0] == 202
    assert run('mcp', '--server', loaded.url(), input='\n'.join(map(json.dumps, silent))).stdout == ''


def test_sessions(loaded):
    wire = Wire(loaded)
    assert wire.send(PING)[0] == 400, 'without a session'
    wire.begin()
    status, headers, _ = wire.send({'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': {'protocolVersion': LIVE}},
                                   Origin='https://app.example.org')
    assert status == 200 and headers['Access-Control-Expose-Headers'] == 'Mcp-Session-Id', 'or a page does not see it'
    assert wire.send(PING) [2] == {'jsonrpc': '2.0', 'id': PING['id'], 'result': {}}
    good = wire.session
    for wrong in ('x', good[:-1], good + '0', good[:-1] + ('1' if good[-1] == '0' else '0'), '0' * 64, ''):
        wire.session = wrong
        assert wire.send(PING, Mcp_Session_Id=wrong)[0] == 404, wrong
    wire.session = good
    status, _, _ = wire.send(PING, Authorization=f'Bearer {loaded.token_read}')
    assert status == 404, "another owner's session"
    assert wire.send(None, method='GET')[0] == 405 and wire.send(None, method='DELETE')[0] == 405


@pytest.mark.parametrize('headers, status', [
    ({'Origin': 'https://evil.example.org'}, 403), ({'Origin': 'null'}, 403), ({'Origin': 'http://localhost:1'}, 403),
    ({'Origin': ''}, 403), ({'Origin': 'https://app.example.org'}, 200), ({'Origin': 'same'}, 200),
    ({'Accept': 'text/html'}, 406), ({'Accept': None}, 200), ({'Accept': '*/*'}, 200), ({'Accept': 'application/json;q=1'}, 200),
    ({'Content-Type': 'text/plain'}, 415), ({'MCP-Protocol-Version': '1999-01-01'}, 400), ({'MCP-Protocol-Version': ''}, 400),
    ({'MCP-Protocol-Version': '2025-06-18'}, 200), ({'Host': 'evil.example.org'}, 421), ({'Authorization': None}, 401)])
def test_who_may_ask_over_http(loaded, headers, status):
    wire = Wire(loaded)
    wire.begin()
    if headers.get('Origin') == 'same':
        headers = {'Origin': f'http://127.0.0.1:{loaded.ports["http"]}'}
    assert wire.send(PING, **headers)[0] == status


def test_over_http_it_is_off_unless_told_otherwise(server):
    status, _, body = server.request('/api/mcp', body=PING)
    assert status == 404 and '--mcp' in json.loads(body)['error']['message']


def test_the_tools_are_also_plain_http(loaded):
    status, answer = loaded.get('/api/v1/tools')
    assert status == 200 and {tool['name'] for tool in answer['tools']} == {name for name, _, _ in CALLS}
    for name, arguments, part in CALLS:
        status, _, body = loaded.request(f'/api/v1/tools/{name}', body=arguments, method='POST')
        assert status == 200 and part in body.decode(), (name, body)
    for name, arguments, part in WRONG:
        status, _, body = loaded.request(f'/api/v1/tools/{name}', body=arguments, method='POST')
        assert status in (400, 404) and part in json.loads(body)['error']['message'], (name, arguments, body)
    assert loaded.request('/api/v1/tools/serch', body={})[0] == 404


def test_a_trace_of_many_spans_is_read_in_pieces(start_server):
    """What other tools overflow on: ten thousand spans, one parent, long names."""
    server = start_server()
    span = {'traceId': 'ab' * 16, 'name': 'n' * 300, 'startTimeUnixNano': '1700000000000000000', 'endTimeUnixNano': '1700000001000000000'}
    many = [{**span, 'spanId': f'{i + 1:016x}', 'parentSpanId': f'{1:016x}' if i else '',
             'attributes': [{'key': 'big', 'value': {'stringValue': 'v' * 2000}}]} for i in range(12000)]
    for at in range(0, len(many), 3000):
        body = {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'spans': many[at:at + 3000]}]}]}
        assert server.request('/v1/traces', 'otlp-http', body)[0] == 200

    def call(name, **arguments):
        status, _, body = server.request(f'/api/v1/tools/{name}', body={'trace_id': 'ab' * 16, **arguments})
        assert status == 200 and len(body) <= arguments.get('max_bytes', 16384) + 1, (status, body[:300])
        return json.loads(body)

    summary = call('trace_summary')
    assert summary['spans'] == 12000 and summary['total'] == 1 and not summary['truncated']
    tree = call('subtree', max_bytes=4096)
    assert tree['total'] == 12000 and tree['truncated'] and tree['next']
    seen = 0
    page = call('subtree', max_bytes=1000000, max_spans=10000)
    while True:
        seen += page['returned']
        if 'next' not in page:
            break
        page = call('subtree', max_bytes=1000000, max_spans=10000, cursor=page['next'])
    assert seen == 10000 and page['truncated'] and page['incomplete'] and page['total'] == 12000
    details = call('span_details', span_ids=[f'{i:016x}' for i in range(1, 60)], max_bytes=8192)
    assert details['returned'] < 59 and details['truncated'] and '(2000 bytes)' in json.dumps(details, ensure_ascii=False)


def test_cursors_of_tools_and_of_queries_are_not_mixed_up(loaded):
    def ask(path, **fields):
        status, _, body = loaded.request(path, body=fields)
        return status, json.loads(body)

    status, queried = ask('/api/query', query='{ }', limit=1)
    assert status == 200 and queried['cursor']
    status, searched = ask('/api/v1/tools/search', limit=1)
    assert status == 200 and searched['next']
    assert ask('/api/query', cursor=searched['next'])[0] == 410
    for tool in ('search', 'query', 'services'):
        assert ask(f'/api/v1/tools/{tool}', cursor=queried['cursor'])[0] == 404
    assert ask('/api/v1/tools/query', cursor=searched['next'])[0] == 404, "another tool's"
    assert ask('/api/query', query='{ }', id=searched['next'].split('.')[0])[0] == 400, 'nobody takes such a name'
    status, named = ask('/api/query', query='{ }', limit=1, id='tool-search-1')
    assert status == 200 and ask('/api/v1/tools/search', cursor=named['cursor'])[0] == 404
    assert ask('/api/query', cursor=queried['cursor'])[0] == ask('/api/v1/tools/search', cursor=searched['next'])[0] == 200


def test_failures_are_found_however_deep_and_what_is_too_large_says_what_to_ask(start_server):
    server = start_server()
    span = {'traceId': 'cd' * 16, 'startTimeUnixNano': '1700000000000000000', 'endTimeUnixNano': '1700000001000000000'}
    big = [{'key': f'k{i}', 'value': {'stringValue': 'v' * 900}} for i in range(200)]
    chain = [{**span, 'name': f'level {i}', 'spanId': f'{i + 1:016x}', 'parentSpanId': f'{i:016x}' if i else '',
              'status': {'code': 2} if i in (0, 9) else {},
              'events': [{'timeUnixNano': '1700000000000000001', 'name': 'e', 'attributes': big}] * (12 if i == 3 else 0)} for i in range(10)]
    assert server.request('/v1/traces', 'otlp-http', {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'spans': chain}]}]})[0] == 200

    def call(name, **arguments):
        status, _, body = server.request(f'/api/v1/tools/{name}', body=arguments)
        assert status == 200 and len(body) <= arguments.get('max_bytes', 16384) + 1, (status, body[:300])
        return json.loads(body)

    found = call('subtree', trace_id='cd' * 16, errors=True)
    assert [row['name'] for row in found['spans']] == ['level 0', 'level 9'] and 'all levels' in found['summary']
    found = call('subtree', trace_id='cd' * 16, errors=True, depth=4)
    assert found['total'] == 1 and '1 more failed deeper' in found['summary']
    details = dict(trace_id='cd' * 16, span_ids=[f'{4:016x}'])
    told = call('span_details', **details)['spans'][0]['omitted']
    wanted = int(told.split('max_bytes of ')[1].split(',')[0])
    row = call('span_details', **details, max_bytes=wanted)['spans'][0]
    assert 0 < len(row['events']) < row['events_total'] == 12

    names = [f'{"column" * 30}{i}' for i in range(60)]
    text = 'From s In spans Select ' + ', '.join(f's.name As {name}' for name in names)
    page = call('query', query=text, max_bytes=4096)
    assert page['columns'][-1] == '… (60 columns)'
    wanted = int(page['rows'][0]['omitted'].split('max_bytes of ')[1].split(',')[0])
    page = call('query', query=text, max_bytes=wanted, limit=1)
    assert list(page['rows'][0]) == names
    assert 'omitted' in call('query', cursor=page['next'], max_bytes=2048)['rows'][0]
