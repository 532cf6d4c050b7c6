"""./run, as a newcomer uses it."""
import json
import os
import signal
import subprocess
import time
import urllib.request

import pytest

from server import PORTS, START_SECONDS

pytestmark = pytest.mark.once


def test_run_build_stops_after_the_build(top):
    done = subprocess.run([top / 'run', 'build'], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.access(top / 'build/release/causet', os.X_OK)


def test_run_serves_with_its_state_under_the_home_and_says_what_to_try(top, tmp_path):
    ports = tmp_path / 'ports.json'
    chosen = [word for name in PORTS for word in (f'--{name}-port', '0')]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(('CAUSET', 'XDG_'))}
    server = subprocess.Popen([top / 'run', *chosen, '--port-file', ports], text=True, env={**environment, 'HOME': str(tmp_path)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + START_SECONDS
        while not ports.exists():
            assert server.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        told = json.loads(ports.read_text())
        for name in PORTS:
            assert told[name.replace('-', '_') + '_port'] > 0
        http = told['http_port']
        with urllib.request.urlopen(f'http://127.0.0.1:{http}/ready', timeout=30) as answer:
            assert answer.status == 200
        assert (tmp_path / '.local/state/causet').is_dir()
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=60)[0]
        assert server.returncode == 0, said
    finally:
        server.kill()
        server.wait()
    # Where it listens, and commands to try.
    for name in PORTS:
        assert f"http://127.0.0.1:{told[name.replace('-', '_') + '_port']}" in said, said
    assert 'curl' in said and 'build/release/causet trace ' in said, said
