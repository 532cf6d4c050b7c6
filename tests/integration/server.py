"""A running `causet serve` for tests: ports of the kernel's choice, state in a scratch folder, and a clean end.

    with Server(program, folder, '--auth') as server:
        status, body = server.get('/api/v1/services')
"""
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.request

PORTS = ('otlp-grpc', 'otlp-http', 'zipkin', 'http', 'jaeger-grpc', 'tempo')
START_SECONDS = 60  # a sanitized program on a busy machine


class Server:
    def __init__(self, program, folder, *arguments, environment=None):
        self.program, self.folder = pathlib.Path(program), pathlib.Path(folder)
        self.arguments, self.environment = [str(a) for a in arguments], environment or {}
        self.log = self.folder / 'server.log'
        self.process = None
        self.ports = {}
        self.token = None  # sent with every request when set

    def start(self):
        return self.launch().ready()

    def launch(self):
        """Starts the program and does not wait for it."""
        port_file = self.folder / 'ports.json'
        port_file.unlink(missing_ok=True)
        chosen = [word for name in PORTS for word in (f'--{name}-port', '0')]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(('CAUSET_', 'OTEL_'))}
        environment.update({'XDG_CONFIG_HOME': str(self.folder / 'config'), 'ASAN_OPTIONS': 'detect_leaks=1',
                            'UBSAN_OPTIONS': 'print_stacktrace=1', 'TSAN_OPTIONS': 'second_deadlock_stack=1',
                            **self.environment})
        with open(self.log, 'a') as log:
            self.process = subprocess.Popen(
                [self.program, 'serve', '--data', self.folder / 'data', *chosen, '--port-file', port_file, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        return self

    def ready(self):
        """Waits until it serves."""
        port_file = self.folder / 'ports.json'
        end = time.monotonic() + START_SECONDS
        while not port_file.exists():
            assert self.process.poll() is None, f'the server ended with {self.process.returncode}: {self.log.read_text()}'
            assert time.monotonic() < end, f'the server is not ready: {self.log.read_text()}'
            time.sleep(0.02)
        told = json.loads(port_file.read_text())
        for name in PORTS:
            self.ports[name] = told[name.replace('-', '_') + '_port']
        return self

    def url(self, path='', port='http'):
        return f'http://127.0.0.1:{self.ports[port]}{path}'

    def request(self, path, port='http', body=None, headers=None, method=None):
        """(status, headers, body) of one request; an HTTP error is an answer like another."""
        headers = dict(headers or {})
        if self.token and 'Authorization' not in headers:
            headers['Authorization'] = f'Bearer {self.token}'
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault('Content-Type', 'application/json')
        request = urllib.request.Request(self.url(path, port), data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, path, port='http', **options):
        """(status, value) of an answer in JSON."""
        status, _, body = self.request(path, port, **options)
        return status, json.loads(body)

    def memory(self, name):
        for line in open(f'/proc/{self.process.pid}/status'):
            if line.startswith(name + ':'):
                return int(line.split()[1]) * 1024
        raise AssertionError(f'no {name}: the server has ended; {self.log.read_text()[-2000:]}')

    def rss(self):
        """Bytes of memory the process holds now."""
        return self.memory('VmRSS')

    def high_water(self):
        """The most it has ever held."""
        return self.memory('VmHWM')

    def stop(self, signal_=signal.SIGTERM, status=0):
        """Ends it; a sanitizer's report makes the status wrong."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal_)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f'the server did not stop: {self.log.read_text()[-4000:]}') from None
        assert process.returncode == status, f'status {process.returncode}: {self.log.read_text()[-8000:]}'

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.process:
            self.process.kill()
            self.process.wait()
            print(self.log.read_text()[-8000:])
