"""What other back ends answered about tests/recorded's spans, and what an answer means: the same status, traces, spans,
values and types.  Order counts only where clients rely on it, so lists that are sets are compared as such."""
import base64
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / 'recorded'


def entries(name):
    """The requests and answers of one back end: dicts with name, method, path, headers, status, type and body."""
    return [json.loads(line) for line in (FOLDER / f'{name}.jsonl').read_text().splitlines()]


def body_of(entry):
    return base64.b64decode(entry['body64']) if 'body64' in entry else entry['body'].encode()


def spans(name):
    return (FOLDER / name).read_bytes()


# --- Zipkin ---------------------------------------------------------------------------------------------------------

ZIPKIN_FIELDS = {'traceId', 'parentId', 'id', 'kind', 'name', 'timestamp', 'duration', 'localEndpoint', 'remoteEndpoint',
                 'annotations', 'tags', 'debug', 'shared'}
ENDPOINT_FIELDS = {'serviceName', 'ipv4', 'ipv6', 'port'}


def frozen(value):
    """Something hashable that is equal when the JSON is equal, objects in any order."""
    if isinstance(value, dict):
        return ('object', *sorted((k, frozen(v)) for k, v in value.items()))
    if isinstance(value, list):
        return ('list', *map(frozen, value))
    return (type(value).__name__, value)


def zipkin_span(span):
    """Strict: a field Lens does not know, or of another type, fails."""
    assert set(span) <= ZIPKIN_FIELDS, span
    assert isinstance(span['traceId'], str) and len(span['traceId']) in (16, 32) and span['traceId'] == span['traceId'].lower()
    assert isinstance(span['id'], str) and len(span['id']) == 16
    for name in ('timestamp', 'duration'):
        assert isinstance(span.get(name, 1), int) and not isinstance(span.get(name, 1), bool), span
    for name in ('localEndpoint', 'remoteEndpoint'):
        assert set(span.get(name, {})) <= ENDPOINT_FIELDS, span
    assert all(set(a) == {'timestamp', 'value'} for a in span.get('annotations', []))
    assert all(isinstance(v, str) for v in span.get('tags', {}).values())
    return frozen(span)


def zipkin_trace(trace):
    return frozenset(zipkin_span(span) for span in trace)


def zipkin_links(links):
    for link in links:
        assert set(link) <= {'parent', 'child', 'callCount', 'errorCount'}, link
    return frozenset(map(frozen, links))


# --- Jaeger, v1 -----------------------------------------------------------------------------------------------------

ENVELOPE = {'data', 'total', 'limit', 'offset', 'errors'}
SPAN = {'traceID', 'spanID', 'operationName', 'references', 'startTime', 'duration', 'tags', 'logs', 'processID', 'flags',
        'warnings'}
TYPES = {'string': str, 'bool': bool, 'int64': (int, str), 'float64': (int, float), 'binary': str}


def jaeger_envelope(answer):
    assert set(answer) == ENVELOPE, answer
    assert answer['errors'] is None or all({'code', 'msg'} <= set(e) <= {'code', 'msg', 'traceID'} for e in answer['errors'])
    return answer['data']


def jaeger_tag(tag):
    assert set(tag) == {'key', 'type', 'value'}, tag
    assert isinstance(tag['value'], TYPES[tag['type']]), tag
    value = tag['value']
    if tag['type'] == 'int64':
        value = int(value)
    if tag['type'] == 'float64':
        value = float(value)
    return tag['key'], tag['type'], value


def jaeger_tags(tags):
    return frozenset(map(jaeger_tag, tags))


def jaeger_span(span, processes):
    """References to the parent are told apart from links by what they name, not by their type: a consumer's parent is
    FOLLOWS_FROM for some."""
    assert set(span) <= SPAN, span
    process = processes[span['processID']]
    return (span['traceID'], span['spanID'], span['operationName'],
            frozenset((r['traceID'], r['spanID']) for r in span['references']), span['startTime'], span['duration'],
            jaeger_tags(span['tags']), frozenset((log['timestamp'], jaeger_tags(log['fields'])) for log in span['logs']),
            process['serviceName'], jaeger_tags(process['tags']))


def jaeger_trace(trace):
    assert set(trace) == {'traceID', 'spans', 'processes', 'warnings'}, trace
    return trace['traceID'], frozenset(jaeger_span(span, trace['processes']) for span in trace['spans'])


def jaeger_traces(answer):
    return dict(jaeger_trace(trace) for trace in jaeger_envelope(answer) or [])
