"""/metrics/spans: what is counted, that it stays bounded, and that a Prometheus server reads it and answers about it."""
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from messages import post, span, text, traces

S = 1_000_000_000
T0 = 1_700_000_000 * S
LINE = re.compile(r'(?P<name>[a-z_:]+)(?:\{(?P<labels>.*?)\})? (?P<value>\S+)(?: # (?P<exemplar>\{.*))?$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')


def scrape(server, openmetrics=False):
    """{(name, labels): (value, exemplar)}; a line that is neither comment nor sample fails."""
    accept = 'application/openmetrics-text;version=1.0.0' if openmetrics else 'text/plain'
    status, headers, body = server.request('/metrics/spans', headers={'Accept': accept})
    assert status == 200 and headers['Content-Type'].startswith('application/openmetrics-text' if openmetrics else 'text/plain')
    out, families = {}, set()
    lines = body.decode().split('\n')
    assert lines.pop() == '' and (not openmetrics or lines[-1] == '# EOF')
    for line in lines:
        if line.startswith('# TYPE'):
            family = line.split()[2]
            assert family not in families, f'{family} comes twice'
            families.add(family)
        if line.startswith('#'):
            continue
        found = LINE.match(line)
        assert found, line
        labels = found['labels'] or ''
        pairs = LABEL.findall(labels)
        assert ''.join(f'{k}="{v}",' for k, v in pairs).rstrip(',') == labels, line
        key = found['name'], frozenset(pairs)
        assert key not in out, f'{line} comes twice'
        out[key] = float(found['value']), found['exemplar']
    return out


def value(metrics, name, **labels):
    """The sum of the samples that have these labels."""
    return sum(v for (n, have), (v, _) in metrics.items() if n == name and set(labels.items()) <= have)


def shop(trace, failed=False, duration=50_000_000):
    front = [span(trace, 1, 'GET /', start=T0, duration=duration),
             span(trace, 2, 'call', parent=1, start=T0, duration=40_000_000, kind=3)]
    back = [span(trace, 3, 'serve', parent=2, start=T0, duration=30_000_000, **({'status': {'code': 2}} if failed else {})),
            span(trace, 4, 'SELECT', parent=3, start=T0, duration=1000, kind=3, attributes=[text('db.system', 'postgresql')])]
    return traces(*front, service='front'), traces(*back, service='back')


def test_operations_and_calls_are_counted(server):
    for trace in range(1, 11):
        for request in reversed(shop(trace, failed=trace == 7)):  # the server's half comes first
            assert post(server, request)[0] == 200
    metrics = scrape(server)
    calls, latency = 'traces_spanmetrics_calls_total', 'traces_spanmetrics_latency'
    assert value(metrics, calls, service='front', span_name='GET /', span_kind='SPAN_KIND_SERVER',
                 status_code='STATUS_CODE_UNSET') == 10
    assert value(metrics, calls, service='back', span_name='serve', status_code='STATUS_CODE_ERROR') == 1
    assert value(metrics, calls, service='back') == 20
    get = {'service': 'front', 'span_name': 'GET /'}
    assert value(metrics, f'{latency}_bucket', le='0.032', **get) == 0
    assert value(metrics, f'{latency}_bucket', le='0.064', **get) == 10
    assert value(metrics, f'{latency}_bucket', le='+Inf', **get) == value(metrics, f'{latency}_count', **get) == 10
    assert value(metrics, f'{latency}_sum', **get) == pytest.approx(0.5)
    edge = {'client': 'front', 'server': 'back', 'connection_type': ''}
    assert value(metrics, 'traces_service_graph_request_total', **edge) == 10
    assert value(metrics, 'traces_service_graph_request_failed_total', **edge) == 1
    assert value(metrics, 'traces_service_graph_request_server_seconds_count', **edge) == 10
    assert value(metrics, 'traces_service_graph_request_server_seconds_sum', **edge) == pytest.approx(0.3)
    assert value(metrics, 'traces_service_graph_request_client_seconds_sum', **edge) == pytest.approx(0.4)


def test_exemplars_name_a_trace_that_is_there(server):
    for request in shop(0xabc):
        assert post(server, request)[0] == 200
    assert not any(exemplar for _, exemplar in scrape(server).values())
    exemplars = [exemplar for _, exemplar in scrape(server, openmetrics=True).values() if exemplar]
    assert exemplars
    for exemplar in exemplars:
        found = re.fullmatch(r'\{trace_id="([0-9a-f]{32})"\} (\S+) (\S+)', exemplar)
        assert server.request(f'/api/v1/traces/{found[1]}')[0] == 200
        assert 0 <= float(found[2]) <= 0.05 and float(found[3]) == pytest.approx(T0 / S, abs=1)


