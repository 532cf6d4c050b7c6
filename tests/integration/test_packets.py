"""Packets to messages and to paths: the captures of tests/golden, odd files, live capture, and a system of black boxes."""
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / 'tests/golden/capture'


def may_capture():
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
        return True
    except OSError:
        return False


def may_build_bridges():
    return subprocess.run(['unshare', '--net', '--mount', '--pid', '--fork', 'ip', 'link', 'add', 'br0', 'type', 'bridge'],
                          capture_output=True).returncode == 0


captures = pytest.mark.skipif(not may_capture(), reason='may not capture packets here')


@pytest.fixture
def run(causet):
    def run(*args, code=0, stdin=None):
        p = subprocess.run([causet, *map(str, args)], input=stdin, capture_output=True, timeout=120)
        assert p.returncode == code, p.stderr.decode()
        p.out, p.err = p.stdout.decode(), p.stderr.decode()
        return p
    return run


@pytest.mark.parametrize('name', sorted(p.stem for p in CAPTURES.glob('*.pcap')))
def test_a_capture_is_read_as_it_is_and_compressed(run, tmp_path, name):
    expected = (CAPTURES / f'{name}.msgs').read_text()
    assert run('infer', CAPTURES / f'{name}.pcap', '--messages').out == expected
    packed = tmp_path / 'x.gz'
    packed.write_bytes(gzip.compress((CAPTURES / f'{name}.pcap').read_bytes()))
    assert run('infer', packed, '--messages').out == expected
    assert run('infer', '-', '--messages', stdin=(CAPTURES / f'{name}.pcap').read_bytes()).out == expected


def test_messages_written_are_messages_read(run, tmp_path):
    first = run('infer', CAPTURES / 'http1.pcap', '--messages').out
    (tmp_path / 'a.msgs').write_text(first)
    assert run('infer', tmp_path / 'a.msgs', '--messages').out == first


def test_two_captures_of_the_same_calls_are_one(run):
    """Half of the packets were captured twice: the calls count once."""
    once = run('infer', CAPTURES / 'redis.pcap', '--json').out
    twice = run('infer', CAPTURES / 'redis.pcap', CAPTURES / 'redis.pcap', '--json')
    def calls(text):
        return json.loads(text.splitlines()[-1])['summary']['calls']
    assert calls(twice.out) == calls(once)
    assert 'count once' in twice.err


def test_nodes_are_called_as_the_rules_say(run, tmp_path):
    (tmp_path / 'rules').write_text('*:6379 redis\n127.0.0.1 shop\n')
    out = run('infer', CAPTURES / 'redis.pcap', '--messages', '--node-rules', tmp_path / 'rules').out
    assert {tuple(line.split()[2:4]) for line in out.splitlines()} == {('shop', 'redis'), ('redis', 'shop')}
    (tmp_path / 'bad').write_text('127.0.0.1 a\nnowhere b\n')
    assert 'bad: line 2' in run('infer', CAPTURES / 'redis.pcap', '--node-rules', tmp_path / 'bad', code=1).err


def test_a_capture_that_is_cut_or_damaged_says_so_and_gives_the_rest(run, tmp_path):
    whole = (CAPTURES / 'redis.pcap').read_bytes()
    expected = run('infer', CAPTURES / 'redis.pcap', '--messages').out
    (tmp_path / 'cut').write_bytes(whole[:-7])
    p = run('infer', tmp_path / 'cut', '--messages')
    assert expected.startswith(p.out[:-200]) and 'ends inside a packet' in p.err
    (tmp_path / 'damaged').write_bytes(whole[:4000] + b'\xff' * 2000)
    p = run('infer', tmp_path / 'damaged', '--messages')
    assert 'damaged' in p.err and 'at byte' in p.err and p.out.count('CALL') > 5
    (tmp_path / 'head').write_bytes(whole[:20])
    assert 'cut off' in run('infer', tmp_path / 'head', code=1).err
    (tmp_path / 'empty').write_bytes(whole[:24])
    assert run('infer', tmp_path / 'empty', code=3).out == ''


