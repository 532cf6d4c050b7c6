"""Queries through the API and the command line: pages, streams, cancelling, budgets, and the description of it all."""
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

import query_fixture
from messages import eventually
from server import Server

NDJSON = {'Accept': 'application/x-ndjson'}
# Every pair of spans there is, by value: as much work as one wants.
HEAVY = 'From a In spans Join b In spans On a.service == b.service Join c In spans On b.service == c.service Select COUNT'


@pytest.fixture(scope='module')
def shop(causet, tmp_path_factory):
    with Server(causet, tmp_path_factory.mktemp('query')) as server:
        query_fixture.load(server)
        yield server


def post(server, body, path='/api/query', **options):
    status, headers, answer = server.request(path, body=body, **options)
    return status, headers, answer


def ask(server, **body):
    status, _, answer = post(server, body)
    return status, json.loads(answer)


# --- the description ---

class Description:
    """openapi.json as the server hands it out, and whether an answer is as it says."""

    def __init__(self, server):
        status, self.document = server.get('/api/openapi.json')
        assert status == 200
        self.seen = set()

    def check(self, method, path, status, body, type_='application/json'):
        responses = self.document['paths'][path][method.lower()]['responses']
        assert str(status) in responses, f'{method} {path} may not answer {status}'
        self.seen.add((method, path, str(status)))
        self.valid(responses[str(status)]['content'][type_]['schema'], body, f'{method} {path}')

    def valid(self, schema, value, where):
        if '$ref' in schema:
            name = schema['$ref'].removeprefix('#/components/schemas/')
            return self.valid(self.document['components']['schemas'][name], value, f'{where} {name}')
        if 'oneOf' in schema:
            fits = 0
            for one in schema['oneOf']:
                try:
                    self.valid(one, value, where)
                    fits += 1
                except AssertionError:
                    pass
            assert fits == 1, f'{where}: {value} fits {fits} of the forms'
        kinds = {'object': dict, 'array': list, 'string': str, 'boolean': bool, 'integer': int, 'number': (int, float)}
        types = schema.get('type', [])
        types = [types] if isinstance(types, str) else types
        if types:
            assert any(isinstance(value, kinds[t]) and (t == 'boolean' or not isinstance(value, bool)) for t in types), \
                f'{where}: {value!r} is no {types}'
        assert value in schema.get('enum', [value]), f'{where}: {value!r}'
        if isinstance(value, dict) and 'properties' in schema:
            for name in schema.get('required', []):
                assert name in value, f'{where}: no {name}'
            for name, inside in value.items():
                assert name in schema['properties'] or schema.get('additionalProperties', True), f'{where}: {name} is not described'
                if name in schema['properties']:
                    self.valid(schema['properties'][name], inside, f'{where}.{name}')
        if isinstance(value, list) and 'items' in schema:
            for one in value:
                self.valid(schema['items'], one, where)


