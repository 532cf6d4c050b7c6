"""Standing rules: what fires, what is told, and what happens when webhooks fail, hang, drop, or the server is killed."""
import http.server
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time

import pytest

from messages import eventually

RULE = {'name': 'errors', 'query': 'From s In spans Where s.status == error GroupBy s.service Select s.service, COUNT',
        'threshold': 1, 'over': '1h', 'every': '1s', 'delay': '0s'}
WAIT = 60


class Hook:
    """A webhook that answers as told: statuses first, then 200; 'hang' and 'drop' are possible, too."""

    def __init__(self, *answers):
        self.answers, self.bodies, self.tries, self.hanging = list(answers), [], 0, threading.Event()
        self.talk = 0  # bytes of its answers
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                hook.tries += 1
                answer = hook.answers.pop(0) if hook.answers else 200
                if answer == 'hang':
                    hook.hanging.wait(30)
                    return
                if answer == 'drop':
                    self.connection.close()
                    return
                if answer == 200:
                    assert self.headers['Content-Type'] == 'application/json'
                    hook.bodies.append(json.loads(body))
                self.send_response(answer)
                self.send_header('Content-Length', str(hook.talk))
                if answer == 302:
                    self.send_header('Location', 'http://127.0.0.1:1/')
                self.end_headers()
                try:
                    self.wfile.write(b'x' * hook.talk)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}/secret/hook'

    def close(self):
        self.hanging.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def hook():
    hooks = []

    def make(*answers):
        hooks.append(Hook(*answers))
        return hooks[-1]

    yield make
    for one in hooks:
        one.close()


def wait_for(what):
    return eventually(what, WAIT)


def metrics(server):
    return server.request('/metrics')[2].decode()


def send(server, services, n=3, ago=60, error=True):
    now = time.time_ns() - int(ago * 10**9)
    groups = [{'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': service}}]},
               'scopeSpans': [{'spans': [
                   {'traceId': os.urandom(16).hex(), 'spanId': os.urandom(8).hex(), 'name': 'GET', 'kind': 2,
                    'startTimeUnixNano': str(now + i), 'endTimeUnixNano': str(now + i + 10**6), 'status': {'code': 2 if error else 0}}
                   for i in range(n)]}]} for service in services]
    status, _, answer = server.request('/v1/traces', port='otlp-http', body={'resourceSpans': groups})
    assert status == 200, answer


def define(server, **changes):
    status, _, answer = server.request('/api/v1/alerts', body={**RULE, **changes})
    assert status == 200, answer


def rules(server, name='errors'):
    status, answer = server.get('/api/v1/alerts')
    assert status == 200
    return next((r for r in answer['rules'] if r['name'] == name), None)


def states(server):
    return {a['labels']['service']: a['state'] for a in rules(server)['alerts']}


def test_two_groups_fire_and_are_told_in_alertmanagers_form(start_server, hook):
    server, webhook = start_server('--external-url', 'https://causet.example.org'), hook()
    send(server, ['cart', 'pay'])
    send(server, ['quiet'], n=1)
    define(server, webhook=webhook.url, labels={'severity': 'page'}, annotations={'runbook': 'https://r'})
    body = wait_for(lambda: webhook.bodies)[0]
    assert set(body) == {'version', 'groupKey', 'truncatedAlerts', 'status', 'receiver', 'groupLabels', 'commonLabels',
                         'commonAnnotations', 'externalURL', 'alerts'}
    assert (body['version'], body['status'], body['groupLabels']) == ('4', 'firing', {'alertname': 'errors'})
    assert body['commonLabels'] == {'alertname': 'errors', 'severity': 'page'}
    assert body['commonAnnotations'] == {'runbook': 'https://r'}
    assert body['externalURL'] == 'https://causet.example.org'
    assert len(body['alerts']) == 2
    for alert in body['alerts']:
        assert set(alert) == {'status', 'labels', 'annotations', 'startsAt', 'endsAt', 'generatorURL', 'fingerprint'}
        assert alert['annotations'] == {'runbook': 'https://r', 'value': '3'}
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', alert['startsAt'])
        assert alert['endsAt'] == '0001-01-01T00:00:00Z' and re.fullmatch('[0-9a-f]{16}', alert['fingerprint'])
    assert states(server) == {'cart': 'firing', 'pay': 'firing'}
    rule = rules(server)
    assert (rule['state'], rule['health'], rule['undelivered']) == ('firing', 'ok', 0)
    time.sleep(2.5)
    assert len(webhook.bodies) == 1  # told once, not at each evaluation
    assert 'causet_alert_firing 2' in metrics(server) and 'causet_alert_notifications_total 1' in metrics(server)


