"""The HTTP server as real clients see it: raw sockets, curl, Python's gRPC, against http_echo."""
import gzip
import os
import pathlib
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import grpc
import pytest


class Echo:
    """A running http_echo."""

    def __init__(self, program, settings):
        self.process = subprocess.Popen([str(program)] + [f'{k}={v}' for k, v in settings.items()],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(self.line('port'))
        self.clear = int(self.line('clear'))

    def line(self, start=''):
        """The rest of the next line that begins so."""
        while True:
            text = self.process.stdout.readline()
            assert text, self.process.stderr.read()
            if text.startswith(start):
                return text[len(start):].strip()

    def counters(self):
        self.process.send_signal(signal.SIGUSR1)
        return {k: int(v) for k, v in (pair.split('=') for pair in self.line('counters').split())}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 0 and err == '', err
        return out

    def connect(self, port=None):
        return Client(port or self.port)


def eventually(condition):
    """True as soon as it is; what a server does after its answer takes a moment."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.02)
    return False


class Client:
    """A raw connection that reads whole HTTP/1 answers."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=20)
        self.rest = b''

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        return self

    def more(self):
        data = self.socket.recv(65536)
        self.rest += data
        return data

    def head(self):
        while b'\r\n\r\n' not in self.rest:
            if not self.more():
                raise EOFError(self.rest)
        head, self.rest = self.rest.split(b'\r\n\r\n', 1)
        lines = head.decode().split('\r\n')
        return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(': ', 1) for line in lines[1:])}

    def take(self, n):
        while len(self.rest) < n:
            if not self.more():
                raise EOFError(self.rest)
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def answer(self):
        status, headers = self.head()
        return status, headers, self.take(int(headers.get('content-length', 0)))

    def is_closed(self):
        """The server closes, after having said nothing more."""
        try:
            return self.more() == b''
        except ConnectionResetError:
            return True


@pytest.fixture
def echo(causet):
    running = []

    def start(**settings):
        running.append(Echo(causet.parent / 'tests/integration/http_echo', settings))
        return running[-1]

    yield start
    for one in running:
        if one.process.poll() is None:
            one.stop()


