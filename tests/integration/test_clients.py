"""Real clients: OpenTelemetry's SDK for Node by each of its exporters, and curl as in the specification's examples."""
import json
import os
import pathlib
import subprocess

import pytest

from messages import eventually, read_trace, records_of, spans_of

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / 'node/node_modules'


def drive(node, server, exporter, tmp_path, **settings):
    """Runs the app; what it says it has exported."""
    assert MODULES.is_dir(), 'run `npm ci` in tests/integration/node, or ./test one test_clients.py, which does'
    out = tmp_path / 'written.json'
    environment = {k: v for k, v in os.environ.items() if not k.startswith('OTEL_')}
    environment.update({
        'OTEL_EXPORTER_OTLP_ENDPOINT': server.url(port='otlp-grpc' if exporter == 'otlp-grpc' else 'otlp-http'),
        'OTEL_EXPORTER_ZIPKIN_ENDPOINT': server.url('/api/v2/spans', port='zipkin'), **settings,
    })
    done = subprocess.run([node, 'app.cjs', exporter, out], cwd=HERE / 'node', env=environment, capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    written = json.loads(out.read_text())
    assert not written['problems'], written['problems']
    assert len(written['spans']) > 1000
    return written


def without_nothing(element):
    """As messages.plain() leaves out what is absent or at its default; attributes are in their final form already."""
    kept = {k: without_nothing(v) if k in ('status', 'scope') else [without_nothing(x) for x in v] if k in ('events', 'links') else v
            for k, v in element.items() if k != 'texts'}
    return {k: v for k, v in kept.items() if v not in ('', 0, '0', [], {}, None)}


def arrived(server, trace_ids):
    documents = [document for trace_id in sorted(trace_ids) for document in read_trace(server, trace_id)]
    spans, records = spans_of(documents), records_of(documents)
    by_id = {span['spanId']: span for span in spans}
    assert len(by_id) == len(spans), 'a span came twice'
    return by_id, records


@pytest.mark.parametrize('exporter', ['otlp-proto', 'otlp-http', 'otlp-grpc'])
def test_every_span_and_log_record_of_the_sdk_arrives_whole(node, server, tmp_path, exporter):
    written = drive(node, server, exporter, tmp_path)
    spans, records = arrived(server, {span['traceId'] for span in written['spans']})
    assert len(spans) == len(written['spans'])
    for want in written['spans']:
        want = without_nothing(want)
        got = {'resource': {}, 'scope': {}, **spans[want['spanId']]}
        assert got == want
    # both sides of the instrumented calls, joined by the propagated context
    kinds = {span['spanId']: span['kind'] for span in spans.values()}
    assert [kinds[s['parentSpanId']] for s in spans.values() if s['kind'] == 2 and s.get('parentSpanId') in kinds] == [3, 3]
    key = (lambda record: record['timeUnixNano'])
    assert sorted(records, key=key) == sorted(map(without_nothing, written['records']), key=key)
    assert len(records) == 2 and all(record['spanId'] in spans for record in records)
    status, services = server.get('/api/v1/services')
    assert status == 200 and 'shop' in json.dumps(services)


@pytest.mark.parametrize('exporter', ['otlp-proto', 'otlp-grpc'])
def test_the_sdk_sends_the_token_it_is_given(node, start_server, run, tmp_path, exporter):
    server = start_server('--auth')
    server.token = run('token', 'add', 'shop', '--roles', 'ingest,read', '--data', server.folder / 'data').stdout.strip()
    eventually(lambda: server.request('/api/v1/services')[0] == 200)
    written = drive(node, server, exporter, tmp_path, OTEL_EXPORTER_OTLP_HEADERS=f'authorization=Bearer%20{server.token}')
    spans, _ = arrived(server, {span['traceId'] for span in written['spans']})
    assert len(spans) == len(written['spans'])


def micros(nanos):
    return round(int(nanos) / 1000)


def test_every_span_of_the_zipkin_exporter_arrives_with_every_attribute_as_text(node, server, tmp_path):
    written = drive(node, server, 'zipkin', tmp_path)
    spans, _ = arrived(server, {span['traceId'] for span in written['spans']})
    assert len(spans) == len(written['spans'])
    for want in written['spans']:
        got = spans[want['spanId']]
        tags = {**got['resource'], **got.get('attributes', {})}
        for key, text in want['texts'].items():
            assert tags.get(key) == {'stringValue': text} or (text == '' and key in tags), (key, tags.get(key))
        assert got['name'] == want['name']
        assert got.get('parentSpanId') == want.get('parentSpanId')
        assert got.get('kind', 1) == want['kind']
        assert abs(micros(got['startTimeUnixNano']) - micros(want['startTimeUnixNano'])) <= 1
        assert abs(micros(got['endTimeUnixNano']) - micros(want['endTimeUnixNano'])) <= 2
        assert [event['name'] for event in got.get('events', [])] == [event['name'] for event in want['events']]


# --- curl -----------------------------------------------------------------------------------------------------------

TRACE = {'resourceSpans': [{
    'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 'my.service'}}]},
    'scopeSpans': [{
        'scope': {'name': 'my.library', 'version': '1.0.0',
                  'attributes': [{'key': 'my.scope.attribute', 'value': {'stringValue': 'some scope attribute'}}]},
        'spans': [{
            'traceId': '5B8EFFF798038103D269B633813FC60C', 'spanId': 'EEE19B7EC3C1B174', 'parentSpanId': 'EEE19B7EC3C1B173',
            'name': "I'm a server span", 'startTimeUnixNano': '1544712660000000000', 'endTimeUnixNano': '1544712661000000000',
            'kind': 2, 'attributes': [{'key': 'my.span.attr', 'value': {'stringValue': 'some value'}},
                                      {'key': 'my.int', 'value': {'intValue': '9007199254740993'}}]}]}]}]}
LOG = {'resourceLogs': [{
    'resource': {'attributes': [{'key': 'service.name', 'value': {'stringValue': 'my.service'}}]},
    'scopeLogs': [{'scope': {'name': 'my.library'}, 'logRecords': [{
        'timeUnixNano': '1544712660300000000', 'observedTimeUnixNano': '1544712660300000000', 'severityNumber': 10,
        'severityText': 'Information', 'traceId': '5B8EFFF798038103D269B633813FC60C', 'spanId': 'EEE19B7EC3C1B174',
        'body': {'stringValue': 'Example log record'},
        'attributes': [{'key': 'map.attribute', 'value': {'kvlistValue': {'values': [
            {'key': 'some.map.key', 'value': {'stringValue': 'some value'}}]}}}]}]}]}]}


def curl(*arguments):
    done = subprocess.run(['curl', '-sS', '-m', '60', '-w', '\n%{http_code}', *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    body, status = done.stdout.rsplit('\n', 1)
    return int(status), body


def test_curl_posts_of_otlp_json_work(server, tmp_path):
    for name, request in (('traces', TRACE), ('logs', LOG)):
        (tmp_path / name).write_text(json.dumps(request, indent=2))
        assert curl('-X', 'POST', '-H', 'Content-Type: application/json', '-d', f'@{tmp_path / name}',
                    server.url(f'/v1/{name}', port='otlp-http')) == (200, '{}')
    documents = read_trace(server, TRACE['resourceSpans'][0]['scopeSpans'][0]['spans'][0]['traceId'].lower())

    def lower(elements):  # hex comes back in lower case
        return [{k: v.lower() if k in ('traceId', 'spanId', 'parentSpanId') else v for k, v in e.items()} for e in elements]

    assert spans_of(documents) == lower(spans_of([TRACE]))
    assert records_of(documents) == lower(records_of([LOG]))


@pytest.mark.parametrize('port, path, says', [
    ('otlp-http', '/v1/trace', '/v1/traces'),
    ('otlp-http', '/', '/v1/traces'),
    ('otlp-http', '/v1/traces/v1/traces', 'without a path'),
    ('otlp-http', '/api/v2/spans', 'port {zipkin}'),
    ('otlp-grpc', '/v1/traces', 'port {otlp-http}'),
    ('http', '/v1/traces', 'port {otlp-http}'),
    ('zipkin', '/v1/traces', 'port {otlp-http}'),
    ('zipkin', '/api/v1/spans', '/api/v2/spans'),
])
def test_the_wrong_path_or_port_shows_the_right_one(server, port, path, says):
    status, body = curl('-H', 'Content-Type: application/json', '-d', json.dumps(TRACE), server.url(path, port=port))
    assert status == 404
    assert says.format(**server.ports) in body


def test_http1_on_any_port_and_http2_without_upgrade(server, tmp_path):
    (tmp_path / 'traces').write_text(json.dumps(TRACE))
    for version in ('--http1.0', '--http1.1', '--http2-prior-knowledge'):
        status, _ = curl(version, '-H', 'Content-Type: application/json', '-d', f'@{tmp_path / "traces"}',
                         server.url('/v1/traces', port='otlp-http'))
        assert status == 200, version
