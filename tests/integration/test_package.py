"""The Debian package: what is in it, that its dependencies are all it needs, and that its service starts and stops.

The clean root holds the package's declared dependencies and nothing else: the files of each, copied from this machine,
where they are installed because the build needs them.  A library missing from Depends is missing there too.  dpkg itself
installs the package and checks the dependencies.  No network, and no privileges beyond a user namespace.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

pytestmark = pytest.mark.once

ANY_PORT = [word for name in ('otlp-grpc', 'otlp-http', 'zipkin', 'http', 'jaeger-grpc', 'tempo') for word in (f'--{name}-port', '0')]
CHROOT = shutil.which('chroot', path='/usr/sbin:/usr/bin')
AS_ROOT = [] if os.geteuid() == 0 else ['unshare', '--user', '--map-root-user']


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f'{command}: {done.stdout}{done.stderr}'
    return done.stdout


@pytest.fixture(scope='module')
def deb(top, tmp_path_factory):
    out = tmp_path_factory.mktemp('dist')
    return pathlib.Path(run(top / 'tools/package', out).strip().splitlines()[-1])


def installed(package):
    """The package's status paragraph on this machine, or None."""
    done = subprocess.run(['dpkg-query', '-s', package], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 and 'ok installed' in done.stdout else None


def provider(name):
    """The installed package that is, or provides, `name`."""
    if installed(name):
        return name
    for line in run('dpkg-query', '-W', '-f', '${Package}\t${Provides}\n').splitlines():
        package, provides = line.split('\t')
        if name in re.findall(r'[a-z0-9.+-]+', provides):
            return package
    return None


def closure(depends):
    """Packages that satisfy `depends` and, in turn, theirs: the first installed one of each set of alternatives."""
    found, todo = {}, [depends]
    while todo:
        for clause in filter(None, (c.strip() for c in todo.pop().split(','))):
            names = [re.match(r'[a-z0-9.+-]+', a.strip()).group() for a in clause.split('|')]
            package = next((p for p in map(provider, names) if p), None)
            assert package, f'nothing installed here satisfies {clause}'
            if package not in found:
                found[package] = installed(package)
                todo += re.findall(r'^(?:Pre-)?Depends: (.*)$', found[package], re.M)
    return found


@pytest.fixture(scope='module')
def root(deb, tmp_path_factory):
    """A clean root with the package installed by dpkg."""
    root = tmp_path_factory.mktemp('root')
    for folder in ('usr/bin', 'usr/sbin', 'usr/lib', 'usr/lib64', 'etc', 'tmp', 'var/lib/dpkg/info', 'var/lib/dpkg/updates', 'dev'):
        (root / folder).mkdir(parents=True)
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        (root / name).symlink_to(f'usr/{name}')
    packages = closure(run('dpkg-deb', '-f', deb, 'Depends') + ', dash')  # dash: the maintainer scripts' shell
    for package in packages:
        for path in run('dpkg-query', '-L', package).splitlines():
            target = root / path.lstrip('/')
            if path.startswith('/usr/share/') or os.path.isdir(path) and not os.path.islink(path) or not os.path.lexists(path):
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(target):
                shutil.copy2(path, target, follow_symlinks=False)
    if not (root / 'usr/bin/sh').exists():
        (root / 'usr/bin/sh').symlink_to('dash')  # a diversion on some machines
    (root / 'var/lib/dpkg/status').write_text('\n'.join(text for text in packages.values()))
    run(*AS_ROOT, 'dpkg', f'--root={root}', '--install', deb)
    return root


@pytest.fixture(scope='module')
def pages(root):
    """The page of the program and one for each of its commands."""
    help_ = run(root / 'usr/bin/causet', '--help')
    commands = re.findall(r'^  ([a-z]+) ', help_.split('Commands:')[1].split('\n\n')[0], re.M)
    assert 'serve' in commands and len(commands) > 5
    return ['causet'] + [f'causet-{command}' for command in commands if command != 'help']


def test_the_package_holds_the_program_its_pages_completion_and_unit(deb, pages):
    listing = {line.split()[5].lstrip('.') for line in run('dpkg-deb', '-c', deb).splitlines()}
    wanted = {'/usr/bin/causet', '/usr/lib/systemd/system/causet.service', '/usr/share/doc/causet/copyright',
              '/usr/share/bash-completion/completions/causet', '/usr/share/zsh/vendor-completions/_causet',
              '/usr/share/fish/vendor_completions.d/causet.fish'}
    wanted |= {f'/usr/share/man/man1/{page}.1.gz' for page in pages}
    assert wanted - listing == set()


def test_the_same_commit_gives_the_same_package(deb, top, tmp_path):
    again = run(top / 'tools/package', tmp_path).strip().splitlines()[-1]
    assert pathlib.Path(again).read_bytes() == deb.read_bytes()


def test_dpkg_installs_it_into_a_clean_root(root):
    assert 'Status: install ok installed' in run('dpkg-query', f'--admindir={root}/var/lib/dpkg', '-s', 'causet')
    assert run(*AS_ROOT, CHROOT, root, '/usr/bin/causet', 'version').startswith('causet ')


def test_the_unit_passes_systemd_analyze(root, tmp_path):
    unit = tmp_path / 'causet.service'
    text = (root / 'usr/lib/systemd/system/causet.service').read_text()
    # The program is in the scratch root, not on this machine.
    unit.write_text(text.replace('/usr/bin/causet', f'{root}/usr/bin/causet').replace('man:', 'https://localhost/'))
    done = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True, text=True)
    # Complaints about the machine's other units are not ours.
    complaints = [line for line in done.stderr.splitlines() if 'causet' in line]
    assert complaints == [] and (done.returncode == 0 or not complaints), done.stderr


