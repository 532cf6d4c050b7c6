#!/usr/bin/python3
"""A system of black boxes to look at from outside: nginx -> two apps -> auth -> Redis, apps -> PostgreSQL.

    casestudy.py OUT [--seconds 4] [--delay 30ms]

Seven network namespaces on one bridge, everything in namespaces of its own so that nothing is left behind.  Runs a load twice
and records the bridge twice: OUT/before.pcap, and OUT/after.pcap with a delay put into the auth service before it asks Redis.
Every request carries an X-Request-Id from tier to tier: the truth, for comparing; nobody uses it to infer.  Needs root and
nginx-light, redis-server, postgresql, tcpdump, iproute2."""
import argparse
import glob
import http.client
import http.server
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

NODES = {'client': 1, 'web': 2, 'app1': 3, 'app2': 4, 'auth': 5, 'database': 6, 'cache': 7}
RULES = ''.join(f'10.9.0.{n} {name}\n' for name, n in NODES.items())


def address(node):
    return f'10.9.0.{NODES[node]}'


# --- the services, each started in its namespace --------------------------------------------------------------------


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def reply(self, body):
        head = f'HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n'.encode()
        self.wfile.write(head + body)  # one segment


def serve(handler):
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    Server(('0.0.0.0', 80), handler).serve_forever()


class Connections:
    """One connection a thread."""

    def __init__(self, make):
        self.make, self.local = make, threading.local()

    def get(self):
        if not hasattr(self.local, 'c'):
            self.local.c = self.make()
        return self.local.c