def test_names_without_end_do_not_make_series_without_end(server):
    odd = 'quote " back \\ line \n é'
    assert post(server, traces(span(1, 1, odd), service=odd))[0] == 200
    for part in range(20):
        spans = [span(part * 1000 + i + 1, 1, f'GET /item/{part}-{i}') for i in range(1000)]
        assert post(server, traces(*spans, service=f'service{part}'))[0] == 200
    metrics = scrape(server)
    calls = [(labels, v) for (name, labels), (v, _) in metrics.items() if name == 'traces_spanmetrics_calls_total']
    assert len(calls) < 5000 and sum(v for _, v in calls) == 20_001
    assert value(metrics, 'traces_spanmetrics_calls_total', span_name='causet_overflow') > 10_000
    assert value(metrics, 'causet_span_metrics_overflowed_total') > 10_000
    assert any(('span_name', 'quote \\" back \\\\ line \\n é') in labels for labels, _ in calls)


def test_a_repeated_request_is_counted_once(server):
    for _ in range(3):
        assert post(server, traces(span(1, 1), service='once'))[0] == 200
    assert value(scrape(server), 'traces_spanmetrics_calls_total', service='once') == 1


def test_it_can_be_off(start_server):
    server = start_server('--span-metrics=off')
    status, answer = server.get('/metrics/spans')
    assert status == 404 and 'span-metrics' in answer['error']['message']


# --- Prometheus -----------------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


@pytest.fixture
def prometheus(server, tmp_path):
    """Debian's Prometheus, which scrapes the server every second: ask(query) gives its answer."""
    program = shutil.which('prometheus')
    assert program, 'install Debian\'s prometheus (tools/deps.txt)'
    folder, port = tmp_path / 'prometheus', free_port()
    folder.mkdir()
    target = f'127.0.0.1:{server.ports["http"]}'
    (folder / 'prometheus.yml').write_text(json.dumps({
        'global': {'scrape_interval': '1s', 'scrape_timeout': '1s'},
        'scrape_configs': [{'job_name': 'causet', 'static_configs': [{'targets': [target]}]},
                           {'job_name': 'spans', 'metrics_path': '/metrics/spans', 'honor_labels': True,
                            'static_configs': [{'targets': [target]}]}]}))
    with open(folder / 'log', 'w') as log:
        process = subprocess.Popen([program, f'--config.file={folder}/prometheus.yml', f'--storage.tsdb.path={folder}/data',
                                    f'--web.listen-address=127.0.0.1:{port}', '--enable-feature=exemplar-storage'],
                                   stdout=log, stderr=log)

    def ask(query, path='query', **more):
        parameters = urllib.parse.urlencode({'query': query, **more})
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/api/v1/{path}?{parameters}', timeout=30) as answer:
            return json.loads(answer.read())['data']
    yield ask
    process.terminate()
    process.wait()


def until(probe, seconds=60):
    """What the probe gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            got = probe()
        except OSError:
            got = None
        if got:
            return got
        time.sleep(0.2)
    raise AssertionError('it did not come')


def test_prometheus_scrapes_both_and_answers_about_them(server, prometheus):
    for trace in range(1, 6):
        for request in shop(trace):
            assert post(server, request)[0] == 200

    def number(query):
        result = prometheus(query)['result']
        return float(result[0]['value'][1]) if result else None
    assert until(lambda: number('sum(traces_spanmetrics_calls_total{service="front"})') == 10)
    # What Grafana's service graph asks.
    rows = prometheus('sum by (client, server) (traces_service_graph_request_total)')['result']
    assert [(r['metric'], r['value'][1]) for r in rows] == [({'client': 'front', 'server': 'back'}, '5')]
    quantile = number('histogram_quantile(0.9, sum by (le) (traces_spanmetrics_latency_bucket{span_name="GET /"}))')
    assert 0.032 < quantile <= 0.064
    assert until(lambda: number('causet_ingest_accepted_total{kind="traces"}') == 20)
    assert until(lambda: number('sum(up)') == 2)
    exemplars = until(lambda: prometheus('traces_spanmetrics_latency_bucket', 'query_exemplars', start=T0 // S - 60,
                                         end=int(time.time()) + 60))
    assert any(e['labels']['trace_id'] for series in exemplars for e in series['exemplars'])
