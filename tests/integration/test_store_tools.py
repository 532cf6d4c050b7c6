"""`causet store`: damage is named and repaired, copies are equal, exports are whole."""
import json
import pathlib
import shutil
import signal
import threading

import pytest

from messages import documents_of, eventually, post, span, spans_of, traces

EVENTS = ('/v1/events', {'resourceEvents': [{
    'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 'native'}}]},
    'scopeEvents': [{'scope': {'name': 'tests'}, 'events': [
        {'traceId': f'{77:032x}', 'type': 'BEGIN', 'id1': f'{1:016x}', 'timeUnixNano': '1700000000000000000', 'name': 'job'},
        {'traceId': f'{77:032x}', 'type': 'POINT', 'id1': f'{1:016x}', 'timeUnixNano': '1700000000000000500', 'name': 'half'},
        {'traceId': f'{77:032x}', 'type': 'END', 'id1': f'{1:016x}', 'timeUnixNano': '1700000000000001000'}]}]}]})


def put(server, numbers, spans=4):
    for number in numbers:
        request = traces(*[span(number, n + 1, name=f'work {n}', parent=1 if n else '') for n in range(spans)],
                         service=f'service {number % 3}')
        assert post(server, request)[0] == 200


def ids(server):
    """Every trace there is."""
    status, found = server.get('/api/v1/traces?limit=10000')
    assert status == 200
    return {row['traceId'] for row in found['traces']}


def rows_of(text):
    """An export in events-json as a set of rows, whatever their order and grouping."""
    out = set()
    for document in documents_of(text):
        for group in document['resourceEvents']:
            for scoped in group['scopeEvents']:
                for event in scoped['events']:
                    out.add(json.dumps([group.get('resource'), scoped.get('scope'), event], sort_keys=True))
    return out


def export(run, data):
    done = run('store', 'export', '--format', 'events-json', data)
    assert done.returncode == 0, done.stderr
    return rows_of(done.stdout)


@pytest.fixture
def resting(start_server):
    """A folder with two segments, a log, and native events, that no server works on."""
    server = start_server()
    put(server, range(1, 40))
    assert server.request(EVENTS[0], port='otlp-http', body=EVENTS[1])[0] == 200
    server.stop()  # to a segment
    server.start()
    put(server, range(40, 60))
    server.stop()  # to another
    server.start()
    put(server, range(60, 70))
    server.stop(signal.SIGKILL, -signal.SIGKILL)  # stays in the log
    server.data = server.folder / 'data'
    return server


def flip(path, at):
    with open(path, 'r+b') as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x40]))


def segments(data):
    return sorted((data / 'store').glob('seg-*.cst'))


def findings(run, data):
    done = run('store', 'check', '--json', data)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [line for line in lines if 'finding' in line and not line['harmless']]


def test_a_sound_store_is_said_to_be_sound(resting, run):
    code, found = findings(run, resting.data)
    assert code == 0 and found == []
    done = run('store', 'stat', '--json', resting.data)
    stat = json.loads(done.stdout)
    assert done.returncode == 0 and stat['segments'] == 2 and stat['logBatches'] == 10 and stat['logRows'] == 40
    assert stat['spans'] == 59 * 4 + 1 and stat['findings'] == 0
    assert 'bytes each' in run('store', 'stat', resting.data).stdout
    done = run('store', 'stat', '--json', '--columns', resting.data)
    parts = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert sum(part['bytes'] for part in parts) == stat['segmentBytes']
    assert 'PER SPAN' in run('store', 'stat', '--columns', resting.data).stdout


def test_a_folder_in_use_is_left_alone(server, run):
    for verb in ('check', 'stat', 'compact', 'repair', 'export'):
        done = run('store', verb, server.folder / 'data')
        assert done.returncode == 1 and str(server.process.pid) in done.stderr, done.stderr
    assert run('store', 'check', server.folder).returncode == 3