def test_answers_are_as_the_description_says(shop, start_server, causet):
    described = Description(shop)

    def check(method, path, body=None, **options):
        status, _, answer = shop.request(options.pop('at', path), body=body, method=method, **options)
        described.check(method, path, status, json.loads(answer))
        return status, json.loads(answer)

    queries = ['{ status = error }', 'From s In spans Select s.service, COUNT', 'From t In traces Select t.services, t.time, t.duration',
               'From s In spans Select s.span.rows, s.kind, s.status', 'From s In { resource.service.name = "sampled" } Select COUNT']
    for query in queries:
        assert check('POST', '/api/query', {'query': query})[0] == 200
    status, page = check('POST', '/api/query', {'query': 'From s In spans Select s.name', 'limit': 5})
    assert check('POST', '/api/query', {'cursor': page['cursor']})[0] == 200
    assert check('POST', '/api/query', {'query': '{ }', 'explain': True})[0] == 200
    assert check('POST', '/api/query', {'query': '{ name = }'})[0] == 400
    assert check('POST', '/api/query', {'query': 'From s In spanz Select s.name'})[0] == 400
    assert check('POST', '/api/query', {'question': '{ }'})[0] == 400
    assert check('POST', '/api/query', {'cursor': 'nothing.5'})[0] == 410
    assert check('POST', '/api/query', {'query': 'From f In csv("/etc/passwd") Select COUNT'})[0] == 403
    assert check('GET', '/api/query')[0] == 200
    assert check('DELETE', '/api/query/{id}', at='/api/query/nothing')[0] == 404
    assert check('GET', '/api/tracepoints')[0] == 200
    assert check('POST', '/api/tracepoints', {'text': 'Tracepoint Described = { }'})[0] == 200
    assert check('POST', '/api/tracepoints', {'text': 'Tracepoint = { }'})[0] == 400
    assert check('DELETE', '/api/tracepoints/{name}', at='/api/tracepoints/Described')[0] == 200
    assert check('DELETE', '/api/tracepoints/{name}', at='/api/tracepoints/Described')[0] == 404
    assert check('GET', '/api/v1/tools')[0] == 200
    assert check('POST', '/api/v1/tools/{name}', {'limit': 2}, at='/api/v1/tools/services')[0] == 200
    assert check('POST', '/api/v1/tools/{name}', {'limits': 2}, at='/api/v1/tools/services')[0] == 400
    assert check('POST', '/api/v1/tools/{name}', {}, at='/api/v1/tools/serviced')[0] == 404
    assert check('POST', '/api/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'initialize'})[0] in (200, 404)
    rule = {'name': 'described', 'query': '{ status = error }', 'threshold': 0, 'over': '31d', 'webhook': 'http://127.0.0.1:1/', 'labels': {'a': 'b'}}
    assert check('POST', '/api/v1/alerts', rule)[0] == 200
    assert check('POST', '/api/v1/alerts', {'rules': [rule]})[0] == 200
    assert check('POST', '/api/v1/alerts', {**rule, 'query': '{ name = }'})[0] == 400
    assert check('POST', '/api/v1/alerts', {**rule, 'when': '~'})[0] == 400
    eventually(lambda: check('GET', '/api/v1/alerts')[1]['rules'][0]['health'] == 'ok')
    assert check('GET', '/api/v1/alerts', at='/api/v1/alerts?name=nothing')[0] == 404
    assert check('POST', '/api/v1/alerts/test', rule)[0] == 200
    assert check('POST', '/api/v1/alerts/test', rule, at='/api/v1/alerts/test?send=true')[0] == 200
    assert check('DELETE', '/api/v1/alerts/{name}', at='/api/v1/alerts/described')[0] == 200
    assert check('DELETE', '/api/v1/alerts/{name}', at='/api/v1/alerts/described')[0] == 404
    status, _, lines = post(shop, {'query': queries[1]}, headers=NDJSON)
    for line in lines.splitlines():
        described.check('POST', '/api/query', 200, json.loads(line), 'application/x-ndjson')
    # Every operation was tried, and every request we send is described.
    assert {(m, p) for m, p, _ in described.seen} == {(m.upper(), p) for p, item in described.document['paths'].items() for m in item
                                                     if p != '/api/openapi.json'}
    described.valid({'$ref': '#/components/schemas/QueryRequest'}, {'query': '{}', 'limit': 5, 'start': '-1h', 'id': 'a'}, 'request')


def test_the_description_names_every_route_of_the_query_api(causet, shop):
    done = subprocess.run([causet, 'serve', '--print-routes'], capture_output=True, text=True, check=True)
    ours = {(r['method'], r['path']) for r in map(json.loads, done.stdout.splitlines())
            if re.match(r'/api/(query|tracepoints|openapi|mcp|v1/tools|v1/alerts)', r['path'])}
    paths = Description(shop).document['paths']
    assert ours == {(method.upper(), path) for path, item in paths.items() for method in item}


# --- pages and streams ---

def test_pages_together_are_the_stream(shop):
    query = 'From s In spans Select s.trace_id, s.span_id, s.duration'
    status, page = ask(shop, query=query, limit=7)
    rows, pages = page['results'][0]['rows'], 1
    while 'cursor' in page:
        status, page = ask(shop, cursor=page['cursor'], limit=7)
        assert status == 200 and len(page['results'][0]['rows']) <= 7
        rows += page['results'][0]['rows']
        pages += 1
    _, _, lines = post(shop, {'query': query}, headers=NDJSON)
    lines = [json.loads(line) for line in lines.splitlines()]
    assert sorted(line['row'] for line in lines if 'row' in line) == sorted(rows)
    assert pages == -(-len(rows) // 7) and len(rows) > 50
    assert 'id' in lines[0] and lines[1]['columns'][2] == {'name': 'duration', 'type': 'duration'} and 'end' in lines[-1]


def test_a_page_does_not_change_while_events_arrive(start_server):
    server = start_server()
    query_fixture.load(server)
    _, first = ask(server, query='From s In spans Select s.span_id', limit=10)
    server.request('/v1/traces', port='otlp-http', body=query_fixture.otlp(), headers={'X': '1'})
    seen = 10
    while 'cursor' in first:
        _, first = ask(server, cursor=first['cursor'], limit=50)
        seen += len(first['results'][0]['rows'])
    assert seen == first['stats']['rowsOut']


def test_results_of_several_queries_come_apart(shop):
    _, page = ask(shop, query='From s In { status = error } Select COUNT;\nnamed: From t In traces Select COUNT;\nFrom t In traces Select t.root', limit=3)
    assert [(r['result'], len(r['rows'])) for r in page['results']] == [(0, 1), (1, 2)]


def test_a_range_can_be_given_with_the_question(shop):
    _, page = ask(shop, query='From s In spans Select COUNT', start='2026-01-01T00:01:00Z', end='2026-01-01T00:02:00Z')
    assert page['results'][0]['rows'] == [[8]]
    _, page = ask(shop, query='From s In spans Over range "2026-01-01T00:01:03Z" .. "2026-01-01T00:02:00Z" Select COUNT', start='-1h')
    assert page['results'][0]['rows'] == [[3]]  # what the query says counts first


def test_tempos_precedence_is_a_dialect(shop):
    query = '{ name = "GET /admin" } || { name = "Payment.Charge" } && { name = "POST /checkout" }'
    ours, tempos = (len(ask(shop, query=query, dialect=d)[1]['results'][0]['rows']) for d in ('causetql', 'traceql'))
    assert (ours, tempos) == (5, 4)


# --- limits ---

@pytest.fixture(scope='module')
def small(causet, tmp_path_factory):
    """A server on which little is allowed, with enough traces to take a while."""
    with Server(causet, tmp_path_factory.mktemp('small'), '--query-time', '2s', '--query-memory', '8MiB', '--queries-per-owner', '2') as server:
        query_fixture.load(server)
        spans = query_fixture.otlp()
        for i in range(20):
            for group in spans['resourceSpans']:
                for span in group['scopeSpans'][0]['spans']:
                    span['traceId'] = f'{i + 1:08d}' + span['traceId'][8:]
            server.request('/v1/traces', port='otlp-http', body=spans)
        yield server


def test_a_query_over_its_time_stops_and_says_what_to_change(small):
    began = time.monotonic()
    status, answer = ask(small, query=HEAVY, memory='1GiB', timeout='300ms')
    assert status == 422 and answer['error']['code'] in ('over_time', 'over_memory'), answer
    assert 'shorter range' in answer['error']['message'] or 'fewer' in answer['error']['message']
    assert time.monotonic() - began < 60


def test_a_query_over_its_memory_stops_and_says_what_to_change(small):
    status, answer = ask(small, query='From a In spans Join b In spans On a.kind == b.kind Select a.trace_id, b.trace_id, a.span_id, b.span_id OrderBy a.trace_id',
                         memory='1MiB')
    assert status == 422 and answer['error']['code'] == 'over_memory', answer
    assert 'memory' in answer['error']['message']


def running(server):
    return server.get('/api/query')[1]['queries']


def test_a_query_is_cancelled_by_its_id(start_server):
    server = start_server('--query-time', '60s')
    slow_load(server)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(server, query=HEAVY, id='mine')))
    thread.start()
    eventually(lambda: [q['id'] for q in running(server)] == ['mine'] or answers)
    if not answers:
        assert running(server)[0]['query'] == HEAVY
        status, _, _ = server.request('/api/query/mine', method='DELETE')
        assert status == 202
    thread.join(30)
    assert answers and answers[0][0] == 409 and answers[0][1]['error']['code'] == 'cancelled', answers
    eventually(lambda: running(server) == [])  # it answers, and then it goes


