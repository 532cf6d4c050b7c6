"""Causal paths from messages: make-trace, infer and skew, as a user runs them."""
import gzip
import json
import os
import subprocess
import xml.dom.minidom
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
SPECS = ROOT / 'specs'
GOLDEN = ROOT / 'tests/golden/cli'

SHOP = """duration 60s
call normal 20ms 10%
ret normal 5ms 10%
think uniform 0ms 1000ms
instances 3
tracelet page: C -> W { AUTH { DB }; AP1|AP2 { DB } }
tracelet static: C -> W
"""


@pytest.fixture
def run(causet):
    def run(*args, code=0, stdin=None):
        p = subprocess.run([causet, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=120)
        assert p.returncode == code, p.stderr
        return p
    return run


@pytest.fixture
def shop(run, tmp_path):
    """A trace, its truth, and the same with 200 ms more at one place."""
    def make(name, extra=''):
        spec = tmp_path / f'{name}.spec'
        spec.write_text(extra + SHOP)
        run('make-trace', spec, '-o', tmp_path / f'{name}.msgs', '--truth', tmp_path / f'{name}.truth')
        return tmp_path / f'{name}.msgs'
    return make


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_pattern_is_found_and_its_costs_are_named(run, shop):
    out = run('infer', shop('a'), '--json', '--sort', 'count').stdout
    found = {o['pattern']: o for o in lines(out) if 'pattern' in o}
    summary = lines(out)[-1]['summary']
    assert summary['mode'] and summary['paths'] > 200
    assert found['C>W']['count'] > 50
    page = found['C>W(AUTH(DB),AP1(DB))']
    assert page['count'] > 20
    assert page['costliest']['node'] == 'W'
    assert [h['node'] for h in page['hops']] == ['W', 'AUTH', 'DB', 'AP1', 'DB']
    assert abs(page['hops'][1]['delay']['p50_ns'] - 20e6) < 2e6


def test_every_call_has_a_parent_and_a_confidence(run, shop, tmp_path):
    truth = dict(line.split()[:2] for line in (shop('a').parent / 'a.truth').read_text().splitlines())
    calls = [o for o in lines(run('infer', tmp_path / 'a.msgs', '--json', '--calls').stdout) if 'call' in o]
    assert len(calls) == len(truth)
    right = sum(truth[c['call']] == (c['parent'] or '0') for c in calls)
    assert right > 0.9 * len(calls)
    assert all(0 <= c['confidence'] <= 1 for c in calls)


@pytest.mark.parametrize('mode', [['--mode', 'nesting'], ['--mode', 'convolution', '--quantum', '5ms']])
def test_the_added_delay_is_named_with_its_place(run, shop, mode):
    before, after = shop('before'), shop('after', 'add 200ms at W after AUTH\n')
    first = run('infer', after, '--compare', before, *mode).stdout.splitlines()[0]
    amount, place = first.split(' at ', 1)
    assert place.startswith('W between AUTH and AP')
    assert 190 <= float(amount[1:].removesuffix('ms')) <= 212, first


def test_nothing_differs_between_a_run_and_itself(run, shop):
    msgs = shop('a')
    assert run('infer', msgs, '--compare', msgs).stdout == 'no stretch of time differs\n'


def test_the_picture_is_well_formed_and_the_graph_is_dot(run, shop):
    msgs = shop('a')
    svg = xml.dom.minidom.parseString(run('infer', msgs, '--format', 'svg').stdout)
    assert svg.documentElement.tagName == 'svg'
    svg = run('infer', msgs, '--mode', 'convolution', '--format', 'svg').stdout
    assert xml.dom.minidom.parseString(svg).getElementsByTagName('rect').length > 3
    dot = run('infer', msgs, '--format', 'dot').stdout
    assert dot.startswith('digraph') and dot.count('{') == dot.count('}')


def test_paths_leave_as_traces_that_are_marked(run, shop, tmp_path):
    spans = tmp_path / 'spans.jsonl'
    spans.write_text(run('infer', shop('a'), '--format', 'otlp').stdout)
    calls = sum(1 for _ in open(tmp_path / 'a.truth'))
    seen = run('export', '--file', spans, '--format', 'zipkin').stdout
    seen = [span for line in seen.splitlines() for span in json.loads(line)]
    assert len(seen) == calls
    assert all(s['tags']['causet.inferred'] == 'true' for s in seen)
    ids = {(s['traceId'], s['id']) for s in seen}
    assert len(ids) == calls
    assert all('parentId' not in s or (s['traceId'], s['parentId']) in ids for s in seen)


def test_compressed_files_and_standard_input(run, shop, tmp_path):
    msgs = shop('a')
    packed = tmp_path / 'a.gz'
    packed.write_bytes(gzip.compress(msgs.read_bytes()))
    plain = run('infer', msgs, '-q').stdout
    assert run('infer', packed, '-q').stdout == plain
    assert run('infer', '-', '-q', stdin=msgs.read_text()).stdout == plain


def test_several_files_are_one_trace_and_duplicates_count_once(run, shop, tmp_path):
    text = shop('a').read_text().splitlines(keepends=True)
    (tmp_path / 'one').write_text(''.join(text[0::2] + text[1::6]))
    (tmp_path / 'two').write_text(''.join(text[1::2]))
    whole = run('infer', tmp_path / 'a.msgs', '-q').stdout
    both = run('infer', tmp_path / 'one', tmp_path / 'two')
    assert both.stdout == whole
    assert 'stood in two files' in both.stderr


def test_nodes_are_renamed(run, shop):
    out = run('infer', shop('a'), '--map', 'AP*=AP', '--json').stdout
    patterns = {o['pattern'] for o in lines(out) if 'pattern' in o}
    assert 'C>W(AUTH(DB),AP(DB))' in patterns
    assert not any('AP1' in p for p in patterns)
    run('infer', shop('b'), '--map', 'nonsense', code=1)
    run('infer', shop('b'), '--smooth', 'very', code=2)


@pytest.mark.parametrize('text, says', [
    ('1 CALL a b\nhello\n', "line 2: 'hello' is no time in seconds"),
    ('{"a": 1}', 'neither a trace of messages nor'),
    ('1 CALL a\n', 'line 1: no receiver'),
])
def test_bad_input_is_named(run, tmp_path, text, says):
    path = tmp_path / 'bad.msgs'
    path.write_text(text)
    assert says in run('infer', path, code=1).stderr
    run('infer', path, '--tolerant', code=3)


def test_empty_and_lonely_input(run, tmp_path):
    path = tmp_path / 'x.msgs'
    path.write_text('')
    run('infer', path, code=3)
    path.write_text('1 CALL a a 1\n2 RET a a 1\n')
    assert 'a>a' in run('infer', path).stdout
    path.write_text('2 RET a b 1\n')
    assert 'returns had no call' in run('infer', path, code=3).stderr


def test_ten_thousand_nodes(run, tmp_path):
    path = tmp_path / 'many.msgs'
    with open(path, 'w') as f:
        for i in range(10000):
            f.write(f'{i}.0 CALL client{i} web {i}\n{i}.1 CALL web db{i % 100} x{i}\n'
                    f'{i}.2 RET db{i % 100} web x{i}\n{i}.3 RET web client{i} {i}\n')
    summary = lines(run('infer', path, '--json', '-n', '1').stdout)[-1]['summary']
    assert summary['nodes'] == 10101
    assert summary['paths'] == 10000


@pytest.mark.parametrize('spec', sorted(p.name for p in SPECS.glob('*.spec')))
def test_every_spec_that_is_installed_can_be_run(run, spec):
    p = run('make-trace', SPECS / spec, '--duration', '5s' if spec != 'mail.spec' else '20000s')
    assert len(p.stdout.splitlines()) > 20


def test_a_bad_spec_is_named(run, tmp_path):
    path = tmp_path / 'x.spec'
    path.write_text('duration 1s\ntracelet t: A -> {\n')
    assert "line 2: a node's name is missing" in run('make-trace', path, code=1).stderr
    run('make-trace', 'no-such-spec', code=1)


def test_clocks_are_estimated_and_taken_out(run, tmp_path):
    spec = tmp_path / 'x.spec'
    spec.write_text('sightings both\nlink C W uniform 1ms 2ms\nlink W DB uniform 1ms 2ms\nskew W 30ms\n' + SHOP)
    run('make-trace', spec, '-o', tmp_path / 'x.msgs')
    clocks = {o['node']: o['offset_ns'] for o in lines(run('skew', tmp_path / 'x.msgs', '--estimate', '--reference', 'C',
                                                           '--json').stdout)}
    assert abs(clocks['W'] - 30e6) < 1e6
    run('skew', tmp_path / 'x.msgs', '--reference', 'C', '-o', tmp_path / 'aligned.msgs')
    clocks = {o['node']: o['offset_ns'] for o in lines(run('skew', tmp_path / 'aligned.msgs', '--estimate', '--reference',
                                                           'C', '--json').stdout)}
    assert abs(clocks['W']) < 1e6
    again = run('skew', tmp_path / 'aligned.msgs', '--add', 'W=5s').stdout
    assert len(again.splitlines()) == sum(1 for _ in open(tmp_path / 'x.msgs'))
    run('skew', tmp_path / 'x.msgs', '--add', 'nobody=1s', code=1)
    run('skew', tmp_path / 'x.msgs', '--add', 'W', code=2)


def test_spans_are_watched_as_if_on_the_wire(run, shop, tmp_path):
    """What leaves as spans and comes back without its parent links gives the same patterns."""
    spans = tmp_path / 'spans.jsonl'
    spans.write_text(run('infer', shop('a'), '--format', 'otlp').stdout)
    first = {o['pattern']: o['count'] for o in lines(run('infer', tmp_path / 'a.msgs', '--json', '-n', '3').stdout)
             if 'pattern' in o}
    again = {o['pattern']: o['count'] for o in lines(run('infer', spans, '--json', '-n', '0').stdout) if 'pattern' in o}
    for pattern, count in first.items():
        assert abs(again[pattern.replace('C>', 'client>')] - count) <= 0.1 * count


def test_both_ends_of_a_shared_span_are_one_call(run, tmp_path):
    """Zipkin gives the span of a call one id on both sides; the callee's calls name it as their parent, too."""
    spans = []
    for i in range(30):
        at = 1700000000000000 + i * 1000000
        for id_, parent, kind, service, start, took in [
                ('1', None, 'CLIENT', 'shop', 0, 9000), ('1', None, 'SERVER', 'cart', 1000, 7000),
                ('2', '1', 'CLIENT', 'cart', 2000, 4000), ('2', '1', 'SERVER', 'stock', 3000, 2000)]:
            spans.append({'traceId': f'{i + 1:032x}', 'id': id_.rjust(16, '0'), 'kind': kind, 'name': 'get', 'timestamp': at + start,
                          'duration': took, 'localEndpoint': {'serviceName': service}}
                         | ({'parentId': parent.rjust(16, '0')} if parent else {}) | ({'shared': True} if kind == 'SERVER' else {}))
    (tmp_path / 'zipkin.json').write_text(json.dumps(spans))
    out = lines(run('infer', tmp_path / 'zipkin.json', '--json').stdout)
    assert {o['pattern']: o['count'] for o in out if 'pattern' in o} == {'shop>cart(stock)': 30}
    assert out[-1]['summary']['calls'] == 60


def test_an_access_log_is_read_by_its_pattern(run, tmp_path):
    log = tmp_path / 'web.log'
    log.write_text(''.join(f'10.0.0.7 [{1700000000 + i}.5] "GET /x" 200 0.25\n' for i in range(20)) + 'noise\n')
    p = run('infer', log, '--log-pattern', '%s [%t] "%n" %* %d', '--json')
    found = lines(p.stdout)[0]
    assert found['pattern'] == '10.0.0.7>web' and found['count'] == 20
    assert found['hops'][0]['latency']['mean_ns'] == 250000000
    assert '1 of 21 lines do not match' in p.stderr
    run('infer', log, '--log-pattern', '%s', code=1)


def test_mail_takes_its_ways(run, tmp_path):
    box = tmp_path / 'mbox'
    with open(box, 'w') as f:
        for i in range(300):
            when = lambda s: f'Sat, 10 Oct 2026 {(i * 97 + s) // 3600:02}:{(i * 97 + s) // 60 % 60:02}:{(i * 97 + s) % 60:02} +0000'
            f.write(f'From x Sat Oct 10 00:00:00 2026\nReceived: from hub by box; {when(2)}\n'
                    f'Received: from mx by hub; {when(1)}\nReceived: from out by mx; {when(0)}\nSubject: x\n\nhello\n')
    out = run('infer', box, '--mode', 'convolution', '--quantum', '1s').stdout
    assert 'out>mx>hub>box' in out


@pytest.mark.parametrize('mode', ['nesting', 'best'])
def test_a_long_trace_is_linked_in_pieces_with_the_same_result(run, shop, tmp_path, mode):
    msgs = shop('a')
    whole = run('infer', msgs, '--mode', mode, '--json', '--calls').stdout
    pieces = run('infer', msgs, '--mode', mode, '--json', '--calls', '--max-calls', '1000').stdout
    whole = {o['call']: o['parent'] for o in lines(whole) if 'call' in o}
    pieces = {o['call']: o['parent'] for o in lines(pieces) if 'call' in o}
    assert whole.keys() == pieces.keys()
    assert sum(whole[c] == pieces[c] for c in whole) > 0.97 * len(whole)


def test_windows_show_what_is_frequent_for_a_while(run, tmp_path):
    path = tmp_path / 'phases.msgs'
    with open(path, 'w') as f:
        for i in range(600):
            to = 'B' if i < 400 else 'X'
            f.write(f'{i}.1 CALL A {to} {i}\n{i}.2 RET {to} A {i}\n')
    out = run('infer', path, '--window', '100s', '--mode', 'nesting').stdout
    windows = out.split('window ')
    assert len(windows) >= 6
    assert 'A>B' in windows[1] and 'A>X' not in windows[1]
    assert 'A>X' in windows[5] and 'A>X' not in windows[4]


def test_a_score_is_told_by_the_truth(run, shop, tmp_path):
    score = json.loads(run('infer', shop('a'), '--score', tmp_path / 'a.truth', '--json').stdout.splitlines()[-1])
    assert score['links']['accuracy'] > 0.9 and score['links']['n'] > 300
    assert score['traces']['accuracy'] > 0.8
    assert {'patterns', 'calibration', 'instances', 'messages'} <= score.keys()
    assert 'links' in run('infer', tmp_path / 'a.msgs', '--score', tmp_path / 'a.truth').stdout
    (tmp_path / 'bad.truth').write_text('one\n')
    run('infer', tmp_path / 'a.msgs', '--score', tmp_path / 'bad.truth', code=1)


@pytest.mark.parametrize('mode', ['nesting', 'best'])
def test_fifty_milliseconds_in_one_component_of_the_shop_are_found(run, tmp_path, mode):
    for name in ('petstore', 'petstore-const-delay'):
        run('make-trace', SPECS / f'{name}.spec', '--duration', '600s', '-o', tmp_path / name)
    out = run('infer', tmp_path / 'petstore-const-delay', '--compare', tmp_path / 'petstore', '--mode', mode).stdout
    amount, place = out.splitlines()[0].split(' at ', 1)
    assert place.startswith('/mylist.jsp after CatalogEJB')
    assert 45 <= float(amount[1:].removesuffix('ms')) <= 55


@pytest.mark.parametrize('name, options', [
    ('infer-table.txt', ['--sort', 'count', '-n', '4']),
    ('infer-alike.txt', ['--alike', '-n', '2']),
    ('infer.dot', ['--format', 'dot', '-n', '2']),
    ('infer.svg', ['--format', 'svg', '-n', '2']),
    ('infer-pattern.json', ['--json', '-n', '1']),
    ('infer-convolution.txt', ['--mode', 'convolution', '--quantum', '5ms', '-n', '5']),
])
def test_output_is_as_it_was(run, shop, name, options):
    """GOLDEN=update rewrites the golden files; the diff is then to be read."""
    text = run('infer', shop('a'), '-q', '--mode', 'nesting', *options).stdout
    if os.environ.get('GOLDEN') == 'update':
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()
