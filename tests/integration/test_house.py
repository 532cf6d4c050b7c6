"""The tools that judge the tree are themselves judged: each refuses what it is there to refuse."""
import json
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.once


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


@pytest.fixture
def tree(top, tmp_path):
    """A small tree of the same shape, with our tools in it."""
    shutil.copytree(top / 'tools', tmp_path / 'tools')
    for name in ('src/core/ids.h', 'src/base/arena.h', 'src/base/arena_int.h', 'docs/claims.tsv'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / 'src/LAYERS').write_text('core:\nbase: core\n')
    for name in ('test', 'run'):
        shutil.copy2(top / name, tmp_path / name)
    return tmp_path


def test_layers_accept_what_is_granted(tree):
    (tree / 'src/base/arena.c').write_text('#include "core/ids.h"\n#include "base/arena_int.h"\n')
    assert run(tree / 'tools/check-layers').returncode == 0


@pytest.mark.parametrize('file, include, complaint', [
    ('src/core/ids.c', 'base/arena.h', 'src/core/ids.c:1: core may not include base/arena.h'),
    ('src/base/arena.c', 'arena.h', 'base may not include arena.h'),
    ('src/new/thing.c', 'core/ids.h', 'new is not in src/LAYERS'),
])
def test_layers_refuse_what_is_not(tree, file, include, complaint):
    (tree / file).parent.mkdir(exist_ok=True)
    (tree / file).write_text(f'#include "{include}"\n')
    done = run(tree / 'tools/check-layers')
    assert done.returncode == 1 and complaint in done.stdout


def test_layers_refuse_another_folders_private_header(tree):
    (tree / 'src/LAYERS').write_text('core:\nbase: core\nmodel: core base\n')
    (tree / 'src/model').mkdir()
    (tree / 'src/model/trace.c').write_text('#include "base/arena_int.h"\n')
    done = run(tree / 'tools/check-layers')
    assert done.returncode == 1 and 'base/arena_int.h is private to base' in done.stdout


@pytest.mark.parametrize('row, complaint', [
    ('a claim\ttools/nothing --fast\tfast', 'docs/claims.tsv:1: no command tools/nothing'),
    ('a claim\ttrue', 'wants claim, command and last result'),
    ('a claim without tabs', 'wants claim, command and last result'),
    ('a claim\t./test one test_nowhere.py\tfine', 'no test is called test_nowhere.py'),
])
def test_a_claim_needs_a_command_that_exists(tree, row, complaint):
    (tree / 'docs/claims.tsv').write_text(row + '\n')
    done = run(tree / 'tools/check', 'claims')
    assert done.returncode == 1 and complaint in done.stdout
    (tree / 'docs/claims.tsv').write_text('# a comment\na claim\ttrue\tfine\n')
    assert run(tree / 'tools/check', 'claims').returncode == 0


def test_a_page_may_only_name_paths_that_exist(tree):
    page = tree / 'ARCHITECTURE.md'
    page.write_text('`src/core/ids.h`, `src/base/*.h`, `tests/unit/<folder>/`')
    assert run(tree / 'tools/check', 'paths').returncode == 0
    for gone in ('src/core/gone.c', 'src/gone/', 'src/gone/*.h'):
        page.write_text(f'`{gone}`')
        done = run(tree / 'tools/check', 'paths')
        assert done.returncode == 1 and f'ARCHITECTURE.md: there is no {gone}' in done.stdout


CMOCKA = '[ RUN      ] a\n[       OK ] a\n[ RUN      ] b\n[  FAILED  ] b\n'


@pytest.mark.parametrize('cases, totals', [
    ('<testcase name="x"><system-out>[ RUN      ] a\n[       OK ] a\n[       OK ] b\n</system-out></testcase>', '2 0 0'),
    (f'<testcase name="x"><failure/><system-out>{CMOCKA}</system-out>'
     '<system-err>[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] b\n</system-err></testcase>', '1 1 0'),
    ('<testcase name="died"><failure/><system-out>[ RUN      ] a\n</system-out></testcase>', '0 1 0'),
    ('<testcase name="leaked at the end"><failure/><system-out>[       OK ] a\n</system-out></testcase>', '1 1 0'),
    ('<testcase name="x"/><testcase name="y"><error message="no"/></testcase>', '1 1 0'),
    ('<testcase name="x"><skipped message="no chroot here"/></testcase>', '0 0 1'),
    ('', '0 0 0'),
])
def test_the_tally_counts_what_the_runners_wrote(top, tmp_path, cases, totals):
    log = tmp_path / 'log.xml'
    log.write_text(f'<testsuites><testsuite>{cases}</testsuite></testsuites>')
    done = run(sys.executable, top / 'tests/tally.py', log)
    assert done.stdout.strip() == totals
    assert ('no chroot here' in done.stderr) == ('skipped' in cases)


def test_every_dependency_has_a_scope_and_a_reason(top):
    rows = [line.split(None, 2) for line in (top / 'tools/deps.txt').read_text().splitlines() if line and line[0] != '#']
    assert len(rows) > 10
    for row in rows:
        assert len(row) == 3 and row[1] in ('build', 'test', 'package', 'long'), row
    assert len({row[0] for row in rows}) == len(rows)


def test_without_root_the_missing_packages_are_named(tree):
    (tree / 'tools/deps.txt').write_text('no-such-package-at-all build it is missing\nlibc6 build it is there\n')
    (tree / 'bin').mkdir()
    (tree / 'bin/id').write_text('#!/bin/sh\necho 1000\n')
    (tree / 'bin/id').chmod(0o755)
    done = run(tree / 'tools/install-deps', 'build', env={'PATH': f'{tree}/bin:/usr/bin:/bin'})
    assert done.returncode == 2
    assert 'sudo apt-get install --no-install-recommends no-such-package-at-all\n' in done.stderr


def test_the_lock_file_names_no_registry(top):
    for lock in top.glob('tests/**/package-lock.json'):
        if 'node_modules' not in lock.relative_to(top).parts:
            packages = json.loads(lock.read_text())['packages']
            assert [name for name, entry in packages.items() if 'resolved' in entry] == []
            assert all('integrity' in entry for name, entry in packages.items() if name)
