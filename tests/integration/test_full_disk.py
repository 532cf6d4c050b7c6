"""A disk without room: senders are told to try again, readers are served, and it is over when there is room again."""
import json
import os
import subprocess

import pytest

from messages import Refused, call, eventually, post, protos, read_trace, span, spans_of, to_protobuf, traces
from server import Server

ROOM = 80 << 20  # bytes: a file of the log and some more


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of its own."""
    folder = tmp_path / 'server'
    (folder / 'data').mkdir(parents=True)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={ROOM},mode=700', 'tmpfs', folder / 'data'], capture_output=True,
                          text=True)
    if done.returncode != 0:
        pytest.skip(f'needs the right to mount: {done.stderr.strip()}')
    yield folder
    subprocess.run(['umount', '--lazy', folder / 'data'], check=True)


def fill(folder):
    """Takes all but a little of the room."""
    filler = folder / 'data' / 'filler'
    left = os.statvfs(folder / 'data')
    with open(filler, 'wb') as file:
        os.posix_fallocate(file.fileno(), 0, left.f_bavail * left.f_frsize - (4 << 20))
    return filler


def test_a_full_disk_refuses_senders_serves_readers_and_passes(causet, small_disk):
    with Server(causet, small_disk) as server:
        assert post(server, traces(span(1, 1)))[0] == 200
        server.stop()
        filler = fill(small_disk)
        server.start()
        request = traces(span(2, 1))

        status, headers, body = post(server, request)
        assert status == 503 and headers['Retry-After'] == '1'
        assert 'No space left' in json.loads(body)['message']
        with pytest.raises(Refused) as refused:
            call(server, to_protobuf(request, protos().otlp.ExportTraceServiceRequest))
        assert refused.value.code == 'UNAVAILABLE'
        assert len(spans_of(read_trace(server, 1))) == 1

        filler.unlink()
        eventually(lambda: post(server, request)[0] == 200)
        assert len(spans_of(read_trace(server, 2))) == 1
        server.stop()
        server.start()
        assert [len(spans_of(read_trace(server, n))) for n in (1, 2)] == [1, 1]
