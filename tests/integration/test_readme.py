"""The commands of README.md do what it says."""
import re
import subprocess

import pytest

pytestmark = pytest.mark.once


def commands(top):
    """The lines of every block of shell."""
    return re.findall(r'^```sh\n(.*?)^```', (top / 'README.md').read_text(), re.M | re.S)


def test_the_span_of_the_readme_arrives_and_can_be_looked_at(top, server, run):
    post = next(block for block in commands(top) if block.startswith('curl '))
    done = subprocess.run(['sh', '-c', post.replace('localhost:4318', f"127.0.0.1:{server.ports['otlp-http']}")],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == '{}', done.stdout + done.stderr
    look = next(block for block in commands(top) if 'causet trace ' in block)
    said = ''
    for line in look.strip().splitlines():
        program, *arguments = line.split()
        assert program == 'build/release/causet'
        done = run(*arguments, server=server)
        assert done.returncode == 0, done.stderr
        said += done.stdout
    assert 'shop' in said and 'GET /cart' in said and '120' in said


def test_the_scripts_and_tools_of_the_readme_exist(top):
    for block in commands(top):
        for word in re.findall(r'(?:^|&& )((?:\./|tools/)[a-z]+)', block, re.M):
            assert (top / word).exists(), word
