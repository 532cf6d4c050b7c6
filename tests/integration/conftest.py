"""What the integration tests share.  ./test sets CAUSET to the sanitized program and CAUSET_RELEASE to the other."""
import os
import pathlib
import shutil
import subprocess

import pytest

from server import Server

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope='session')
def top():
    """The root of the repository."""
    return TOP


@pytest.fixture(scope='session')
def causet():
    """The program under test."""
    return pathlib.Path(os.environ.get('CAUSET', TOP / 'build/asan/causet'))


@pytest.fixture(scope='session')
def causet_release():
    """The program as it is shipped: for what the sanitizers would distort (memory, packages)."""
    return pathlib.Path(os.environ.get('CAUSET_RELEASE', TOP / 'build/release/causet'))


@pytest.fixture(scope='session')
def node():
    """A Node new enough for OpenTelemetry's SDK: ours where the machine's is too old."""
    ours = list((TOP / 'tests/integration/node/node_modules').glob('node-linux-*/bin/node'))
    return str(ours[0]) if ours else shutil.which('node')


@pytest.fixture
def server(causet, tmp_path):
    """A running server, stopped and checked at the end."""
    with Server(causet, tmp_path) as running:
        yield running


@pytest.fixture
def start_server(causet, tmp_path):
    """start_server('--auth', …): the same with arguments, as often as wanted."""
    running = []

    def start(*arguments, program=causet, **options):
        folder = tmp_path / f'server{len(running)}'
        folder.mkdir()
        running.append(Server(program, folder, *arguments, **options).start())
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def run(causet, tmp_path):
    """run('traces', '--json', server=server): the command's finished process, output as text."""

    def start(*arguments, server=None, environment=None, program=causet, **options):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(('CAUSET_', 'OTEL_'))}
        clean['XDG_CONFIG_HOME'] = str(tmp_path / 'config')
        if server:
            clean.update(CAUSET_SERVER=server.url(), CAUSET_OTLP=server.url(port='otlp-http'),
                         CAUSET_ZIPKIN=server.url(port='zipkin'))
        clean.update(environment or {})
        return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env=clean, stdin=options.pop('stdin', subprocess.DEVNULL if 'input' not in options else None),
                              **options)

    return start