def curl(*arguments, data=None):
    done = subprocess.run(['curl', '-sS', '-m', '30', *arguments], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def get(path='/x', host='localhost', extra=''):
    return f'GET {path} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n'


def post(body, path='/x', extra=''):
    return f'POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{extra}\r\n'.encode() + body


BIG = os.urandom(3_000_000)


# HTTP/1.1

def test_keep_alive_and_pipelining(echo):
    c = echo().connect()
    for i in range(3):
        c.send(post(b'body %d' % i))
        assert c.answer()[2] == b'body %d' % i
    c.send(b''.join(post(b'%d' % i) for i in range(500)))
    assert [c.answer()[2] for i in range(500)] == [b'%d' % i for i in range(500)]


def test_answers_from_another_thread_stay_in_order(echo):
    c = echo().connect()
    c.send(post(b'first', '/slow?ms=100') + post(b'second') + post(b'third', '/slow?ms=1'))
    assert [c.answer()[2] for _ in range(3)] == [b'first', b'second', b'third']


def test_large_bodies_both_ways(echo):
    server = echo()
    url = f'http://localhost:{server.port}/x'
    assert curl('--data-binary', '@-', url, data=BIG) == BIG
    assert curl('-H', 'Transfer-Encoding: chunked', '--data-binary', '@-', url, data=BIG) == BIG
    assert curl('--http2-prior-knowledge', '--data-binary', '@-', url, data=BIG) == BIG
    assert eventually(lambda: server.counters()['memory_bytes'] == 0)


def test_a_body_in_single_bytes(echo):
    c = echo().connect()
    for byte in post(b'hello world'):
        c.send(bytes([byte]))
    assert c.answer()[2] == b'hello world'


def test_100_continue(echo):
    c = echo().connect()
    c.send('POST /x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
    assert c.head()[0] == 100
    c.send('hello')
    assert c.answer()[2] == b'hello'


def test_refused_before_the_body_is_sent(echo):
    c = echo().connect()
    c.send('POST /nowhere HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n')
    status, headers, body = c.answer()
    assert (status, body, headers['connection']) == (404, b'nothing here\n', 'close')


def test_a_refused_upload_can_be_read_about(echo):
    """The answer is not lost in a reset, although the client is in the middle of sending."""
    url = f'http://localhost:{echo(body_bytes=1000).port}/x'
    for extra in ([], ['-H', 'Transfer-Encoding: chunked'], ['--http2-prior-knowledge']):
        out = curl('-w', '%{http_code}', '-H', 'Expect:', *extra, '--data-binary', '@-', url, data=BIG)
        assert out == b'the body is larger than 1000 bytes (limit)\n413', extra


def test_http_1_0_and_head(echo):
    server = echo()
    c = server.connect().send('GET /stream?bytes=250000 HTTP/1.0\r\n\r\n')
    status, headers = c.head()
    assert status == 200 and 'transfer-encoding' not in headers
    assert len(c.take(250000)) == 250000 and c.is_closed()
    out = curl('-I', f'http://localhost:{server.port}/headers')
    assert b'200 OK' in out and b'Content-Length' in out


@pytest.mark.parametrize('bad', [
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\nHost: localhost\n\n',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
    'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n',
    '\x16\x03\x01\x00\xa5\x01',
])
def test_bad_requests_get_400_and_the_door(echo, bad):
    server = echo()
    c = server.connect().send(bad.encode('latin1') + get('/smuggled').encode())
    assert c.answer()[0] == 400
    assert c.is_closed()
    assert server.counters()['malformed'] == 1


def test_too_many_and_too_long_headers(echo):
    server = echo(header_bytes=2000, header_count=10)
    c = server.connect().send(get(extra='A: b\r\n' * 10))
    assert c.answer()[0] == 431
    c = server.connect().send(get(extra='A: ' + 'b' * 2000 + '\r\n'))
    assert c.answer()[0] == 431
    out = subprocess.run(['curl', '-sS', '--http2-prior-knowledge', '-w', '%{http_code}', '-H', 'A: ' + 'b' * 1990,
                          f'http://localhost:{server.port}/x'], capture_output=True).stdout
    assert out.endswith(b'431')


def test_compressed_bodies(echo):
    url = f'http://localhost:{echo().port}/x'
    plain = b'some text ' * 100000
    zstd = subprocess.run(['zstd', '-c'], input=plain, capture_output=True, check=True).stdout
    for coding, data in (('gzip', gzip.compress(plain)), ('zstd', zstd)):
        for version in ('--http1.1', '--http2-prior-knowledge'):
            assert curl(version, '-H', f'Content-Encoding: {coding}', '--data-binary', '@-', url, data=data) == plain
    out = curl('-w', '%{http_code}', '-H', 'Content-Encoding: br', '-d', 'x', url)
    assert out.endswith(b'415') and b'gzip' in out


def test_bombs_stop_at_the_limit(echo):
    server = echo(decoded_bytes=1_000_000)
    url = f'http://localhost:{server.port}/x'
    zeros = bytes(200_000_000)
    zstd = subprocess.run(['zstd', '-c'], input=zeros, capture_output=True, check=True).stdout
    for coding, data in (('gzip', gzip.compress(zeros, 1)), ('zstd', zstd)):
        out = curl('-w', '%{http_code}', '-H', f'Content-Encoding: {coding}', '--data-binary', '@-', url, data=data)
        assert out == b'the decompressed body is larger than 1000000 bytes (limit)\n413'
    assert server.counters()['decoded_size'] == 2


# streams of bytes

@pytest.mark.parametrize('version', ['--http1.1', '--http2-prior-knowledge'])
def test_streamed_answers(echo, version):
    server = echo()
    url = f'http://localhost:{server.port}/stream'
    assert len(curl(version, url + '?bytes=20000000')) == 20_000_000
    assert len(curl(version, url + '?bytes=1000000&later=1')) == 1_000_000
    done = subprocess.run(['curl', '-sS', version, url + '?bytes=1000000&abort=1'], capture_output=True)
    assert done.returncode != 0 and len(done.stdout) < 1_000_000


def rss(process):
    for line in pathlib.Path(f'/proc/{process.pid}/status').read_text().splitlines():
        if line.startswith('VmRSS'):
            return int(line.split()[1]) * 1024
    raise AssertionError


def test_a_slow_reader_of_a_huge_stream_costs_no_memory(echo):
    server = echo()
    before = rss(server.process)
    c = server.connect().send(get('/stream?bytes=100000000000'))
    assert c.head()[0] == 200
    time.sleep(0.3)
    assert rss(server.process) - before < 50_000_000
    c.socket.close()


# time

def test_slow_headers_and_bodies_run_out_of_time(echo):
    server = echo(header_ms=200, body_ms=200, body_rate=1000)
    c = server.connect().send('GET / HTTP/1.1\r\nHo')
    status, _, body = c.answer()
    assert status == 408 and b'200 ms (limit)' in body and c.is_closed()
    c = server.connect().send('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc')
    assert c.answer()[0] == 408 and c.is_closed()
    assert server.connect().is_closed()  # says nothing at all
    counters = server.counters()
    assert (counters['header_time'], counters['body_time']) == (2, 1)


def test_idle_connections_are_closed(echo):
    c = echo(idle_ms=200).connect().send(get())
    assert c.answer()[0] == 200
    assert c.is_closed()


def test_a_client_that_does_not_read_is_dropped(echo):
    server = echo(write_ms=300)
    c = server.connect().send(get('/stream?bytes=1000000000'))
    assert eventually(lambda: server.counters()['write_time'])
    assert server.counters()['connections_open'] == 0
    c.socket.close()


def test_slow_tls_handshake_runs_out_of_time(echo, keys):
    server = echo(tls_ms=200, cert=keys / 'server.crt', key=keys / 'server.key')
    assert server.connect().is_closed()


# many

def test_connection_limit(echo):
    server = echo(connections=3)
    held = [server.connect().send(get()) for _ in range(3)]
    assert [c.answer()[0] for c in held] == [200] * 3
    fourth = server.connect()
    status, headers, _ = fourth.answer()
    assert status == 503 and headers['retry-after'] == '1' and fourth.is_closed()
    held.pop().socket.close()
    assert eventually(lambda: server.counters()['connections_open'] == 2)
    assert server.connect().send(get()).answer()[0] == 200
    assert server.counters()['connections'] == 1


def test_memory_budget(echo):
    server = echo(memory_bytes=1_000_000)
    holder = server.connect().send(b'POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n' + bytes(800_000))
    assert eventually(lambda: server.counters()['memory_bytes'] >= 800_000)
    status, headers, _ = server.connect().send('POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n').answer()
    assert status == 503 and headers['retry-after'] == '1'
    holder.send(bytes(100_000))
    assert holder.answer()[0] == 200
    assert eventually(lambda: server.counters()['memory_bytes'] == 0)


def test_many_clients_at_once(echo):
    server = echo()
    failures = []

    def client(number):
        body = b'%d' % number * 1000
        try:
            c = server.connect()
            for i in range(20):
                c.send(post(body, '/slow?ms=1' if i % 5 == 0 else '/x'))
                assert c.answer()[2] == body
        except Exception as e:  # noqa: BLE001 - reported below
            failures.append(e)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# leaving

def test_a_client_that_leaves_cancels_its_request(echo):
    server = echo()
    server.connect().send(get('/slow?ms=20000')).socket.close()
    assert server.line('cancelled') == ''
    stub = grpc.insecure_channel(f'127.0.0.1:{server.port}').unary_unary('/test.Echo/Slow?ms=20000')
    call = stub.future(b'x')
    time.sleep(0.3)
    call.cancel()
    assert server.line('cancelled') == ''
    assert eventually(lambda: server.counters()['connections_open'] <= 1)
    assert server.counters()['cancelled'] == 2


def test_stop_lets_requests_finish(echo):
    server = echo(drain=10000)
    idle = server.connect().send(get())
    assert idle.answer()[0] == 200
    busy = server.connect().send(get('/slow?ms=500'))
    stream = server.connect().send(get('/stream?bytes=30000000'))
    assert stream.head()[0] == 200
    call = grpc.insecure_channel(f'127.0.0.1:{server.port}').unary_unary('/test.Echo/Slow').future(b'x', timeout=20)
    time.sleep(0.1)
    server.process.send_signal(signal.SIGTERM)
    assert idle.is_closed()
    status, headers, body = busy.answer()
    assert (status, headers['connection'], body) == (200, 'close', b'slow\n')
    assert call.result() == b'x'
    got = len(stream.rest)
    while data := stream.socket.recv(1 << 20):
        got += len(data)
    assert got > 30_000_000
    assert 'stopped' in server.process.communicate(timeout=20)[0]
    with pytest.raises(ConnectionRefusedError):
        server.connect()


def test_stop_does_not_wait_for_ever(echo):
    server = echo(drain=200)
    stuck = server.connect().send('POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n')
    slow = server.connect().send(get('/slow?ms=60000'))
    time.sleep(0.1)
    assert 'stopped' in server.stop()
    assert stuck.is_closed() and slow.is_closed()


# who may ask

def test_host_names(echo):
    server = echo(host='causet.internal')
    for host, status in (('localhost', 200), ('127.0.0.1:80', 200), ('[::1]:4318', 200), ('causet.internal', 200),
                         ('evil.example', 421), ('localhost.evil.example', 421)):
        assert server.connect().send(get(host=host)).answer()[0] == status, host
    out = curl('--http2-prior-knowledge', '-H', 'Host: evil.example', f'http://127.0.0.1:{server.port}/x')
    assert b'allowed hosts' in out


def test_cors(echo):
    def preflight(server, origin):
        return server.connect().send('OPTIONS /x HTTP/1.1\r\nHost: localhost\r\nAccess-Control-Request-Method: POST\r\n'
                                     f'Origin: {origin}\r\n\r\n').answer()

    assert 'access-control-allow-origin' not in preflight(echo(), 'https://ui.example')[1]
    server = echo(origin='https://ui.example')
    status, headers, _ = preflight(server, 'https://ui.example')
    assert status == 204 and headers['access-control-allow-origin'] == 'https://ui.example'
    assert preflight(server, 'https://evil.example')[0] == 403
    _, headers, _ = server.connect().send(get(extra='Origin: https://ui.example\r\n')).answer()
    assert headers['access-control-allow-origin'] == 'https://ui.example' and headers['vary'] == 'Origin'


# TLS

@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    """A CA, a server's certificate for localhost, a client's, and a second server certificate."""
    folder = tmp_path_factory.mktemp('keys')

    def openssl(*arguments):
        subprocess.run(['openssl', *map(str, arguments)], check=True, capture_output=True, cwd=folder)

    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key',
            '-out', 'ca.crt', '-subj', '/CN=test CA', '-days', '2')
    (folder / 'names').write_text('subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    for name, subject in (('server', '/CN=one'), ('second', '/CN=two'), ('client', '/O=causet/CN=agent 7')):
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', f'{name}.key',
                '-out', f'{name}.csr', '-subj', subject)
        openssl('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial',
                '-out', f'{name}.crt', '-days', '2', '-extfile', 'names')
    return folder


@pytest.mark.parametrize('version', ['--http1.1', '--http2'])
def test_tls(echo, keys, version):
    server = echo(cert=keys / 'server.crt', key=keys / 'server.key')
    ca = ['--cacert', str(keys / 'ca.crt'), version]
    url = f'https://localhost:{server.port}'
    out = curl(*ca, url + '/headers')
    assert b'tls=1' in out and (b'version=20' in out) == (version == '--http2')
    assert curl(*ca, '--data-binary', '@-', url + '/x', data=BIG) == BIG
    assert len(curl(*ca, url + '/stream?bytes=10000000')) == 10_000_000
    assert curl('--data-binary', '@-', f'http://localhost:{server.clear}/x', data=BIG) == BIG
    assert subprocess.run(['curl', '-sS', url], capture_output=True).returncode == 60
    assert subprocess.run(['curl', '-sS', '--tls-max', '1.1', *ca, url], capture_output=True).returncode != 0
    c = server.connect().send(get())  # somebody who speaks plain HTTP to it: an alert and the door
    while not c.is_closed():
        pass
    assert not c.rest.startswith(b'HTTP')
    assert server.counters()['tls_failures'] >= 2


def test_mutual_tls(echo, keys):
    server = echo(cert=keys / 'server.crt', key=keys / 'server.key', ca=keys / 'ca.crt')
    url = f'https://localhost:{server.port}/headers'
    ca = ['--cacert', str(keys / 'ca.crt')]
    out = curl(*ca, '--cert', str(keys / 'client.crt'), '--key', str(keys / 'client.key'), url)
    assert b'subject=CN=agent 7,O=causet' in out
    assert subprocess.run(['curl', '-sS', *ca, url], capture_output=True).returncode != 0


def test_tls_reload(echo, keys, tmp_path):
    for name in ('crt', 'key'):
        (tmp_path / f'x.{name}').write_bytes((keys / f'server.{name}').read_bytes())
    server = echo(cert=tmp_path / 'x.crt', key=tmp_path / 'x.key')

    def subject(c=None):
        context = ssl.create_default_context(cafile=keys / 'ca.crt')
        with socket.create_connection(('127.0.0.1', server.port)) as raw, \
                context.wrap_socket(raw, server_hostname='localhost') as secure:
            return secure.getpeercert()['subject'][0][0][1]

    context = ssl.create_default_context(cafile=keys / 'ca.crt')
    old = context.wrap_socket(socket.create_connection(('127.0.0.1', server.port)), server_hostname='localhost')
    assert subject() == 'one'
    (tmp_path / 'x.crt').write_text('rubbish')
    server.process.send_signal(signal.SIGHUP)
    assert f'certificate {tmp_path}/x.crt' in server.line()
    assert subject() == 'one'
    for name in ('crt', 'key'):
        (tmp_path / f'x.{name}').write_bytes((keys / f'second.{name}').read_bytes())
    server.process.send_signal(signal.SIGHUP)
    assert server.line() == 'reloaded'
    assert subject() == 'two'
    old.sendall(get().encode())
    assert old.recv(100).startswith(b'HTTP/1.1 200')
    old.close()


# gRPC

def channel(server, **options):
    return grpc.insecure_channel(f'127.0.0.1:{server.port}', options=[
        ('grpc.max_receive_message_length', -1), ('grpc.max_send_message_length', -1), *options.items()])


def test_grpc_unary(echo):
    server = echo()
    call = channel(server).unary_unary('/test.Echo/Unary')
    assert call(b'', timeout=20) == b''
    assert call(b'hello', timeout=20) == b'hello'
    assert call(BIG, timeout=20) == BIG
    for coding in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        assert call(b'x' * 1_000_000, timeout=20, compression=coding) == b'x' * 1_000_000
    assert eventually(lambda: server.counters()['memory_bytes'] == 0)


def test_grpc_errors(echo):
    server = echo(body_bytes=100_000, decoded_bytes=200_000)
    ch = channel(server)

    def error(method, body, **options):
        with pytest.raises(grpc.RpcError) as e:
            ch.unary_unary(method)(body, timeout=20, **options)
        return e.value

    e = error('/test.Echo/Fail', b'')
    assert e.code() == grpc.StatusCode.UNAVAILABLE and e.details() == 'no: 100 % überlastet'
    assert ('grpc-status-details-bin', b'\x08\x0e') in list(map(tuple, e.trailing_metadata()))
    e = error('/test.Echo/Nowhere', BIG)
    assert e.code() == grpc.StatusCode.UNIMPLEMENTED and e.details() == 'nothing here'
    e = error('/test.Echo/Unary', bytes(200_000))
    assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and '100000 bytes (limit)' in e.details()
    e = error('/test.Echo/Unary', bytes(300_000), compression=grpc.Compression.Gzip)
    assert e.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and 'decompressed' in e.details()
    assert ch.unary_unary('/test.Echo/Unary')(b'still fine', timeout=20) == b'still fine'


def test_grpc_encodings(echo):
    url = f'http://localhost:{echo().port}/test.Echo/Unary'
    plain = b'some text ' * 1000

    def call(encoding, message, flag=b'\1'):
        return curl('-i', '--http2-prior-knowledge', '-H', 'content-type: application/grpc', '-H', 'te: trailers',
                    '-H', f'grpc-encoding: {encoding}', '--data-binary', '@-', url,
                    data=flag + struct.pack('>I', len(message)) + message)

    zstd = subprocess.run(['zstd', '-c'], input=plain, capture_output=True, check=True).stdout
    for encoding, message in (('zstd', zstd), ('gzip', gzip.compress(plain)), ('identity', plain)):
        out = call(encoding, message, b'\0' if encoding == 'identity' else b'\1')
        assert b'\0' + struct.pack('>I', len(plain)) + plain in out and b'grpc-status: 0' in out
    out = call('snappy', plain)
    assert b'grpc-status: 12' in out and b'grpc-accept-encoding: identity,gzip,deflate,zstd' in out
    assert b'grpc-status: 13' in call('identity', plain)  # compressed with nothing
    assert b'grpc-status: 13' in call('gzip', plain)      # damaged
    assert b'grpc-status: 13' in call('gzip', plain, b'\2')


def test_grpc_streams(echo):
    ch = channel(echo())
    messages = [b'a' * (i % 3000) for i in range(3000)]
    assert list(ch.stream_stream('/test.Echo/Bidi')(iter(messages), timeout=60)) == messages
    assert list(ch.stream_stream('/test.Echo/Bidi')(iter([]), timeout=20)) == []
    assert list(ch.stream_stream('/test.Echo/Bidi')(iter(messages), timeout=60,
                                                    compression=grpc.Compression.Gzip)) == messages
    assert ch.stream_unary('/test.Echo/Sum')(iter([b'x' * 1_000_000] * 30), timeout=60) == b'30000000'
    assert sum(map(len, ch.unary_stream('/test.Echo/Many')(b'3000', timeout=60))) == 30_000_000


def test_grpc_bidi_with_a_reader_that_rests(echo):
    """Both sides fill their windows and wait; nothing is lost and nothing piles up in the server."""
    server = echo()
    before = rss(server.process)
    sent = [os.urandom(50_000) for _ in range(20)] * 30
    replies = channel(server).stream_stream('/test.Echo/Bidi')(iter(sent), timeout=60)
    first = next(replies)
    time.sleep(1)
    assert rss(server.process) - before < 60_000_000
    assert [first, *replies] == sent


def test_grpc_bidi_is_live(echo):
    """Every message is answered before the next one is sent."""
    go = threading.Semaphore(1)

    def requests():
        for i in range(100):
            go.acquire()
            yield b'%d' % i

    replies = channel(echo()).stream_stream('/test.Echo/Bidi')(requests(), timeout=60)
    for i in range(100):
        assert next(replies) == b'%d' % i
        go.release()


def test_grpc_stream_cancelled(echo):
    server = echo()
    replies = channel(server).stream_stream('/test.Echo/Bidi')(iter(lambda: time.sleep(0.01) or b'x', None))
    next(replies)
    replies.cancel()
    assert server.line('cancelled') == ''


def test_grpc_tls(echo, keys):
    server = echo(cert=keys / 'server.crt', key=keys / 'server.key', ca=keys / 'ca.crt')
    credentials = grpc.ssl_channel_credentials((keys / 'ca.crt').read_bytes(), (keys / 'client.key').read_bytes(),
                                               (keys / 'client.crt').read_bytes())
    ch = grpc.secure_channel(f'localhost:{server.port}', credentials,
                             options=[('grpc.max_receive_message_length', -1)])
    assert ch.unary_unary('/test.Echo/Unary')(BIG, timeout=30) == BIG


# HTTP/2 from hostile hands

def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + struct.pack('>I', stream) + payload


def literal(name, value):
    return b'\0' + bytes([len(name)]) + name + bytes([len(value)]) + value


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0)
REQUEST = (literal(b':method', b'POST') + literal(b':scheme', b'http') + literal(b':path', b'/x') +
           literal(b':authority', b'localhost'))
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9