def test_the_unit_is_locked_down(root):
    text = (root / 'usr/lib/systemd/system/causet.service').read_text()
    for line in ('Type=notify', 'DynamicUser=yes', 'ProtectSystem=strict', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=',
                 'MemoryDenyWriteExecute=yes', 'SystemCallFilter=@system-service', 'StateDirectory=causet'):
        assert line in text.splitlines()


def test_every_page_renders_without_a_complaint(root, pages):
    for page in pages:
        path = root / f'usr/share/man/man1/{page}.1.gz'
        done = subprocess.run(['man', '--warnings=w', '-l', path], capture_output=True, text=True,
                              env={**os.environ, 'MANWIDTH': '100', 'MAN_KEEP_STDERR': '1', 'LC_ALL': 'C.UTF-8', 'MANPAGER': 'cat'})
        assert done.returncode == 0 and done.stderr == '' and 'NAME' in done.stdout, page + done.stderr
        if page == 'causet':
            assert [other for other in pages[1:] if f'{other}(1)' not in done.stdout] == []
        else:
            help_ = run(root / 'usr/bin/causet', page.split('-')[1], '--help')
            options = set(re.findall(r'--[a-z][a-z-]+', help_)) - {'--help'}
            assert {o for o in options if o not in done.stdout.replace('\u2010', '-')} == set(), page


def wait_for(listener, word, seconds=30):
    """Reads notifications until one has the line `word`; gives all lines seen."""
    seen, end = [], time.monotonic() + seconds
    while word not in seen:
        listener.settimeout(max(0.01, end - time.monotonic()))
        seen += listener.recv(4096).decode().splitlines()
    return seen


def test_the_server_tells_systemd_when_it_is_ready_alive_and_stopping(root, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        # The path as the server sees it, inside of its root; short enough for sun_path from outside by way of a link.
        short = pathlib.Path(f'/tmp/causet-notify-{os.getpid()}')
        short.symlink_to(root)
        try:
            listener.bind(f'{short}/notify')
        finally:
            short.unlink()
        (root / 'notify').chmod(0o777)
        log = open(tmp_path / 'log', 'w+')
        environment = {'NOTIFY_SOCKET': '/notify', 'WATCHDOG_USEC': '1000000', 'PATH': '/usr/bin'}
        command = [*AS_ROOT, CHROOT, str(root), '/usr/bin/causet', 'serve', '--data', '/var/lib/causet', *ANY_PORT]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            wait_for(listener, 'READY=1')
            wait_for(listener, 'WATCHDOG=1')
            server.send_signal(signal.SIGHUP)
            wait_for(listener, 'RELOADING=1')
            wait_for(listener, 'READY=1')
            server.send_signal(signal.SIGTERM)
            wait_for(listener, 'STOPPING=1')
            assert server.wait(timeout=60) == 0
        except (TimeoutError, AssertionError):
            log.seek(0)
            pytest.fail(f'status {server.poll()}, log: {log.read()}')
        finally:
            server.kill()
            server.wait()
