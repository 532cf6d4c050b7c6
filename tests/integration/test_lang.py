"""`causet lint` and `causet fmt`, as a user runs them."""
import json
import pathlib

import pytest

pytestmark = pytest.mark.once

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / 'golden/lang'


def test_findings_have_a_place_a_code_and_a_way_out(run):
    done = run('lint', '-', input='From e In spans\n  Where e.duration > 500\n  Selct e.name\n')
    assert done.returncode == 1
    assert done.stdout == "3:3: E101: 'Selct' begins no clause; did you mean 'Select'?; fix: Select\n"
    done = run('lint', '-', input='From e In spans\n  Where e.duration > 500\n  Select e.name\n')
    assert done.returncode == 1
    assert done.stdout.startswith('2:9: E301: > does not go between a duration and an integer; ')


def test_warnings_are_no_failure(run):
    done = run('lint', GOLDEN / 'paper_queries.cq')
    assert done.returncode == 0
    assert done.stdout.startswith("44:26: W101: 'end' is bound nowhere")
    assert run('lint', '--quiet', GOLDEN / 'paper_queries.cq').stdout == ''


@pytest.mark.parametrize('name', ['table1', 'figure8', 'clauses', 'dataset', 'tracepoints', 'sequence',
                                  'traceql_structural', 'traceql_pipelines', 'traceql_metrics', 'traceql_intrinsics'])
def test_what_the_language_has_is_accepted(run, name):
    done = run('lint', GOLDEN / f'{name}.cq')
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_several_files_are_named_in_each_line(run, tmp_path):
    (tmp_path / 'a.cq').write_text('{ foo = 1 }')
    (tmp_path / 'b.cq').write_text('{ name = "x" }')
    done = run('lint', tmp_path / 'a.cq', tmp_path / 'b.cq')
    assert done.returncode == 1
    assert done.stdout.startswith(f"{tmp_path / 'a.cq'}:1:3: E201: 'foo' is no field")


def test_findings_are_data(run):
    done = run('lint', '--json', '-', input='{ status = "error" }')
    finding = json.loads(done.stdout)
    assert finding['code'] == 'E301' and finding['severity'] == 'error'
    assert finding['fix'] == {'begin': 11, 'end': 18, 'text': 'error'}


def test_tempos_dialect_binds_and_like_or(run):
    text = '{ .a-b:c = 1 } || { .b = 2 } && { .c = 3 }'
    assert run('lint', '--dialect', 'traceql', '-', input=text).returncode == 0
    assert run('lint', '--dialect', 'sql', '-', input=text).returncode == 2


def test_formatting_twice_is_once(run, tmp_path):
    for path in sorted(GOLDEN.glob('*.cq')):
        dialect = ('--dialect', 'traceql' if path.name == 'traceql_precedence.cq' else 'causetql')
        once = run('fmt', *dialect, path)
        assert once.returncode == 0, once.stderr
        twice = run('fmt', *dialect, '-', input=once.stdout)
        assert twice.stdout == once.stdout
        (tmp_path / path.name).write_text(once.stdout)
        assert run('fmt', '--check', *dialect, tmp_path / path.name).returncode == 0


def test_a_text_with_mistakes_is_not_formatted(run):
    done = run('fmt', '-', input='{ .a = ')
    assert done.returncode == 1 and done.stdout == ''
    assert 'E101' in done.stderr


def test_other_forms_are_listed(run, tmp_path):
    (tmp_path / 'a.cq').write_text('{name="x"}\n')
    done = run('fmt', '--check', tmp_path / 'a.cq')
    assert done.returncode == 1 and done.stdout == f"{tmp_path / 'a.cq'}\n"