def slow_load(server):
    """Some thousand spans: HEAVY takes minutes on them."""
    spans = query_fixture.otlp()
    for i in range(60):
        for group in spans['resourceSpans']:
            for span in group['scopeSpans'][0]['spans']:
                span['traceId'] = f'{i + 1:08d}' + span['traceId'][8:]
        server.request('/v1/traces', port='otlp-http', body=spans)


def test_a_client_that_goes_away_ends_its_query(start_server):
    server = start_server('--query-time', '60s')
    slow_load(server)
    for headers in ({}, NDJSON):
        connection = http.client.HTTPConnection('127.0.0.1', server.ports['http'])
        connection.request('POST', '/api/query', json.dumps({'query': HEAVY}), {'Content-Type': 'application/json', **headers})
        eventually(lambda: len(running(server)) == 1)
        connection.sock.close()
        connection.close()
        eventually(lambda: running(server) == [])


def test_an_owner_has_so_many_queries_at_once(start_server):
    server = start_server('--query-time', '60s', '--queries-per-owner', '2')
    slow_load(server)
    threads = [threading.Thread(target=ask, args=(server,), kwargs={'query': HEAVY, 'id': f'q{i}'}) for i in range(2)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(running(server)) == 2)
    assert ask(server, query='{ }', id='q0')[0] in (409, 429)
    status, answer = ask(server, query='{ }')
    assert status == 429 and 'cancel one' in answer['error']['message']
    for i in range(2):
        server.request(f'/api/query/q{i}', method='DELETE')
    for thread in threads:
        thread.join(30)
    assert ask(server, query='{ }')[0] == 200