def test_a_return_may_be_the_first_byte_instead_of_the_last(run):
    """gRPC's stream of three messages, 10 ms apart."""
    def latency(*options):
        times = {}
        for line in run('infer', CAPTURES / 'grpc.pcap', '--messages', *options).out.splitlines():
            at, op, _, _, number, name = line.split()
            if name == 'shop.Cart/List':
                times[op] = float(at)
        return times['RET'] - times['CALL']
    assert latency('--reply', 'first') < latency() - 0.015


def test_the_truth_on_the_wire_is_written(run, tmp_path):
    run('infer', CAPTURES / 'http1.pcap', '--messages', '--truth-header', 'X-Request-Id', '--truth-file', tmp_path / 't')
    rows = [line.split() for line in (tmp_path / 't').read_text().splitlines()]
    assert len(rows) == 2 and {row[2] for row in rows} == {'abc-1'}  # from the client, and through the proxy


class Wire:
    """Captures of conversations, made by hand: raw IP, one file per host with a clock of its own."""

    def __init__(self, clocks):
        self.clocks, self.packets, self.seq = clocks, [], {}

    def send(self, at, sender, receiver, ports, payload, wire=0.001):
        key = (sender, receiver, ports)
        seq = self.seq.setdefault(key, 1000)
        ack = self.seq.setdefault((receiver, sender, ports[::-1]), 1000)
        self.seq[key] += len(payload)
        tcp = struct.pack('!HHIIBBHHH', *ports, seq, ack, 0x50, 0x18, 0, 0, 0) + payload
        ip = struct.pack('!BBHHHBBHBBBBBBBB', 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, 10, 0, 0, sender, 10, 0, 0, receiver)
        self.packets += [(sender, at, ip + tcp), (receiver, at + wire, ip + tcp)]

    def write(self, folder):
        for host, offset in self.clocks.items():
            out = struct.pack('<IHHIIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)
            for where, at, data in sorted(self.packets):
                if where == host:
                    us = round((at + offset) * 1e6)
                    out += struct.pack('<IIII', us // 1000000, us % 1000000, len(data), len(data)) + data
            (folder / f'host{host}.pcap').write_bytes(out)
        return [folder / f'host{host}.pcap' for host in self.clocks]


def test_captures_of_several_hosts_know_where_they_were_taken(run, tmp_path):
    wire = Wire({1: 0, 2: 0.25, 3: -0.1})  # clocks that differ
    ok = b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
    for i in range(50):
        at = 1000 + i * 0.1
        wire.send(at, 1, 2, (4000, 80), b'GET /a HTTP/1.1\r\n\r\n')
        wire.send(at + 0.005, 2, 3, (5000, 80), b'GET /b HTTP/1.1\r\n\r\n', wire=0.004)
        wire.send(at + 0.015, 3, 2, (80, 5000), ok)
        wire.send(at + 0.020, 2, 1, (80, 4000), ok)
    files = wire.write(tmp_path)
    p = run('infer', *files, '--messages')
    # Host 1 and 3 talk to one other only: their captures could be either's, were it not for host 2's.
    for i in (1, 2, 3):
        assert f'file {i} was captured at 10.0.0.{i}' in p.err
    kinds = [line.split()[1] for line in p.out.splitlines()]
    for kind in ('CALL_SENT', 'CALL_RECV', 'RET_SENT', 'RET_RECV'):
        assert kinds.count(kind) == 100
    # Every node is judged by its own clock: nobody's work is negative or a quarter of a second.
    found = json.loads(run('infer', *files, '--json').out.splitlines()[0])
    assert found['pattern'] == '10.0.0.1>10.0.0.2(10.0.0.3)' and found['count'] >= 49
    assert abs(found['hops'][0]['own']['p50_ns'] - 7e6) < 3e6


@captures
def test_live_capture_sees_calls_and_tells_its_cost(causet):
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]

    def serve():
        c, _ = listener.accept()
        while c.recv(1000):
            c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

    threading.Thread(target=serve, daemon=True).start()
    p = subprocess.Popen([causet, 'infer', '--live', 'lo', '--live-filter', f'tcp port {port}', '--messages'], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert 'capturing on lo' in p.stderr.readline()
    time.sleep(0.3)
    client = socket.create_connection(('127.0.0.1', port))
    for i in range(20):
        client.sendall(b'GET /live HTTP/1.1\r\n\r\n')
        client.recv(1000)
        time.sleep(0.06)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    assert out.count(' CALL ') == 20 and out.count(' RET ') == 20
    assert re.search(r'packets/s, .*calls/s, 0 dropped, .*% CPU', err)


RELAY = """
import http.client, http.server, sys, threading
kept = threading.local()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def do_GET(self):
        if len(sys.argv) > 1:
            if not hasattr(kept, 'c'):
                kept.c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
            kept.c.request('GET', '/next')
            kept.c.getresponse().read()
        self.wfile.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@captures
def test_programs_that_share_loopback_are_told_apart(causet):
    """Three processes on one address: whose call a connection is, the kernel says."""
    def start(*args):
        p = subprocess.Popen([sys.executable, '-c', RELAY, *args], stdout=subprocess.PIPE, text=True)
        return p, p.stdout.readline().strip()

    back, back_port = start()
    front, front_port = start(back_port)
    p = subprocess.Popen([causet, 'infer', '--live', 'lo', '--live-filter', f'tcp port {front_port} or tcp port {back_port}', '--json'],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert 'capturing on lo' in p.stderr.readline()
        time.sleep(0.3)
        c = http.client.HTTPConnection('127.0.0.1', int(front_port))
        for _ in range(30):
            c.request('GET', '/first')
            c.getresponse().read()
            time.sleep(0.01)
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    finally:
        front.kill()
        back.kill()
    found = json.loads(out.splitlines()[0])
    nodes = [h['node'].rpartition(':')[2] for h in found['hops']]
    assert nodes == [front_port, back_port] and found['count'] >= 20, err


def test_an_interface_or_a_filter_that_does_not_exist_is_named(run):
    assert 'nosuch0' in run('infer', '--live', 'nosuch0', code=1).err
    assert run('infer', '--live', 'lo', 'file', code=2)


# --- a system of black boxes -----------------------------------------------------------------------------------------

NEEDED = ['nginx', 'redis-server', 'tcpdump', 'ip', 'unshare']
missing = [name for name in NEEDED if not shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')]
if not list(Path('/usr/lib/postgresql').glob('*/bin/postgres')):
    missing.append('postgresql')
if not missing and not may_build_bridges():
    missing.append('the right to make network namespaces and bridges')


@pytest.fixture(scope='module')
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp('study')
    subprocess.run([sys.executable, ROOT / 'tests/tools/casestudy.py', out, '--seconds', '4', '--delay', '30ms'], check=True, timeout=300,
                   stdin=subprocess.DEVNULL, env={**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin:/sbin'})
    return out


@pytest.mark.once
@captures
@pytest.mark.skipif(bool(missing), reason=f'needs {", ".join(missing)}')
def test_a_delay_inside_one_of_seven_black_boxes_is_found(run, study):
    """docs/casestudy-blackbox.md as a test."""
    rules = ('--node-rules', study / 'nodes')
    found = [json.loads(line) for line in run('infer', study / 'before.pcap', *rules, '--json', '--sort', 'count').out.splitlines()]
    assert {o['pattern'] for o in found[:2]} == {f'client>web(app{k}(auth(cache),database))' for k in (1, 2)}
    # Where the time of the slower run goes, and what differs.
    after = json.loads(run('infer', study / 'after.pcap', *rules, '--json', '--sort', 'count').out.splitlines()[0])
    assert after['costliest']['node'] == 'auth'
    difference = run('infer', study / 'after.pcap', '--compare', study / 'before.pcap', *rules).out.splitlines()[0]
    m = re.match(r'\+([0-9.]+)ms at auth before cache', difference)
    assert m and 25 <= float(m[1]) <= 90, difference
    # And the truth, which nobody used: every call has its id, one tree a request.
    run('infer', study / 'after.pcap', *rules, '--messages', '--truth-header', 'X-Request-Id', '--truth-file', study / 'truth')
    truth = {row[0]: row[1] for row in (line.split() for line in (study / 'truth').read_text().splitlines())}
    calls = {o['call']: o['parent'] for o in map(json.loads, run('infer', study / 'after.pcap', *rules, '--json', '--calls').out.splitlines())
             if 'call' in o}
    links = [(i, p) for i, p in truth.items() if p != '0' and i in calls]
    right = sum(calls[i] == p for i, p in links)
    assert len(links) > 300 and right / len(links) > 0.5, f'{right} of {len(links)} links'