def plain(node, port):
    s = socket.create_connection((address(node), port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s, s.makefile('rb')


def auth(delay_file):
    cache = Connections(lambda: plain('cache', 6379))

    class Auth(Service):
        def do_GET(self):
            delay = float(pathlib.Path(delay_file).read_text() or 0)
            if delay:
                time.sleep(delay)
            s, f = cache.get()
            key = f'session:{self.headers["X-Request-Id"]}'.encode()
            s.sendall(b'*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n' % (len(key), key))
            assert f.readline() == b'$-1\r\n'
            self.reply(b'ok')

    serve(Auth)


def database():
    """A connection to PostgreSQL, spoken by hand."""
    s, f = plain('database', 5432)
    body = struct.pack('!I', 196608) + b'user\0postgres\0database\0postgres\0\0'
    s.sendall(struct.pack('!I', len(body) + 4) + body)
    ready(f)
    return s, f


def ready(f):
    while True:
        kind, n = struct.unpack('!cI', f.read(5))
        f.read(n - 4)
        if kind == b'Z':
            return


def app():
    peers = Connections(lambda: http.client.HTTPConnection(address('auth'), 80))
    stores = Connections(database)

    class App(Service):
        def do_GET(self):
            request = self.headers['X-Request-Id']
            peer = peers.get()
            peer.request('GET', '/check', headers={'X-Request-Id': request})
            peer.getresponse().read()
            s, f = stores.get()
            sql = f'/* {request} */ SELECT count(*) FROM generate_series(1, 2000)'.encode() + b'\0'
            s.sendall(b'Q' + struct.pack('!I', len(sql) + 4) + sql)
            ready(f)
            self.reply(b'x' * 300)

    serve(App)


def load(seconds, prefix):
    """Eight clients that ask, wait for the answer and think."""
    until = time.monotonic() + seconds
    count = [0] * 8

    def one(k):
        c = http.client.HTTPConnection(address('web'), 80)
        while time.monotonic() < until:
            c.request('GET', '/page', headers={'X-Request-Id': f'{prefix}{k}x{count[k]:05d}'})
            c.getresponse().read()
            count[k] += 1
            time.sleep(0.01 + 0.01 * (count[k] * 7919 % 10))

    threads = [threading.Thread(target=one, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(sum(count), 'requests')


# --- the stage --------------------------------------------------------------------------------------------------------


def run(*args, **kw):
    return subprocess.run(args, check=True, **kw)


def inside(node, *args, **kw):
    return subprocess.Popen(['ip', 'netns', 'exec', node, *args], **kw)


def me(node, *args, **kw):
    return inside(node, sys.executable, os.path.abspath(__file__), *args, **kw)


def wait_port(node, port):
    probe = f'import socket; socket.create_connection(("{address(node)}", {port}), 1)'
    for _ in range(300):
        if inside('client', sys.executable, '-c', probe, stderr=subprocess.DEVNULL).wait() == 0:
            return
        time.sleep(0.1)
    raise SystemExit(f'nobody answers on {node}:{port}')


def stage():
    os.makedirs('/run/netns', exist_ok=True)
    run('mount', '-t', 'tmpfs', 'none', '/run/netns')
    run('ip', 'link', 'set', 'lo', 'up')
    run('ip', 'link', 'add', 'br0', 'type', 'bridge')
    run('ip', 'link', 'set', 'br0', 'up')
    for name in NODES:
        run('ip', 'netns', 'add', name)
        run('ip', 'link', 'add', f'v{name}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
        run('ip', 'link', 'set', f'v{name}', 'master', 'br0', 'up')
        run('ip', 'netns', 'exec', name, 'ip', 'addr', 'add', address(name) + '/24', 'dev', 'eth0')
        run('ip', 'netns', 'exec', name, 'ip', 'link', 'set', 'eth0', 'up')
        run('ip', 'netns', 'exec', name, 'ip', 'link', 'set', 'lo', 'up')


NGINX = """daemon off; pid {0}/nginx.pid; error_log {0}/nginx.err; worker_processes 1;
events {{}}
http {{
    access_log off; client_body_temp_path {0}/t1; proxy_temp_path {0}/t2; fastcgi_temp_path {0}/t3; uwsgi_temp_path {0}/t4; scgi_temp_path {0}/t5;
    upstream apps {{ server {1}; server {2}; keepalive 32; }}
    server {{ listen 80; location / {{ proxy_pass http://apps; proxy_http_version 1.1; proxy_set_header Connection ""; }} }}
}}
"""


def services(scratch):
    quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    tools = sorted(glob.glob('/usr/lib/postgresql/*/bin'))[-1]
    store = scratch / 'pg'
    store.mkdir()
    shutil.chown(store, 'postgres')
    run('su', 'postgres', '-c', f'{tools}/initdb -N -D {store} -A trust', **quiet)
    (store / 'pg_hba.conf').write_text('host all all 10.9.0.0/24 trust\n')
    inside('database', 'su', 'postgres', '-c', f"{tools}/postgres -D {store} -k {store} -h 10.9.0.6 -F", **quiet)
    inside('cache', 'redis-server', '--bind', address('cache'), '--protected-mode', 'no', '--save', '', '--dir', str(scratch), **quiet)
    delay = scratch / 'delay'
    delay.write_text('0')
    me('auth', 'auth', str(delay))
    me('app1', 'app')
    me('app2', 'app')
    conf = scratch / 'nginx.conf'
    conf.write_text(NGINX.format(scratch, address('app1'), address('app2')))
    inside('web', 'nginx', '-c', str(conf), **quiet)
    for node, port in (('database', 5432), ('cache', 6379), ('auth', 80), ('app1', 80), ('app2', 80), ('web', 80)):
        wait_port(node, port)
    return delay


def record(path, seconds, prefix):
    dump = subprocess.Popen(['tcpdump', '-q', '-i', 'br0', '-s', '0', '-B', '8192', '--immediate-mode', '-w', str(path), 'tcp'], stderr=subprocess.PIPE, text=True)
    assert 'listening' in dump.stderr.readline()
    me('client', 'load', str(seconds), prefix).wait()
    time.sleep(0.5)
    dump.terminate()
    dump.wait()


def main():
    services_by_name = {'auth': lambda a: auth(a[0]), 'app': lambda a: app(), 'load': lambda a: load(float(a[0]), a[1])}
    if len(sys.argv) > 1 and sys.argv[1] in services_by_name:
        return services_by_name[sys.argv[1]](sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--seconds', type=float, default=4)
    parser.add_argument('--delay', type=lambda t: float(t.removesuffix('ms')) / 1000, default=0.03)
    options = parser.parse_args()
    if 'CASESTUDY_INSIDE' not in os.environ:
        os.execvpe('unshare', ['unshare', '--net', '--mount', '--pid', '--mount-proc', '--fork', '--kill-child', sys.executable, *sys.argv],
                   {**os.environ, 'CASESTUDY_INSIDE': '1'})
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    scratch = pathlib.Path('/tmp') / f'casestudy-{os.getpid()}-{time.time_ns()}'
    scratch.mkdir(mode=0o755)
    try:
        stage()
        delay = services(scratch)
        me('client', 'load', '1', 'w').wait()  # connections are made
        record(out / 'before.pcap', options.seconds, 'b')
        delay.write_text(str(options.delay))
        record(out / 'after.pcap', options.seconds, 'a')
        (out / 'nodes').write_text(RULES)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)  # the services end with this namespace


if __name__ == '__main__':
    main()
