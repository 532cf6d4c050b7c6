"""Who may do what: every route with every role and every kind of token, over HTTP and gRPC.

The routes come from the program itself (`causet serve --print-routes`), so a new one is tested without being listed here.
"""
import http.client
import json
import socket
import subprocess
import time

import grpc
import pytest

from messages import eventually
from server import Server

ROLES = ('ingest', 'read', 'query', 'admin')
STRANGER = 'causet_' + 'A' * 43  # looks like a token, is none


def token(causet, data, name, roles, *more):
    done = subprocess.run([causet, 'token', 'add', name, '--roles', roles, '--data', data, *more],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope='module')
def guarded(causet, tmp_path_factory):
    """(server, {kind of bearer: (authorization header or None, roles or None)})"""
    folder = tmp_path_factory.mktemp('access')
    data = folder / 'data'
    bearers = {role: (f'Bearer {token(causet, data, f"only-{role}", role)}', {role}) for role in ROLES}
    everything = token(causet, data, 'everything', 'all')
    bearers['all roles'] = (f'Bearer {everything}', set(ROLES))
    bearers['bearer in lower case'] = (f'bearer {everything}', set(ROLES))
    revoked = token(causet, data, 'gone', 'all')
    subprocess.run([causet, 'token', 'revoke', 'gone', '--data', data], check=True, capture_output=True)
    expired = token(causet, data, 'late', 'all', '--expires', '1s')
    bearers.update({
        'no token': (None, None),
        'a stranger': (f'Bearer {STRANGER}', None),
        'revoked': (f'Bearer {revoked}', None),
        'expired': (f'Bearer {expired}', None),
        'one character less': (f'Bearer {everything[:-1]}', None),
        'one character more': (f'Bearer {everything}A', None),
        'one character other': (f'Bearer {everything[:-1]}{"B" if everything[-1] != "B" else "C"}', None),
        'another case': (f'Bearer {everything.swapcase()}', None),
        'no scheme': (everything, None),
        'another scheme': (f'Basic {everything}', None),
        'empty': ('Bearer', None),
        'very long': ('Bearer ' + 'x' * 8000, None),
    })
    time.sleep(1.1)  # until 'late' is
    with Server(causet, folder, '--auth', '--mcp') as server:
        yield server, bearers


