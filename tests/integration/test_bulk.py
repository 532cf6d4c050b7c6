"""/api/v1/bulk: every modelled trace of a window, by several workers, across breaks."""
import json
import pathlib
import subprocess

import pytest

from messages import post, span, traces

S = 1_000_000_000
T0 = 1_700_000_000 * S
TRACES = 700
WORKER = pathlib.Path(__file__).with_name('bulk_worker.py')


@pytest.fixture(scope='module')
def full(causet, tmp_path_factory):
    """Traces of 1 to 3 spans, in segments and in memory, some of them in both."""
    from server import Server
    with Server(causet, tmp_path_factory.mktemp('bulk'), '--flush-interval', '1s') as server:
        for part in range(2):
            for first in range(1, TRACES + 1, 100):
                spans = [span(i, 10 * k + part + 1, start=T0 + i * S, duration=1000 + k) for i in range(first, first + 100)
                         for k in range(i % 3 + 1) if (k + i) % 2 == part]
                assert post(server, traces(*spans))[0] == 200
        yield server


def rows(server, question=''):
    status, headers, body = server.request('/api/v1/bulk?' + question)
    assert status == 200 and headers['Content-Type'] == 'application/x-ndjson'
    return [json.loads(line) for line in body.decode().splitlines()]


def ids(lines):
    return [int(row['trace']['traceId'], 16) for row in lines if 'trace' in row]


@pytest.mark.parametrize('options', [(), ('--break-after', '7')], ids=['at once', 'with breaks'])
@pytest.mark.parametrize('first', [0, 1], ids=['from 0', 'from 1'])
def test_four_workers_visit_every_trace_once(full, options, first):
    workers = [subprocess.Popen(['/usr/bin/python3', WORKER, full.url(), str(part), '4', *options], stdout=subprocess.PIPE, text=True)
               for part in range(first, first + 4)]
    seen = []
    for worker in workers:
        out, _ = worker.communicate(timeout=300)
        assert worker.returncode == 0
        lines = out.splitlines()
        assert TRACES / 8 < len(lines) < TRACES / 2, 'parts are about equal'
        seen += [(int(i, 16), int(n)) for i, n in map(str.split, lines)]
    assert sorted(seen) == [(i, i % 3 + 1) for i in range(1, TRACES + 1)]


def test_a_window_and_a_limit(full):
    lines = rows(full, f'start={T0 + 100 * S}&end={T0 + 110 * S}')
    assert ids(lines) == list(range(109, 99, -1)) and lines[-1] == {'end': True, 'traces': 10}
    lines = rows(full, f'start={T0 + 100 * S}&end={T0 + 110 * S}&limit=4')
    assert ids(lines) == [109, 108, 107, 106] and lines[-1]['end'] is False
    more = rows(full, f'start={T0 + 100 * S}&end={T0 + 110 * S}&cursor={lines[-1]["next"]}')
    assert ids(more) == [105, 104, 103, 102, 101, 100] and more[-1] == {'end': True, 'traces': 6}
    assert rows(full, f'start={T0 - 100 * S}&end={T0}') == [{'end': True, 'traces': 0}]


def test_a_trace_is_the_one_that_is_asked_for_by_id(full):
    row = rows(full, 'limit=1')[0]
    assert full.get(f'/api/v1/traces/{row["trace"]["traceId"]}')[1] == row['trace']


def test_a_search_and_an_export_know_partitions_too(full):
    found = [full.get(f'/api/v1/traces?limit=1000&partition={part}/3')[1]['traces'] for part in range(3)]
    assert sorted(int(t['traceId'], 16) for part in found for t in part) == list(range(1, TRACES + 1))
    assert all(len(part) > TRACES / 6 for part in found)


@pytest.mark.parametrize('question', ['partition=5/4', 'partition=x', 'partition=1', 'partition=1/0', 'partition=/', 'partition=-1/4',
                                      'partition=1/99999', 'cursor=x', 'limit=0', 'start=x', 'partitions=1/2'])
def test_a_bad_question_is_400_with_a_reason(full, question):
    status, answer = full.get('/api/v1/bulk?' + question)
    assert status == 400 and answer['error']['message']