def test_no_thread_of_a_heavy_query_has_less_priority_than_others(start_server):
    """One that the kernel stops inside of a lock would make ingest wait; what it does to others is measured by bench/beside."""
    server = start_server('--query-time', '1h')
    slow_load(server)
    before = threads_of(server)
    thread = threading.Thread(target=ask, args=(server,), kwargs={'query': HEAVY, 'id': 'heavy'})
    thread.start()
    eventually(lambda: set(threads_of(server)) - set(before))
    for _ in range(5):
        assert ask(server, query='{ status = error }')[0] == 200
        assert all(policy == os.SCHED_OTHER for policy in threads_of(server).values())
    server.request('/api/query/heavy', method='DELETE')
    thread.join(30)


def test_a_stream_that_is_not_read_frees_its_place(start_server):
    """As soon as the query's time is over, though the client is still there."""
    server = start_server('--query-time', '2s')
    spans = query_fixture.otlp()
    filler = 'x' * 20000
    for i in range(40):
        for group in spans['resourceSpans']:
            for span in group['scopeSpans'][0]['spans']:
                span['traceId'] = f'{i + 1:08d}' + span['traceId'][8:]
                span['name'] = f'{i} {filler}'
        assert server.request('/v1/traces', port='otlp-http', body=spans)[0] == 200
    connection = http.client.HTTPConnection('127.0.0.1', server.ports['http'])
    connection.request('POST', '/api/query', json.dumps({'query': 'From a In spans Select a.name, a.traceId, a.name', 'id': 'slow'}), {'Content-Type': 'application/json', **NDJSON})
    time.sleep(3)  # more than its time
    eventually(lambda: running(server) == [])
    last = connection.getresponse().read().splitlines()[-1]
    assert json.loads(last)['error']['code'] == 'over_time', last[-300:]
    connection.close()


