"""The server is killed at random moments while clients send, lose answers, and send again.

After each restart everything that was acknowledged is there; in the end each span is stored once, and the store is whole.
CAUSET_KILLS says how often (10; ./test long asks for 200).
"""
import collections
import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest

from messages import span, traces

KILLS = int(os.environ.get('CAUSET_KILLS', '10'))
CLIENTS = 4
DROPPED = 0.3  # of the answers are not waited for
EVERYTHING = 20  # kills after which all that was ever acknowledged is looked at, not only what is new
SECONDS = 60   # that a request may take to be acknowledged, at most
START = 1_700_000_000_000_000_000


class Client(threading.Thread):
    """Sends one request after the other, each until it is acknowledged."""

    def __init__(self, number, server, going, seed):
        super().__init__(daemon=True)
        self.number, self.server, self.going, self.random = number, server, going, random.Random(seed)
        self.stopping = False
        self.failure = None
        self.acknowledged = {}  # trace id: spans
        self.sent = 0           # requests, repeats included
        self.repeats = 0

    def run(self):
        try:
            count = 0
            while not self.stopping:
                count += 1
                self.going.wait()
                self.send_new(count)
                time.sleep(self.random.random() * 0.02)
        except Exception as failure:  # told by the main thread
            self.failure = failure

    def send_new(self, count):
        trace = self.number << 32 | count
        spans = 400 if count % 40 == 0 else self.random.randint(1, 6)
        start = START + (self.number * 1_000_000 + count) * 1000
        body = json.dumps(traces(*[span(trace, n + 1, start=start, duration=100 + n) for n in range(spans)],
                                 service=f'client{self.number}')).encode()
        end = time.monotonic() + SECONDS
        while not self.send(body):
            assert time.monotonic() < end, 'a request was never acknowledged'
            self.repeats += 1
        self.acknowledged[f'{trace:032x}'] = spans

    def send(self, body):
        """Has it been acknowledged, as far as the client knows?"""
        connection = http.client.HTTPConnection('127.0.0.1', self.server.ports.get('otlp-http', 1), timeout=20)
        self.sent += 1
        try:
            connection.request('POST', '/v1/traces', body, {'Content-Type': 'application/json'})
            if self.random.random() < DROPPED:
                time.sleep(self.random.random() * 0.02)
                return False
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException):
            time.sleep(0.02)  # it is being killed, or started
            return False
        finally:
            connection.close()
        if status in (404, 429, 503):  # 404: the port is somebody else's by now
            time.sleep(0.02)
            return False
        assert status == 200, status
        return True


def stored(server):
    """Spans of every trace that the server has."""
    status, _, body = server.request('/api/v1/export')
    assert status == 200
    found = collections.Counter()
    for line in body.splitlines():
        for resource in json.loads(line)['resourceSpans']:
            for scope in resource['scopeSpans']:
                found.update(one['traceId'] for one in scope['spans'])
    return found


def spans_stored(server):
    _, _, body = server.request('/metrics')
    return next(int(line.split()[-1]) for line in body.decode().splitlines() if line.startswith('causet_store_spans '))


def spans_of_trace(server, trace):
    status, answer = server.get(f'/api/v1/traces/{trace}')
    return len(answer['blocks']) if status == 200 else 0


def check_acknowledged(server, acknowledged, look):
    wrong = {trace: (spans, look(trace)) for trace, spans in acknowledged.items() if look(trace) != spans}
    assert not wrong, f'{len(wrong)} of {len(acknowledged)} acknowledged traces are not as sent: {list(wrong.items())[:5]}'


def check_store(server):
    """The folder at rest: every checksum and invariant."""
    done = subprocess.run([server.program, 'store', 'check', server.folder / 'data'], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def kill(server):
    server.stop(signal.SIGKILL, -signal.SIGKILL)
    server.ports = {}  # somebody else may get them


def crash(server, rng):
    """Kills it, now and then once more while it starts, and leaves it running."""
    kill(server)
    check_store(server)
    while rng.random() < 0.3:
        server.launch()
        time.sleep(rng.random() * 0.3)
        kill(server)
    server.start()


@pytest.mark.parametrize('sync, kills', [('always', KILLS), ('interval=20ms', max(2, KILLS // 5)), ('never', max(2, KILLS // 5))])
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(start_server, sync, kills):
    seed = int(os.environ.get('CAUSET_SEED', random.randrange(1 << 30)))
    print('CAUSET_SEED', seed)
    rng = random.Random(seed)
    server = start_server('--sync', sync, '--flush-interval', '1s', '--flush-size', '1MiB')
    going = threading.Event()
    clients = [Client(n + 1, server, going, rng.random()) for n in range(CLIENTS)]
    for client in clients:
        client.start()
    checked = {}
    for n in range(kills):
        going.set()
        time.sleep(rng.random() * 1.5)
        before = {trace: spans for client in clients for trace, spans in list(client.acknowledged.items())}
        crash(server, rng)
        going.clear()  # but who is at a request goes on with it
        fresh = {trace: spans for trace, spans in before.items() if trace not in checked}
        check_acknowledged(server, fresh, lambda trace: spans_of_trace(server, trace))
        checked = before
        if n % EVERYTHING == EVERYTHING - 1:
            found = stored(server)
            check_acknowledged(server, before, found.get)
    for client in clients:
        client.stopping = True
    going.set()
    for client in clients:
        client.join()
        assert client.failure is None, client.failure
    acknowledged = {trace: spans for client in clients for trace, spans in client.acknowledged.items()}
    assert len(acknowledged) > kills and sum(client.repeats for client in clients) > kills
    for _ in range(2):
        assert stored(server) == acknowledged
        assert spans_stored(server) == sum(acknowledged.values())  # counted as they lie there, not as readers see them
        server.stop()
        check_store(server)
        server.start()
