"""The commands that change the catalogue (token, redact, keep, thin), on a folder without a server."""
import json
import sqlite3
import subprocess

import pytest


@pytest.fixture
def run(causet, tmp_path):
    def run(*arguments, status=0):
        done = subprocess.run([causet, *arguments, '--data', tmp_path / 'data'], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done
    return run


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_token_is_shown_once_listed_and_revoked(run, tmp_path):
    added = run('token', 'add', '--name', 'shop', '--roles', 'read,ingest', '--expires', '30d')
    token = added.stdout.strip()
    assert token.startswith('causet_') and len(token) == 50 and added.stdout == token + '\n'
    assert 'shop' in added.stderr and token not in added.stderr

    (listed,) = lines(run('token', 'list', '--json'))
    assert listed['name'] == 'shop' and listed['roles'] == ['ingest', 'read'] and listed['used'] is None
    assert listed['created'] < listed['expires']
    table = run('token', 'list').stdout
    assert 'ingest,read' in table and token not in table
    for file in (tmp_path / 'data').iterdir():
        assert token.encode() not in file.read_bytes()

    assert lines(run('token', 'revoke', 'shop', '--json')) == [{'token': 'shop', 'revoked': 1}]
    run('token', 'list', status=3)
    assert "no token 'shop'" in run('token', 'revoke', 'shop', status=3).stderr

    log = sqlite3.connect(tmp_path / 'data/catalog.db').execute('SELECT who, action FROM audit ORDER BY id').fetchall()
    assert [action for _, action in log] == ['token.add', 'token.revoke']
    assert all(who.endswith('@command-line') for who, _ in log)


def test_revoking_some_of_several_is_partial(run):
    for name in ('a', 'b', 'b'):
        run('token', 'add', name, '--roles', 'all')
    done = run('token', 'revoke', 'a', 'nobody', '2', status=4)
    assert 'nobody' in done.stderr
    assert [token['id'] for token in lines(run('token', 'list', '--json'))] == [3]


@pytest.mark.parametrize('arguments, complaint', [
    (['token'], 'say what to do'),
    (['token', 'ad'], 'did you mean add?'),
    (['token', 'add'], '--name and --roles'),
    (['token', 'add', '--name', 'a'], '--name and --roles'),
    (['token', 'add', '--name', '7', '--roles', 'read'], 'a name is a letter'),
    (['token', 'add', '--name', 'a', '--roles', 'write'], "'write' is not a role"),
    (['token', 'add', '--name', 'a', '--roles', 'read', '--expires', 'soon'], '--expires'),
    (['token', 'add', '--name', 'a', '--roles', 'read', '--expires', '2001-01-01'], 'already past'),
    (['token', 'add', '--name', 'a', '--roles', 'read', 'b'], "found 'b' too"),
    (['token', 'list', '--roles', 'read'], 'are for add'),
    (['token', 'revoke'], 'names or numbers'),
    (['redact', 'add', '--key', 'x'], '--key and --action'),
    (['redact', 'add', '--key', 'x', '--action', 'mask'], "'mask' is not an action"),
    (['redact', 'add', '--key', 'x', '--action', 'drop', '--level', 'span'], "'span' is not a level"),
    (['redact', 'add', '--key', 'x', '--action', 'drop', '--value', '('], 'not a regular expression'),
    (['redact', 'remove', 'x'], 'not a rule'),
    (['keep', 'set'], 'needs one share'),
    (['keep', 'set', '0'], 'not a share above 0'),
    (['keep', 'set', '120%'], 'not a share above 0'),
    (['keep', 'show', 'x'], 'takes no argument'),
    (['thin', 'add', '--keep', '1/10'], '--after and --keep'),
    (['thin', 'add', '--after', '7d', '--keep', 'half'], 'not a share'),
    (['thin', 'add', '--after', '7d', '--keep', '0', '--slow', '100%'], 'quantile below 1'),
    (['thin', 'add', '--after', '7d', '--keep', '0', '--attributes', '=x'], 'needs a key'),
    (['thin', 'remove'], 'the numbers that list shows'),
])
def test_what_makes_no_sense_is_explained(run, arguments, complaint):
    assert complaint in run(*arguments, status=2).stderr


def test_rules_are_added_listed_and_removed(run):
    run('redact', 'add', '--key', '*password*', '--action', 'drop')
    (added,) = lines(run('redact', 'add', '--key', 'user.*', '--value', '^[0-9]+$', '--action', 'hash', '--owner', 'shop',
                         '--level', 'block', '--json'))
    listed = lines(run('redact', 'list', '--json'))
    assert [rule['key'] for rule in listed] == ['*password*', 'user.*']
    assert {k: listed[1][k] for k in added} == added
    assert run('redact', 'list').stdout.splitlines() == ['   1  drop  *password*',
                                                          '   2  hash  user.* where ^[0-9]+$, in block, of shop']
    run('redact', 'remove', '1', '9', status=4)
    assert [rule['id'] for rule in lines(run('redact', 'list', '--json'))] == [2]
    run('redact', 'remove', '2')
    run('redact', 'list', status=3)


def test_a_missing_folder_is_made_only_to_add(run, tmp_path):
    assert 'no catalogue' in run('token', 'list', status=3).stderr
    assert not (tmp_path / 'data').exists()
    run('token', 'add', 'a', '--roles', 'read', '-q')
    assert (tmp_path / 'data/catalog.db').stat().st_mode & 0o777 == 0o600


def test_a_share_is_set_and_shown(run, tmp_path):
    assert run('keep', 'set', '1/4').stdout == '0.25 of all traces are kept; one stands for 4\n'
    assert lines(run('keep', 'show', '--json')) == [{'share': 0.25, 'threshold': 'c'}]
    run('keep', 'set', '100%')
    assert run('keep', 'show').stdout == 'every trace is kept\n'
    log = sqlite3.connect(tmp_path / 'data/catalog.db').execute('SELECT action, detail FROM audit ORDER BY id').fetchall()
    assert log == [('keep.set', '0.25 of all traces'), ('keep.set', '1 of all traces')]


def test_thinning_rules_are_added_listed_and_removed(run):
    run('thin', 'add', '--after', '30d', '--keep', '1/100', '--slow', 'off', '--attributes', 'tier=gold,debug')
    run('thin', 'add', '--after', '7d', '--keep', '10%')
    assert run('thin', 'list').stdout.splitlines() == [
        '   2  after 7d: errors, slow from 99% on, shapes seen up to 10 times; 10% of the rest',
        '   1  after 30d: errors, shapes seen up to 10 times, tier=gold, debug; 1% of the rest']
    rules = lines(run('thin', 'list', '--json'))
    assert [rule['attributes'] for rule in rules] == [[], ['tier=gold', 'debug']]
    assert 'for this age already' in run('thin', 'add', '--after', '7d', '--keep', '0', status=1).stderr
    run('thin', 'remove', '1', '9', status=4)
    run('thin', 'remove', '2')
    run('thin', 'list', status=3)