def test_a_bit_anywhere_in_a_segment_is_found_and_the_rest_stays_readable(resting, run):
    path = segments(resting.data)[0]
    whole = path.read_bytes()
    size = len(whole)
    # Inside the groups, in every table, in the footer.
    for at in [5, 16, *range(40, size, max(1, size // 23)), size - 200, size - 20, size - 1]:
        flip(path, at)
        code, found = findings(run, resting.data)
        assert code == 1 and found, f'byte {at} of {size}'
        assert found[0]['file'] == path.name, found
        path.write_bytes(whole)
    assert findings(run, resting.data) == (0, [])


def test_a_server_opens_beside_a_damaged_segment_and_answers_the_rest(resting, run):
    flip(segments(resting.data)[0], segments(resting.data)[0].stat().st_size - 20)
    resting.start()
    assert {f'{n:032x}' for n in range(40, 70)} <= ids(resting)
    resting.stop()
    assert list((resting.data / 'store/set-aside').iterdir())
    assert findings(run, resting.data)[0] == 0


def test_a_damaged_group_costs_its_rows_and_no_others(resting, run):
    before = export(run, resting.data)  # also writes the log to a segment
    path = segments(resting.data)[0]
    flip(path, 60)
    code, found = findings(run, resting.data)
    assert code == 1 and 'group 0' in found[0]['finding']
    done = run('store', 'repair', resting.data)
    assert done.returncode == 4 and path.name in done.stdout and 'lost' in done.stdout, done.stdout + done.stderr
    assert findings(run, resting.data)[0] == 0
    assert path.name in [p.name for p in (resting.data / 'store/set-aside').iterdir()]
    after = export(run, resting.data)
    assert after and after < before
    resting.start()
    assert {f'{n:032x}' for n in range(40, 70)} <= ids(resting)


def test_a_lost_index_costs_nothing(resting, run):
    before = export(run, resting.data)
    # The index is the first table behind the groups: try bytes until one is said to be in it.
    path = segments(resting.data)[0]
    whole = path.read_bytes()
    for at in range(len(whole) - 1, 0, -64):
        flip(path, at)
        found = findings(run, resting.data)[1]
        if any('index' in f['finding'] for f in found):
            break
        path.write_bytes(whole)
    else:
        pytest.fail('no byte of the index was found')
    assert run('store', 'repair', resting.data).returncode == 4
    assert findings(run, resting.data)[0] == 0
    assert export(run, resting.data) == before


@pytest.mark.parametrize('damage', ('missing', 'flipped', 'empty'))
def test_a_lost_manifest_is_made_again(resting, run, damage):
    before = export(run, resting.data)
    path = resting.data / 'store/MANIFEST'
    if damage == 'missing':
        path.unlink()
    elif damage == 'flipped':
        flip(path, 60)
    else:
        path.write_bytes(b'')
    code, found = findings(run, resting.data)
    assert code == 1 and found[0]['file'] == 'MANIFEST'
    done = run('store', 'repair', resting.data)
    assert done.returncode == 4 and 'MANIFEST' in done.stdout, done.stderr
    assert findings(run, resting.data)[0] == 0
    assert export(run, resting.data) == before


def test_a_missing_segment_is_named(resting, run):
    path = segments(resting.data)[1]
    path.unlink()
    code, found = findings(run, resting.data)
    assert code == 1 and found[0]['file'] == path.name and 'missing' in found[0]['finding']
    done = run('store', 'repair', resting.data)
    assert done.returncode == 4 and '80 spans are lost' in done.stdout, done.stdout
    assert findings(run, resting.data)[0] == 0


def test_damage_in_the_log_is_named_and_the_rest_is_kept(resting, run):
    path = next(p for p in sorted((resting.data / 'store').glob('wal-*.log')) if b'work' in p.read_bytes())
    at = path.read_bytes().index(b'work 3')  # in the first of ten records
    flip(path, at)
    code, found = findings(run, resting.data)
    assert code == 1 and found[0]['file'] == path.name and 'byte' in found[0]['finding']
    assert run('store', 'repair', resting.data).returncode == 4
    assert findings(run, resting.data)[0] == 0
    resting.start()
    assert {f'{n:032x}' for n in range(1, 70)} - ids(resting) == {f'{60:032x}'}


def test_a_torn_end_of_the_log_is_no_damage(resting, run):
    path = next(p for p in sorted((resting.data / 'store').glob('wal-*.log')) if b'work' in p.read_bytes())
    body = path.read_bytes()
    with open(path, 'r+b') as file:
        file.truncate(body.rindex(b'work 3'))
    done = run('store', 'check', resting.data)
    assert done.returncode == 0 and path.name in done.stdout and 'no damage' in done.stdout


def test_hashes_of_requests_that_are_damaged_are_named(resting, run):
    seen = sorted((resting.data / 'store').glob('wal-*.seen'))
    assert seen
    flip(seen[0], 50)
    code, found = findings(run, resting.data)
    assert code == 1 and found[0]['file'] == seen[0].name


def test_compaction_follows_the_rules_for_thinning(resting, run):
    before = json.loads(run('store', 'stat', '--json', resting.data).stdout)
    assert run('thin', 'add', '--after', '1ms', '--keep', '0', '--slow', 'off', '--rare', '0', '--data', resting.data).returncode == 0
    done = json.loads(run('store', 'compact', '--json', resting.data).stdout)
    assert done['thinnedTraces'] > 0
    assert run('store', 'check', resting.data).returncode == 0
    assert json.loads(run('store', 'stat', '--json', resting.data).stdout) != before


def test_compaction_leaves_one_segment_with_the_same_rows(resting, run):
    before = export(run, resting.data)
    done = run('store', 'compact', '--json', resting.data)
    assert done.returncode == 0 and json.loads(done.stdout)['segments'] == 1, done.stderr
    assert len(segments(resting.data)) == 1
    assert export(run, resting.data) == before
    assert findings(run, resting.data)[0] == 0


def test_an_export_is_what_the_server_exports(resting, run, tmp_path):
    ours = {form: run('store', 'export', '--format', form, resting.data).stdout for form in ('otlp-json', 'events-json')}
    file = tmp_path / 'all.jsonl'
    assert run('store', 'export', '-o', file, resting.data).returncode == 0
    assert file.read_text() == ours['otlp-json']
    resting.start()
    for form, text in ours.items():
        status, _, body = resting.request(f'/api/v1/export?format={form}')
        assert status == 200
        if form == 'events-json':
            assert rows_of(text) == rows_of(body)
        else:
            def plain(documents):
                return sorted(json.dumps(s, sort_keys=True) for s in spans_of(documents))
            assert plain(documents_of(text)) == plain(documents_of(body))


def test_a_backup_is_a_folder_like_the_other(resting, run, tmp_path):
    copy, back = tmp_path / 'copy', tmp_path / 'back'
    done = run('store', 'backup', '--json', resting.data, copy)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['linked'] == 2
    assert (copy / 'catalog.db').stat().st_mode & 0o777 == 0o600
    assert max(p.stat().st_size for p in (copy / 'store').glob('wal-*')) < 1 << 20
    assert run('store', 'backup', resting.data, copy).returncode == 1  # it is not empty
    assert run('store', 'restore', copy, back).returncode == 0
    assert [p.stat().st_nlink for p in segments(back)] == [1, 1]
    everything = export(run, resting.data)
    assert export(run, back) == everything and export(run, copy) == everything


def test_a_damaged_backup_is_not_restored(resting, run, tmp_path):
    copy = tmp_path / 'copy'
    assert run('store', 'backup', resting.data, copy).returncode == 0
    path = segments(copy)[0]
    body = path.read_bytes()
    path.unlink()
    path.write_bytes(body)  # no longer linked
    flip(path, 70)
    done = run('store', 'restore', copy, tmp_path / 'back')
    assert done.returncode == 1 and path.name in done.stderr
    assert not (tmp_path / 'back').exists()
    (copy / 'store/MANIFEST').unlink()  # a backup that was not finished
    assert run('store', 'restore', copy, tmp_path / 'back').returncode == 1


def test_a_backup_while_events_come_in_holds_all_that_was_acknowledged_before(start_server, run, tmp_path):
    server = start_server('--flush-interval', '1s')
    put(server, range(1, 30))
    stop, sent = threading.Event(), []

    def send():
        number = 1000
        while not stop.is_set():
            put(server, [number])
            sent.append(number)
            number += 1
    sender = threading.Thread(target=send)
    sender.start()
    try:
        for turn in range(3):
            while len(sent) < 10 * (turn + 1):
                stop.wait(0.01)
            before = list(sent)
            done = run('store', 'backup', server.folder / 'data', tmp_path / f'copy{turn}', server=server)
            assert done.returncode == 0, done.stderr
            assert run('store', 'restore', tmp_path / f'copy{turn}', tmp_path / f'back{turn}').returncode == 0
            text = run('store', 'export', '--format', 'otlp-json', tmp_path / f'back{turn}').stdout
            found = {}
            for one in spans_of(documents_of(text)):
                found.setdefault(int(one['traceId'], 16), set()).add(one['spanId'])
            assert set(range(1, 30)) | set(before) <= set(found)
            assert all(len(spans) == 4 for spans in found.values())
    finally:
        stop.set()
        sender.join()
    assert not list((server.folder / 'data/backups').iterdir())


def test_what_a_crash_left_of_a_backup_goes_and_finished_ones_stay(start_server):
    server = start_server()
    put(server, range(1, 5))
    status, _, body = server.request('/api/v1/backup', body=b'{}', headers={'Content-Type': 'application/json'})
    assert status == 200
    backups = server.folder / 'data/backups'
    name = json.loads(body)['name']
    assert (backups / name / 'store/MANIFEST').exists()
    left = backups / '20260102T030405Z-1a2b3c4d.unfinished/store'
    left.mkdir(parents=True)
    (left / 'seg-0000000000000001.cst').write_bytes(b'half')
    server.stop()
    server.launch()
    server.ready()
    assert [entry.name for entry in backups.iterdir()] == [name]


def test_a_backup_through_a_server_needs_the_role(start_server, run, tmp_path):
    server = start_server('--auth')
    data = server.folder / 'data'
    tokens = {role: run('token', 'add', '--name', role, '--roles', role, '--data', data).stdout.strip()
              for role in ('read', 'admin')}
    server.token = tokens['admin']
    eventually(lambda: server.request('/api/v1/services')[0] == 200)  # it takes notice of tokens within a second
    done = run('store', 'backup', data, tmp_path / 'copy', '--token', tokens['read'], server=server)
    assert done.returncode == 1 and 'admin' in done.stderr
    done = run('store', 'backup', data, tmp_path / 'copy', '--token', tokens['admin'], server=server)
    assert done.returncode == 0, done.stderr
    other = start_server()
    done = run('store', 'backup', data, tmp_path / 'other', server=other)
    assert done.returncode == 1 and 'does not work on' in done.stderr
    shutil.rmtree(pathlib.Path(other.folder) / 'data/backups')
    memory = start_server('--store', 'memory')
    status, answer = memory.get('/api/v1/backup', body={}, method='POST')
    assert status == 400 and 'memory' in answer['error']['message']
    status, _, _ = memory.request('/api/v1/backup', body=b'', headers={'Content-Type': 'text/plain'}, method='POST')
    assert status == 415


def test_rules_for_thinning_reach_a_running_server(start_server, run):
    server = start_server('--flush-interval', '1s')
    data = server.folder / 'data'
    put(server, range(1, 200), spans=1)
    failed = traces(span(500, 1, status={'code': 2}))
    assert post(server, failed)[0] == 200
    done = run('thin', 'add', '--after', '1s', '--keep', '25%', '--slow', 'off', '--rare', '0', '--data', data)
    assert done.returncode == 0, done.stderr

    def fates():
        lines = server.request('/metrics')[2].decode().splitlines()
        return {line.split('"')[1]: int(line.split()[-1]) for line in lines
                if line.startswith('causet_store_thinned_traces_total{')}
    eventually(lambda: sum(fates().values()) >= 200, seconds=60)
    counts = fates()
    assert counts['error'] == 1 and counts['sampled'] + counts['dropped'] == 199 and counts['dropped'] > 100, counts
    left = ids(server)
    assert len(left) == counts['sampled'] + 1 and f'{500:032x}' in left
    server.stop()
    assert findings(run, data) == (0, [])
