"""Everything at once: senders of every protocol, readers of every kind, tokens and rules that change, reloads.

./test runs it with the address sanitizer and with the thread sanitizer; a report makes the server's exit status wrong.
"""
import gzip
import http.client
import json
import signal
import socket
import subprocess
import threading

import grpc

from messages import METHODS, PATHS, eventually, logs, protos, span, text, to_protobuf, traces
from server import Server

ROUNDS = 40
SPANS = 20  # in a request
JSON = {'Content-Type': 'application/json'}


def request_of(sender, n):
    """The n-th request of a sender, and the number of its trace: each sender has its own and one that all share."""
    trace = sender << 32 | n if n % 4 else 0xabc
    return trace, [span(trace, sender << 32 | n << 8 | i + 1, attributes=[text('k', f'v{i}'), text('secret', 'x')]) for i in range(SPANS)]


class Load:
    def __init__(self, server):
        self.server, self.failures, self.sent, self.lock = server, [], set(), threading.Lock()

    def worker(self, work, *arguments):
        def run():
            try:
                work(*arguments)
            except Exception as error:  # told at the end, from the test's own thread
                self.failures.append(f'{work.__name__}{arguments}: {error!r}')
        return threading.Thread(target=run)

    def note(self, spans):
        with self.lock:
            self.sent.update((s['traceId'], s['spanId']) for s in spans)

    def http(self, port):
        return http.client.HTTPConnection('127.0.0.1', self.server.ports[port], timeout=120)

    def ask(self, connection, method, path, body=None, headers=None):
        connection.request(method, path, body, {'Authorization': f'Bearer {self.server.token}', **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def send_http(self, sender, form):
        connection = self.http('otlp-http')
        for n in range(ROUNDS):
            _, spans = request_of(sender, n)
            body, headers = json.dumps(traces(*spans)).encode(), JSON
            if form == 'protobuf':
                body, headers = to_protobuf(traces(*spans), protos().otlp.ExportTraceServiceRequest), {'Content-Type': 'application/x-protobuf'}
            if n % 2:
                body, headers = gzip.compress(body), {**headers, 'Content-Encoding': 'gzip'}
            status, answer = self.ask(connection, 'POST', '/v1/traces', body, headers)
            assert status == 200, answer
            self.note(spans)
            record = {'traceId': spans[0]['traceId'], 'timeUnixNano': str(sender << 32 | n), 'body': {'stringValue': 'said'}}
            assert self.ask(connection, 'POST', PATHS['logs'], json.dumps(logs(record)).encode(), JSON)[0] == 200

    def send_grpc(self, sender):
        with grpc.insecure_channel(f'127.0.0.1:{self.server.ports["otlp-grpc"]}') as channel:
            method = channel.unary_unary(METHODS['traces'], request_serializer=None, response_deserializer=None)
            pending = []
            for n in range(ROUNDS):  # many calls on one connection
                _, spans = request_of(sender, n)
                body = to_protobuf(traces(*spans), protos().otlp.ExportTraceServiceRequest)
                pending.append((spans, method.future(body, metadata=[('authorization', f'Bearer {self.server.token}')], timeout=120)))
            for spans, answer in pending:
                answer.result()
                self.note(spans)

    def send_zipkin(self, sender):
        connection = self.http('zipkin')
        for n in range(ROUNDS):
            _, spans = request_of(sender, n)
            rows = [{'traceId': s['traceId'], 'id': s['spanId'], 'name': s['name'], 'timestamp': 1_700_000_000_000_000, 'duration': 5,
                     'localEndpoint': {'serviceName': 'old'}, 'tags': {'k': 'v'}} for s in spans]
            status, answer = self.ask(connection, 'POST', '/api/v2/spans', json.dumps(rows).encode(), JSON)
            assert status == 202, answer
            self.note(spans)

    def send_nonsense(self):
        for n in range(ROUNDS):
            with socket.create_connection(('127.0.0.1', self.server.ports['otlp-http'])) as s:
                s.sendall([b'', b'POST /v1/tr', b'\0' * 100, b'POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{'][n % 4])

    def read(self):
        connection = self.http('http')
        for _ in range(ROUNDS // 4):
            for path in ('/api/v1/services', '/api/v1/traces?limit=50', '/metrics', f'/api/v1/traces/{0xabc:032x}',
                         f'/api/v1/traces/{0xabc:032x}?format=otlp-json', f'/api/v1/traces/{0xabc:032x}?format=zipkin',
                         '/api/v1/traces?tag=k%3Dv1&limit=5', '/ready'):
                status, answer = self.ask(connection, 'GET', path)
                assert status in (200, 404), (path, answer)

    def change_tokens(self, causet):
        data = self.server.folder / 'data'
        for n in range(4):
            for command in (['token', 'add', f'brief{n}', '--roles', 'read'], ['redact', 'add', '--key', f'secret{n}', '--action', 'drop'],
                            ['token', 'revoke', f'brief{n}']):
                subprocess.run([causet, *command, '--data', data], check=True, capture_output=True)
            self.server.process.send_signal(signal.SIGHUP)


def test_everything_at_once(causet, tmp_path):
    with Server(causet, tmp_path, '--auth', '--loops', '3', '--workers', '3') as server:
        made = subprocess.run([causet, 'token', 'add', 'all', '--roles', 'all', '--data', tmp_path / 'data'],
                              capture_output=True, text=True, check=True)
        server.token = made.stdout.strip()
        eventually(lambda: server.request('/api/v1/services')[0] == 200)
        protos()  # before the threads, which would all make it
        load = Load(server)
        workers = [load.worker(load.send_http, 1, 'protobuf'), load.worker(load.send_http, 2, 'JSON'), load.worker(load.send_grpc, 3),
                   load.worker(load.send_grpc, 4), load.worker(load.send_zipkin, 5), load.worker(load.send_nonsense),
                   load.worker(load.read), load.worker(load.read), load.worker(load.change_tokens, causet)]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        assert not load.failures, load.failures
        # Whatever was acknowledged is there, each span once.
        _, _, body = server.request(f'/api/v1/traces/{0xabc:032x}?format=otlp-json')
        assert body.count(b'"spanId"') >= sum(trace == f'{0xabc:032x}' for trace, _ in load.sent)
        found = server.get('/api/v1/traces?limit=10000')[1]['traces']
        assert sum(row['spans'] for row in found) == len(load.sent)
        assert len(found) == len({trace for trace, _ in load.sent})