def test_an_alert_is_resolved_when_it_holds_no_more_and_only_that_one(start_server, hook):
    server, webhook = start_server(), hook()
    stop = threading.Event()

    def keep_failing():
        while not stop.wait(0.5):
            send(server, ['pay'], ago=0)

    send(server, ['cart'], ago=0)
    thread = threading.Thread(target=keep_failing)
    thread.start()
    try:
        define(server, webhook=webhook.url, over='10s')
        body = wait_for(lambda: [b for b in webhook.bodies if any(a['status'] == 'resolved' for a in b['alerts'])])[0]
        found = {a['labels']['service']: a for a in body['alerts']}
        assert found['cart']['status'] == 'resolved' and found['cart']['startsAt'] < found['cart']['endsAt']
        assert found['pay']['status'] == 'firing' and body['status'] == 'firing'
        assert wait_for(lambda: states(server)) == {'cart': 'resolved', 'pay': 'firing'}
    finally:
        stop.set()
        thread.join()


def test_a_rule_waits_for_as_long_as_it_says(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'])
    define(server, webhook=webhook.url, **{'for': '3s'})
    assert wait_for(lambda: states(server)) == {'cart': 'pending'}
    assert not webhook.bodies
    assert wait_for(lambda: states(server) == {'cart': 'firing'})
    wait_for(lambda: webhook.bodies)


@pytest.mark.parametrize('answers', [(500, 503), ('drop', 'drop'), (404,), (302,)])
def test_a_webhook_that_fails_is_told_again(start_server, hook, answers):
    server, webhook = start_server(), hook(*answers)
    send(server, ['cart'])
    define(server, webhook=webhook.url)
    wait_for(lambda: rules(server)['undelivered'] == 1 and 'deliveryError' in rules(server))
    assert 'secret' not in json.dumps(rules(server)['deliveryError'])
    wait_for(lambda: webhook.bodies)
    wait_for(lambda: rules(server)['undelivered'] == 0)
    assert webhook.tries == len(answers) + 1 and len(webhook.bodies) == 1


def test_what_a_webhook_says_is_not_read_however_long(start_server, hook):
    server, webhook = start_server(), hook()
    webhook.talk = 8 << 20
    send(server, ['cart'])
    define(server, webhook=webhook.url)
    wait_for(lambda: webhook.bodies)
    wait_for(lambda: rules(server)['undelivered'] == 0)
    assert webhook.tries == 1


def test_a_corrected_webhook_is_told_what_waits(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'])
    define(server, webhook='http://nowhere.invalid/secret')
    wait_for(lambda: 'deliveryError' in rules(server))
    assert rules(server)['deliveryError'] == "the name of the webhook's host is not known"
    define(server, webhook='http://127.0.0.1:1/secret')
    wait_for(lambda: 'refused' in rules(server).get('deliveryError', ''))
    define(server, webhook=webhook.url)
    wait_for(lambda: rules(server)['undelivered'] == 0)
    assert [a['labels']['service'] for a in webhook.bodies[0]['alerts']] == ['cart']


def test_what_was_told_is_not_told_again_because_it_cannot_be_removed(start_server, hook):
    server, webhook = start_server(), hook()
    catalogue = sqlite3.connect(server.folder / 'data' / 'catalog.db', isolation_level=None, timeout=60)
    catalogue.execute("CREATE TRIGGER full BEFORE DELETE ON alert_delivery BEGIN SELECT RAISE(FAIL, 'full'); END")
    send(server, ['cart'])
    define(server, webhook=webhook.url)
    wait_for(lambda: webhook.bodies)
    time.sleep(3)
    assert webhook.tries == 1 and rules(server)['undelivered'] == 1
    catalogue.execute('DROP TRIGGER full')
    catalogue.close()
    send(server, ['pay'])
    wait_for(lambda: len(webhook.bodies) == 2 and rules(server)['undelivered'] == 0)
    assert webhook.tries == 2


def test_a_webhook_that_hangs_does_not_stop_others(start_server, hook):
    server, slow, webhook = start_server(), hook('hang', 'hang'), hook()
    send(server, ['cart'])
    define(server, name='a-slow', webhook=slow.url)
    define(server, name='errors', webhook=webhook.url)
    wait_for(lambda: webhook.bodies)
    send(server, ['pay'])
    wait_for(lambda: len(webhook.bodies) == 2)
    slow.hanging.set()
    wait_for(lambda: slow.bodies)


def test_what_fired_is_told_after_kill_9(start_server, hook):
    """Nobody listens when it fires, the server is killed, and the next one tells it; the state is what it was."""
    server, webhook = start_server(), hook()
    url = webhook.url
    webhook.close()
    send(server, ['cart'])
    define(server, webhook=url)
    wait_for(lambda: rules(server)['undelivered'] == 1)
    fired = rules(server)['alerts'][0]['firedUnixNano']
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    again = Hook()
    again.server.server_close()
    port = int(url.split(':')[2].split('/')[0])
    back = http.server.ThreadingHTTPServer(('127.0.0.1', port), again.server.RequestHandlerClass)
    threading.Thread(target=back.serve_forever, daemon=True).start()
    try:
        server.start()
        body = wait_for(lambda: again.bodies)[0]
        assert body['status'] == 'firing' and len(body['alerts']) == 1
        assert rules(server)['alerts'][0]['firedUnixNano'] == fired
        wait_for(lambda: rules(server)['undelivered'] == 0)
        time.sleep(2)
        assert len(again.bodies) == 1
    finally:
        back.shutdown()
        back.server_close()


def test_a_dropped_rule_resolves_what_it_fired(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'])
    define(server, webhook=webhook.url)
    wait_for(lambda: webhook.bodies)
    assert server.request('/api/v1/alerts/errors', method='DELETE')[0] == 200
    assert rules(server) is None
    wait_for(lambda: webhook.bodies[-1]['status'] == 'resolved')
    assert server.request('/api/v1/alerts/errors', method='DELETE')[0] == 404


def test_a_query_that_groups_nothing_is_counted(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'], n=5)
    define(server, webhook=webhook.url, query='{ status = error }', threshold=5, when='>=')
    alert = wait_for(lambda: webhook.bodies)[0]['alerts'][0]
    assert alert['annotations']['value'] == '5' and alert['labels'] == {'alertname': 'errors'}


def test_a_rate_is_one_over_the_window(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'], n=6)
    define(server, webhook=webhook.url, query='{ } | rate() by(resource.service.name)', threshold=0, over='10m')
    alert = wait_for(lambda: webhook.bodies)[0]['alerts'][0]
    assert float(alert['annotations']['value']) == pytest.approx(6 / 600)


def test_more_alerts_than_there_is_room_for_are_said(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, [f'service-{i}' for i in range(1010)], n=2)
    define(server, webhook=webhook.url)
    body = wait_for(lambda: webhook.bodies)[0]
    assert len(body['alerts']) == 1000 and body['truncatedAlerts'] == 10
    assert rules(server)['overflow'] == 10


def test_a_rule_that_fails_says_so_and_recovers(start_server, hook):
    server, webhook = start_server('--query-memory', '1MiB'), hook()
    tracepoint = {'text': 'Tracepoint Bad = { status = error }'}
    assert server.request('/api/tracepoints', body=tracepoint)[0] == 200
    define(server, webhook=webhook.url, query='From b In Bad Select COUNT', threshold=0)
    assert server.request('/api/tracepoints/Bad', method='DELETE')[0] == 200
    wait_for(lambda: rules(server)['health'] == 'error')
    assert 'Bad' in rules(server)['error']
    assert server.request('/api/tracepoints', body=tracepoint)[0] == 200
    wait_for(lambda: rules(server)['health'] == 'ok')


def test_rows_that_come_too_late_are_counted(start_server, hook):
    server, webhook = start_server(), hook()
    define(server, webhook=webhook.url, over='10s')
    wait_for(lambda: rules(server)['health'] == 'ok')
    send(server, ['cart'], n=4, ago=3600)
    wait_for(lambda: 'causet_alert_late_rows_total 4' in metrics(server))


def test_rows_between_the_last_window_and_the_next_are_late(start_server, hook):
    server, webhook = start_server(), hook()
    define(server, webhook=webhook.url, over='5m', every='1h')
    wait_for(lambda: rules(server)['health'] == 'ok')
    seen = int(rules(server)['evaluatedUnixNano'])
    send(server, ['cart'], n=4, ago=time.time() - seen / 10**9 + 60)  # in the window that has passed, and in no other
    wait_for(lambda: 'causet_alert_late_rows_total 4' in metrics(server))


@pytest.mark.parametrize('change, word', [
    ({'query': 'From s In'}, 'bad_query'), ({'query': 'From s In Nothing Select COUNT'}, 'bad_query'), ({'query': ''}, 'query'),
    ({'query': 'From s In spans Over last 1h Select COUNT'}, 'over'), ({'query': '{ } | rate() > 5'}, 'series'),
    ({'threshold': 'much'}, 'threshold'), ({'when': '~'}, 'when'), ({'over': '0s'}, 'over'), ({'every': '1ms'}, 'every'),
    ({'for': 5}, 'for'), ({'webhook': 'ftp://x/'}, 'webhook'), ({'webhook': 'file:///etc/passwd'}, 'webhook'),
    ({'webhook': 'http://user:pw@x/'}, 'user'), ({'webhook': 'http://x/\xe9'}, 'ASCII'), ({'webhook': 'http://'}, 'webhook'), ({'labels': {'a-b': 'c'}}, 'labels'),
    ({'labels': {'a': 1}}, 'labels'), ({'name': ''}, 'name'), ({'name': 'a/b'}, 'name'), ({'colour': 'red'}, 'colour')])
def test_a_wrong_rule_is_refused_and_says_why(server, change, word):
    status, _, answer = server.request('/api/v1/alerts', body={**RULE, 'webhook': 'http://127.0.0.1:1/', **change})
    assert status == 400 and word in answer.decode()
    assert rules(server) is None


def test_roles_and_secrets(start_server):
    server = start_server('--auth')
    made = {}
    for role in ('read', 'query', 'admin'):
        made[role] = subprocess.run([server.program, 'token', 'add', role, '--roles', role, '--data', server.folder / 'data'],
                                    capture_output=True, text=True, check=True).stdout.strip()
    rule = {**RULE, 'webhook': 'http://127.0.0.1:1/secret'}
    for role in ('read', 'query'):
        server.token = made[role]
        wait_for(lambda: server.request('/api/v1/alerts', body=rule)[0] == 403)  # 401 until the token is noticed
        assert server.request('/api/v1/alerts/test', body=rule)[0] == 403
    server.token = made['admin']
    wait_for(lambda: server.request('/api/v1/alerts', body=rule)[0] == 200)
    assert rules(server)['rule']['webhook'] == rule['webhook']
    server.token = made['read']
    assert rules(server)['rule']['webhook'] == 'http://127.0.0.1:1/…'


def test_the_commands(start_server, hook):
    server, webhook = start_server(), hook()
    send(server, ['cart'])

    def causet(*arguments, code=0, stdin=None):
        done = subprocess.run([server.program, 'alerts', *arguments, '--server', server.url()], capture_output=True, text=True, input=stdin)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert 'no rules' in causet('list', code=3)
    options = ('--query', RULE['query'], '--threshold', '1', '--over', '1h', '--every', '1s', '--delay', '0s', '--webhook', webhook.url)
    assert 'cart' in causet('test', 'errors', *options)
    assert not webhook.bodies
    assert '200' in causet('test', 'errors', *options, '--send')
    assert len(webhook.bodies) == 1
    causet('define', 'errors', *options, '--labels', 'severity=page')
    wait_for(lambda: 'firing' in causet('list'))
    exported = causet('export')
    assert json.loads(exported)['labels'] == {'severity': 'page'}
    assert json.loads(causet('list', '--json'))['name'] == 'errors'
    causet('drop', 'errors')
    causet('drop', 'errors', code=3)
    causet('import', '-', stdin=exported + exported.replace('"errors"', '"other"'))
    assert {json.loads(line)['name'] for line in causet('list', '--json').splitlines()} == {'errors', 'other'}
    assert 'E' in causet('define', 'x', '--query', 'From', '--threshold', '1', '--webhook', webhook.url, code=1)


def test_the_commands_work_on_a_folder(tmp_path, server):
    def causet(*arguments, code=0):
        done = subprocess.run([server.program, 'alerts', *arguments, '--data', tmp_path], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    causet('define', 'x', '--query', '{ status = error }', '--threshold', '1', '--webhook', 'http://127.0.0.1:1/')
    assert 'x' in causet('list')
    assert 'E' in causet('define', 'y', '--query', 'From', '--threshold', '1', '--webhook', 'http://127.0.0.1:1/', code=1)
    causet('drop', 'x')
    causet('list', code=3)
