"""docs/language.md: every example runs on the traces of query_fixture.py and answers what stands below it.

GOLDEN=update writes the answers into the page instead; read the difference before committing it.
"""
import os
import re
import subprocess

import pytest

import query_fixture
from server import Server

BLOCK = re.compile(r'^```causetql\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?', re.M | re.S)


def page(top):
    return top / 'docs/language.md'


@pytest.fixture(scope='module')
def folder(causet, tmp_path_factory):
    """A server's folder with the fixture in it; the server has stopped."""
    place = tmp_path_factory.mktemp('language')
    with Server(causet, place) as server:
        query_fixture.load(server)
    (place / 'owners.csv').write_text(query_fixture.OWNERS)
    return place


def ask(causet, folder, text, *options):
    return subprocess.run([causet, 'query', '--data', folder / 'data', *options, '-'], input=text, capture_output=True, text=True,
                          cwd=folder, timeout=120, env={**os.environ, 'COLUMNS': '120'})


def answer(done):
    """What the page shows: rows, and warnings below them; but for the note that traces were sampled, which ± says."""
    notes = [line for line in done.stderr.splitlines() if 'estimated:' not in line]
    return '\n'.join([line.rstrip() for line in done.stdout.splitlines()] + notes) + '\n'


def same(query, found, shown):
    """Rows may come in any order where none was asked for."""
    return found == shown or ('OrderBy' not in query and shown and sorted(found.splitlines()) == sorted(shown.splitlines()))


def test_every_example_answers_what_the_page_says(causet, top, folder):
    text, wrong = page(top).read_text(), []

    def one(match):
        done = ask(causet, folder, match[1])
        if done.returncode != 0:
            wrong.append(f'{match[1]}exit code {done.returncode}: {done.stderr}')
            return match[0]
        if same(match[1], answer(done), match[2]):
            return match[0]
        if os.environ.get('GOLDEN') != 'update':
            wrong.append(f'{match[1]}answers\n{answer(done)}and not\n{match[2]}')
        return f'```causetql\n{match[1]}```\n\n```text\n{answer(done)}```\n'

    fresh, n = BLOCK.subn(one, text)
    if os.environ.get('GOLDEN') == 'update':
        page(top).write_text(fresh)
    assert n >= 80
    assert not wrong, '\n\n'.join(wrong)


def test_the_page_names_every_word_of_the_language(top):
    text = page(top).read_text()
    for source in ('words_fields.c', 'words_functions.c'):
        rows = re.findall(r'^\t\{"([A-Za-z_0-9:]+)", (?:WF|FN)_', (top / 'src/lang' / source).read_text(), re.M)
        assert len(rows) > 40
        for name in rows:
            assert re.search(rf'\b{name}\b', text, re.I) or re.fullmatch(r'p\d+', name), f'{name} is not on the page'


def test_the_error_on_the_page_is_what_is_said(causet, top, folder):
    command, said = re.search(r"^```\n\$ causet query '(.*?)'\n(.*?)^```", page(top).read_text(), re.M | re.S).groups()
    done = subprocess.run([causet, 'query', '--data', folder / 'data', command], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, '', said)
