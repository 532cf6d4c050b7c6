"""`causet serve` as a process: settings, signals, the service manager's protocol, the routes that need no data."""
import json
import os
import signal
import socket
import subprocess
import time

import pytest


def test_ready_and_live_are_open_on_every_port(server):
    for service in ('otlp-grpc', 'otlp-http', 'zipkin', 'http'):
        assert server.request('/ready', port=service)[0] == 200
        assert server.request('/live', port=service)[2] == b'live\n'


def test_metrics_in_both_forms(server):
    status, headers, body = server.request('/metrics')
    assert status == 200 and headers['Content-Type'].startswith('text/plain; version=0.0.4')
    assert b'\ncauset_ready 1\n' in body
    assert b'# TYPE causet_http_requests_total counter\n' in body
    status, headers, body = server.request('/metrics', headers={'Accept': 'application/openmetrics-text; version=1.0.0'})
    assert headers['Content-Type'].startswith('application/openmetrics-text')
    assert body.endswith(b'# EOF\n')
    assert b'# TYPE causet_http_requests counter\n' in body
    for line in body.decode().splitlines():
        assert line.startswith('#') or len(line.rsplit(' ', 1)) == 2


@pytest.mark.parametrize('service, method, path, status, says', [
    ('otlp-http', 'POST', '/', 404, 'OTLP traces go to /v1/traces'),
    ('otlp-http', 'POST', '/v1/trace', 404, 'without a path'),
    ('otlp-grpc', 'POST', '/v1/traces', 404, 'this port speaks gRPC'),
    ('zipkin', 'POST', '/api/v1/spans', 404, 'Zipkin spans go to /api/v2/spans'),
    ('http', 'GET', '/nowhere', 404, 'there is nothing at /nowhere'),
    ('http', 'POST', '/metrics', 405, '/metrics takes GET, HEAD, not POST'),
    ('http', 'GET', '/api/v1/traces?limt=1', 400, 'did you mean limit?'),
    ('http', 'GET', '/api/v1/traces?minDuration=5', 400, 'is not a duration'),
    ('http', 'GET', '/api/v1/traces?start=soon', 400, 'is not a time'),
    ('http', 'GET', '/api/v1/traces?cursor=x', 400, 'cursor'),
])
def test_a_lost_client_is_shown_the_way(server, service, method, path, status, says):
    got, headers, body = server.request(path, port=service, method=method)
    assert got == status
    answer = json.loads(body)
    assert says in (answer['message'] if 'message' in answer else answer['error']['message'])
    if status == 405:
        assert headers['Allow'] == 'GET, HEAD'


def test_two_servers_cannot_share_a_folder(server, run):
    second = run('serve', '--data', server.folder / 'data', '--http-port=0', '--otlp-grpc-port=off',
                 '--otlp-http-port=off', '--zipkin-port=off', '--jaeger-grpc-port=off', '--tempo-port=off')
    assert second.returncode == 1
    assert f'process {server.process.pid}' in second.stderr and '--data' in second.stderr


def test_a_taken_port_is_named(server, run, tmp_path):
    second = run('serve', '--data', tmp_path / 'other', '--http-port', server.ports['http'], '--otlp-grpc-port=off',
                 '--otlp-http-port=off', '--zipkin-port=off', '--jaeger-grpc-port=off', '--tempo-port=off')
    assert second.returncode == 1
    assert str(server.ports['http']) in second.stderr


def test_an_address_others_can_reach_needs_authentication(run, tmp_path):
    refused = run('serve', '--listen', '0.0.0.0', '--data', tmp_path)
    assert refused.returncode == 2
    assert '--auth' in refused.stderr and '--insecure' in refused.stderr


def test_settings_come_from_flags_then_environment_then_file(run, tmp_path):
    (tmp_path / 'c').write_text('max-body = 1M\nloops = 1\nworkers = 3\nserver = http://elsewhere\n')
    got = run('serve', '--print-config', '--config', tmp_path / 'c', '--max-body', '3M',
              environment={'CAUSET_MAX_BODY': '2M', 'CAUSET_LOOPS': '2'})
    assert got.returncode == 0, got.stderr
    assert 'max-body = 3M  # --max-body\n' in got.stdout
    assert 'loops = 2  # CAUSET_LOOPS\n' in got.stdout
    assert f'workers = 3  # {tmp_path}/c:3\n' in got.stdout
    assert 'zipkin-port = 9411  # default\n' in got.stdout
    (tmp_path / 'again').write_text(got.stdout)
    assert run('serve', '--check-config', '--config', tmp_path / 'again').returncode == 0
    (tmp_path / 'bad').write_text('max-bdoy = 1M\n')
    bad = run('serve', '--check-config', '--config', tmp_path / 'bad')
    assert bad.returncode == 2
    assert f"{tmp_path}/bad:1: there is no setting 'max-bdoy'; did you mean max-body?" in bad.stderr


def test_sigterm_ends_in_order_and_removes_the_port_file(server):
    server.stop()
    assert not (server.folder / 'ports.json').exists()
    assert 'stopped' in server.log.read_text()


@pytest.fixture
def manager(tmp_path):
    """A service manager's notify socket."""
    path = str(tmp_path / 'notify')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(path)
        receiver.settimeout(30)
        yield path, lambda: receiver.recv(4096).decode()


def test_the_service_manager_is_kept_informed(start_server, manager):
    path, receive = manager
    server = start_server(environment={'NOTIFY_SOCKET': path, 'WATCHDOG_USEC': '200000'})
    assert receive().startswith('READY=1')
    assert receive() == 'WATCHDOG=1'
    server.process.send_signal(signal.SIGHUP)
    seen = []
    while not seen or seen[-1] != 'READY=1':
        seen.append(receive())
    assert any(m.startswith('RELOADING=1\nMONOTONIC_USEC=') for m in seen)
    server.process.terminate()
    while receive() != 'STOPPING=1':
        pass


def test_sighup_changes_the_log_level(start_server, tmp_path):
    settings = tmp_path / 'settings'
    settings.write_text('log-level = info\n')
    server = start_server('--config', settings)
    settings.write_text('log-level = error\n')
    server.process.send_signal(signal.SIGHUP)
    server.request('/ready')
    time.sleep(0.2)
    server.stop()
    assert 'stopped' not in server.log.read_text()


def test_sighup_keeps_bad_settings_out(start_server, tmp_path):
    settings = tmp_path / 'settings'
    settings.write_text('drain = 1s\n')
    server = start_server('--config', settings)
    settings.write_text('drain = soon\n')
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 30
    while 'the settings stay as they were' not in server.log.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert 'settings:1:' in server.log.read_text()
    assert server.request('/ready')[0] == 200


def test_sockets_of_the_service_manager_are_used(causet, tmp_path):
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        port = listener.getsockname()[1]
        # The shell makes the descriptor number 3 and knows its own process number, as a manager would.
        script = f'exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$@"'
        process = subprocess.Popen(['bash', '-c', script, 'bash', str(causet), 'serve', '--data', str(tmp_path / 'data'),
                                    '--port-file', str(tmp_path / 'ports')], pass_fds=[listener.fileno()],
                                   env={**os.environ, 'XDG_CONFIG_HOME': '/nonexistent'})
        try:
            deadline = time.monotonic() + 60
            while not (tmp_path / 'ports').exists():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
            ports = json.loads((tmp_path / 'ports').read_text())
            assert ports['http_port'] == port and 'zipkin_port' not in ports
        finally:
            process.terminate()
            assert process.wait(timeout=60) == 0