def goaway_code(c):
    """The error code of the GOAWAY with which the server ends the connection; None when it just closes."""
    data = c.rest
    try:
        while chunk := c.socket.recv(65536):
            data += chunk
    except ConnectionResetError:
        pass
    while len(data) >= 9:
        length, kind = int.from_bytes(data[:3], 'big'), data[3]
        if kind == GOAWAY:
            return int.from_bytes(data[13:17], 'big')
        data = data[9 + length:]
    return None


def send_all(c, data):
    try:
        c.send(data)
    except (BrokenPipeError, ConnectionResetError):
        pass


def test_rapid_reset_ends_the_connection(echo):
    server = echo(resets=100)
    c = server.connect().send(PREFACE)
    send_all(c, b''.join(frame(HEADERS, 4, i, REQUEST) + frame(RST_STREAM, 0, i, b'\0\0\0\x08')
                         for i in range(1, 2001, 2)))
    assert goaway_code(c) in (11, None)  # ENHANCE_YOUR_CALM
    assert server.counters()['flood'] >= 1


@pytest.mark.parametrize('flood', [
    frame(PING, 0, 0, b'12345678') * 50000,
    frame(SETTINGS, 0, 0) * 50000,
    frame(HEADERS, 0, 1, REQUEST) + frame(CONTINUATION, 0, 1, literal(b'a', b'b')) * 50000,
    frame(HEADERS, 4, 1, REQUEST) + frame(DATA, 0, 1) * 50000,
], ids=['ping', 'settings', 'continuation', 'empty data'])
def test_floods_end_the_connection(echo, flood):
    server = echo()
    c = server.connect().send(PREFACE)
    send_all(c, flood)
    c.socket.settimeout(20)
    goaway_code(c)  # returns when the server has closed
    assert server.connect().send(get()).answer()[0] == 200


def test_a_window_that_stays_shut_ends_the_stream(echo):
    server = echo(write_ms=300)
    c = server.connect().send(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0, b'\0\4\0\0\0\0'))
    c.send(frame(HEADERS, 5, 1, REQUEST.replace(b'\x02/x', b'\x06/count')))
    assert eventually(lambda: server.counters()['write_time'] == 1)
    assert server.counters()['connections_open'] == 1


def test_stream_limit(echo):
    server = echo(streams=4)
    ch = channel(server)
    calls = [ch.unary_unary('/test.Echo/Slow').future(b'%d' % i, timeout=30) for i in range(12)]
    assert [c.result() for c in calls] == [b'%d' % i for i in range(12)]


def test_unfinished_headers_on_http2_run_out_of_time(echo):
    c = echo(header_ms=200).connect().send(PREFACE + frame(HEADERS, 0, 1, REQUEST))
    assert goaway_code(c) in (0, None)