def threads_of(server):
    """{thread: scheduling policy}"""
    found = {}
    for task in pathlib.Path(f'/proc/{server.process.pid}/task').iterdir():
        try:
            found[task.name] = os.sched_getscheduler(int(task.name))
        except OSError:
            pass  # it has just ended
    return found


def test_the_server_stops_although_a_query_runs(start_server):
    server = start_server('--query-time', '1h', '--drain', '0s')
    slow_load(server)
    thread = threading.Thread(target=lambda: pytest.raises(Exception, ask, server, query=HEAVY))
    thread.start()
    eventually(lambda: len(running(server)) == 1)
    server.stop()
    thread.join(30)


# --- the command line ---

def test_server_and_folder_answer_the_same(run, shop):
    data = shop.folder / 'data'
    for query in ('{ status = error }', 'From s In spans Select s.service, COUNT, AVG(s.duration)', 'From t In traces Select t.root, t.services'):
        for form in ((), ('--json',), ('--csv',)):
            server, folder = run('query', query, *form, server=shop), run('query', query, *form, '--data', data)
            assert server.returncode == folder.returncode == 0, server.stderr + folder.stderr
            assert sorted(server.stdout.splitlines()) == sorted(folder.stdout.splitlines()) and server.stderr == folder.stderr
    explain = run('explain', '{ } >> { }', server=shop), run('explain', '{ } >> { }', '--data', data)
    assert explain[0].stdout == explain[1].stdout != ''


def test_a_file_of_ones_own_is_sent_along(run, shop, tmp_path):
    owners = tmp_path / 'owners "1".csv'
    owners.write_text(query_fixture.OWNERS)
    query = (f"From f In csv('{owners}') Join s In {{ status = error }} On s.service == f.service "
             f"Join g In CSV('{owners}') On g.service == f.service Select g.owner, COUNT As n OrderBy n Desc, g.owner")
    server, folder = run('query', query, '--csv', server=shop), run('query', query, '--csv', '--data', shop.folder / 'data')
    assert server.stdout == folder.stdout == 'owner,n\nweb,2\nmoney,1\n', server.stderr + folder.stderr
    missing = run('query', 'From f In csv("nowhere.csv") Select f.a', server=shop)
    assert missing.returncode == 1 and 'nowhere.csv: No such file' in missing.stderr
    # What only looks like one is not read.
    assert run('query', '{ name = "csv(\\"nowhere.csv\\")" } // csv("nowhere.csv")', server=shop).returncode == 3
    owners.write_bytes(b'a\n' + b'x' * (17 << 20))
    assert 'not sent with a query' in run('query', query, server=shop).stderr
    # The server reads what was sent and nothing else.
    status, answer = ask(shop, query='From f In csv("a.csv") Select f.n', files={'a.csv': 'n\n1\n2\n', 'b.csv': ''})
    assert status == 200 and answer['results'][0]['rows'] == [[1], [2]]
    assert ask(shop, query='From f In csv("/etc/passwd") Select f.n', files={'a.csv': 'n\n1\n'})[0] == 403
    assert ask(shop, query='From f In csv("b.csv") Select f.n', files={'b.csv': ''})[0] == 400
    for wrong in (['a'], {'a.csv': 1}, {str(i): '' for i in range(17)}, 'a'):
        assert ask(shop, query='{ }', files=wrong)[0] == 400


