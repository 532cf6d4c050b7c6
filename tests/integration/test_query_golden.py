"""Queries, their plans and their rows on the traces of query_fixture.py: tests/golden/query.

A file holds cases: a line `== name`, the query, `-- explain` and the plan, `-- rows` and a JSON object a row, `-- said` and what
comes on standard error.  GOLDEN=update writes what the program says instead; read the difference before committing it.
"""
import json
import os
import re
import subprocess

import pytest

import query_fixture
from server import Server

FILES = ('clauses', 'causality', 'paper', 'pipes', 'series', 'spansets', 'values')


@pytest.fixture(scope='module')
def folder(causet, tmp_path_factory):
    place = tmp_path_factory.mktemp('golden')
    with Server(causet, place) as server:
        query_fixture.load(server)
    (place / 'owners.csv').write_text(query_fixture.OWNERS)
    return place


def run(causet, folder, command, text):
    return subprocess.run([causet, *command, '--data', folder / 'data', '-'], input=text, capture_output=True, text=True, cwd=folder,
                          timeout=120)


def cases(text):
    """[(name, query)]"""
    return [(name, re.split(r'^-- ', body, maxsplit=1, flags=re.M)[0].strip() + '\n')
            for name, body in re.findall(r'^== (.*?)\n(.*?)(?=^== |\Z)', text, re.M | re.S)]


def told(causet, folder, name, query):
    plan = run(causet, folder, ['explain'], query)
    rows = run(causet, folder, ['query', '--json'], query)
    said = ''.join(line for line in rows.stderr.splitlines(True) if 'estimated:' not in line)
    assert rows.returncode in (0, 3) and plan.returncode == 0, f'{name}: {rows.stderr}{plan.stderr}'
    found = rows.stdout.splitlines(True)
    if 'OrderBy' not in query:
        found.sort()  # no order was asked for
    return f'== {name}\n{query}-- explain\n{plan.stdout}-- rows\n{"".join(found)}' + (f'-- said\n{said}' if said else '') + '\n'


@pytest.mark.parametrize('file', FILES)
def test_plans_and_rows_are_as_they_were(causet, top, folder, file):
    path = top / 'tests/golden/query' / f'{file}.txt'
    text = path.read_text()
    found = ''.join(told(causet, folder, name, query) for name, query in cases(text))
    if os.environ.get('GOLDEN') == 'update':
        path.write_text(found)
    assert path.read_text() == found


# Q1 to Q9 of the Pivot Tracing paper, as printed (tests/golden/lang/paper_queries.cq), with answers computed by hand from the tables
# of query_fixture.py.
A, B, C = 'A', 'B', 'C'
PAPER = {
    # Bytes that the two data nodes read: B 100 + 50 (trace 11) and 7 (13), C 10 (12) and 1000 (14).
    'Q1': [(B, 157), (C, 1010)],
    # By the first client protocol before each: StressTest in traces 11 to 13, HGet in 14.
    'Q2': [('HGet', 1000), ('StressTest', 167)],
    # Operations: B in 11 and 13, C in 12 and 14.
    'Q3': [(B, 2), (C, 2)],
    # Files asked for, by the stress test's host: A asks file1 (11) and file2 (12), B file1 (13).
    'Q4': [(A, 'file1', 1), (A, 'file2', 1), (B, 'file1', 1)],
    # Replicas, one tuple each: file1 is on B C D, file2 on C D E.
    'Q5': [(A, B, 1), (A, C, 2), (A, 'D', 2), (A, 'E', 1), (B, B, 1), (B, C, 1), (B, 'D', 1)],
    # Who reads from whom: A from B (11) and C (12), B from B (13); trace 14 has no stress test.
    'Q6': [(A, B, 1), (A, C, 1), (B, B, 1)],
    # Reads from another host (11 and 12), by where the block was: three replicas each.
    'Q7': [(B, B, 1), (B, C, 1), (B, 'D', 1), (C, C, 1), (C, 'D', 1), (C, 'E', 1)],
    # Three calls, in milliseconds.
    'Q8': [(5000000,), (10000000,), (30000000,)],
    # (5 + 10 + 30) / 3 ms.
    'Q9': [('job-1', 15000000)],
}


def paper_queries(top):
    text = (top / 'tests/golden/lang/paper_queries.cq').read_text()
    return {name: f'{name}: {body.strip()}\n' for name, body in re.findall(r'^(Q\d): (.*?)(?=^Q\d: |\Z)', text, re.M | re.S)}


@pytest.mark.parametrize('name', PAPER)
def test_the_papers_queries_give_what_was_computed_by_hand(causet, top, folder, name):
    queries = paper_queries(top)
    text = queries['Q8'] + '\n' + queries['Q9'] if name == 'Q9' else queries[name]
    done = run(causet, folder, ['query', '--json'], text)
    assert done.returncode == 0, done.stderr
    rows = [tuple(v for k, v in json.loads(line).items() if k != 'result') for line in done.stdout.splitlines()]
    assert sorted(rows, key=repr) == sorted(PAPER[name], key=repr)


def test_q7_packs_four_tuples_for_each_getloc(causet, top, folder):
    """One host of the stress test and three replicas, as the paper counts them: 3 requests of 4 tuples, and what the joins meet."""
    done = run(causet, folder, ['query', '--json', '--verbose'], paper_queries(top)['Q7'])
    packed = int(re.search(r'(\d+) tuples joined', done.stderr)[1])
    assert packed % 3 == 0 and packed // 3 == 4, done.stderr
