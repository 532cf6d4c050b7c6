"""What the integration tests share.  ./test sets CAUSET to the sanitized program and CAUSET_RELEASE to the other."""
import os
import pathlib
import shutil

import pytest

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