def test_rows_so_far_are_of_rows(run, shop, tmp_path):
    """What looks at all rows so far is refused where there are no rows, or their weights would be lost."""
    for query, why in (('From s In spans GroupBy s.duration Select s.duration, MovingAverage(s.duration)', 'here are groups'),
                       ('From s In spans GroupBy s.service Select s.service, MovingAverage(1)', 'here are groups'),
                       ('From s In spans GroupBy s.service Select s.service OrderBy MovingAverage(1)', 'here are groups'),
                       ('From a In spans Join b In spans On b -> a && MovingAverage(b.duration) > 1s Select COUNT', 'all rows so far'),
                       ('{ MovingAverage(duration) > 1s }', 'all rows so far'),
                       ('From s In spans Sample 0.5 Let m = MovingAverage(s.duration) Where s.duration > m Select COUNT', 'were sampled')):
        said = run('query', query, server=shop)
        assert said.returncode == 1 and why in said.stderr, (query, said.stderr)
    numbers = tmp_path / 'numbers.csv'
    numbers.write_text('a,time\n1,9\n3,8\n8,7\n')
    asked = run('query', f'From o In csv("{numbers}") Select o.a, MovingAverage(o.a) As m', '--csv', server=shop)
    assert asked.stdout == 'a,m\n1,1\n3,2\n8,4\n', asked.stderr
    inner = '(From s In { kind = server } OrderBy s.time, s.span_id, s.trace_id Select s.service, s.time)'
    outer = run('query', f'From x In {inner} Sample sketch(x.service) Select x.service, COUNT As n', '--csv', '--data', shop.folder / 'data')
    plain = run('query', 'From s In { kind = server } Select s.service, COUNT As n', '--csv', '--data', shop.folder / 'data')
    counts = lambda said: {line.split(',')[0]: int(line.split(',')[1]) for line in said.stdout.splitlines()[1:]}
    assert counts(outer) == {service: n.bit_length() for service, n in counts(plain).items() if service != 'sampled'}, outer.stderr


def test_what_is_wrong_is_shown_with_its_line_and_a_caret(run, shop, tmp_path):
    wrong = tmp_path / 'wrong.cq'
    wrong.write_text('From s In spans\nWhere s.duration = "x" + 1\nSelect s.name\n')
    said = run('query', wrong, server=shop)
    offline = run('query', wrong, '--data', shop.folder / 'data')
    assert said.returncode == 1 and said.stdout == '' and said.stderr == offline.stderr
    assert said.stderr.startswith(f'{wrong}:2:') and '^' in said.stderr and 'Where s.duration' in said.stderr
    assert run('query', '-', server=shop, input='{ status = error').returncode == 1


def test_exit_codes_say_how_it_went(run, shop):
    assert run('query', '{ name = "nothing" }', server=shop).returncode == 3
    assert run('query', server=shop).returncode == 2
    assert run('query', '{ }', '--json', '--csv', server=shop).returncode == 2
    assert run('query', '{ }', '--start', 'soon', server=shop).returncode == 2
    assert run('query', '{ }', '--data', '/nowhere').returncode == 3
    assert run('query', '{ }', '--server', 'http://127.0.0.1:1').returncode == 1
    limited = run('query', '{ }', '--limit', '2', '--json', server=shop)
    assert limited.returncode == 0 and len(limited.stdout.splitlines()) == 2 and 'there are more rows' in limited.stderr