def routes_of(causet):
    done = subprocess.run([causet, 'serve', '--print-routes'], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def expected(role, roles):
    """(status, what WWW-Authenticate says); 200 stands for being let in."""
    if role is None:
        return 200, None
    if roles is None:
        return 401, 'Bearer realm="causet"'
    if role in roles or 'admin' in roles:
        return 200, None
    return 403, 'insufficient_scope'


def ask_http(connection, route, authorization):
    """As `expected`: what a route answers to one bearer.  Any answer of the route itself counts as being let in."""
    headers = {'Authorization': authorization} if authorization is not None else {}
    body = None
    if route['method'] == 'POST':
        body, headers['Content-Type'] = b'{}', 'application/json'
    connection.request(route['method'], route['path'].replace('{id}', '5' * 32), body, headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status in (401, 403):
        return answer.status, answer.headers.get('WWW-Authenticate', '')
    known = answer.status != 405 and (answer.status != 404 or '{' in route['path'])
    return (200 if known else answer.status), None


def is_grpc(route):
    """/package.Service/Method"""
    return route['method'] == 'POST' and '.' in route['path'].split('/')[1]


def ask_grpc(channel, route, authorization):
    """As ask_http.  What a method says about an empty question counts as being let in; that there is none does not."""
    call = channel.unary_stream(route['path'], request_serializer=None, response_deserializer=None)
    metadata = [('authorization', authorization)] if authorization is not None else []
    try:
        list(call(b'', metadata=metadata, timeout=30))
        return 200, None
    except grpc.RpcError as error:
        says = {grpc.StatusCode.UNAUTHENTICATED: (401, 'Bearer realm="causet"'),
                grpc.StatusCode.PERMISSION_DENIED: (403, 'insufficient_scope'),
                grpc.StatusCode.INVALID_ARGUMENT: (200, None)}
        return says.get(error.code(), (error.code(), error.details()))


def test_every_route_with_every_role_and_token(causet, guarded):
    server, bearers = guarded
    routes = routes_of(causet)
    assert {'/live', '/metrics', '/v1/traces', '/api/v1/traces'} <= {route['path'] for route in routes}
    assert any(is_grpc(route) and port == 'tempo' for route in routes for port in route['ports'])
    asked, wrong = 0, []
    for route in routes:
        for port in route['ports']:
            connection = http.client.HTTPConnection('127.0.0.1', server.ports[port], timeout=60)
            channel = grpc.insecure_channel(f'127.0.0.1:{server.ports[port]}')
            for kind, (authorization, roles) in bearers.items():
                if is_grpc(route):
                    got = ask_grpc(channel, route, authorization)
                else:
                    got = ask_http(connection, route, authorization)
                want = expected(route['role'], roles)
                asked += 1
                if got[0] != want[0] or (want[1] or '') not in (got[1] or ''):
                    wrong.append(f'{route["method"]} {route["path"]} on {port}, {kind}: {got}, not {want}')
            connection.close()
            channel.close()
    assert not wrong, '\n'.join(wrong)
    assert asked >= len(routes) * len(bearers)


def test_every_role_is_needed_by_some_route_or_known(causet):
    assert {route['role'] for route in routes_of(causet)} <= {None, *ROLES}


def test_what_is_open_says_nothing_about_the_data(guarded):
    server, _ = guarded
    for path in ('/live', '/ready'):
        status, _, body = server.request(path)
        assert status == 200 and len(body) < 20


def test_without_authentication_everybody_on_this_machine_is_let_in(causet, start_server):
    server = start_server('--mcp')
    for route in routes_of(causet):
        port = route['ports'][-1]
        if is_grpc(route):
            continue
        connection = http.client.HTTPConnection('127.0.0.1', server.ports[port], timeout=60)
        assert ask_http(connection, route, None)[0] == 200, route
        connection.close()


def test_a_running_server_learns_of_tokens_and_revocations(causet, guarded):
    server, _ = guarded
    data = server.folder / 'data'
    fresh = token(causet, data, 'fresh', 'read')
    header = {'Authorization': f'Bearer {fresh}'}

    def status():
        return server.request('/api/v1/services', headers=header)[0]

    eventually(lambda: status() == 200, why='a new token is not accepted')
    subprocess.run([causet, 'token', 'revoke', 'fresh', '--data', data], check=True, capture_output=True)
    began = time.monotonic()
    eventually(lambda: status() == 401, why='a revoked token is still accepted')
    print(f'revoked after {time.monotonic() - began:.2f} s')


@pytest.mark.parametrize('arguments', [['--listen', '0.0.0.0'], ['--listen', '::'], ['--listen', '192.0.2.1']])
def test_an_address_others_can_reach_is_refused_without_authentication(run, tmp_path, arguments):
    refused = run('serve', '--data', tmp_path / 'data', *arguments)
    assert refused.returncode == 2
    assert '--auth' in refused.stderr and '--insecure' in refused.stderr
    assert not (tmp_path / 'data').exists()


@pytest.mark.parametrize('excuse', ['--auth', '--insecure'])
def test_it_is_served_with_authentication_or_when_told_so(start_server, excuse):
    server = start_server('--listen', '0.0.0.0', excuse)
    assert server.request('/ready')[0] == 200
    assert server.request('/api/v1/services')[0] == (401 if excuse == '--auth' else 200)


def raw(port, request):
    """Status line and headers of one HTTP/1.1 answer."""
    with socket.create_connection(('127.0.0.1', port), timeout=60) as s:
        s.sendall(request.encode())
        answer = b''
        while b'\r\n\r\n' not in answer:
            more = s.recv(65536)
            assert more, answer
            answer += more
    return answer.decode()


HOSTS = {
    'localhost': 200, '127.0.0.1': 200, '127.0.0.1:16686': 200, '[::1]:1': 200, 'LOCALHOST:80': 200,
    'app.localhost': 200, 'known.example': 200, 'evil.example': 421, '127.0.0.1.evil.example': 421,
    'localhost.evil.example': 421, 'evil.example:16686': 421, '': 421,
}


def test_a_web_page_cannot_pretend_to_be_this_machine(start_server):
    server = start_server('--hosts', 'known.example')
    for host, status in HOSTS.items():
        for port in server.ports.values():
            answer = raw(port, f'GET /ready HTTP/1.1\r\nHost: {host}\r\n\r\n')
            assert answer.startswith(f'HTTP/1.1 {status} '), (host, answer)


def preflight(server, origin):
    return raw(server.ports['http'], 'OPTIONS /api/v1/traces HTTP/1.1\r\nHost: localhost\r\n'
               f'Origin: {origin}\r\nAccess-Control-Request-Method: GET\r\n'
               'Access-Control-Request-Headers: authorization\r\n\r\n').lower()


def test_other_origins_are_told_nothing_by_default(server):
    answer = preflight(server, 'https://app.example.org')
    assert 'access-control-' not in answer and not answer.startswith('http/1.1 2')
    plain = raw(server.ports['http'], 'GET /ready HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example.org\r\n\r\n')
    assert 'access-control-' not in plain.lower()


def test_a_configured_origin_is_let_in_and_no_other(start_server):
    server = start_server('--cors-origins', 'https://app.example.org')
    answer = preflight(server, 'https://app.example.org')
    assert answer.startswith('http/1.1 204') and 'access-control-allow-origin: https://app.example.org' in answer
    assert 'access-control-' not in preflight(server, 'https://evil.example.org')