@pytest.mark.parametrize('place', ('server', 'folder'))
def test_ctrl_c_cancels_on_the_server_too(causet, start_server, place):
    server = start_server('--query-time', '1h')
    slow_load(server)
    at = ['--server', server.url()] if place == 'server' else ['--data', server.folder / 'data']
    process = subprocess.Popen([causet, 'query', *at, HEAVY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if place == 'server':
        eventually(lambda: len(running(server)) == 1)
    else:
        time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and 'cancelled' in said, said
    eventually(lambda: running(server) == [])


def test_rules_that_are_broken_are_listed_with_their_traces(run, shop, tmp_path):
    rules = tmp_path / 'rules.cq'
    rules.write_text('''
# services that ask the database
askers: From q In { resource.service.name = "db" } Join c In { span.db.system != nil } On c => q Select q.trace_id, c.service;
only_cart_asks_the_database: From a In askers Where a.service != "cart" Select a.trace_id, a.service;
every_root_has_a_service: { parent_id = nil && resource.service.name = nil };
no_card_numbers: { .card.number != nil }
''')
    for at in ({'server': shop}, {}):
        more = () if at else ('--data', shop.folder / 'data')
        done = run('check', rules, *more, **at)
        assert done.returncode == 1, done.stderr
        assert done.stdout.splitlines() == ['BROKEN  only_cart_asks_the_database: 1', f'  {query_fixture.trace_id(6)}  service=frontend',
                                            'ok      every_root_has_a_service', 'ok      no_card_numbers']
        assert '2 of 3 rules hold' in done.stderr
        row = json.loads(run('check', '--json', rules, *more, **at).stdout)
        assert row == {'rule': 'only_cart_asks_the_database', 'traceId': query_fixture.trace_id(6),
                       'row': {'trace_id': query_fixture.trace_id(6), 'service': 'frontend'}}
    rules.write_text('none: { name = "nothing" }')
    assert run('check', rules, server=shop).returncode == 0
    rules.write_text('bad: { name = ')
    assert run('check', rules, server=shop).returncode == 2
    rules.write_text('// nothing')
    assert run('check', rules, server=shop).returncode == 2


def test_tracepoints_are_kept_and_used(run, start_server, tmp_path):
    server = start_server()
    query_fixture.load(server)
    data = ('--data', server.folder / 'data')
    assert run('tracepoints', 'define', 'Tracepoint Mine = { status = error } Exports { who = resource.service.name }', server=server).returncode == 0
    used = run('query', 'From m In Mine Select m.who, COUNT OrderBy m.who', '--csv', server=server)
    assert used.stdout.split() == ['who,COUNT', 'frontend,2', 'payment,1'], used.stderr
    # Another process changes it: the server sees it with the next query.
    assert run('tracepoints', 'define', 'Tracepoint Mine = { status = error && kind = server }', *data).returncode == 0
    assert run('query', 'From m In Mine Select COUNT', '--csv', server=server).stdout.split() == ['COUNT', '2']
    saved = tmp_path / 'all.cq'
    saved.write_text(run('tracepoints', 'export', server=server).stdout)
    listed = [json.loads(line) for line in run('tracepoints', 'list', '--json', *data).stdout.splitlines()]
    assert {row['name'] for row in listed} >= {'Mine', 'DN.DataTransferProtocol'}
    assert run('tracepoints', 'drop', *[row['name'] for row in listed], server=server).returncode == 0
    assert run('tracepoints', 'list', server=server).returncode == 3
    wrong = run('query', 'From m In Mine Select COUNT', server=server)
    assert wrong.returncode == 1 and 'Mine' in wrong.stderr
    assert run('tracepoints', 'import', saved, *data).returncode == 0
    again = [json.loads(line) for line in run('tracepoints', 'list', '--json', server=server).stdout.splitlines()]
    assert [(r['name'], r['text']) for r in again] == [(r['name'], r['text']) for r in listed]
    bad = run('tracepoints', 'define', 'Tracepoint X = { name = }', server=server)
    assert bad.returncode == 1 and '^' in bad.stderr
    assert run('tracepoints', 'drop', 'Nothing', server=server).returncode == 3


def test_tracepoints_belong_to_who_defined_them(causet, start_server):
    server = start_server('--auth')
    data = server.folder / 'data'
    tokens = {name: subprocess.run([causet, 'token', 'add', name, '--roles', roles, '--data', data], capture_output=True, text=True,
                                   check=True).stdout.strip()
              for name, roles in (('alice', 'query'), ('bob', 'query'), ('root', 'admin'))}

    def define(who, text):
        def status():
            answer = server.request('/api/tracepoints', body={'text': text}, headers={'Authorization': f'Bearer {tokens[who]}'})[0]
            return answer if answer != 401 else None  # a token counts a second after it was made
        return eventually(status)

    assert define('alice', 'Tracepoint A = { }') == 200
    assert define('bob', 'Tracepoint B = { }; Tracepoint A = { status = error }') == 403
    assert define('root', 'Tracepoint A = { status = ok }') == 200
    _, _, answer = server.request('/api/tracepoints', headers={'Authorization': f'Bearer {tokens["bob"]}'})
    assert [(t['name'], t['owner']) for t in json.loads(answer)['tracepoints']] == [('A', 'alice')]


def test_a_server_in_memory_says_that_it_cannot(start_server):
    status, answer = ask(start_server('--store', 'memory'), query='{ }')
    assert status == 501 and 'disk' in answer['error']['message']
